/* The page of the log: what moderators did, newest first. */

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
    body.append(...entries.map(row));
    if (!body.children.length) body.append(make('tr', {}, make('td', { colspan: 5, class: 'quiet' }, say('noLog'))));
    more.replaceChildren(entries.length === PAGE_SIZE ? button(say('older'), () => load(entries.at(-1).entry), { class: 'button' }) : '');
  } catch (refusal) {
    complain(refusal);
  }
}

function row({ time, nick, by, did, id, was, now, url, orig }) {
  const comment = url && make('a', { href: `queue?status=&${query({ keyword: id })}` }, orig || id);
  return make('tr', {},
    make('td', {}, date(time)), make('td', {}, nick || by || say('byCommand')),
    make('td', {}, KNOWN.includes(did) ? say(`did.${did}`) : did, ' ', comment || make('code', {}, id), comment && make('span', { class: 'quiet' }, ` ${url}`)),
    make('td', {}, was), make('td', {}, '→ ', now));
}
