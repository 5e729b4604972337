/* The state of Footfall and Redis, and their speed, while the page is open.
 *
 * The server sends totals since startup. This page queries it every few seconds, keeps a few minutes and draws the
 * differences.
 */

import { make, drawing } from './dom.js';
import { complain } from './notice.js';
import { ask } from './server.js';
import { number, say } from './words.js';

const EVERY_MS = 5_000;
const KEPT = 60; // samples: five minutes

const samples = [];

export async function open(main) {
  const place = make('div', { class: 'tiles' });
  const problems = make('div', { role: 'status' });
  main.append(make('h1', {}, say('page.state')), problems, place);
  const look = async () => {
    if (document.hidden) return;
    try {
      samples.push({ at: Date.now(), ...await ask('GET', 'state') });
      if (samples.length > KEPT) samples.shift();
      show(problems, place);
    } catch (refusal) {
      complain(refusal);
    }
  };
  await look();
  setInterval(look, EVERY_MS);
}

function show(problems, place) {
  const now = samples.at(-1);
  problems.replaceChildren(now.problems.length
    ? make('div', { class: 'note' }, make('span', {}, now.problems.map((each) => make('p', {}, each))))
    : make('p', { class: 'quiet' }, say('noProblems')));
  if (now.floods.length) {
    problems.append(make('div', { class: 'note' }, make('span', {},
      make('strong', {}, say('floods')), now.floods.map((each) => make('p', {}, each)))));
  }
  const server = now.servers[0] ?? {};
  const used = (sample) => sample.servers.reduce((sum, each) => sum + Number(each.used ?? 0), 0);
  const most = now.servers.reduce((sum, each) => sum + Number(each.most ?? 0), 0);
  const shown = (value, digits = 1) => (value === null ? '–' : number(Number(value.toFixed(digits))));
  place.replaceChildren(
    tile(say('perSecond'), shown(rates().at(-1) ?? null), rates()),
    tile(say('p99'), ms(percentiles('seconds').at(-1)), percentiles('seconds')),
    tile(say('redisP99'), ms(percentiles('redisSeconds').at(-1)), percentiles('redisSeconds')),
    tile(say('redisNow'), `${shown(now.redisMs, 2)} ms`, samples.map((each) => each.redisMs)),
    tile(say('memory'), megabytes(used(now)) + (most ? ` / ${megabytes(most)}` : ''), samples.map(used)),
    tile(say('connections'), number(now.connections), samples.map((each) => each.connections)),
    tile(say('failed'), number(now.failed), samples.map((each) => each.failed)),
    tile(say('durability'), now.durability),
    ...Object.entries(now.stored).map(([name, kind]) => tile(say(`stored.${name}`), number(kind.number))),
    tile('Footfall', now.versions.footfall),
    tile('Python', now.versions.python),
    tile(server.valkey ? 'Valkey' : 'Redis', [server.valkey ?? server.version ?? '–', now.servers.length > 1 ? `× ${now.servers.length}` : ''].join(' ')));
}

function tile(name, value, series = []) {
  return make('div', {}, make('span', { class: 'quiet' }, name), make('strong', {}, value), series.length > 1 && plot(series));
}

const ms = (seconds) => (seconds === undefined || seconds === null ? '–' : `≤ ${number(seconds * 1000)} ms`);
const megabytes = (bytes) => `${number(Number((bytes / 1e6).toFixed(1)))} MB`;

/** Requests per second between samples. A restart resets totals. */
const rates = () => between((a, b) => Math.max(0, b.requests - a.requests) / ((b.at - a.at) / 1000));

/** p99 between samples, as a bucket's bound; null without requests. */
const percentiles = (name) => between((a, b) => {
  const counts = Object.entries(b[name]).map(([bound, count]) => [Number(bound), count - (a[name][bound] ?? 0)]);
  const all = counts.find(([bound]) => Number.isNaN(bound))?.[1] ?? 0;
  if (all <= 0) return null;
  return counts.filter(([bound]) => !Number.isNaN(bound)).sort(([x], [y]) => x - y).find(([, count]) => count >= all * 0.99)?.[0] ?? 5;
});

const between = (compare) => samples.slice(1).map((each, index) => compare(samples[index], each));

function plot(series) {
  const values = series.map((each) => each ?? 0);
  const high = Math.max(...values, 1e-9);
  const points = values.map((value, index) => `${(index / (values.length - 1)) * 100},${30 - (value / high) * 28}`).join(' ');
  return drawing('svg', { class: 'plot', viewBox: '0 0 100 31', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    drawing('polyline', { points }));
}
