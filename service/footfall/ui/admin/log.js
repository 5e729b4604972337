/* The moderation log, newest first. */

import { make, button } from './dom.js';
import { verdictText } from './comment_parts.js';
import { complain } from './notice.js';
import { ask, query } from './server.js';
import { date, say } from './words.js';

const PAGE_SIZE = 50;
const KNOWN = ['sweep', 'correct', 'move', 'ban', 'unban', 'close', 'invite', 'role', 'anonymize author', 'delete author'];
const OF_COMMENTS = ['moderate', 'edit', 'delete', 'restore', 'remove'];

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
    const older = button(say('older'), () => load(entries.at(-1).entry), { class: 'button' });
    more.replaceChildren(entries.length === PAGE_SIZE ? older : '');
  } catch (refusal) {
    complain(refusal);
  }
}

/** Group entries of one action, and consecutive ones of one moderator that did the same within a minute. */
function together(entries) {
  const groups = [];
  for (const entry of entries) {
    const last = groups.at(-1)?.[0];
    const isSame = last && verb(entry) && verb(entry) === verb(last) && entry.by === last.by
      && (entry.action ? entry.action === last.action : !last.action && Math.abs(last.time - entry.time) < 60_000);
    if (isSame) groups.at(-1).push(entry);
    else groups.push([entry]);
  }
  return groups;
}

/** What was done to a comment: its new status, or what changed; '' for an entry about something else. */
function verb({ did, was = '', now = '' }) {
  if (!OF_COMMENTS.includes(did)) return '';
  if (did !== 'moderate') return did;
  const [[before], [after]] = [was.split(', '), now.split(', ')];
  if (before !== after) return after;
  return now.endsWith('pinned') ? 'pinned' : 'unpinned';
}

/** One row for a group, which expands. */
function bulk(some) {
  const whole = row(some[0]);
  const [before, after] = phrase(some[0]);
  whole.children[2].replaceChildren(make('details', {}, make('summary', {}, before, say('comments', { count: some.length }), after),
    make('ul', {}, some.map((entry) => make('li', {}, about(entry))))));
  return whole;
}

/** What stands before and after what was changed. */
const phrase = (entry) => say(`log.${verb(entry)}`, { what: '\n' }).split('\n');

/** A comment by its first words, its author and page; by its id once it is removed. */
function about({ id, url, orig, author }) {
  if (!url) return [make('code', {}, id)];
  return [make('a', { href: `queue?status=&${query({ keyword: id })}` }, `“${orig || id}”`),
    author && ` ${say('byAuthor', { nick: author })}`, make('span', { class: 'quiet' }, ` ${url}`)];
}

function row(entry) {
  const { time, nick, by, did, id, was, now, door } = entry;
  const [before, after] = verb(entry) ? phrase(entry) : [`${KNOWN.includes(did) ? say(`did.${did}`) : did} `, ''];
  return make('tr', {},
    make('td', {}, date(time)), make('td', {}, nick || by || say(['filter', 'readers'].includes(door) ? `door.${door}` : 'byCommand'), nick && door && make('span', { class: 'quiet' }, ` ${say(`door.${door}`)}`)),
    make('td', {}, before, verb(entry) ? about(entry) : make('code', {}, id), after,
      entry.verdict && make('div', { class: 'quiet' }, verdictText(entry.verdict))),
    make('td', {}, was), make('td', {}, '→ ', now));
}
