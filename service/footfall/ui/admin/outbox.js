/* The page of notifications: queued and failed ones, with reasons, and a test of all channels. */

import { make, button, field } from './dom.js';
import { complain, tell } from './notice.js';
import { ask } from './server.js';
import { date, say } from './words.js';

let list, depth, answers;

export async function open(main) {
  depth = make('p', { class: 'quiet' });
  answers = make('ul', { class: 'rows', 'aria-live': 'polite' });
  list = make('ol', { class: 'rows', 'aria-label': say('givenUp') });
  const form = make('form', { class: 'stack', onsubmit: async (event) => {
    event.preventDefault();
    const { to } = Object.fromEntries(new FormData(form));
    answers.replaceChildren(make('li', { class: 'quiet' }, say('moment')));
    try {
      showAnswers(await ask('POST', 'outbox', { to }));
    } catch (refusal) {
      answers.replaceChildren();
      complain(refusal);
    }
  } },
  field(say('tryReader'), 'to', { type: 'email', maxlength: 254 }, say('tryHint')),
  make('div', {}, make('button', { type: 'submit', class: 'button primary' }, say('tryOut'))));
  main.append(make('h1', {}, say('page.outbox')), depth, form, answers, make('h2', {}, say('givenUp')), list);
  await load();
}

function showAnswers(found) {
  const rows = Object.entries(found).map(([name, failure]) =>
    make('li', {}, make('span', { class: 'who' }, make('strong', {}, name), make('span', { class: 'quiet' }, failure || say('taken')))));
  answers.replaceChildren(...(rows.length ? rows : [make('li', { class: 'quiet' }, say('toldToNobody'))]));
}

async function load() {
  try {
    const { isOn, waiting, later, gathered, data } = await ask('GET', 'outbox');
    depth.textContent = isOn
      ? [say('outboxDepth', { waiting, later }), gathered && say('outboxGathered', { count: gathered })].filter(Boolean).join(' ')
      : say('toldToNobody');
    list.replaceChildren(...data.map(row));
    if (!data.length) list.append(make('li', { class: 'quiet' }, say('nothingGivenUp')));
  } catch (refusal) {
    complain(refusal);
  }
}

function row({ entry, time, kind, id, error }) {
  const act = async (method, words) => {
    try {
      const { count } = await ask(method, 'outbox', { ids: [entry] });
      tell(say(words, { count }));
      await load();
    } catch (refusal) {
      complain(refusal);
    }
  };
  return make('li', {},
    make('span', { class: 'who' }, make('strong', {}, kind, ' ', make('code', {}, id)),
      make('span', { class: 'quiet' }, `${date(Date.parse(time))} · ${error}`)),
    button(say('sendAgain'), () => act('PUT', 'sentAgain')), button(say('forget'), () => act('DELETE', 'forgotten')));
}
