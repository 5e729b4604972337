/* The page of counters: those of a page, the highest of all, and corrections.
 *
 * Statistics supply the most read pages. Other counters have no index by count, so a search reads all of them in
 * steps and shows its progress.
 */

import { make, button, field } from './dom.js';
import { complain, tell } from './notice.js';
import { ask, query } from './server.js';
import { number, say } from './words.js';

const SHOWN = 50;

let body, progress, stop;
let walk = 0; // number of the newest search; older ones stop

export async function open(main) {
  body = make('tbody', {});
  progress = make('progress', { max: 1, value: 0, 'aria-label': say('searching'), hidden: true });
  stop = button(say('stop'), () => { walk += 1; idle(); }, { class: 'button', hidden: true });
  const words = make('input', { type: 'search', name: 'keyword', maxlength: 2048, 'aria-label': say('pathWords'), placeholder: say('pathWords') });
  const type = make('select', { name: 'type', 'aria-label': say('type') },
    ['time', '', ...Array.from({ length: 9 }, (_, n) => `reaction${n}`)].map((each) => make('option', { value: each }, nameOf(each))));
  const form = make('form', { class: 'search row', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    search(words.value.trim(), type.value);
  } }, words, type, make('button', { type: 'submit', class: 'button primary' }, say('find')));
  main.append(
    make('div', { class: 'list-head' }, make('h1', {}, say('page.counters')), form),
    make('p', { class: 'quiet' }, say('countersHint')),
    make('div', { class: 'actions' }, progress, stop),
    make('div', { class: 'scroll' }, make('table', { class: 'data' },
      make('thead', {}, make('tr', {}, make('th', {}, say('page')), make('th', {}, say('type')), make('th', { class: 'count' }, say('count')), make('td', {}))), body)));
  showMostRead().catch(complain);
}

/** The most read pages, if statistics are on. */
async function showMostRead() {
  const mine = walk;
  const { pages } = await ask('GET', `statistics/top?${query({ days: 0, count: SHOWN })}`);
  if (mine === walk && pages.length) show(pages.map(({ path, views }) => ({ path, type: 'time', count: views })));
}

const nameOf = (type) => (type === 'time' ? say('views') : type ? type.replace('reaction', `${say('reaction')} `) : say('status.all'));

/** Text with a leading slash is a page's address; anything else is searched for. */
async function search(words, type) {
  walk += 1;
  const mine = walk;
  try {
    if (words.startsWith('/')) {
      const { path, counts } = await ask('GET', `counters?${query({ path: words })}`);
      if (mine === walk) show(Object.entries(counts).filter(([, count]) => count).map(([kind, count]) => ({ path, type: kind, count })));
      if (Object.values(counts).some(Boolean)) { idle(); return; }
    }
    await goThrough(mine, words, type);
  } catch (refusal) {
    complain(refusal);
  }
  if (mine === walk) idle();
}

async function goThrough(mine, keyword, type) {
  let found = [];
  let after = 0;
  progress.hidden = stop.hidden = false;
  body.replaceChildren();
  do {
    const part = await ask('GET', `counters?${query({ keyword, type, after })}`);
    if (mine !== walk) return;
    const each = new Map([...found, ...part.data].map((counter) => [`${counter.type} ${counter.path}`, counter]));
    found = [...each.values()].sort((a, b) => b.count - a.count).slice(0, SHOWN);
    progress.value = part.share;
    ({ after } = part);
    // An empty result is certain only at the end.
    if (found.length || !after) show(found);
  } while (after);
}

function idle() {
  progress.hidden = stop.hidden = true;
}

function show(found) {
  body.replaceChildren(...found.map(row));
  if (!found.length) body.append(make('tr', {}, make('td', { colspan: 4, class: 'quiet' }, say('noCounters'))));
}

function row(counter) {
  const count = make('td', { class: 'count' }, number(counter.count));
  return make('tr', {},
    make('td', {}, make('a', { href: `statistics?${query({ path: counter.path })}` }, counter.path)), make('td', {}, nameOf(counter.type)), count,
    make('td', { class: 'actions' }, button(say('correct'), () => correct(counter, count)), button(say('move'), () => move(counter.path))));
}

/** Move a page to another path: the first submit shows what would move, the second one moves it. */
function move(path) {
  const what = make('p', { role: 'status' });
  const submit = make('button', { type: 'submit', class: 'button primary' }, say('goOn'));
  let shown = '';
  const form = make('form', { class: 'stack', oninput: () => askAgain(), onsubmit: async (event) => {
    event.preventDefault();
    const to = new FormData(form).get('to').trim();
    const meant = shown === to;
    try {
      const { had, met, isOver, to: target } = await ask('POST', 'pages/move', { path, to, meant });
      if (!meant) {
        shown = to;
        what.textContent = say('wouldMove', { to: target, had: say('holding', had), met: say('holding', met) });
        submit.textContent = say('move');
        return;
      }
      dialog.close();
      tell(isOver ? say('moved', { path: target }) : say('movesOn'));
    } catch (refusal) {
      complain(refusal);
    }
  } },
  make('h2', {}, say('move')), make('p', {}, path),
  field(say('newPath'), 'to', { required: true, maxlength: 2048, value: path }, say('newPathHint')), what,
  make('div', { class: 'actions' }, submit, button(say('cancel'), () => dialog.close(), { class: 'button' })));
  const askAgain = () => { shown = what.textContent = ''; submit.textContent = say('goOn'); };
  const dialog = make('dialog', { 'aria-label': say('move'), onclose: () => dialog.remove() }, form);
  document.body.append(dialog);
  dialog.showModal();
}

function correct(counter, cell) {
  const form = make('form', { class: 'stack', onsubmit: async (event) => {
    event.preventDefault();
    const given = new FormData(form);
    try {
      const { path, type } = counter;
      const { count } = await ask('PUT', 'counters', { path, type, from: counter.count, to: Number(given.get('to')), reason: given.get('reason') });
      counter.count = count;
      cell.textContent = number(count);
      dialog.close();
      tell(say('corrected', { path, count }));
    } catch (refusal) {
      complain(refusal);
    }
  } },
  make('h2', {}, say('correct')), make('p', {}, counter.path, ' · ', nameOf(counter.type)),
  field(say('count'), 'to', { type: 'number', min: 0, step: 1, required: true, value: counter.count }, say('countHint')),
  field(say('reason'), 'reason', { required: true, maxlength: 200 }, say('reasonHint')),
  make('div', { class: 'actions' }, make('button', { type: 'submit', class: 'button primary' }, say('save')),
    button(say('cancel'), () => dialog.close(), { class: 'button' })));
  const dialog = make('dialog', { 'aria-label': say('correct'), onclose: () => dialog.remove() }, form);
  document.body.append(dialog);
  dialog.showModal();
}
