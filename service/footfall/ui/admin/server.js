/* Requests to the API, authenticated by a cookie that this script cannot read. */

import { released } from './dom.js';
import { languageOfPage, say } from './words.js';

const PATIENCE_MS = 20_000;

export class Refusal extends Error {
  /** `isBlank`: the server sent no reason. */
  constructor(text, isBlank = false) {
    super(text);
    this.isBlank = isBlank;
  }
}

const addressOf = (path) => {
  const url = new URL(`../api/${path}`, import.meta.url);
  url.searchParams.set('lang', languageOfPage());
  return url;
};

// Answers that came with the page, by path: each is for the first request.
const early = new Map(Object.entries(JSON.parse(document.documentElement.dataset.early || '{}')));

/** An operation's `data`; throws Refusal with a message for the user. */
export async function ask(method, path, body, patienceMs = PATIENCE_MS) {
  if (method === 'GET' && early.has(path)) {
    const answer = early.get(path);
    early.delete(path);
    return dataOf(answer);
  }
  const headers = { 'x-footfall-page': '1' };
  if (body) headers['content-type'] = 'application/json';
  const options = { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout?.(patienceMs) };
  let answer;
  try {
    const response = await fetch(addressOf(path), options);
    answer = await response.json();
  } catch {
    await released();
    throw new Refusal(say('away'));
  }
  await released();
  return dataOf(answer);
}

/** A part of the queue; each comment with what a language model has said of it, and how many readers have reported it. */
export async function askQueue(fields, patienceMs) {
  const part = await ask('GET', `queue?${query(fields)}`, undefined, patienceMs);
  for (const comment of part.data) {
    comment.verdict = part.verdicts[comment.objectId];
    comment.reports = part.reports[comment.objectId];
  }
  return part;
}

/** A random name for an action, by which it can be found and undone even if its answer is lost. */
export const newName = () => crypto.getRandomValues(new Uint32Array(4)).reduce((name, part) => name + part.toString(16).padStart(8, '0'), '');

function dataOf(answer) {
  if (!answer.errno) return answer.data;
  throw new Refusal(words(answer), answer.errmsg === undefined);
}

/** Send a file; returns the `data` of the response's last line, `onStep` gets earlier ones. Throws Refusal. */
export async function upload(path, file, onStep) {
  const headers = { 'x-footfall-page': '1', 'content-type': 'application/octet-stream' };
  let rest = '';
  let last = null;
  const take = (line) => {
    const said = JSON.parse(line);
    if ('errno' in said) last = said;
    else onStep(said);
  };
  try {
    const response = await fetch(addressOf(path), { method: 'POST', headers, body: file });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split('\n');
      rest = lines.pop();
      lines.forEach(take);
    }
    if (rest) take(rest);
  } catch {
    throw new Refusal(say('away'));
  }
  // A truncated response has no last line.
  if (!last) throw new Refusal(say('away'));
  return dataOf(last);
}

function words({ errno, errmsg }) {
  if (errno === 401) return say('loggedOut');
  const texts = errmsg && typeof errmsg === 'object' ? Object.values(errmsg) : [errmsg];
  return texts.map((text) => KNOWN[text] ? say(KNOWN[text]) : text).filter(Boolean).join('; ') || say('refused');
}

const KNOWN = {
  'This would lock out the account whose owner has confirmed this email': 'locksOut',
  USER_EXIST: 'mailTaken',
  TOKEN_EXPIRED: 'linkExpired',
  TWO_FACTOR_AUTH_ERROR_DETAIL: 'wrongCode',
  'email need an email under your options': 'noMail',
  'url and avatar need an address of the web, with http:// or https://': 'noLink',
  'password should be at least 8 characters long': 'passwordTooShort',
  'password should not be your email address, nor its first part': 'passwordIsMail',
  'password is one of those that most people use, and is guessed first: choose another': 'passwordIsCommon',
};

const PROBLEMS = ['UserExists', 'IdentityTaken', 'RegistrationClosed', 'WrongSetupCode', 'FlowExpired', 'ProviderUnavailable'];

/** The message for a failed login through another service. */
export const problem = (name) => say(PROBLEMS.includes(name) ? `problem.${name}` : 'problem');

export const query = (fields) =>
  new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== '' && value !== undefined)).toString();
