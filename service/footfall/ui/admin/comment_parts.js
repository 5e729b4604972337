/* Parts of a comment that the queue, threads and the bin show alike. */

import { contentOf, linkTo, tone } from './comment_view.js';
import { make } from './dom.js';
import { date, say } from './words.js';

export const nickOf = (comment) => comment.nick || say('anonymous');

export function avatar(comment) {
  const nick = nickOf(comment);
  return make('span', { class: `avatar tone-${tone(nick)}`, 'aria-hidden': 'true' }, [...nick.trim()][0]?.toUpperCase() ?? '?');
}

export function header(comment) {
  const nick = make('a', { class: 'nick' }, nickOf(comment));
  linkTo(nick, comment.link);
  const badge = comment.label || (['administrator', 'moderator'].includes(comment.type) ? say(comment.type) : '');
  return make('header', {}, nick,
    comment.looks_like && make('span', { class: 'mark held', title: say('looksLike.why', { nick: comment.looks_like }) }, say('looksLike', { nick: comment.looks_like })),
    badge && make('span', { class: 'badge' }, badge),
    comment.sticky && make('span', { class: 'mark pinned' }, say('pinned')),
    comment.reports && make('span', { class: 'mark held' }, say('reported', { count: comment.reports })),
    comment.status !== 'approved' && make('span', { class: 'mark held' }, say(`status.${comment.status}`)),
    make('time', { class: 'when', datetime: new Date(comment.time).toISOString() }, date(comment.time)));
}

/** What a language model has said of a comment, and why. */
export function verdictText({ verdict, reason, model, ms }) {
  return say(`verdict.${verdict}`, { model, reason: reason || '–', seconds: Math.round(ms / 100) / 10 });
}

export function body(comment) {
  const element = make('div', { class: 'comment-body' });
  element.append(contentOf(comment.comment));
  return element;
}
