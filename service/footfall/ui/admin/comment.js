/* A comment as a moderator sees it: its author, its page, and the possible actions. */

import { editForm, replyForm, thread, toggle } from './comment_forms.js';
import { avatar, body, header, nickOf, verdictText } from './comment_parts.js';
import { contentOf, linkTo, spaced } from './comment_view.js';
import { make, button } from './dom.js';
import { number, say } from './words.js';

// The demonstration page (counters.py).
const DEMO = '/.footfall-demo';

/** `acts`: the viewer, and callbacks for decisions, selections and edits. */
export function card(comment, acts) {
  const id = comment.objectId;
  const place = make('div', {}); // for the form, or for the thread
  const article = make('article', { class: 'comment', tabindex: -1, 'aria-label': say('by', { nick: nickOf(comment) }) },
    avatar(comment), header(comment), origin(comment), changed(comment), body(comment),
    comment.verdict && make('p', { class: 'quiet verdict' }, verdictText(comment.verdict)), footer(comment, acts, place), place);
  return make('li', { 'data-id': id, class: acts.isModerator && 'choosable', onclick: opening },
    acts.isModerator && make('label', { class: 'pick' },
      make('input', { type: 'checkbox', class: 'choose', checked: acts.isChosen, 'aria-label': say('choose'), 'aria-keyshortcuts': 'x',
        onchange: (event) => { if (!acts.choose(id, event.target.checked)) event.target.checked = false; } })),
    article);
}

/** On a phone a row is short until it is tapped, but on a control; a key opens it, too. */
export function opening({ currentTarget, target }) {
  if (!target.closest('a, button, label, input, textarea, summary, form')) currentTarget.classList.toggle('is-open');
}

/** What somebody else has changed since the row was shown: who, and the text as it was. */
function changed({ orig, before, change }) {
  if (!before) return null;
  const by = change ? say(`changed.${change.by}`, { nick: change.nick }) : say('changed');
  return make('div', { class: 'note changed', role: 'status' }, make('p', {}, `${by} ${say('decideAgain')}`),
    before.orig !== orig && make('del', { class: 'comment-body' }, contentOf(before.comment)));
}

/** The comment's page, and details of its author for moderators only. */
export function origin(comment) {
  const page = make('a', { class: 'page' }, comment.url);
  linkTo(page, pageAddress(comment.url));
  const only = (what, value, text = value) => value
    && make('a', { href: `queue?status=&keyword=${encodeURIComponent(value)}`, title: say(`only.${what}`) }, text);
  // An email that was typed proves nobody: it may be another person's.
  const mail = only('author', comment.mail);
  const unproven = mail && !comment.user_id && make('span', {}, mail, ` (${say('unproven')})`);
  const facts = [comment.ip && only('page', comment.url, say('only.page')), unproven || mail,
    only('address', comment.ip), only('network', networkOf(comment.ip)), comment.addr, spaced(comment.browser), comment.os, comment.like ? `♥ ${number(comment.like)}` : ''];
  const demo = comment.url === DEMO && make('span', {}, say('fromDemo'));
  const title = !demo && make('span', { 'data-page': comment.url });
  return make('p', { class: 'origin quiet' }, demo || page, title, ...facts.filter(Boolean).map((fact) => make('span', {}, fact)));
}

/** The network around an address in which its neighbours are: an IPv4 /24, or an IPv6 /48; '' for none. */
function networkOf(address) {
  const parts = address?.split(/[.:]/) ?? [];
  if (/^[\d.]+$/.test(address)) return `${parts.slice(0, 3).join('.')}.0/24`;
  return parts.length > 3 && parts.slice(0, 3).every(Boolean) ? `${parts.slice(0, 3).join(':')}::/48` : '';
}

/** The page's address below SITE_URL, as in render/page_address.py; '' for none. */
function pageAddress(name) {
  const { site } = document.documentElement.dataset;
  if (!site) return '';
  const home = new URL(`${site}/`).href;
  const path = name.startsWith(`${site}/`) ? name.slice(site.length) : name;
  // After the slash, a name cannot contain a host, but dots could still leave the folder.
  const address = new URL(home + path.replace(/^[/\\]+/, '')).href;
  return address.startsWith(home) ? address : '';
}

function footer(comment, acts, place) {
  const id = comment.objectId;
  const act = (what, key, attributes = {}) =>
    button(say(what), () => acts.decide(what, [id]), { 'aria-keyshortcuts': key, title: key, ...attributes });
  const opens = (what, key, create) => button(say(what), () => toggle(place, what, create), { 'aria-keyshortcuts': key, title: key });
  // What is banned must not be the account of somebody whose email was typed.
  const whom = comment.user_id ? comment.mail : comment.ip;
  const others = acts.isModerator ? [
    opens('reply', 'r', () => replyForm(comment, acts)),
    comment.status !== 'approved' && act('approve', 'a'),
    comment.status !== 'waiting' && act('hold', 'h'),
    comment.status !== 'spam' && act('spam', 's'),
    !comment.rid && act(comment.sticky ? 'unpin' : 'pin', 'p'),
    opens('thread', 't', () => thread(comment)),
    whom && make('a', { class: 'plain', href: `bans?value=${encodeURIComponent(whom)}`, 'aria-keyshortcuts': 'b', title: 'b' }, say('ban')),
  ] : [];
  return make('footer', {}, ...others,
    opens('edit', 'e', () => editForm(comment, acts)),
    act('delete', 'd', { class: 'plain danger' }));
}
