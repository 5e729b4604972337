/* Actions on many comments, which the server continues in the background: progress and undo. */

import { complain, progress, recall, tell } from './notice.js';
import { ask, newName, query } from './server.js';
import { say } from './words.js';

const LOOK_MS = 400;
// The server allows an undo within a minute of the start, including the time to do it.
const UNDO_MS = 50_000;
const DEEDS = { approve: 'approved', hold: 'waiting', spam: 'spam', delete: 'deleted' };
const WORDS = { approved: 'approve', waiting: 'hold', spam: 'spam', deleted: 'delete', pinned: 'pin', unpinned: 'unpin', edited: 'edit' };

// Whose actions are listed without a name.
export const viewer = { id: '' };

/** Run an action on what `fields` select; `settled` is called at its end, and after an undo. */
export async function carryOut(what, fields, settled) {
  const name = newName();
  const started = performance.now();
  try {
    const action = await toTheEnd(await begun(name, { do: DEEDS[what], ...fields }));
    const { done, isCut, canUndo } = action;
    const left = UNDO_MS - (performance.now() - started);
    tell(`${say(`done.${what}`, { count: done })}${notDone(action)}${isCut ? ` ${say('isCut')}` : ''}`,
      canUndo && left > 0 ? { name, ms: left, how: () => undo(name, settled) } : null);
    await settled(action);
  } catch (refusal) {
    complain(refusal);
    await lookAtActions(settled);
  }
}

/** The started action; if the answer is lost, the action may have started all the same. */
async function begun(name, fields) {
  try {
    return await ask('POST', 'queue/bulk', { action: name, ...fields });
  } catch (refusal) {
    return ask('GET', `queue/bulk?${query({ name })}`).catch(() => { throw refusal; });
  }
}

export async function undo(name, settled) {
  try {
    const action = await toTheEnd(await ask('PUT', 'queue/bulk', { name }));
    // The server undoes only the rest.
    tell(`${say('undone')}${notDone(action)}`, action.canUndo || action.isCut ? { name, how: () => undo(name, settled) } : null, action.left > 0);
    await settled(action, true);
  } catch (refusal) {
    complain(refusal);
    await lookAtActions(settled);
  }
}

/** Offer the undo of all actions of the last minute: after a reload, a lost answer, or by another moderator. */
export async function lookAtActions(settled) {
  const actions = await ask('GET', 'queue/actions').catch(() => []);
  recall(actions.map(({ name, do: deed, done, by, nick, leftMs }) => ({
    name, ms: leftMs, text: `${nick && by !== viewer.id ? `${nick}: ` : ''}${say(`done.${WORDS[deed]}`, { count: done })}`, how: () => undo(name, settled),
  })));
}

const notDone = ({ left }) => (left ? ` ${say('notDone', { count: left })}` : '');

async function toTheEnd(begun) {
  let action = begun;
  while (action.isRunning) {
    progress(say('moment'), action.done + action.left, action.total);
    await new Promise((done) => { setTimeout(done, LOOK_MS); });
    action = await ask('GET', `queue/bulk?${query({ name: action.name })}`);
  }
  return action;
}
