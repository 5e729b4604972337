/* The page of bans: who may not comment, register or log in, since when, why, and until when. */

import { make, button, field } from './dom.js';
import { complain, tell } from './notice.js';
import { ask, query } from './server.js';
import { date, say } from './words.js';

const DAY_MS = 86_400_000;
const PAGE_SIZE = 50;
const PERIODS = [0, 1, 7, 30, 365]; // days; 0 is for ever

let list, pager;

export async function open(main) {
  list = make('ol', { class: 'rows', 'aria-label': say('page.bans') });
  pager = make('nav', { class: 'pager', 'aria-label': say('pages') });
  const form = make('form', { class: 'stack', onsubmit: async (event) => {
    event.preventDefault();
    const { value, days, reason } = Object.fromEntries(new FormData(form));
    const until = Number(days) ? new Date(Date.now() + days * DAY_MS).toISOString() : '';
    try {
      const ban = await ask('POST', 'ban', { value, until, reason });
      tell(say('isBanned', { value: ban.value }));
      form.reset();
      await load(1);
    } catch (refusal) {
      complain(refusal);
    }
  } },
  field(say('whom'), 'value', { required: true, maxlength: 254, value: new URLSearchParams(location.search).get('value') ?? '' }, say('whomHint')),
  make('p', { class: 'field' }, make('label', { for: 'f-days' }, say('howLong')),
    make('select', { id: 'f-days', name: 'days' }, PERIODS.map((days) => make('option', { value: days }, days ? say('days', { count: days }) : say('forEver'))))),
  field(say('reason'), 'reason', { maxlength: 200 }, say('reasonHint')),
  make('div', {}, make('button', { type: 'submit', class: 'button primary' }, say('ban'))));
  main.append(make('h1', {}, say('page.bans')), form, list, pager);
  await load(1);
}

async function load(page) {
  try {
    const { data, totalPages } = await ask('GET', `ban?${query({ page, pageSize: PAGE_SIZE })}`);
    list.replaceChildren(...data.map((ban) => row(ban, () => load(page))));
    if (!data.length) list.append(make('li', { class: 'quiet' }, say('nobody')));
    pager.replaceChildren(...[
      page > 1 && button(say('newer'), () => load(page - 1), { class: 'button' }),
      page < totalPages && button(say('older'), () => load(page + 1), { class: 'button' }),
    ].filter(Boolean));
  } catch (refusal) {
    complain(refusal);
  }
}

function row({ value, until, reason, createdAt }, again) {
  const when = say('since', { date: date(Date.parse(createdAt)) }) + (until ? ` ${say('until', { date: date(Date.parse(until)) })}` : '');
  return make('li', {},
    make('span', { class: 'who' }, make('strong', {}, value), make('span', { class: 'quiet' }, [when, reason].filter(Boolean).join(' · '))),
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
