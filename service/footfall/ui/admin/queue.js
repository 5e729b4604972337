/* The moderation queue: pending comments, spam, approved ones, all, or your own.
 *
 * Each decision is one request, for one comment or for many, and can be undone for a minute. A comment
 * that no longer matches leaves the list, and the next one gets the focus.
 */

import { BinList } from './bin.js';
import { carryOut, lookAtActions, viewer } from './bulk.js';
import { card } from './comment.js';
import { body } from './comment_parts.js';
import { make, button, disable } from './dom.js';
import { GroupList } from './groups.js';
import { complain, takeBack, tell } from './notice.js';
import { isOurs, press } from './queue_keys.js';
import { CommentList } from './queue_list.js';
import { build } from './queue_parts.js';
import { ask, askQueue, newName, query } from './server.js';
import { showTitles } from './titles.js';
import { number, say } from './words.js';

const MAX_CHOSEN = 200;
const DONE = ['done', 'unchanged'];
// As many as one screen shows: an action on more is confirmed.
const SCREEN = 20;
const NEWS_MS = 20_000;
// A message about a failure does not wait longer for the newest version of its comment.
const NEWEST_MS = 3_000;

let account, isModerator, part, list, groups, bin;
let known = {};
const wanted = { status: '', owner: '', keyword: '' };
const chosen = new Set(); // selected ids, all of them in the list
const busy = new Set(); // ids with a request in progress
let isAll = false; // is the whole list selected, beyond the rows shown?
let isGrouped = false; // are similar comments shown as groups, above the others?
let isPart = false; // do the groups cover only the newest comments?
let loads = 0;

export async function open(main, person) {
  account = person;
  viewer.id = person.objectId;
  isModerator = ['administrator', 'moderator'].includes(account.type);
  wanted.owner = isModerator ? '' : 'mine';
  wanted.status = isModerator ? 'waiting' : '';
  for (const [name, value] of new URLSearchParams(location.search)) if (name in wanted && isModerator) wanted[name] = value;
  part = build(main, wanted, isModerator, {
    look, chooseAll, decideAll, decideChosen,
    chooseEverything: () => { isAll = true; showChosen(); },
    group: () => { isGrouped = !isGrouped; look({}); },
  });
  showChosen();
  list = new CommentList(part.list, row, showKnown);
  groups = new GroupList(part.groups, { decide: decideGroups, choose: () => { isAll = false; showChosen(); }, leave });
  bin = new BinList(part.bin, showBin);
  document.addEventListener('keydown', pressed);
  await load();
  answer(new URLSearchParams(location.search).get('reply'));
  if (!isModerator) return;
  await lookAtActions(load);
  setInterval(() => { if (!document.hidden) lookAtActions(load); }, NEWS_MS);
}

const row = (comment) => card(comment, { account, isModerator, isChosen: chosen.has(comment.objectId), decide, choose, save, reply });

/** Open the form to reply to this comment, which a link of the overview names. */
function answer(id) {
  const found = id && part.list.querySelector(`[data-id="${CSS.escape(id)}"]`);
  if (!found) return;
  found.classList.add('is-open');
  found.scrollIntoView();
  found.querySelector('[aria-keyshortcuts=r]')?.click();
}

function look(changes) {
  Object.assign(wanted, changes);
  choose(null, false);
  history.replaceState(null, '', `?${query(wanted)}`);
  return load();
}

