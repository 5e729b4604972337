/* Proof of work for registrations, as in version 2 of Altcha: find the number for which the digest of salt, nonce and
 * number starts with the server's prefix. It takes about a second.
 */

import { say } from './words.js';

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
const hex = (digest) => [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');

// Concurrent digests.
const TOGETHER = 256;

/** The challenge with its solution, encoded. */
export async function done(challenge) {
  // crypto.subtle exists only in secure contexts.
  if (!isSecureContext) throw new Error(say('needsHttps'));
  const { nonce, salt, keyPrefix } = challenge.parameters;
  const head = [...bytes(salt), ...bytes(nonce)];
  for (let first = 0; ; first += TOGETHER) {
    const digests = await Promise.all(Array.from({ length: TOGETHER }, (_, n) => digest(head, first + n)));
    const found = digests.findIndex((each) => hex(each.subarray(0, Math.ceil(keyPrefix.length / 2))).startsWith(keyPrefix));
    if (found >= 0) {
      const solution = { counter: first + found, derivedKey: hex(digests[found]) };
      return btoa(JSON.stringify({ challenge, solution }));
    }
  }
}

async function digest(head, counter) {
  const input = new Uint8Array(head.length + 4);
  input.set(head);
  new DataView(input.buffer).setUint32(head.length, counter);
  return new Uint8Array(await crypto.subtle.digest('SHA-256', input));
}
