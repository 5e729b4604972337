/* Pages closed to new comments, a section of the page of bans. */

import { make, button, choice, field } from './dom.js';
import { complain, tell } from './notice.js';
import { ask } from './server.js';
import { say } from './words.js';

const DAYS = [0, 14, 30, 90, 365, -1]; // after the first comment; 0: now, -1: never

let list;

export async function closings() {
  list = make('ol', { class: 'rows', 'aria-label': say('closed') });
  const form = make('form', { class: 'stack', onsubmit: (event) => {
    event.preventDefault();
    const { path, after } = Object.fromEntries(new FormData(form));
    change(path.trim(), Number(after));
  } },
  field(say('page'), 'path', { maxlength: 2048, placeholder: '/a/page' }, say('closedHint')),
  choice(say('newComments'), 'after', DAYS.map((days) => [days, rule(days)])),
  make('div', {}, make('button', { type: 'submit', class: 'button primary' }, say('save'))));
  await load();
  return make('section', {}, make('h2', {}, say('closed')), form, list);
}

function rule(days) {
  if (days < 0) return say('closed.never');
  return days ? say('closed.after', { count: days }) : say('closed.now');
}

const name = (path) => path || say('closed.others');

/** `days` null: the default for all other pages applies again. */
async function change(path, days) {
  try {
    const changed = await ask('PUT', 'pages/closed', { path, days });
    tell(`${name(changed.path)}: ${days === null ? say('closed.asOthers') : rule(days)}`);
    await load();
  } catch (refusal) {
    complain(refusal);
  }
}

async function load() {
  const { data } = await ask('GET', 'pages/closed');
  list.replaceChildren(...data.map(({ path, days }) => make('li', {},
    make('span', { class: 'who' }, make('strong', {}, name(path)), make('span', { class: 'quiet' }, rule(days))),
    button(say('remove'), () => change(path, null)))));
  if (!data.length) list.append(make('li', { class: 'quiet' }, say('closed.none')));
}
