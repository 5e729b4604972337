/* The page for data requests: export, anonymise or delete everything stored about an author.
 *
 * Each request covers a part of the site's comments, so the page sends several.
 */

import { make, button, field } from './dom.js';
import { complain, tell } from './notice.js';
import { ask, query } from './server.js';
import { say } from './words.js';

const SHOWN = 20;

let place, progress;

export async function open(main) {
  place = make('div', {});
  progress = make('p', { class: 'quiet', role: 'status' });
  const who = new URLSearchParams(location.search).get('who') ?? '';
  const form = make('form', { class: 'stack', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    show(new FormData(form).get('who').trim());
  } },
  field(say('author'), 'who', { required: true, maxlength: 254, value: who }, say('authorHint')),
  make('div', {}, make('button', { type: 'submit', class: 'button primary' }, say('find'))));
  main.append(make('h1', {}, say('page.authors')), make('p', { class: 'quiet' }, say('authorsHint')), form, progress, place);
  if (who) await show(who);
}

/** Send requests until nothing is left; `use` gets each answer. False if one failed. */
async function goThrough(request, use) {
  let searched = 0;
  let after = '';
  try {
    do {
      const part = await request(after);
      use(part);
      searched += part.more?.searched ?? 0;
      after = part.more?.after ?? '';
      progress.textContent = after ? say('searched', { count: searched }) : '';
    } while (after);
    return true;
  } catch (refusal) {
    progress.textContent = '';
    complain(refusal);
    return false;
  }
}

async function show(who) {
  place.replaceChildren();
  const found = { account: null, mail: '', comments: [] };
  const isWhole = await goThrough(
    (after) => ask('GET', `author?${query({ who, after })}`),
    ({ account, mail, data }) => { Object.assign(found, { account, mail }); found.comments.push(...data); });
  if (!isWhole) return;
  const act = (method, word) => button(say(word), () => erase(method, word, who), { class: 'button danger' });
  place.replaceChildren(
    make('h2', {}, found.account?.display_name || found.mail || who),
    make('p', {}, say(found.account ? 'hasAccount' : 'hasNoAccount'), ' ', say('wrote', { count: found.comments.length })),
    make('div', { class: 'actions' }, button(say('export'), () => download(found), { class: 'button' }), act('PUT', 'anonymize'), act('DELETE', 'erase')),
    make('ol', { class: 'rows' }, found.comments.slice(0, SHOWN).map((each) =>
      make('li', {}, make('span', { class: 'who' }, make('span', { class: 'quiet' }, each.page), make('span', {}, each.text))))));
}

async function erase(method, word, who) {
  if (!confirm(say(`really.${word}`, { who }))) return;
  let comments = 0;
  if (!await goThrough((after) => ask(method, 'author', { who, after }), (part) => { comments += part.comments; })) return;
  place.replaceChildren();
  tell(say(`done.${word}`, { count: comments }));
}

function download(found) {
  const address = URL.createObjectURL(new Blob([JSON.stringify(found, null, 2)], { type: 'application/json' }));
  make('a', { href: address, download: 'author.json' }).click();
  URL.revokeObjectURL(address);
}
