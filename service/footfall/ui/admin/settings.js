/* The page of settings in force, read-only. */

import { make } from './dom.js';
import { ask } from './server.js';
import { meanings, say } from './words.js';

export async function open(main) {
  const [settings, translated] = await Promise.all([ask('GET', 'settings'), meanings()]);
  const body = make('tbody', {}, settings.map(({ name, value, default: usual, meaning }) =>
    make('tr', { class: value !== usual && 'is-set' },
      make('td', {}, make('code', {}, name), make('span', { class: 'hint' }, translated[name] ?? meaning)),
      make('td', {}, value === '' ? make('span', { class: 'quiet' }, '–') : make('code', {}, value)))));
  const only = make('input', { type: 'checkbox', onchange: () => body.classList.toggle('only-set', only.checked) });
  main.append(make('h1', {}, say('page.settings')),
    make('p', { class: 'quiet' }, say('settingsHint')),
    make('label', { class: 'check' }, only, say('onlySet')),
    make('div', { class: 'scroll' }, make('table', { class: 'data' }, body)));
}