/** Show the wanted list from its top, whole or as groups and the rest. Until it has loaded, actions are for the list shown. */
async function load() {
  const mine = ++loads;
  const isBin = wanted.status === 'deleted' && isModerator;
  for (const each of [part.tools, part.bar, part.news]) each.hidden = isBin;
  if (isBin) {
    groups.show([]);
    list.close();
    part.note.hidden = true;
    await bin.load();
    return;
  }
  bin.close();
  isGrouped = isGrouped && !wanted.owner;
  part.grouped.hidden = Boolean(wanted.owner);
  part.grouped.setAttribute('aria-pressed', isGrouped);
  part.note.hidden = !isGrouped;
  if (!isGrouped) {
    groups.show([]);
    await loadList({ ...wanted });
    return;
  }
  const { status, keyword } = wanted;
  try {
    const found = await ask('GET', `queue/groups?${query({ status, keyword })}`);
    if (mine !== loads) return;
    ({ isPart } = found);
    groups.show(found.data, status);
    part.note.textContent = `${say(found.data.length ? 'someGroups' : 'noGroups')}${isPart ? ` ${say('isPart')}` : ''}`;
    const compared = [found.others, ...found.data.map(({ ids }) => ids)].flat().sort();
    await loadList({ ...wanted, ids: found.others, oldest: compared[0] ?? '' });
    compared.forEach((id) => list.seen.add(id));
  } catch (refusal) {
    complain(refusal);
  }
}

async function loadList(fields) {
  await list.load(fields);
  // All of the list shown before is not all of this one.
  isAll = false;
  showChosen();
}

/** Update the page after each change of the list; counts are the server's. */
function showKnown({ waiting, spam, total, news, searched, hasMore, isHalted, shown }) {
  for (const [status, count] of [['waiting', waiting], ['spam', spam]]) {
    part.statuses.querySelector(`[data-status=${status}]`).textContent = `${say(`status.${status}`)} ${number(count ?? 0)}`;
  }
  const { status, keyword, owner } = list.wanted;
  known = { hasMore, total, isSpam: status === 'spam' && spam > 0 && !keyword && !owner };
  for (const id of chosen) if (!list.rows.has(id)) chosen.delete(id);
  showChosen();
  if (isModerator) showTitles(part.list);
  part.all.disabled = !shown && !groups.rows.length;
  part.empty.hidden = shown > 0 || hasMore || groups.rows.length > 0;
  part.empty.replaceChildren(...(keyword
    ? [make('p', {}, say('noMatch', { keyword })), button(say('clearSearch'), clearSearch, { class: 'button' })]
    : [make('p', {}, say('nothing'))]));
  part.news.replaceChildren(...(news ? [button(say('newOnes', { count: news }), showNew, { class: 'button' })] : []));
  part.end.replaceChildren(...[
    // A search covers a limited number of comments at a time.
    isHalted && make('span', { class: 'quiet' }, say('searched', { count: searched })),
    hasMore && button(say(isHalted ? 'searchOn' : 'showMore'), () => list.more(), { class: 'button' }),
  ].filter(Boolean));
}

/** Update the page after each change of the bin. */
function showBin({ total, hasMore, shown }) {
  part.statuses.querySelector('[data-status=deleted]').textContent = `${say('status.deleted')} ${number(total)}`;
  part.empty.hidden = shown > 0 || hasMore;
  part.empty.replaceChildren(make('p', {}, say('emptyBin')));
  part.end.replaceChildren(...(hasMore ? [button(say('showMore'), () => bin.more(), { class: 'button' })] : []));
}

async function clearSearch() {
  part.search.value = '';
  await look({ keyword: '' });
}

async function showNew() {
  await look({});
  focusOn(items()[0]);
}

// --- selecting

/** Select or deselect a comment; without id, deselect all. False if too many are selected. */
function choose(id, isChosen) {
  if (isChosen && chosen.size >= MAX_CHOSEN) return false;
  isAll = false;
  if (isChosen) chosen.add(id);
  else if (id) chosen.delete(id);
  else { chosen.clear(); groups.chooseAll(false); }
  showChosen();
  return true;
}

function chooseAll(isChosen) {
  groups.chooseAll(isChosen);
  showChosen();
  // With groups, the other comments are selected one by one.
  if (isChosen && groups.rows.length) return;
  for (const [id, { element }] of list.rows) {
    element.querySelector('.choose').checked = isChosen ? choose(id, true) : !choose(id, false);
  }
}

