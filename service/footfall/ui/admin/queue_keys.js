/* Keyboard shortcuts of the queue. A control names its key in aria-keyshortcuts; the help lists all. */

import { make, button } from './dom.js';
import { say } from './words.js';

const KEYS = [['j', 'next'], ['k', 'previous'], ['a', 'approve'], ['h', 'hold'], ['s', 'spam'], ['d', 'delete'], ['r', 'reply'], ['e', 'edit'],
  ['p', 'pin'], ['t', 'thread'], ['b', 'ban'], ['x', 'choose'], ['*', 'chooseAll'], ['g', 'groups'], ['o', 'showAll'], ['u', 'undo'], ['?', 'help']];

export function help() {
  const dialog = make('dialog', { 'aria-label': say('help') },
    make('h2', {}, say('keys')),
    make('dl', { class: 'key-list' }, KEYS.map(([key, word]) => [make('dt', {}, make('kbd', {}, key)), make('dd', {}, say(word))])),
    button(say('close'), () => dialog.close(), { class: 'button' }));
  return dialog;
}

/** Is this a shortcut, rather than typing or a shortcut of the browser? */
export function isOurs(event) {
  const isTyping = event.target.closest('textarea, select, dialog[open], input:not([type=checkbox], [type=radio])');
  return !(event.ctrlKey || event.metaKey || event.altKey || isTyping);
}

/** Press the enabled control with this key inside an element; false if there is none. */
export function press(element, key) {
  const found = element?.querySelector(`[aria-keyshortcuts="${CSS.escape(key)}"]:not(:disabled, [aria-disabled=true])`);
  found?.click();
  return Boolean(found);
}
