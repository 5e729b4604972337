/* What opens below a comment: the forms to edit it and to reply, and its thread. */

import { contentOf, settle } from './comment_view.js';
import { avatar, body, header } from './comment_parts.js';
import { keepDraft } from './drafts.js';
import { busily, make, button, field } from './dom.js';
import { complain } from './notice.js';
import { ask, query } from './server.js';
import { say } from './words.js';

/** Show or hide what this function creates below the comment. */
export async function toggle(place, name, create) {
  const isThere = place.dataset.shows === name;
  place.dataset.shows = isThere ? '' : name;
  place.replaceChildren();
  if (isThere) { place.closest('article').focus(); return; }
  try {
    const made = await create();
    if (place.dataset.shows === name) place.replaceChildren(made);
    made.querySelector('textarea')?.focus();
  } catch (refusal) {
    place.dataset.shows = '';
    complain(refusal);
  }
}

export function editForm(comment, acts) {
  // Name, email and link of an author with an account are the account's.
  const isNamed = acts.isModerator && !comment.user_id;
  return form('e', comment, say('save'), (fields) => acts.save(comment.objectId, fields), { value: comment.orig, acts },
    isNamed && make('div', { class: 'fields' },
      field(say('name'), 'nick', { value: comment.nick ?? '', maxlength: 128 }),
      field(say('mail'), 'mail', { value: comment.mail ?? '', maxlength: 254 }),
      field(say('website'), 'link', { value: comment.link ?? '', maxlength: 2048 })));
}

/** The form to reply, which also approves the comment. */
export function replyForm(comment, acts) {
  const word = comment.status === 'approved' ? 'sendReply' : 'approveAndReply';
  return form('r', comment, say(word), ({ comment: text }) => acts.reply(comment.objectId, text), { acts });
}

/** A form for a text, with a preview; the button with this key closes it and keeps the text. `send` gets the fields,
 * one call at a time, and returns whether they are stored. */
function form(key, comment, word, send, { acts, value = '' }, ...more) {
  const shown = make('div', { class: 'comment-body preview', 'aria-live': 'polite' });
  const close = () => element.closest('article').querySelector(`[aria-keyshortcuts=${key}]`).click();
  const submit = make('button', { type: 'submit', class: 'button primary' }, word);
  const element = make('form', { class: 'comment-form', onsubmit: save, onkeydown: (event) => {
    // Then both keys belong to the input method; Safari has ended the composition by then.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === 'Escape') close();
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) element.requestSubmit();
  } },
    field(say('comment'), 'comment', { tag: 'textarea', rows: 4, required: true, value }), more, shown,
    make('div', { class: 'actions' }, submit,
      acts.isModerator && button(say('preview'), preview, { class: 'button' }),
      button(say('cancel'), () => { element.reset(); close(); }, { class: 'button' })));
  keepDraft(element, `${key} ${comment.objectId}`);

  async function save(event) {
    event.preventDefault();
    await busily(submit, async () => {
      if (await send(Object.fromEntries(new FormData(element)))) element.reset();
    });
  }

  async function preview() {
    const comment = element.elements.comment.value.trim();
    if (!comment) { shown.replaceChildren(); return; }
    try {
      const { html } = await ask('POST', 'queue/preview', { comment });
      shown.replaceChildren(contentOf(html));
      settle(shown);
    } catch (refusal) {
      complain(refusal);
    }
  }
  return element;
}

/** The comment's thread: the root with all replies. The comment itself is only a line that marks its place. */
export async function thread(comment) {
  const root = comment.rid || comment.objectId;
  const { data } = await ask('GET', `comment?${query({ path: comment.url, rid: root, pageSize: 50 })}`);
  const [first] = data;
  const all = first ? [first, ...(first.children ?? [])] : [];
  return make('ol', { class: 'replies thread', 'aria-label': say('thread') }, all.map((each) =>
    each.objectId === comment.objectId
      ? make('li', { class: 'is-this' }, make('p', { class: 'quiet' }, say('thisOne')))
      : make('li', {}, make('div', { class: 'comment' }, avatar(each), header(each), body(each)))),
    all.length < 2 && make('li', { class: 'quiet' }, say('noThread')));
}
