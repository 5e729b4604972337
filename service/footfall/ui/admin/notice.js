/* The line at the bottom of the page: the result of an action, and its undo. */

import { make, button } from './dom.js';
import { say } from './words.js';

const SHOWN_MS = 8_000;
const UNDO_MS = 58_000; // the server keeps the record for a minute

const place = document.getElementById('notice');
let timer = 0;
let shown = []; // the arguments of `show`
// Undoable actions of the last minute, newest first: text, end, callback, name.
let kept = [];
// Actions that were undone here, or are being undone.
const undone = new Set();

// An error's message goes when the next try starts.
for (const kind of ['click', 'submit']) {
  document.addEventListener(kind, ({ target }) => { if (place.classList.contains('is-error') && !place.contains(target)) clear(); }, true);
}

/** `undo`: the callback `how`, called once, within `ms`, and the action's `name`. */
export function tell(text, undo = null, isError = false) {
  if (undo) {
    undone.delete(undo.name);
    keep([{ text, until: Date.now() + (undo.ms ?? UNDO_MS), ...undo }, ...kept.filter(({ name }) => !name || name !== undo.name)]);
  }
  show(text, undo && kept[0], isError);
}

/** Offer the undo of actions that the server knows, of others, or from before a reload: text, `ms`, callback, name. */
export function recall(actions) {
  const known = new Set(kept.map(({ name }) => name));
  const news = actions.filter(({ name }) => !known.has(name) && !undone.has(name));
  if (!news.length) return;
  keep([...news.map(({ ms, ...each }) => ({ ...each, until: Date.now() + ms })), ...kept].sort((one, other) => other.until - one.until));
  if (place.children.length) show(...shown);
  else show(kept[0].text, kept[0]);
}

function keep(actions) {
  kept = actions.filter(({ until }) => until > Date.now());
}

function show(text, action, isError = false) {
  clearTimeout(timer);
  shown = [text, action, isError];
  const earlier = kept.filter((each) => each !== action);
  place.replaceChildren(
    make('span', {}, text), ...(action ? [way(action)] : []),
    button('×', clear, { 'aria-label': say('close') }),
    ...(earlier.length ? [make('details', {}, make('summary', {}, say('undoEarlier', { count: earlier.length })),
      make('ul', {}, ...earlier.map((each) => make('li', {}, make('span', {}, each.text), way(each)))))] : []));
  place.classList.toggle('is-error', isError);
  timer = setTimeout(clear, action ? action.until - Date.now() : SHOWN_MS);
}

const way = (action) => button(say('undo'), () => takeBack(action), {
  class: 'plain undo', 'aria-label': `${say('undo')}: ${action.text}`, 'aria-keyshortcuts': action === kept[0] && 'u' });

/** Show progress; `total` null: unknown. */
export function progress(text, done, total) {
  clearTimeout(timer);
  const bar = make('progress', { max: total || 1, 'aria-label': text });
  if (total) bar.value = done;
  place.replaceChildren(make('span', {}, text), bar);
  place.classList.remove('is-error');
}

/** `again`: the undo, if it can be retried. */
export const complain = (refusal, again = null) => tell(refusal.message, again, true);

/** Undo this action, or the last one, if it can be undone. */
export function takeBack(action = kept[0]) {
  if (action?.name) undone.add(action.name);
  keep(kept.filter((each) => each !== action));
  clear();
  action?.how();
}

function clear() {
  clearTimeout(timer);
  place.replaceChildren();
}
