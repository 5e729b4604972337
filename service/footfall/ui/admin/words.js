/* The page's words: one table for each language, chosen by ?lng=, or else by the browser. */

const TABLES = { en: 'en', de: 'de', zh: 'zh' };
const REMEMBERED = 'footfall-lng';

const tableOf = async (name) => (await fetch(new URL(`${name}.json`, import.meta.url))).json();

let table = {};
export let language = 'en';

/** Must have ended before any word is asked for. `known` is the language of a page that the server has made. */
export async function loadWords(known) {
  const asked = new URLSearchParams(location.search).get('lng');
  if (asked) sessionStorage.setItem(REMEMBERED, asked);
  const wanted = [known, asked, sessionStorage.getItem(REMEMBERED), ...navigator.languages];
  language = wanted.map((name) => TABLES[name?.toLowerCase().split('-')[0]]).find(Boolean) ?? 'en';
  table = await tableOf(language);
  document.documentElement.lang = language === 'zh' ? 'zh-Hans' : language;
  for (const each of document.querySelectorAll('[data-word]')) each.textContent = say(each.dataset.word);
}

/** What settings mean, by their name; {} in English, which the server says itself. */
export const meanings = async () => (language === 'en' ? {} : tableOf(`settings.${language}`));

/** The query with which a page that the server makes has the language that somebody has chosen; '' for their browser's. */
export const chosenLanguage = () => (sessionStorage.getItem(REMEMBERED) ? `?lng=${language}` : '');

/** The words of this name, with {values} filled in; a number `count` chooses among plural forms, where there are any. */
export function say(name, values = {}) {
  const found = table[name] ?? name;
  const words = typeof found === 'string' ? found : found[plural(values.count)] ?? found.other;
  return words.replace(/\{(\w+)\}/g, (_, key) => (typeof values[key] === 'number' ? number(values[key]) : values[key] ?? ''));
}

const memo = new Map();
const kept = (key, create) => memo.get(key) ?? memo.set(key, create()).get(key);

const plural = (count) => kept('p', () => new Intl.PluralRules(language)).select(count);
export const number = (value) => kept('n', () => new Intl.NumberFormat(language)).format(value);
export const date = (ms) =>
  kept('d', () => new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' })).format(ms);
