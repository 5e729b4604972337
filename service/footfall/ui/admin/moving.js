/* Import and export: a file of another system is checked first, then imported. */

import { make, button, field } from './dom.js';
import { complain, tell } from './notice.js';
import { ask, query, upload, Refusal } from './server.js';
import { number, say } from './words.js';

const MOST_MIB = 32; // as on the server
const EXPORT_MS = 600_000;
const KINDS = ['comments', 'counters', 'accounts'];
const OUTCOMES = ['read', 'stored', 'there', 'changed', 'refused'];

let form, place;

export async function open(main) {
  place = make('section', { 'aria-live': 'polite' });
  const ways = ['max', 'sum', 'replace'].map((way) => make('option', { value: way }, say(`way.${way}`)));
  form = make('form', { class: 'stack', onsubmit: (event) => {
    event.preventDefault();
    send(true);
  }, onchange: () => place.replaceChildren() },
  field(say('file'), 'file', { type: 'file', required: true }, say('fileHint', { most: MOST_MIB })),
  make('p', { class: 'field' }, make('label', { for: 'f-way' }, say('countersThere')), make('select', { id: 'f-way', name: 'way' }, ways)),
  make('div', {}, make('button', { type: 'submit', class: 'button primary' }, say('tryFile'))));
  main.append(make('h1', {}, say('page.moving')),
    make('section', {}, make('h2', {}, say('import')), make('p', { class: 'quiet' }, say('importHint')), form), place,
    make('section', {}, make('h2', {}, say('exportTitle')), make('p', { class: 'quiet' }, say('exportHint')),
      make('div', { class: 'actions' }, button(say('export'), download, { class: 'button' }))));
}

/** Import the chosen file, or with `dry` only report what would happen. */
async function send(dry) {
  const file = form.elements.file.files[0];
  const bar = make('progress', { max: 1, 'aria-label': say('moment') });
  const step = make('p', { class: 'quiet', role: 'status' }, say('moment'));
  place.replaceChildren(step, bar);
  form.inert = true;
  try {
    if (file.size > MOST_MIB * 2 ** 20) throw new Refusal(say('fileTooLarge', { most: MOST_MIB }));
    const report = await upload(`import?${query({ dry, counters: form.elements.way.value })}`, file, (each) => {
      step.textContent = say(`step.${each.step}`);
      bar.value = each.share;
    });
    show(report);
  } catch (refusal) {
    place.replaceChildren();
    complain(refusal);
  } finally {
    form.inert = false;
  }
}

function show(report) {
  const isDry = report.isDry;
  place.replaceChildren(
    make('h2', {}, say(isDry ? 'wasTried' : 'wasImported', { format: report.format })),
    numbers(report),
    ...notes(report),
    isDry ? make('div', { class: 'actions' }, button(say('importNow'), () => send(false), { class: 'button primary' })) : '');
  if (!isDry) tell(say('imported', { count: report.comments.stored }));
}

function numbers(report) {
  const rows = KINDS.filter((kind) => report[kind].read).map((kind) => make('li', {}, make('span', { class: 'who' },
    make('strong', {}, say(`kind.${kind}`)),
    make('span', { class: 'quiet' }, OUTCOMES.map((outcome) => `${number(report[kind][outcome])} ${say(`outcome.${outcome}`)}`).join(' · ')))));
  return rows.length ? make('ul', { class: 'rows' }, rows) : make('p', { class: 'quiet' }, say('emptyFile'));
}

/** Changed and refused rows by reason, in the server's words. */
function notes({ reasons, rows }) {
  if (!reasons.length) return [];
  const all = reasons.reduce((sum, each) => sum + each.number, 0);
  const row = ({ kind, outcome, why, row: name }) => make('li', {}, make('span', { class: 'who' },
    make('strong', {}, say(`kind.${kind}`), ' ', make('code', {}, name)), make('span', { class: 'quiet' }, `${say(`outcome.${outcome}`)}: ${why}`)));
  return [
    make('h2', {}, say('changedOrRefused')),
    make('ul', { class: 'rows' }, reasons.map(({ kind, outcome, why, number: count, example }) =>
      make('li', {}, make('span', { class: 'who' }, make('strong', {}, `${number(count)} × ${say(`kind.${kind}`)}, ${say(`outcome.${outcome}`)}`),
        make('span', { class: 'quiet' }, `${why} (${example})`))))),
    make('details', {}, make('summary', {}, say('rowByRow', { count: rows.length, all })), make('ol', { class: 'rows' }, rows.map(row))),
  ];
}

async function download() {
  try {
    const archive = await ask('GET', 'db', undefined, EXPORT_MS);
    const address = URL.createObjectURL(new Blob([JSON.stringify(archive)], { type: 'application/json' }));
    make('a', { href: address, download: 'footfall.json' }).click();
    URL.revokeObjectURL(address);
  } catch (refusal) {
    complain(refusal);
  }
}