function showChosen() {
  const isWhole = chosen.size > 0 && chosen.size === list.rows.size && !list.wanted.ids && !list.wanted.owner;
  const count = chosen.size + (groups?.chosen ?? []).reduce((sum, { ids }) => sum + ids.length, 0);
  const { total, hasMore, isSpam } = known;
  part.chosen.textContent = isAll ? everything('allChosen', 'allChosen.unknown') : count ? say('chosen', { count }) : say('chooseAll');
  part.all.checked = count > 0;
  part.everything.hidden = isAll || !(isWhole && hasMore);
  part.everything.textContent = everything('chooseEverything', 'chooseEverything.unknown');
  part.clear.hidden = count > 0 || !isSpam;
  part.bar.querySelectorAll('[data-do]').forEach((each) => disable(each, !count));

  function everything(known, unknown) {
    return total === null ? say(unknown) : say(known, { count: total });
  }
}

// --- deciding

const CHANGES = {
  approve: { status: 'approved' }, hold: { status: 'waiting' }, spam: { status: 'spam' }, pin: { sticky: 1 }, unpin: { sticky: 0 },
};

/** Apply an action to the whole list, up to the newest comment shown: nobody has seen later ones. */
async function decideAll(what) {
  const { status, keyword } = list.wanted;
  if (what === 'delete' && !isConfirmed(known.total ?? Infinity)) return;
  const newest = [...list.order, ...groups.rows.flatMap(({ ids }) => ids)].sort().at(-1);
  choose(null, false);
  await carryOut(what, { status, keyword, newest }, async () => {
    await load();
    if (isFocusWith([])) focusOn(items()[0]);
  });
}

/** More than one screen shows is deleted only after a question. */
const isConfirmed = (count) => count <= SCREEN || confirm(count === Infinity ? say('reallyDeleteMatching') : say('reallyDeleteMany', { count }));

function decideChosen(what) {
  if (isAll) return decideAll(what);
  const alike = groups.chosen;
  return alike.length ? decideGroups(what, alike, [...chosen]) : decide(what, [...chosen]);
}

/** Apply an action to these groups and to other comments. */
async function decideGroups(what, alike, others = []) {
  if (alike.some(({ element }) => element.inert)) return;
  const versions = new Map([...alike.flatMap((group) => group.ids.map((id) => [id, group.versions.get(id)])),
    ...others.map((id) => [id, list.rows.get(id).comment.version])]);
  const ids = [...versions.keys()];
  if (what === 'delete' && !isConfirmed(ids.length)) return;
  const next = groups.rows.find((group) => !alike.includes(group))?.element;
  alike.forEach(({ element }) => { element.inert = true; });
  choose(null, false);
  others.forEach((id) => { list.rows.get(id).element.querySelector('.choose').checked = false; });
  await carryOut(what, { ids, seen: [...versions.values()] }, async (action, isUndone) => {
    groups.remove(alike);
    list.remove(others);
    // Group the restored comments, or the next ones.
    if (isUndone || (isPart && !groups.rows.length)) await load();
    else await list.refill();
    if (document.activeElement === document.body) focusOn(next?.isConnected ? next : items()[0]);
  });
  alike.forEach(({ element }) => { element.inert = false; });
}

/** A comment was excluded from its group. */
async function leave(id) {
  if (list.wanted.ids) list.wanted.ids = [...list.wanted.ids, id].sort().reverse();
  showChosen();
  await refresh([id]).catch(complain);
}

/** Send one request for all of them; comments that no longer match leave the list. */
async function decide(what, ids) {
  if (!ids.length || ids.some((id) => busy.has(id))) return;
  if (!isModerator) { await deleteOwn(ids[0]); return; }
  if (what === 'delete' && !isConfirmed(ids.length)) return;
  ids.forEach((id) => busy.add(id));
  try {
    // A decision is about what was read: `seen` keeps it from a text or a status that came meanwhile.
    const fields = { ids, seen: ids.map((id) => list.rows.get(id).comment.version), action: newName() };
    const answer = what === 'delete' ? await ask('DELETE', 'comment', fields) : await ask('PUT', 'comment', { ...fields, ...CHANGES[what] });
    const { results } = answer;
    const done = ids.filter((id) => DONE.includes(results[id]));
    const left = ids.length - done.length;
    ids.forEach((id) => choose(id, false));
    const before = settleList(what, ids, answer);
    const text = say(`done.${what}`, { count: done.length }) + (left ? ` ${say('notDone', { count: left })}` : '');
    tell(text, way(answer.undo, before, ids[0]));
  } catch (refusal) {
    complain(refusal);
    // It may have been done all the same.
    await lookAtActions(load);
    await refresh(ids).catch(() => {});
  } finally {
    ids.forEach((id) => busy.delete(id));
  }
}

