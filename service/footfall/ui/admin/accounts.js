/* The page of accounts and their roles. */

import { linkTo, tone } from './comment_view.js';
import { make, button, choice, field } from './dom.js';
import { complain, tell } from './notice.js';
import { prove } from './prove.js';
import { ask, query } from './server.js';
import { say } from './words.js';

const PAGE_SIZE = 50;
const ROLES = ['administrator', 'moderator', 'guest', 'banned', 'unverified'];

let list, pager, me;

export async function open(main, account) {
  me = account;
  list = make('ol', { class: 'rows', 'aria-label': say('page.accounts') });
  pager = make('nav', { class: 'pager', 'aria-label': say('pages') });
  const mail = make('input', { type: 'search', name: 'email', 'aria-label': say('findMail'), placeholder: say('findMail'), maxlength: 254 });
  main.append(
    make('div', { class: 'list-head' }, make('h1', {}, say('page.accounts')),
      make('form', { class: 'search', role: 'search', onsubmit: (event) => { event.preventDefault(); load(1, mail.value.trim()); } }, mail)),
    list, pager, invitation());
  await load(1);
}

/** Create an account and a link to set its password. */
function invitation() {
  const given = make('p', { role: 'status' });
  const form = make('form', { class: 'stack', onsubmit: async (event) => {
    event.preventDefault();
    const { address, as } = Object.fromEntries(new FormData(form));
    try {
      const answer = await (letsIn('guest', as) ? prove : send)('POST', 'invitation', { email: address.trim(), type: as });
      if (!answer) return;
      const { link, isMailed } = answer.data;
      given.replaceChildren(say(isMailed ? 'invitedByMail' : 'invitedByLink', { email: address }), ' ',
        make('code', {}, new URL(`..${link}`, location.href).href));
      form.reset();
      await load(1);
    } catch (refusal) {
      complain(refusal);
    }
  } },
  field(say('mail'), 'address', { type: 'email', required: true, maxlength: 254 }),
  choice(say('role'), 'as', ['guest', 'moderator', 'administrator'].map((each) => [each, say(each)]), 'moderator'),
  make('div', {}, make('button', { type: 'submit', class: 'button primary' }, say('invite'))), given);
  return make('section', {}, make('h2', {}, say('invite')), form);
}

const send = async (...request) => ({ data: await ask(...request) });

async function load(page, email = '') {
  try {
    const found = await ask('GET', `user?${query({ page, pageSize: PAGE_SIZE, email })}`);
    const accounts = email ? [found].filter(Boolean) : found.data;
    list.replaceChildren(...accounts.map((each) => row(each, () => load(page, email))));
    if (!accounts.length) list.append(make('li', { class: 'quiet' }, say('nobody')));
    const pages = email ? 1 : found.totalPages;
    pager.replaceChildren(...[
      page > 1 && button(say('newer'), () => load(page - 1), { class: 'button' }),
      pages > 1 && make('span', { class: 'quiet' }, say('pageOf', { page, pages })),
      page < pages && button(say('older'), () => load(page + 1), { class: 'button' }),
    ].filter(Boolean));
  } catch (refusal) {
    complain(refusal);
  }
}

function row(account, again) {
  const { objectId: id, display_name: nick, email, type, label } = account;
  const isMe = id === me.objectId;
  const name = make('a', { class: 'nick' }, nick);
  linkTo(name, account.url);
  const change = async (fields, text, send = ask) => {
    try {
      if (await send('PUT', `user/${id}`, fields) !== null) tell(text);
      await again();
    } catch (refusal) {
      complain(refusal);
      await again();
    }
  };
  const role = make('select', { 'aria-label': say('role'), disabled: isMe,
    onchange: () => change({ type: role.value }, say('roleIs', { nick, role: say(role.value) }), letsIn(type, role.value) ? prove : ask) },
  ROLES.filter((each) => each !== 'unverified' || each === type).map((each) => make('option', { value: each, selected: each === type }, say(each))));
  return make('li', { 'data-mail': email },
    make('span', { class: `avatar tone-${tone(nick || '?')}`, 'aria-hidden': 'true' }, [...(nick || '?')][0].toUpperCase()),
    make('span', { class: 'who' },
      make('span', {}, name, ' ', label && make('span', { class: 'badge' }, label)), make('span', { class: 'quiet' }, email)),
    role,
    make('a', { class: 'plain', href: `authors?who=${id}` }, say('allOfTheirs')),
    button(say('label'), () => relabel(account, change)),
    !isMe && button(say('endSessions'), () => change({ sessions: '' }, say('sessionsEnded', { nick }))),
    !isMe && account['2fa'] && button(say('freeSecondFactor'), () => confirm(say('reallyFree', { nick })) && change({ '2fa': '' }, say('freed', { nick }), prove)),
    !isMe && type === 'unverified' && button(say('delete'), () => remove(account, again), { class: 'plain danger' }));
}

/** Does the change grant or remove permissions of moderators or administrators? */
const letsIn = (before, after) => [before, after].some((role) => ['administrator', 'moderator'].includes(role));

function relabel({ display_name: nick, label }, change) {
  const wanted = prompt(say('labelFor', { nick }), label ?? '');
  if (wanted !== null && wanted !== (label ?? '')) change({ label: wanted }, say('labelIs', { nick, label: wanted || '–' }));
}

async function remove({ objectId: id, display_name: nick }, again) {
  if (!confirm(say('reallyDeleteAccount', { nick }))) return;
  try {
    await ask('DELETE', `user/${id}`);
    tell(say('accountGone', { nick }));
    await again();
  } catch (refusal) {
    complain(refusal);
  }
}
