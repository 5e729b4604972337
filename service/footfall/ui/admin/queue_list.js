/* The list of the moderation queue.
 *
 * Decided comments leave it, and it is refilled after the last comment shown, so nothing is skipped and no row moves
 * while somebody looks at it. New comments are announced, and shown on request.
 */

import { settle } from './comment_view.js';
import { complain } from './notice.js';
import { ask, askQueue, query } from './server.js';

const PART = 20;
// The most comments per request.
const MOST = 100;
const NEWS_MS = 20_000;

export class CommentList {
  /** `makeRow` makes a comment's element; `told` is called with the list's state after each change. */
  constructor(element, makeRow, told) {
    Object.assign(this, { element, makeRow, told, rows: new Map(), seen: new Set(), wanted: {}, known: {}, after: '', target: PART });
    this.stale = 0; // number of the newest load; responses to older ones are dropped
    this.reading = Promise.resolve();
    setInterval(() => this.look(), NEWS_MS);
    document.addEventListener('visibilitychange', () => this.look());
  }

  /** Show the list of these fields from its top. If this fails, or a newer load replaces it, the list and `wanted` stay. */
  async load(wanted) {
    const mine = ++this.stale;
    this.element.setAttribute('aria-busy', 'true');
    try {
      const size = Math.min(Math.max(PART, this.isOpen ? this.rows.size : 0), MOST);
      const part = await this.#part(wanted, size, '');
      if (mine !== this.stale) return;
      Object.assign(this, { wanted, isOpen: true });
      this.target = Math.max(PART, size);
      this.known = {};
      this.rows.clear();
      this.seen.clear();
      this.element.replaceChildren();
      this.#take(part, size);
    } catch (refusal) {
      if (mine === this.stale) complain(refusal);
    } finally {
      if (mine === this.stale) this.element.removeAttribute('aria-busy');
    }
  }

  /** Show nothing, and look for nothing, until the next load. */
  close() {
    this.stale++;
    this.isOpen = false;
    this.rows.clear();
    this.element.replaceChildren();
  }

  /** Load as many comments as are missing. */
  refill(failed = complain) {
    this.reading = this.reading.then(() => this.#refill()).catch(failed);
    return this.reading;
  }

  more() {
    this.target = this.rows.size + PART;
    this.known.isHalted = false;
    return this.refill();
  }

  async #refill() {
    const mine = this.stale;
    const missing = Math.min(this.target - this.rows.size, MOST);
    if (missing <= 0 || !this.after || this.known.isHalted) { await this.#look(); return; }
    const part = await this.#part(this.wanted, missing, this.after);
    if (mine === this.stale) this.#take(part, missing);
  }

  async #part({ ids, ...fields }, pageSize, after) {
    if (!ids) return askQueue({ ...fields, pageSize, after });
    // A list of given comments, whose ids sort by age.
    const left = ids.filter((id) => !after || id < after);
    const next = left.slice(0, pageSize);
    const part = await (next.length ? askQueue({ ids: next.join(',') }) : ask('GET', `queue/new?${query({ status: fields.status })}`));
    return { data: [], searched: 0, ...part, total: null, after: left.length > next.length ? next.at(-1) : '' };
  }

  #take(part, asked) {
    for (const comment of part.data) this.#append(comment);
    this.after = part.after;
    const { waiting, spam, total, searched } = part;
    // A search that reached its limit continues on request.
    const isHalted = Boolean(part.after) && searched > 0 && part.data.length < asked;
    Object.assign(this.known, { waiting, spam, total, searched, isHalted });
    this.#tell();
  }

  #append(comment) {
    if (!this.rows.has(comment.objectId)) this.element.append(this.#row(comment));
  }

  #row(comment) {
    const element = this.makeRow(comment);
    this.seen.add(comment.objectId);
    this.rows.set(comment.objectId, { comment, element });
    return settle(element);
  }

  /** Look for new comments while the page is visible. Failures are silent: the next action reports them. */
  look() {
    if (this.isOpen && !document.hidden) this.refill(() => {});
  }

  async #look() {
    if (this.wanted.owner) { this.#tell(); return; }
    const mine = this.stale;
    const { ids, total, waiting, spam } = await ask('GET', `queue/new?${query({ status: this.wanted.status })}`);
    if (mine !== this.stale) return;
    const isSearch = Boolean(this.wanted.keyword);
    // Older ones appear by loading more, or after the compared ones are decided.
    const news = isSearch ? 0 : ids.filter((id) => !this.seen.has(id) && id > (this.wanted.oldest ?? this.after)).length;
    Object.assign(this.known, { waiting, spam, news, total: isSearch ? null : total });
    this.#tell();
  }

  #tell() {
    this.told({ ...this.known, hasMore: Boolean(this.after), shown: this.rows.size });
  }

  /** Remove comments from the list; returns them for an undo. */
  remove(ids) {
    return ids.map((id) => {
      const row = this.rows.get(id);
      row?.element.remove();
      this.rows.delete(id);
      return row?.comment;
    }).filter(Boolean);
  }

  /** Update or insert a comment. */
  put(comment) {
    const id = comment.objectId;
    const was = this.rows.get(id)?.element;
    // Ids sort by age. Beyond the end of the list, it appears by loading more.
    if (!was && this.after && id < this.after) return;
    const next = this.order.find((each) => each < id);
    const below = next && this.rows.get(next).element;
    const element = this.#row(comment);
    if (was) was.replaceWith(element);
    else if (below) below.before(element);
    else this.element.append(element);
  }

  /** The ids of all rows, from the top. */
  get order() { return [...this.rows.keys()].sort().reverse(); }
}
