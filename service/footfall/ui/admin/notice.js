/* The line at the bottom of the page: the result of an action, and its undo. */

import { make, button } from './dom.js';
import { say } from './words.js';

const SHOWN_MS = 8_000;
const UNDO_MS = 58_000; // the server keeps the record for a minute
const KEPT = 'footfall.undo';

const place = document.getElementById('notice');
let timer = 0;
// Undoable actions of the last minute, newest first: text, end, callback.
let kept = [];

/** `undo`: the callback `how`, called once, within `ms`; with `kind` and `name` it survives a reload. */
export function tell(text, undo = null, isError = false) {
  if (undo) keep([{ text, until: Date.now() + (undo.ms ?? UNDO_MS), ...undo }, ...kept]);
  show(text, undo && kept[0], isError);
}

/** Offer the undo of actions from before a reload; `ways`: a callback for each kind. */
export function recall(ways) {
  const found = JSON.parse(sessionStorage.getItem(KEPT) ?? '[]');
  keep(found.map((each) => ({ ...each, how: () => ways[each.kind](each.name) })));
  if (kept.length) show(kept[0].text, kept[0]);
}

function keep(actions) {
  kept = actions.filter(({ until }) => until > Date.now());
  sessionStorage.setItem(KEPT, JSON.stringify(kept.filter(({ name }) => name)));
}

function show(text, action, isError = false) {
  clearTimeout(timer);
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
  keep(kept.filter((each) => each !== action));
  clear();
  action?.how();
}

function clear() {
  clearTimeout(timer);
  place.replaceChildren();
}