/** Update these comments after an action; returns them as they were before. */
function settleList(what, ids, { results, changed = {} }) {
  const isThere = isFocusWith(ids);
  const next = neighbour(ids);
  const before = ids.map((id) => list.rows.get(id)?.comment).filter((comment) => comment && results[comment.objectId] === 'done');
  const { status } = CHANGES[what] ?? {};
  const isDone = (id) => DONE.includes(results[id]);
  const goes = what === 'delete' || (status && list.wanted.status && status !== list.wanted.status);
  list.remove(ids.filter((id) => results[id] === 'missing' || (goes && isDone(id))));
  const now = status ? { status } : { sticky: what === 'pin' };
  for (const id of ids) if (isDone(id) && list.rows.has(id)) list.put({ ...list.rows.get(id).comment, ...now });
  // What someone else has changed meanwhile is shown beside what was read.
  refresh(ids.filter((id) => results[id] === 'changed' || changed[id]), changed).catch(complain);
  settleFocus(isThere, ids.find((id) => list.rows.has(id)) ?? next);
  return before;
}

/** Is the focus on these comments or on the bulk actions? Elsewhere, it must not move. */
function isFocusWith(ids) {
  const { activeElement } = document;
  return activeElement === document.body || part.bar.contains(activeElement) || ids.includes(focusedId());
}

/** Focus this row; if it is gone, the first one after the refill. */
async function settleFocus(isThere, id) {
  if (isThere) focus(id);
  await list.refill();
  if (isThere && document.activeElement === document.body) focus(list.order[0]);
}

/** Say who has decided earlier than this moderator. */
function tellOf(status, by) {
  tell(say(`already.${status}`, { nick: by?.nick || say('somebody') }), null, true);
}

/** Reload comments; `changed` says who has changed them since they were shown. */
async function refresh(ids, changed = null) {
  if (!ids.length) return;
  const { data } = await askQueue({ ids: ids.slice(0, 100).join(',') });
  const left = new Set(ids);
  for (const comment of data) {
    const id = comment.objectId;
    left.delete(id);
    if (list.wanted.status && comment.status !== list.wanted.status) {
      list.remove([id]);
      if (changed) tellOf(comment.status, changed[id]);
    } else {
      list.put(changed ? { ...comment, before: list.rows.get(id)?.comment, change: changed[id] } : comment);
      list.rows.get(id)?.element.classList.toggle('is-open', Boolean(changed));
    }
  }
  list.remove([...left]);
  for (const id of left) if (changed?.[id]) tellOf('deleted', changed[id]);
}

async function deleteOwn(id) {
  if (!confirm(say('reallyDelete'))) return;
  const next = neighbour([id]);
  try {
    await ask('DELETE', `comment/${id}`);
    tell(say('done.delete', { count: 1 }));
    list.remove([id]);
    await settleFocus(true, next);
  } catch (refusal) {
    complain(refusal);
  }
}

const way = (name, before, id) => (name ? { name, how: () => undo(name, before, id) } : null);

/** Undo an action; `before`: the comments as they were before it. */
async function undo(name, before, id) {
  try {
    const { results, undo: rest } = await ask('PUT', 'comment', { undo: name });
    const left = Object.values(results).filter((result) => !DONE.includes(result)).length;
    tell(say('undone') + (left ? ` ${say('notDone', { count: left })}` : ''),
      way(rest, before, id), left > 0);
    for (const comment of before) {
      if (DONE.includes(results[comment.objectId])) list.put(comment);
    }
    if (!before.length) await load();
    await settleFocus(true, id);
  } catch (refusal) {
    complain(refusal, way(name, before, id));
  }
}

