/* One comment as a moderator sees it: who wrote it, where, and what can be done about it. */

import { contentOf, linkTo, spaced, tone } from './comment_view.js';
import { make, button, field } from './dom.js';
import { complain } from './notice.js';
import { ask, query } from './server.js';
import { date, number, say } from './words.js';

/** `acts`: the viewer, and the functions to call when something is decided, selected or was changed. */
export function card(comment, acts) {
  const id = comment.objectId;
  const place = make('div', {}); // for the form, or for the thread
  const article = make('article', { class: 'comment', tabindex: -1, 'aria-label': say('by', { nick: nickOf(comment) }) },
    avatar(comment), header(comment), origin(comment), body(comment), footer(comment, acts, place), place);
  return make('li', { 'data-id': id, class: acts.isAdministrator && 'choosable' },
    acts.isAdministrator && make('input', { type: 'checkbox', class: 'choose', checked: acts.isChosen, 'aria-label': say('choose'), 'aria-keyshortcuts': 'x',
      onchange: (event) => { if (!acts.choose(id, event.target.checked)) event.target.checked = false; } }),
    article);
}

const nickOf = (comment) => comment.nick || say('anonymous');

function avatar(comment) {
  const nick = nickOf(comment);
  return make('span', { class: `avatar tone-${tone(nick)}`, 'aria-hidden': 'true' }, [...nick.trim()][0]?.toUpperCase() ?? '?');
}

function header(comment) {
  const nick = make('a', { class: 'nick' }, nickOf(comment));
  linkTo(nick, comment.link);
  const badge = comment.label || (comment.type === 'administrator' ? say('administrator') : '');
  return make('header', {}, nick,
    badge && make('span', { class: 'badge' }, badge),
    comment.sticky && make('span', { class: 'mark pinned' }, say('pinned')),
    comment.status !== 'approved' && make('span', { class: 'mark held' }, say(`status.${comment.status}`)),
    make('time', { class: 'when', datetime: new Date(comment.time).toISOString() }, date(comment.time)));
}

/** The comment's page, and what only administrators see of its author. */
function origin(comment) {
  const page = make('a', { class: 'page' }, comment.url);
  linkTo(page, pageAddress(comment.url));
  const banned = (value) => value && make('a', { href: `bans?value=${encodeURIComponent(value)}`, title: say('banThem') }, value);
  const facts = [banned(comment.mail), banned(comment.ip), comment.addr, spaced(comment.browser), comment.os, comment.like ? `♥ ${number(comment.like)}` : ''];
  return make('p', { class: 'origin quiet' }, page, ...facts.filter(Boolean).map((fact) => make('span', {}, fact)));
}

/** The address of the page with this name below the site, as render/page_address.py has it; '' for none. */
function pageAddress(name) {
  const { site } = document.documentElement.dataset;
  if (!site) return '';
  const home = new URL(`${site}/`).href;
  const path = name.startsWith(`${site}/`) ? name.slice(site.length) : name;
  // After the slash nothing in a name is a host any more; dots could still leave the folder.
  const address = new URL(home + path.replace(/^[/\\]+/, '')).href;
  return address.startsWith(home) ? address : '';
}

function body(comment) {
  const element = make('div', { class: 'comment-body' });
  element.append(contentOf(comment.comment));
  return element;
}

function footer(comment, acts, place) {
  const id = comment.objectId;
  const act = (what, key, attributes = {}) =>
    button(say(what), () => acts.decide(what, [id]), { 'aria-keyshortcuts': key, title: key, ...attributes });
  const others = acts.isAdministrator ? [
    comment.status !== 'approved' && act('approve', 'a'),
    comment.status !== 'waiting' && act('hold', 'h'),
    comment.status !== 'spam' && act('spam', 's'),
    !comment.rid && act(comment.sticky ? 'unpin' : 'pin', 'p'),
    button(say('thread'), () => toggle(place, 'thread', () => thread(comment)), { 'aria-keyshortcuts': 't', title: 't' }),
  ] : [];
  return make('footer', {}, ...others,
    button(say('edit'), () => toggle(place, 'edit', () => form(comment, acts)), { 'aria-keyshortcuts': 'e', title: 'e' }),
    act('delete', 'd', { class: 'plain danger' }));
}

/** Show what this function makes below the comment, or remove it if it is there. */
async function toggle(place, name, create) {
  const isThere = place.dataset.shows === name;
  place.dataset.shows = isThere ? '' : name;
  place.replaceChildren();
  if (isThere) { place.closest('article').focus(); return; }
  try {
    const made = await create();
    if (place.dataset.shows === name) place.replaceChildren(made);
    made.querySelector('textarea')?.focus();
  } catch (refusal) {
    place.dataset.shows = '';
    complain(refusal);
  }
}

function form(comment, acts) {
  // If the author has an account, name and addresses are the account's.
  const isNamed = acts.isAdministrator && !comment.user_id;
  const close = () => element.closest('article').querySelector('[aria-keyshortcuts=e]').click();
  const element = make('form', { class: 'comment-form', onsubmit: save, onkeydown: (event) => {
    if (event.key === 'Escape') close();
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) element.requestSubmit();
  } },
    field(say('comment'), 'comment', { tag: 'textarea', rows: 4, required: true, value: comment.orig }),
    isNamed && make('div', { class: 'fields' },
      field(say('name'), 'nick', { value: comment.nick ?? '', maxlength: 128 }),
      field(say('mail'), 'mail', { value: comment.mail ?? '', maxlength: 254 }),
      field(say('website'), 'link', { value: comment.link ?? '', maxlength: 2048 })),
    make('div', { class: 'actions' },
      make('button', { type: 'submit', class: 'button primary' }, say('save')),
      button(say('cancel'), close, { class: 'button' })));

  async function save(event) {
    event.preventDefault();
    await acts.save(comment.objectId, Object.fromEntries(new FormData(element)));
  }
  return element;
}

/** The comment in its thread: the root with all its replies. */
async function thread(comment) {
  const root = comment.rid || comment.objectId;
  const { data } = await ask('GET', `comment?${query({ path: comment.url, rid: root, pageSize: 50 })}`);
  const [first] = data;
  const all = first ? [first, ...(first.children ?? [])] : [];
  return make('ol', { class: 'replies thread', 'aria-label': say('thread') }, all.map((each) =>
    make('li', { class: each.objectId === comment.objectId && 'is-this' },
      make('div', { class: 'comment' }, avatar(each), header(each), body(each)))),
    !all.length && make('li', {}, say('noThread')));
}
