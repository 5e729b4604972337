/* Groups of similar comments: what they share, samples, and one decision for all. */

import { make, button } from './dom.js';
import { complain } from './notice.js';
import { ask, query } from './server.js';
import { date, say } from './words.js';

// Comments of a group per request.
const PART = 100;
const DEEDS = [['approve', 'a', 'approved'], ['hold', 'h', 'waiting'], ['spam', 's', 'spam'], ['delete', 'd', 'deleted']];

export class GroupList {
  /** `acts`: callbacks: `decide` gets an action and groups, `choose` follows each selection, `leave` gets the id of an
   * excluded comment. */
  constructor(element, acts) {
    Object.assign(this, { element, acts, rows: [] });
  }

  /** Show these groups, of comments of this status. */
  show(groups, status) {
    this.status = status;
    this.rows = groups.map((group) => new GroupRow(group, status, this));
    this.element.replaceChildren(...this.rows.map((row) => row.element));
  }

  get chosen() { return this.rows.filter((row) => row.box.checked); }

  chooseAll(isChosen) {
    for (const row of this.rows) row.box.checked = isChosen;
  }

  remove(rows) {
    this.rows = this.rows.filter((row) => !rows.includes(row));
    for (const row of rows) row.element.remove();
  }
}

class GroupRow {
  constructor(group, status, list) {
    this.list = list;
    this.ids = [...group.ids];
    this.versions = new Map(group.ids.map((id, place) => [id, group.versions[place]]));
    this.listed = new Set();
    this.group = group;
    const deeds = DEEDS.filter(([, , becomes]) => becomes !== status);
    this.box = make('input', { type: 'checkbox', class: 'choose', 'aria-label': say('choose'), 'aria-keyshortcuts': 'x', onchange: () => list.acts.choose() });
    this.title = make('h2', {});
    this.samples = make('ol', { class: 'samples' });
    this.more = button(say('showAll'), () => this.#showMore(), { 'aria-keyshortcuts': 'o', title: 'o' });
    const facts = [say('authors', { count: group.authors }), say('addresses', { count: group.addresses })];
    this.element = make('li', { class: 'choosable' }, make('label', { class: 'pick' }, this.box),
      make('article', { class: 'comment group', tabindex: -1 },
        this.title, make('p', { class: 'origin quiet' }, facts.map((fact) => make('span', {}, fact))), this.samples,
        make('footer', {}, this.more, deeds.map(([what, key]) => button(say(what), () => list.acts.decide(what, [this]),
          { 'aria-keyshortcuts': key, title: key, class: what === 'delete' ? 'plain danger' : 'plain' })))));
    this.#append(group.samples);
  }

  #append(comments) {
    for (const comment of comments) {
      this.listed.add(comment.objectId);
      const item = make('li', {},
        make('p', { class: 'quiet' }, `${comment.nick || say('anonymous')} · ${comment.url} · ${date(comment.time)}`),
        button(say('notThisOne'), () => this.#leave(comment.objectId, item)),
        make('p', { class: 'words' }, comment.orig));
      this.samples.append(item);
    }
    this.#tell();
  }

  #tell() {
    const { kind, value } = this.group;
    this.title.textContent = say(`group.${kind}`, { count: this.ids.length, value });
    this.more.hidden = this.ids.every((id) => this.listed.has(id));
  }

  async #showMore() {
    const ids = this.ids.filter((id) => !this.listed.has(id)).slice(0, PART);
    try {
      this.#append((await ask('GET', `queue?${query({ ids: ids.join(',') })}`)).data);
      // Do not request comments again that are gone.
      for (const id of ids) this.listed.add(id);
      this.#tell();
      this.more.textContent = say('showMore');
    } catch (refusal) {
      complain(refusal);
    }
  }

  #leave(id, item) {
    this.ids = this.ids.filter((each) => each !== id);
    item.remove();
    this.#tell();
    if (!this.ids.length) this.list.remove([this]);
    else this.element.querySelector('article').focus();
    this.list.acts.leave(id);
  }
}
