/* One line at the bottom of the page: what has happened, and a way to take it back. */

import { make, button } from './dom.js';
import { say } from './words.js';

const SHOWN_MS = 8_000;
const UNDO_MS = 58_000; // the server keeps it for a minute

const place = document.getElementById('notice');
let timer = 0;
let undoing = null;

/** `undo` is called once, when the button is pressed within `undoMs`. */
export function tell(text, undo = null, isError = false, undoMs = UNDO_MS) {
  clearTimeout(timer);
  undoing = undo;
  const ways = undo ? [button(say('undo'), takeBack, { class: 'plain undo', 'aria-keyshortcuts': 'u' })] : [];
  place.replaceChildren(make('span', {}, text), ...ways, button('×', clear, { 'aria-label': say('close') }));
  place.classList.toggle('is-error', isError);
  timer = setTimeout(clear, undo ? undoMs : SHOWN_MS);
}

/** How far something is that goes on; `total` null where nobody knows it yet. */
export function progress(text, done, total) {
  clearTimeout(timer);
  undoing = null;
  const bar = make('progress', { max: total || 1, 'aria-label': text });
  if (total) bar.value = done;
  place.replaceChildren(make('span', {}, text), bar);
  place.classList.remove('is-error');
}

/** `again` undoes what this was, if it can be tried again. */
export const complain = (refusal, again = null) => tell(refusal.message, again, true);

/** Undo the last action, if it can be undone. */
export function takeBack() {
  const undo = undoing;
  clear();
  undo?.();
}

function clear() {
  clearTimeout(timer);
  undoing = null;
  place.replaceChildren();
}