/** Whether the comment is now as wanted. */
async function save(id, fields) {
  const before = list.rows.get(id).comment;
  let isDone = true;
  try {
    if (isModerator) {
      const answer = await ask('PUT', 'comment', { ids: [id], seen: [before.version], action: newName(), ...fields });
      isDone = DONE.includes(answer.results[id]);
      tell(say(isDone ? 'saved' : 'notDone', { count: 1 }), way(answer.undo, [before], id));
      await refresh([id], isDone ? null : answer.changed ?? {});
    } else {
      list.put(await ask('PUT', `comment/${id}`, fields));
    }
    await settleFocus(true, id);
    return isDone;
  } catch (refusal) {
    complain(refusal);
    return false;
  }
}

/** Reply to a comment. On failure the form keeps its text; a retry is the same reply. */
async function reply(id, text) {
  try {
    const { version: seen } = list.rows.get(id).comment;
    const answer = await ask('POST', 'queue/reply', { pid: id, comment: text, ua: navigator.userAgent, seen, action: nameOf(id, text) });
    const { reply: { objectId }, results, undo: name } = answer;
    list.seen.add(objectId);
    const place = list.rows.get(id)?.element.querySelector('form')?.parentElement;
    place?.replaceChildren();
    if (place) place.dataset.shows = '';
    const before = settleList('approve', [id], answer);
    const takeBackReply = async () => {
      try {
        await ask('DELETE', 'comment', { ids: [objectId] });
      } catch (refusal) {
        complain(refusal);
        return;
      }
      list.remove([objectId]);
      if (name) await undo(name, before, id);
      else tell(say('undone'));
    };
    tell(say(DONE.includes(results[id]) ? 'replied' : 'repliedOnly'), { how: takeBackReply });
    return true;
  } catch (refusal) {
    // Perhaps the text below the form has changed: what was written stays there.
    const { data } = await askQueue({ ids: id }, NEWEST_MS).catch(() => ({ data: [] }));
    const row = list.rows.get(id);
    if (row && data[0] && data[0].version !== row.comment.version) {
      row.comment = data[0];
      row.element.querySelector('.comment-body').replaceWith(body(data[0]));
    }
    // Last, since the next try follows it, and a form that is busy sends nothing.
    complain(refusal);
    return false;
  }
}

// A retry of a reply is the same action.
const names = new Map();
function nameOf(id, text) {
  const key = `${id} ${text}`;
  if (!names.has(key)) names.set(key, newName());
  return names.get(key);
}

// --- by keyboard

function neighbour(ids) {
  const { order } = list;
  const at = Math.max(...ids.map((id) => order.indexOf(id)));
  return order.slice(at + 1).find((id) => !ids.includes(id)) ?? order.slice(0, at).reverse().find((id) => !ids.includes(id));
}

const focusedId = () => document.activeElement?.closest?.('#queue > li')?.dataset.id;

const focus = (id) => focusOn(list.rows.get(id)?.element);
const items = () => [...part.groups.children, ...part.list.children];

function focusOn(item) {
  const article = item?.querySelector('article');
  if (!article) return;
  article.focus({ preventScroll: true });
  article.scrollIntoView({ block: 'nearest' });
}

function pressed(event) {
  if (!isOurs(event)) return;
  const all = items();
  const at = all.indexOf(document.activeElement?.closest('#groups > li, #queue > li'));
  if (event.key === '?') part.help.showModal();
  else if (event.key === 'j') focusOn(all[Math.min(at + 1, all.length - 1)]);
  else if (event.key === 'k') focusOn(all[Math.max(at - 1, 0)]);
  else if (event.key === 'u') takeBack();
  else if (event.key === 'g') part.grouped.click();
  // Keys act on the selection, or else on the row with the focus.
  else if (!((part.all.checked || event.key === '*') && press(part.bar, event.key)) && !press(all[at], event.key)) return;
  event.preventDefault();
}
