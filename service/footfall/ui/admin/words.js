/* Translations: one table per language, chosen by ?lng= or the browser. */

const TABLES = { en: 'en', de: 'de', zh: 'zh' };
const REMEMBERED = 'footfall-lng';

// Of a page that names files which a browser keeps.
const files = JSON.parse(document.documentElement.dataset.tables || '{}');
const tableOf = async (name) => (await fetch(new URL(files[name] ?? `${name}.json`, import.meta.url))).json();

let table = {};
let language = 'en';

/** The language of the page. */
export const languageOfPage = () => language;

/** Load the table; await this before `say`. `known`: the language of a page rendered by the server. */
export async function loadWords(known) {
  const asked = new URLSearchParams(location.search).get('lng');
  if (asked) sessionStorage.setItem(REMEMBERED, asked);
  const wanted = [known, asked, sessionStorage.getItem(REMEMBERED), ...navigator.languages];
  language = wanted.map((name) => TABLES[name?.toLowerCase().split('-')[0]]).find(Boolean) ?? 'en';
  table = await tableOf(language);
  document.documentElement.lang = language === 'zh' ? 'zh-Hans' : language;
  for (const each of document.querySelectorAll('[data-word]')) each.textContent = say(each.dataset.word);
}

/** Descriptions of settings by name; {} in English, which the server sends. */
export const meanings = async () => (language === 'en' ? {} : tableOf(`settings.${language}`));

/** The query that keeps the chosen language on pages rendered by the server; '' for the browser's. */
export const chosenLanguage = () => (sessionStorage.getItem(REMEMBERED) ? `?lng=${language}` : '');

/** The text of this name with {values} filled in; a number `count` selects the plural form, if there are several. */
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
