/* Bulk actions, which the server continues in the background: progress and undo. */

import { complain, progress, tell } from './notice.js';
import { ask, query } from './server.js';
import { say } from './words.js';

const LOOK_MS = 400;
// The server allows an undo within a minute of the start, including the time to do it.
const UNDO_MS = 50_000;
const DEEDS = { approve: 'approved', hold: 'waiting', spam: 'spam', delete: 'deleted' };

/** Run an action on what `fields` select; `settled` is called at its end, and after an undo. */
export async function carryOut(what, fields, settled) {
  try {
    const began = performance.now();
    const action = await toTheEnd(await ask('POST', 'queue/bulk', { do: DEEDS[what], ...fields }));
    const { name, done, isCut, canUndo } = action;
    const left = UNDO_MS - (performance.now() - began);
    tell(`${say(`done.${what}`, { count: done })}${notDone(action)}${isCut ? ` ${say('isCut')}` : ''}`,
      canUndo && left > 0 ? way(name, settled, left) : null);
    await settled(action);
  } catch (refusal) {
    complain(refusal);
  }
}

const way = (name, settled, ms) => ({ kind: 'bulk', name, ms, how: () => undo(name, settled) });

export async function undo(name, settled) {
  try {
    const action = await toTheEnd(await ask('PUT', 'queue/bulk', { name }));
    // The server undoes only the rest.
    tell(`${say('undone')}${notDone(action)}`, action.canUndo || action.isCut ? way(name, settled) : null, action.left > 0);
    await settled(action, true);
  } catch (refusal) {
    complain(refusal);
  }
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
