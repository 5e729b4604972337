/* The profile page: name, picture, email, password, two-factor authentication, login services, sessions. */

import { forgetDraft } from './drafts.js';
import { make, button, field } from './dom.js';
import { complain, tell } from './notice.js';
import { prove } from './prove.js';
import { ask, problem } from './server.js';
import { sessionList } from './sessions.js';
import { say } from './words.js';

let account;
let showSessions;

export async function open(main, person) {
  account = person;
  const [sessions, show] = sessionList();
  showSessions = show;
  main.append(
    make('h1', {}, say('page.profile')),
    make('p', { class: 'quiet' }, account.email, ' · ', say(account.type)),
    section('about', form('about', [
      field(say('name'), 'display_name', { value: account.display_name, required: true, maxlength: 128, autocomplete: 'nickname' }),
      field(say('website'), 'url', { value: account.url ?? '', type: 'url', maxlength: 2048, placeholder: 'https://' }),
      make('img', { class: 'picture', alt: say('avatarAlt'), width: 64, height: 64, hidden: true, onload: ({ target }) => { target.hidden = false; } }),
      field(say('avatar'), 'avatar', { type: 'url', maxlength: 2048, placeholder: account.avatar, onchange: preview }, say('avatarHint')),
      make('label', { class: 'check' }, make('input', { type: 'checkbox', name: 'without' }), say('avatarRemove')),
    ])),
    section('mail', form('mail', [
      field(say('mail'), 'email', { value: account.email, type: 'email', required: true, maxlength: 254, autocomplete: 'email' }),
    ])),
    section('password', form('password', [
      field(say('newPassword'), 'password', { type: 'password', required: true, minlength: 8, maxlength: 256, autocomplete: 'new-password' }, say('passwordHint')),
    ])),
    secondFactor(),
    ...services(),
    section('sessions', sessions));
  const name = new URLSearchParams(location.hash.slice(1)).get('problem');
  if (name) complain(new Error(problem(name)));
  await show();
}

function section(name, ...children) {
  return make('section', { 'aria-labelledby': `h-${name}` }, make('h2', { id: `h-${name}` }, say(`section.${name}`)), ...children);
}

/** Preview of the picture at the entered address. Nothing else is loaded from other hosts. */
function preview({ target }) {
  const shown = document.querySelector('img.picture');
  shown.hidden = true;
  shown.src = (target.checkValidity() && target.value) || 'data:,';
}

function form(name, fields) {
  const element = make('form', { class: 'stack', 'data-form': name, onsubmit: async (event) => {
    event.preventDefault();
    try {
      const { without, ...fields } = Object.fromEntries(new FormData(element));
      if (name === 'about') Object.assign(fields, { url: fields.url || null }, without && { avatar: null });
      const done = name === 'about' ? { data: await ask('PUT', 'user', fields) } : await prove('PUT', 'user', fields);
      if (!done) return;
      forgetDraft(name);
      if (name === 'password') element.reset();
      if (done.data?.verify) tell(say('confirmSent', { mail: fields.email }));
      else await saved(name);
    } catch (refusal) {
      complain(refusal);
    }
  } }, fields, make('div', {}, make('button', { type: 'submit', class: 'button primary' }, say('save'))));
  return element;
}

async function saved(name) {
  tell(say(name === 'password' ? 'passwordSaved' : 'saved'));
  await showSessions();
  account = await ask('GET', 'token');
  // A site's page that opened this one shows the new name immediately.
  const { opener, asks } = document.documentElement.dataset;
  if (!window.opener || !opener) return;
  if (!asks || confirm(say('showProfile', { site: opener }))) window.opener.postMessage({ type: 'profile', data: account }, opener);
}

// --- login services

function services() {
  const known = Object.entries(JSON.parse(document.documentElement.dataset.services));
  const rows = known.map(([type, label]) => {
    const place = make('li', { class: 'actions' });
    const show = () => place.replaceChildren(make('span', {}, label), account[type] ? taken() : added());
    const added = () => button(say('addService', { service: label }), async () => {
      try {
        const done = await prove('POST', 'oauth', { type, redirect: location.pathname });
        if (done) location.assign(done.data.url);
      } catch (refusal) {
        complain(refusal);
      }
    }, { class: 'button' });
    const taken = () => button(say('takeService', { service: label }), async () => {
      try {
        if (!await prove('PUT', 'user', { [type]: '' })) return;
        account = { ...account, [type]: null };
        show();
      } catch (refusal) {
        complain(refusal);
      }
    }, { class: 'plain danger' });
    show();
    return place;
  });
  return rows.length ? [section('services', make('ul', { class: 'stack' }, rows))] : [];
}

// --- two-factor authentication

function secondFactor() {
  const place = make('div', {});
  const show = (...nodes) => place.replaceChildren(...nodes);
  const off = () => show(
    make('p', {}, say('secondFactorOff')),
    button(say('setUp'), setUp, { class: 'button' }));
  const on = () => show(
    make('p', {}, say('secondFactorOn')),
    make('div', { class: 'actions' }, button(say('newDevice'), setUp, { class: 'button' }), button(say('turnOff'), turnOff, { class: 'plain danger' })));

  async function setUp() {
    try {
      const { secret, otpauth_url: address, qr } = await ask('GET', 'token/2fa');
      const code = field(say('code'), 'code', { required: true, inputmode: 'numeric', pattern: '[0-9]{6}', maxlength: 6, autocomplete: 'one-time-code' });
      const enter = make('form', { class: 'stack', 'data-form': 'second-factor', onsubmit: (event) => {
        event.preventDefault();
        confirmCode(secret, new FormData(enter).get('code'));
      } },
      make('p', {}, say('scan')),
      make('img', { class: 'qr', src: qr, alt: say('qr') }),
      make('p', { class: 'quiet' }, say('orType'), ' ', make('code', {}, secret), ' ', make('a', { href: address }, say('openApp'))),
      code, make('div', {}, make('button', { type: 'submit', class: 'button primary' }, say('turnOn'))));
      show(enter);
      code.querySelector('input').focus();
    } catch (refusal) {
      complain(refusal);
    }
  }

  async function confirmCode(secret, code) {
    try {
      const done = await prove('POST', 'token/2fa', { secret, code });
      if (!done) return;
      const { recovery } = done.data;
      await showSessions();
      show(
        make('p', { role: 'status' }, say('recovery')),
        make('ul', { class: 'codes', tabindex: 0 }, recovery.map((each) => make('li', {}, each))),
        make('div', { class: 'actions' },
          // Without HTTPS, browsers offer no clipboard.
          navigator.clipboard && button(say('copyCodes'), () => copy(recovery.join('\n')), { class: 'button' }),
          button(say('printCodes'), () => print(), { class: 'button' }),
          button(say('keptThem'), on, { class: 'button primary' })));
    } catch (refusal) {
      complain(refusal);
    }
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      tell(say('codesCopied'));
    } catch (refusal) {
      complain(refusal);
    }
  }

  async function turnOff() {
    if (!confirm(say('reallyTurnOff'))) return;
    try {
      if (await prove('PUT', 'user', { '2fa': '' })) off();
    } catch (refusal) {
      complain(refusal);
    }
  }

  if (account['2fa']) on();
  else off();
  return section('secondFactor', place);
}
