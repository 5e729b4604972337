/* Titles of pages beside their paths, as far as the server knows them. */

import { ask } from './server.js';

// As many as a part of the list has.
const AT_ONCE = 20;
const known = new Map();

/** Fill in the elements that name a page. */
export async function showTitles(root) {
  const places = [...root.querySelectorAll('[data-page]')];
  const paths = [...new Set(places.map(({ dataset }) => dataset.page))].filter((path) => !known.has(path)).slice(0, AT_ONCE);
  if (paths.length) {
    // One alone would be split at commas.
    const sent = paths.length > 1 ? paths : [...paths, ...paths];
    const titles = await ask('GET', `pages/titles?${new URLSearchParams(sent.map((path) => ['path', path]))}`).catch(() => []);
    paths.forEach((path, at) => known.set(path, titles[at] ?? ''));
  }
  for (const place of places) place.textContent = known.get(place.dataset.page) ?? '';
}
