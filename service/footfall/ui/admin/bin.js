/* The bin: deleted comments, the newest deletions first, which can be restored or removed now. */

import { origin, opening } from './comment.js';
import { avatar, body, header } from './comment_parts.js';
import { settle } from './comment_view.js';
import { make, button } from './dom.js';
import { complain, tell } from './notice.js';
import { ask, query } from './server.js';
import { date, say } from './words.js';

const PART = 20;

export class BinList {
  /** `told` is called with the number of all, and whether there are more. */
  constructor(element, told) {
    Object.assign(this, { element, told, total: 0, after: '' });
  }

  close() { this.element.replaceChildren(); }

  async load() {
    this.close();
    this.after = '';
    await this.more();
  }

  async more() {
    try {
      const { data, after, total } = await ask('GET', `queue/bin?${query({ pageSize: PART, after: this.after })}`);
      Object.assign(this, { after, total });
      for (const each of data) this.element.append(this.#row(each));
      this.#tell();
    } catch (refusal) {
      complain(refusal);
    }
  }

  #tell() { this.told({ total: this.total, hasMore: Boolean(this.after), shown: this.element.children.length }); }

  #row({ comment, replies, deleted, removedAt }) {
    const id = comment.objectId;
    const facts = [deleted && say(`deleted.${deleted.by}`, { nick: deleted.nick, when: date(deleted.time) }), replies && say('withReplies', { count: replies }), say('removedAt', { when: date(removedAt) })];
    const act = (word, method, attributes) => button(say(word), () => this.#act(method, id, element), attributes);
    const element = make('li', { 'data-id': id, onclick: opening }, make('article', { class: 'comment', tabindex: -1 },
      avatar(comment), header(comment), origin(comment),
      make('p', { class: 'origin quiet' }, facts.filter(Boolean).map((fact) => make('span', {}, fact))),
      body(comment), make('footer', {}, act('restore', 'PUT'), act('removeNow', 'DELETE', { class: 'plain danger' }))));
    return settle(element);
  }

  async #act(method, id, element) {
    if (method === 'DELETE' && !confirm(say('reallyRemove'))) return;
    try {
      const { results } = await ask(method, 'queue/bin', { ids: [id] });
      const isDone = ['done', 'unchanged'].includes(results[id]);
      tell(isDone ? say(method === 'PUT' ? 'restored' : 'removed') : say(method === 'PUT' ? 'threadDeleted' : 'notDone', { count: 1 }), null, !isDone);
      if (!isDone && method === 'PUT') return;
      const next = element.nextElementSibling ?? element.previousElementSibling;
      element.remove();
      this.total -= 1;
      this.#tell();
      next?.querySelector('article').focus({ preventScroll: true });
    } catch (refusal) {
      complain(refusal);
    }
  }
}
