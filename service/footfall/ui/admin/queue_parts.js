/* The elements of the moderation queue: search, bulk actions, groups, list. */

import { make, button } from './dom.js';
import { help } from './queue_keys.js';
import { say } from './words.js';

/** Elements by name; `acts` are their callbacks. */
export function build(main, wanted, isModerator, acts) {
  const part = {
    statuses: make('fieldset', { class: 'segments', onchange: (event) => acts.look({ status: event.target.value }) },
      make('legend', { class: 'unseen' }, say('status'))),
    search: make('input', { type: 'search', name: 'keyword', value: wanted.keyword, maxlength: 256, 'aria-label': say('search'), placeholder: say('search') }),
    all: make('input', { type: 'checkbox', 'aria-keyshortcuts': '*', disabled: true, onchange: (event) => acts.chooseAll(event.target.checked) }),
    chosen: make('span', {}),
    everything: button('', acts.chooseEverything, { class: 'plain everything' }),
    clear: button(say('emptySpam'), () => acts.decideAll('delete'), { class: 'plain danger' }),
    bar: make('div', { class: 'bar', role: 'group', 'aria-label': say('many') }),
    news: make('div', { class: 'news', role: 'status' }),
    grouped: button(say('groups'), acts.group, { class: 'button', 'aria-pressed': 'false', 'aria-keyshortcuts': 'g', title: 'g' }),
    note: make('p', { class: 'quiet', hidden: true }),
    groups: make('ol', { class: 'threads', id: 'groups', 'aria-label': say('groups') }),
    list: make('ol', { class: 'threads', id: 'queue', 'aria-label': say('page.queue') }),
    bin: make('ol', { class: 'threads', id: 'bin', 'aria-label': say('status.deleted') }),
    empty: make('div', { class: 'state', hidden: true }),
    end: make('div', { class: 'pager' }),
    help: help(),
  };
  for (const status of ['waiting', 'spam', 'approved', '', 'deleted']) {
    part.statuses.append(make('label', {},
      make('input', { type: 'radio', name: 'status', value: status, checked: status === wanted.status }),
      make('span', { 'data-status': status }, say(`status.${status || 'all'}`))));
  }
  const form = make('form', { class: 'search', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    acts.look({ keyword: part.search.value.trim() });
  } }, part.search);
  const mine = make('label', { class: 'check' },
    make('input', { type: 'checkbox', checked: wanted.owner === 'mine', onchange: (event) => acts.look({ owner: event.target.checked ? 'mine' : '' }) }),
    say('mine'));
  part.bar.append(
    make('label', { class: 'check' }, part.all, part.chosen), part.everything, part.clear,
    ...['approve', 'hold', 'spam', 'delete'].map((what) =>
      button(say(what), () => acts.decideChosen(what), { 'data-do': what, 'aria-keyshortcuts': what[0], title: what[0] })));
  part.tools = make('div', { class: 'list-head' }, form, part.grouped, mine, button('?', () => part.help.showModal(), { class: 'plain keys-button', 'aria-label': say('help') }));
  main.append(
    make('div', { class: 'list-head' }, make('h1', {}, say(isModerator ? 'page.queue' : 'page.own')), part.statuses),
    isModerator ? part.tools : '',
    isModerator ? part.bar : '', part.news, part.note, part.groups, part.list, part.bin, part.empty, part.end, part.help);
  if (!isModerator) part.statuses.hidden = true;
  return part;
}
