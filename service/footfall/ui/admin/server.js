/* What the server is asked: the API, logged in by a cookie that this script cannot see. */

import { language, say } from './words.js';

const PATIENCE_MS = 20_000;

export class Refusal extends Error {
  /** `isBlank`: the server gave no reason. */
  constructor(text, isBlank = false) {
    super(text);
    this.isBlank = isBlank;
  }
}

/** An operation's `data`; raises Refusal with words for whoever sits here. */
export async function ask(method, path, body) {
  const url = new URL(`../api/${path}`, import.meta.url);
  url.searchParams.set('lang', language);
  const headers = { 'x-footfall-page': '1' };
  if (body) headers['content-type'] = 'application/json';
  const options = { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout?.(PATIENCE_MS) };
  let answer;
  try {
    const response = await fetch(url, options);
    answer = await response.json();
  } catch {
    throw new Refusal(say('away'));
  }
  if (!answer.errno) return answer.data;
  throw new Refusal(words(answer), answer.errmsg === undefined);
}

function words({ errno, errmsg }) {
  if (errno === 401) return say('loggedOut');
  if (errmsg && typeof errmsg === 'object') return Object.values(errmsg).join('; ');
  const known = { USER_EXIST: 'mailTaken', TOKEN_EXPIRED: 'linkExpired', TWO_FACTOR_AUTH_ERROR_DETAIL: 'wrongCode' };
  if (known[errmsg]) return say(known[errmsg]);
  return errmsg || say('refused');
}

const PROBLEMS = ['UserExists', 'IdentityTaken', 'RegistrationClosed', 'WrongSetupCode', 'FlowExpired', 'ProviderUnavailable'];

/** What to say of a log-in by another service that has come to nothing. */
export const problem = (name) => say(PROBLEMS.includes(name) ? `problem.${name}` : 'problem');

export const query = (fields) =>
  new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== '' && value !== undefined)).toString();
