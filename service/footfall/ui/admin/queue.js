/* The page of comments: those that wait, those that are held as spam, all of them, or one's own.
 *
 * Each decision is one request, for one comment or for many, and can be undone for a minute. A comment
 * that no longer matches leaves the list, and the next one gets the focus.
 */

import { settle } from './comment_view.js';
import { card } from './comment.js';
import { make, button } from './dom.js';
import { complain, takeBack, tell } from './notice.js';
import { ask, query } from './server.js';
import { number, say } from './words.js';

const PAGE_SIZE = 20;
const MAX_CHOSEN = 200;
const DONE = ['done', 'unchanged'];

let account, isAdministrator, part;
const wanted = { status: '', owner: '', keyword: '', page: 1, after: '' };
const chosen = new Set(); // ids, of any page
let shown = new Map(); // id -> { comment, element }
let loading = 0; // the number of the newest load: an older answer that comes late is dropped

export async function open(main, person) {
  account = person;
  isAdministrator = account.type === 'administrator';
  wanted.owner = isAdministrator ? '' : 'mine';
  wanted.status = isAdministrator ? 'waiting' : '';
  for (const [name, value] of new URLSearchParams(location.search)) if (name in wanted && isAdministrator) wanted[name] = value;
  wanted.page = Number(wanted.page) || 1;
  build(main);
  document.addEventListener('keydown', pressed);
  await load();
}

// --- the parts of the page

function build(main) {
  part = {
    statuses: make('fieldset', { class: 'segments', onchange: (event) => look({ status: event.target.value }) },
      make('legend', { class: 'unseen' }, say('status'))),
    search: make('input', { type: 'search', name: 'keyword', value: wanted.keyword, maxlength: 256, 'aria-label': say('search'), placeholder: say('search') }),
    all: make('input', { type: 'checkbox', onchange: (event) => chooseAll(event.target.checked) }),
    chosen: make('span', {}),
    bar: make('div', { class: 'bar', role: 'group', 'aria-label': say('many') }),
    list: make('ol', { class: 'threads', id: 'queue', 'aria-label': say('page.queue') }),
    empty: make('div', { class: 'state', hidden: true }, make('p', {}, say('nothing'))),
    pager: make('nav', { class: 'pager', 'aria-label': say('pages') }),
    help: help(),
  };
  for (const status of ['waiting', 'spam', 'approved', '']) {
    part.statuses.append(make('label', {},
      make('input', { type: 'radio', name: 'status', value: status, checked: status === wanted.status }),
      make('span', { 'data-status': status }, say(`status.${status || 'all'}`))));
  }
  const form = make('form', { class: 'search', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    look({ keyword: part.search.value.trim() });
  } }, part.search);
  const mine = make('label', { class: 'check' },
    make('input', { type: 'checkbox', checked: wanted.owner === 'mine', onchange: (event) => look({ owner: event.target.checked ? 'mine' : '' }) }),
    say('mine'));
  part.bar.append(
    make('label', { class: 'check' }, part.all, part.chosen),
    ...['approve', 'hold', 'spam', 'delete'].map((what) => button(say(what), () => decide(what, [...chosen]), { 'data-do': what })));
  main.append(
    make('div', { class: 'list-head' }, make('h1', {}, say(isAdministrator ? 'page.queue' : 'page.own')), part.statuses),
    isAdministrator ? make('div', { class: 'list-head' }, form, mine, button('?', () => part.help.showModal(), { class: 'plain keys-button', 'aria-label': say('help') })) : '',
    isAdministrator ? part.bar : '', part.list, part.empty, part.pager, part.help);
  if (!isAdministrator) part.statuses.hidden = true;
  showChosen();
}

function help() {
  const keys = [['j', 'next'], ['k', 'previous'], ['a', 'approve'], ['h', 'hold'], ['s', 'spam'], ['d', 'delete'], ['e', 'edit'],
    ['p', 'pin'], ['t', 'thread'], ['x', 'choose'], ['u', 'undo'], ['?', 'help']];
  const dialog = make('dialog', { 'aria-label': say('help') },
    make('h2', {}, say('keys')),
    make('dl', { class: 'key-list' }, keys.map(([key, word]) => [make('dt', {}, make('kbd', {}, key)), make('dd', {}, say(word))])),
    button(say('close'), () => dialog.close(), { class: 'button' }));
  return dialog;
}

function look(changes) {
  Object.assign(wanted, { page: 1, after: '' }, changes);
  chosen.clear();
  showChosen();
  history.replaceState(null, '', `?${query({ ...wanted, after: '' })}`);
  return load();
}

async function load(focused = '') {
  const mine = ++loading;
  part.list.setAttribute('aria-busy', 'true');
  try {
    const found = await ask('GET', `comment?${query({ type: 'list', pageSize: PAGE_SIZE, ...wanted })}`);
    if (mine !== loading) return;
    show(found);
    if (focused) focus(focused === 'first' ? [...shown.keys()][0] : focused);
  } catch (refusal) {
    if (mine === loading) complain(refusal);
  } finally {
    if (mine === loading) part.list.removeAttribute('aria-busy');
  }
}

function show(found) {
  shown = new Map();
  part.list.replaceChildren(...found.data.map((comment) => {
    const element = card(comment, { account, isAdministrator, isChosen: chosen.has(comment.objectId), decide, choose, save });
    shown.set(comment.objectId, { comment, element });
    return element;
  }));
  part.list.querySelectorAll('li').forEach(settle);
  for (const [status, count] of [['waiting', found.waitingCount], ['spam', found.spamCount]]) {
    part.statuses.querySelector(`[data-status=${status}]`).textContent = `${say(`status.${status}`)} ${number(count ?? 0)}`;
  }
  part.empty.hidden = found.data.length > 0;
  showPager(found);
}

