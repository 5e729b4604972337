/* The moderation log, newest first. */

import { make, button } from './dom.js';
import { complain } from './notice.js';
import { ask, query } from './server.js';
import { date, say } from './words.js';

const PAGE_SIZE = 50;
const KNOWN = ['moderate', 'edit', 'delete', 'restore', 'correct', 'move', 'ban', 'unban', 'close', 'invite', 'role', 'anonymize author', 'delete author'];

let body, more;

export async function open(main) {
  body = make('tbody', {});
  more = make('p', { class: 'more' });
  main.append(make('h1', {}, say('page.log')),
    make('div', { class: 'scroll' }, make('table', { class: 'data' },
      make('thead', {}, make('tr', {}, ['when', 'who', 'what', 'was', 'now'].map((each) => make('th', {}, say(each))))), body)), more);
  await load('');
}

async function load(before) {
  try {
    const entries = await ask('GET', `log?${query({ before, pageSize: PAGE_SIZE })}`);
    body.append(...together(entries).map((some) => (some.length > 1 ? bulk(some) : row(some[0]))));
    if (!body.children.length) body.append(make('tr', {}, make('td', { colspan: 5, class: 'quiet' }, say('noLog'))));
    const older = button(say('older'), async () => {
      older.disabled = true; // a second tap would append the same entries again
      await load(entries.at(-1).entry);
      older.disabled = false;
    }, { class: 'button' });
    more.replaceChildren(entries.length === PAGE_SIZE ? older : '');
  } catch (refusal) {
    complain(refusal);
  }
}

/** Group consecutive entries of one moderator that did the same to several comments within a minute. */
function together(entries) {
  const groups = [];
  for (const entry of entries) {
    const last = groups.at(-1)?.[0];
    const isSame = last && entry.url && last.url && ['by', 'did', 'was', 'now'].every((name) => entry[name] === last[name]);
    if (isSame && Math.abs(last.time - entry.time) < 60_000) groups.at(-1).push(entry);
    else groups.push([entry]);
  }
  return groups;
}

/** One row for a group, which expands. */
function bulk(some) {
  const whole = row({ ...some[0], url: '', id: '' });
  const what = whole.children[2];
  what.replaceChildren(make('details', {}, make('summary', {}, say('didMany', { did: what.firstChild.textContent, count: some.length })),
    make('ul', {}, some.map((entry) => make('li', {}, ...row(entry).children[2].childNodes)))));
  return whole;
}

function row({ time, nick, by, did, id, was, now, url, orig }) {
  const comment = url && make('a', { href: `queue?status=&${query({ keyword: id })}` }, orig || id);
  return make('tr', {},
    make('td', {}, date(time)), make('td', {}, nick || by || say('byCommand')),
    make('td', {}, KNOWN.includes(did) ? say(`did.${did}`) : did, ' ', comment || make('code', {}, id), comment && make('span', { class: 'quiet' }, ` ${url}`)),
    make('td', {}, was), make('td', {}, '→ ', now));
}
