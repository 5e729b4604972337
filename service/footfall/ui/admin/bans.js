/* The page of bans: value, start, reason, end, and how often each has caught something. */

import { carryOut } from './bulk.js';
import { closings } from './closings.js';
import { make, button, choice, field } from './dom.js';
import { complain, tell } from './notice.js';
import { ask, query } from './server.js';
import { date, say } from './words.js';

const DAY_MS = 86_400_000;
const PAGE_SIZE = 50;
const PERIODS = [0, 1, 7, 30, 365]; // days; 0: permanent
// For existing comments that the ban matches: the action, and their status.
const THEIRS = { none: null, spam: ['spam', 'waiting'], delete: ['delete', ''] };

let list, pager;

export async function open(main) {
  list = make('ol', { class: 'rows', 'aria-label': say('page.bans') });
  pager = make('nav', { class: 'pager', 'aria-label': say('pages') });
  // From the queue, the moderator has just seen the pending ones.
  const value = new URLSearchParams(location.search).get('value') ?? '';
  const form = make('form', { class: 'stack', onsubmit: async (event) => {
    event.preventDefault();
    const { value, days, reason, theirs } = Object.fromEntries(new FormData(form));
    const until = Number(days) ? new Date(Date.now() + days * DAY_MS).toISOString() : '';
    try {
      const ban = await add({ value, until, reason });
      if (!ban) return;
      tell(say('isBanned', { value: ban.value }));
      form.reset();
      if (THEIRS[theirs]) await remove(ban.value, ...THEIRS[theirs]);
      await load(1);
    } catch (refusal) {
      complain(refusal);
    }
  } },
  field(say('whom'), 'value', { required: true, maxlength: 254, value }, say('whomHint')),
  choice(say('howLong'), 'days', PERIODS.map((days) => [days, days ? say('days', { count: days }) : say('forEver')])),
  choice(say('theirs'), 'theirs', Object.keys(THEIRS).map((name) => [name, say(`theirs.${name}`)]), value ? 'spam' : 'none'),
  field(say('reason'), 'reason', { maxlength: 200 }, say('reasonHint')),
  make('div', {}, make('button', { type: 'submit', class: 'button primary' }, say('ban'))));
  main.append(make('h1', {}, say('page.bans')), form, list, pager, await closings());
  await load(1);
}

/** The ban; null if it would lock out an account, and is not meant. */
async function add(fields) {
  try {
    return await ask('POST', 'ban', fields);
  } catch (refusal) {
    if (refusal.message !== say('locksOut')) throw refusal;
    return confirm(`${refusal.message} ${say('reallyBan')}`) ? ask('POST', 'ban', { ...fields, meant: 1 }) : null;
  }
}

/** Apply the action to existing comments; new ones are caught by the ban. */
async function remove(ban, what, status) {
  const { data: [newest] } = await ask('GET', `queue?${query({ status, pageSize: 1 })}`);
  if (newest) await carryOut(what, { status, ban, newest: newest.objectId }, () => {});
}

async function load(page) {
  try {
    const { data, totalPages } = await ask('GET', `ban?${query({ page, pageSize: PAGE_SIZE })}`);
    list.replaceChildren(...data.map((ban) => row(ban, () => load(page))));
    if (!data.length) list.append(make('li', { class: 'quiet' }, say('noBans')));
    pager.replaceChildren(...[
      page > 1 && button(say('newer'), () => load(page - 1), { class: 'button' }),
      page < totalPages && button(say('older'), () => load(page + 1), { class: 'button' }),
    ].filter(Boolean));
  } catch (refusal) {
    complain(refusal);
  }
}

function row({ value, until, reason, createdAt, caught, caughtAt }, again) {
  const catches = caught ? say('caught', { count: caught, date: date(Date.parse(caughtAt)) }) : say('caughtNothing');
  const when = say('since', { date: date(Date.parse(createdAt)) }) + (until ? ` ${say('until', { date: date(Date.parse(until)) })}` : '');
  return make('li', {},
    make('span', { class: 'who' }, make('strong', {}, value), make('span', { class: 'quiet' }, [when, reason, catches].filter(Boolean).join(' · '))),
    button(say('lift'), async () => {
      try {
        await ask('DELETE', 'ban', { value });
        tell(say('lifted', { value }));
        await again();
      } catch (refusal) {
        complain(refusal);
      }
    }));
}