function showPager({ page, totalPages, more }) {
  const turn = (to) => { wanted.page = to; return load('first'); };
  part.pager.replaceChildren(...[
    page > 1 && button(say('newer'), () => turn(page - 1), { class: 'button' }),
    totalPages > 1 && make('span', { class: 'quiet' }, say('pageOf', { page, pages: totalPages })),
    page < totalPages && button(say('older'), () => turn(page + 1), { class: 'button' }),
    // A search reads so many comments at a time.
    more && page >= totalPages && make('span', { class: 'quiet' }, say('searched', { count: more.searched })),
    more && page >= totalPages && button(say('searchOn'), () => look({ ...wanted, page: 1, after: more.after }), { class: 'button' }),
  ].filter(Boolean));
}

// --- selecting

function choose(id, isChosen) {
  if (isChosen && chosen.size >= MAX_CHOSEN) return false;
  if (isChosen) chosen.add(id);
  else chosen.delete(id);
  showChosen();
  return true;
}

function chooseAll(isChosen) {
  for (const [id, { element }] of shown) {
    element.querySelector('.choose').checked = isChosen ? choose(id, true) : !choose(id, false);
  }
  showChosen();
}

function showChosen() {
  part.chosen.textContent = chosen.size ? say('chosen', { count: chosen.size }) : say('chooseAll');
  part.all.checked = chosen.size > 0;
  part.bar.querySelectorAll('[data-do]').forEach((each) => { each.disabled = !chosen.size; });
}

// --- deciding

const CHANGES = {
  approve: { status: 'approved' }, hold: { status: 'waiting' }, spam: { status: 'spam' }, pin: { sticky: 1 }, unpin: { sticky: 0 },
};

/** Send one request for all of them; comments that no longer match leave the list. */
async function decide(what, ids) {
  if (!ids.length) return;
  if (!isAdministrator) { await deleteOwn(ids[0]); return; }
  const next = neighbour(ids);
  try {
    const answer = what === 'delete'
      ? await ask('DELETE', 'comment', { ids })
      : await ask('PUT', 'comment', { ids, ...CHANGES[what] });
    const done = Object.values(answer.results).filter((result) => DONE.includes(result)).length;
    const text = say(`done.${what}`, { count: done }) + (done < ids.length ? ` ${say('notDone', { count: ids.length - done })}` : '');
    tell(text, answer.undo ? () => undo(answer.undo, ids[0]) : null);
    ids.forEach((id) => chosen.delete(id));
    showChosen();
    settleList(what, ids, answer.results, next);
  } catch (refusal) {
    complain(refusal);
  }
}

function settleList(what, ids, results, next) {
  const status = CHANGES[what]?.status;
  const goes = what === 'delete' || (status && wanted.status && status !== wanted.status);
  if (!goes) { load(ids.length === 1 ? ids[0] : next); return; }
  for (const id of ids.filter((each) => results[each] !== 'failed')) {
    shown.get(id)?.element.remove();
    shown.delete(id);
  }
  // When the list is at its end it is loaded again, since the next comments have moved up meanwhile.
  if (shown.size && shown.has(next)) focus(next);
  else load('first');
}

async function deleteOwn(id) {
  if (!confirm(say('reallyDelete'))) return;
  try {
    await ask('DELETE', `comment/${id}`);
    tell(say('done.delete', { count: 1 }));
    await load('first');
  } catch (refusal) {
    complain(refusal);
  }
}

async function undo(name, id) {
  try {
    await ask('PUT', 'comment', { undo: name });
    tell(say('undone'));
    await load(id);
  } catch (refusal) {
    complain(refusal);
  }
}

async function save(id, fields) {
  try {
    if (isAdministrator) {
      const answer = await ask('PUT', 'comment', { ids: [id], ...fields });
      const isDone = DONE.includes(answer.results[id]);
      tell(say(isDone ? 'saved' : 'notDone', { count: 1 }), answer.undo ? () => undo(answer.undo, id) : null);
    } else {
      await ask('PUT', `comment/${id}`, fields);
    }
    await load(id);
  } catch (refusal) {
    complain(refusal);
  }
}

// --- by keyboard

function neighbour(ids) {
  const order = [...shown.keys()];
  const at = Math.max(...ids.map((id) => order.indexOf(id)));
  return order.slice(at + 1).find((id) => !ids.includes(id)) ?? order.slice(0, at).reverse().find((id) => !ids.includes(id));
}

const focusedId = () => document.activeElement?.closest?.('#queue > li')?.dataset.id;

function focus(id) {
  const article = shown.get(id)?.element.querySelector('article');
  if (!article) return;
  article.focus({ preventScroll: true });
  article.scrollIntoView({ block: 'nearest' });
}

function pressed(event) {
  const isTyping = event.target.closest('textarea, select, dialog[open], input:not([type=checkbox], [type=radio])');
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  const order = [...shown.keys()];
  const at = order.indexOf(focusedId());
  if (event.key === '?') part.help.showModal();
  else if (event.key === 'j') focus(order[Math.min(at + 1, order.length - 1)]);
  else if (event.key === 'k') focus(order[Math.max(at - 1, 0)]);
  else if (event.key === 'u') takeBack();
  else if (at < 0 || !shown.get(order[at]).element.querySelector(`[aria-keyshortcuts="${CSS.escape(event.key)}"]`)) return;
  else shown.get(order[at]).element.querySelector(`[aria-keyshortcuts="${CSS.escape(event.key)}"]`).click();
  event.preventDefault();
}
