/* One line at the bottom of the page: what has happened, and a way to take it back. */

import { make, button } from './dom.js';
import { say } from './words.js';

const SHOWN_MS = 8_000;
const UNDO_MS = 58_000; // the server keeps it for a minute
const KEPT = 'footfall.undo';

const place = document.getElementById('notice');
let timer = 0;
// What of the last minute can be taken back, the last action first: its text, until when, and how.
let kept = [];

/** `undo` has a function `how`, called once, within `ms`; with a `kind` and a `name` it outlives the page. */
export function tell(text, undo = null, isError = false) {
  if (undo) keep([{ text, until: Date.now() + (undo.ms ?? UNDO_MS), ...undo }, ...kept]);
  show(text, undo && kept[0], isError);
}

/** Offer what this page had left to take back before it was loaded again; `ways` have a function for each kind. */
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

/** How far something is that goes on; `total` null where nobody knows it yet. */
export function progress(text, done, total) {
  clearTimeout(timer);
  const bar = make('progress', { max: total || 1, 'aria-label': text });
  if (total) bar.value = done;
  place.replaceChildren(make('span', {}, text), bar);
  place.classList.remove('is-error');
}

/** `again` undoes what this was, if it can be tried again. */
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
