/* The demonstration page: it reads, likes and writes through the same public API as every client.
 *
 * Only a comment's HTML, sanitised by the server, becomes markup; everything else is text. Pictures from other hosts are
 * not loaded, which protects readers' privacy.
 */

import { loadWords, number, say } from '../ui/static/words.js';
import { contentOf, linkTo, settle, spaced, tone, webAddress } from './comment_view.js';

const PAGE_SIZE = 10;
const PATIENCE_MS = 20_000;
const LIKES_KEPT = 50; // as in Waline's client, whose storage keys we share

// With LOGIN=force, this page authenticates by the admin UI's cookie.
const mustLogIn = document.documentElement.dataset.login === 'force';
const API = mustLogIn ? 'ui/api' : 'api';

const { lang, dataset: { path: PATH } } = document.documentElement;
await loadWords(lang);
const relative = new Intl.RelativeTimeFormat(lang, { numeric: 'auto' });
const fullDate = new Intl.DateTimeFormat(lang, { dateStyle: 'long', timeStyle: 'short' });

// Looked up once, before any comment is shown: an id in a comment's HTML must not replace one of ours.
const part = Object.fromEntries([
  'comment-count', 'comment-form-place', 'comment-list', 'comment-template', 'form-template', 'list-empty',
  'list-error', 'list-error-text', 'list-loading', 'list-retry', 'live-status', 'load-more', 'log-in-template', 'read-count', 'read-label', 'search', 'sort-order',
].map((id) => [id.replace(/-(\w)/g, (_, letter) => letter.toUpperCase()), document.getElementById(id)]));

const shown = new Map(); // objectId -> <li>, for paging that overlaps and for links to one comment
let order = 'insertedAt_desc';
let nextPage = 1;
let total = 0;
let loading = 0; // number of the newest load; responses to older ones are dropped
let openReply = null; // { button, form, pid }, at most one

fillSettings();
countVisit();
let mayWrite = !mustLogIn;
if (mayWrite) part.commentFormPlace.append(commentForm({ name: 'new' }));
part.sortOrder.addEventListener('change', (event) => { order = event.target.value; loadFirstPage(); });
part.loadMore.addEventListener('click', loadNextPage);
part.search?.addEventListener('submit', (event) => { event.preventDefault(); search(part.search.elements.q.value.trim()); });
part.listRetry.addEventListener('click', retry);
document.querySelectorAll('[data-copy]').forEach((button) => button.addEventListener('click', () => copySnippet(button)));
setInterval(refreshTimes, 60_000);
askWhoReads().then(loadFirstPage).then(showLinkedComment);

// --- the server

class Refusal extends Error {
  constructor(text, fields = {}) {
    super(text);
    this.fields = fields;
  }
}

async function ask(path, method = 'GET', body = undefined) {
  const answer = await exchange(path, method, body).catch(() => {
    throw new Refusal(say('demo.noAnswer'));
  });
  if (!answer.errno) return answer.data;
  if (answer.errmsg && typeof answer.errmsg === 'object') throw new Refusal('', answer.errmsg);
  throw new Refusal(answer.errmsg || say('demo.rejected'));
}

async function exchange(path, method, body) {
  const options = { method, signal: AbortSignal.timeout?.(PATIENCE_MS) };
  if (mustLogIn) options.headers = { 'x-footfall-page': '1' };
  if (body) Object.assign(options, { body: JSON.stringify(body), headers: { ...options.headers, 'Content-Type': 'application/json' } });
  const response = await fetch(`${API}/${path}`, options);
  return response.json();
}

/** People who are logged in get the form; others get a link to log in. */
async function askWhoReads() {
  if (!mustLogIn) return;
  const account = await ask('token').catch(() => ({}));
  mayWrite = Boolean(account.objectId);
  part.commentFormPlace.append(mayWrite ? commentForm({ name: 'new' }) : part.logInTemplate.content.cloneNode(true));
}

// --- read count

async function countVisit() {
  if (document.prerendering) await new Promise((go) => document.addEventListener('prerenderingchange', go, { once: true }));
  try {
    const [{ time }] = await (isVisitCounted() ? ask(`article?path=${PATH}`) : countOnce());
    part.readCount.textContent = number(time);
    part.readLabel.textContent = say(time === 1 ? 'demo.read' : 'demo.reads');
  } catch {
    part.readLabel.textContent = say('demo.readsUnknown');
  }
}

async function countOnce() {
  const counted = await ask('article', 'POST', { path: PATH, type: 'time', action: 'inc' });
  write(sessionStorage, 'footfall-counted', true);
  return counted;
}

// A tab counts as one visit: a reload is no new view.
function isVisitCounted() {
  return read(sessionStorage, 'footfall-counted', false) === true;
}

// --- the list

async function loadFirstPage() {
  closeReply();
  nextPage = 1;
  part.listEmpty.hidden = part.loadMore.hidden = true;
  part.listLoading.hidden = part.commentList.childElementCount > 0 || !part.listError.hidden;
  const page = await loadPage();
  if (!page) return;
  shown.clear();
  part.commentList.replaceChildren();
  showRoots(page.data);
  part.listEmpty.hidden = page.data.length > 0;
  announce(total ? say('demo.sorted', { comments: countText(), order: orderName() }) : say('demo.empty'));
}

/** Show the comments with these words, or without words all of them again. */
async function search(words) {
  if (!words) return loadFirstPage();
  closeReply();
  const mine = ++loading;
  busy(true);
  try {
    const { data } = await ask(`comment?${new URLSearchParams({ type: 'search', q: words, path: PATH, count: 50 })}`);
    if (mine !== loading) return;
    shown.clear();
    part.commentList.replaceChildren();
    showRoots(data);
    part.loadMore.hidden = part.listError.hidden = part.listEmpty.hidden = true;
    part.commentCount.textContent = say('demo.found', { count: data.length });
    announce(part.commentCount.textContent);
  } catch (refusal) {
    if (mine === loading) showListError(refusal);
  } finally {
    if (mine === loading) busy(false);
  }
}

async function loadNextPage() {
  const page = await loadPage();
  if (!page) return;
  const added = showRoots(page.data);
  announce(say('demo.added', { count: added.length }));
  if (added[0]) focusComment(added[0]);
}

async function retry() {
  if (nextPage > 1) return loadNextPage();
  await loadFirstPage();
  const [first] = part.commentList.children;
  if (first) focusComment(first);
}

/** The requested page, or null if it failed or a newer load replaced it. */
async function loadPage() {
  const mine = ++loading;
  busy(true);
  try {
    const query = new URLSearchParams({ path: PATH, page: nextPage, pageSize: PAGE_SIZE, sortBy: order });
    const page = await ask(`comment?${query}`);
    if (mine !== loading) return null;
    total = page.count;
    showTotal();
    part.listError.hidden = true;
    part.loadMore.hidden = nextPage >= page.totalPages;
    nextPage += 1;
    return page;
  } catch (refusal) {
    if (mine === loading) showListError(refusal);
    return null;
  } finally {
    if (mine === loading) busy(false);
  }
}

function busy(isBusy) {
  part.commentList.setAttribute('aria-busy', isBusy);
  part.loadMore.setAttribute('aria-disabled', isBusy);
  part.loadMore.textContent = say(isBusy ? 'demo.loading' : 'demo.more');
  part.listRetry.textContent = say(isBusy ? 'demo.trying' : 'demo.again');
  if (!isBusy) part.listLoading.hidden = true;
}

function showListError(refusal) {
  const hadFocus = document.activeElement === part.loadMore;
  if (nextPage === 1) {
    shown.clear();
    part.commentList.replaceChildren();
  }
  part.listErrorText.textContent = refusal.message || say('demo.notLoaded');
  part.loadMore.hidden = true;
  part.listError.hidden = false;
  if (hadFocus) part.listRetry.focus();
  announce(part.listErrorText.textContent);
}

function showRoots(roots) {
  const fresh = roots.filter((root) => !shown.has(String(root.objectId)));
  const items = fresh.map((root) => threadItem(root));
  part.commentList.append(...items);
  return items.map(settle);
}

function threadItem(root) {
  const item = commentItem(root, root);
  (root.children ?? []).forEach((child) => addReply(item, commentItem(child, root)));
  return item;
}

function addReply(rootItem, replyItem) {
  const replies = rootItem.querySelector(':scope > .replies');
  replies.hidden = false;
  replies.append(replyItem);
}

function commentItem(comment, root) {
  const item = part.commentTemplate.content.cloneNode(true).firstElementChild;
  const find = (selector) => item.querySelector(selector);
  const nick = comment.nick || say('demo.anonymous');
  const id = String(comment.objectId);
  const article = find('.comment');

  shown.set(id, item);
  article.id = id; // feeds and emails link to #<objectId>
  article.setAttribute('aria-label', say(root === comment ? 'demo.commentBy' : 'demo.replyBy', { nick }));
  find('.avatar').textContent = [...nick.trim()][0]?.toUpperCase() ?? '?';
  find('.avatar').classList.add(`tone-${tone(nick)}`);
  find('.nick').textContent = nick;
  linkTo(find('.nick'), comment.link);
  find('.pinned').hidden = !comment.sticky;
  showBadge(find('.badge'), comment);
  showHeld(find('.held'), comment.status);
  find('.when').href = `#${encodeURIComponent(id)}`;
  showTime(find('time'), comment.time);
  showReplyTo(find('.reply-to'), comment, root);
  find('.from').textContent = [comment.addr, spaced(comment.browser), comment.os].filter(Boolean).join(' · ');
  likeButton(find('.like'), find('.like-error'), comment, nick);
  replyButton(find('.reply'), find('.reply-place'), comment, root, nick);
  reportButton(find('.report'), find('.like-error'), comment, nick);
  if (root !== comment) find('.replies').remove();
  // Last: afterwards, a class in a comment's HTML could match our selectors.
  find('.comment-body').append(contentOf(comment.comment));
  return item;
}

function showBadge(badge, { type, label }) {
  badge.textContent = label || (type === 'administrator' ? say('demo.admin') : '');
  badge.hidden = !badge.textContent;
}

function showHeld(mark, status) {
  mark.hidden = !isHeld(status);
  if (isHeld(status)) mark.textContent = say(status === 'spam' ? 'demo.spam' : 'demo.waiting');
}

const isHeld = (status) => status === 'waiting' || status === 'spam';

// Indentation shows a reply to the root; only a reply to a reply needs a name.
function showReplyTo(line, comment, root) {
  if (comment === root || String(comment.pid) === String(root.objectId) || !comment.reply_user) return;
  line.textContent = say('demo.replyingTo', { nick: comment.reply_user.nick || say('demo.anonymous') });
  line.hidden = false;
}

function showTotal() {
  part.commentCount.textContent = countText();
}

function countText() {
  return say('demo.count', { count: total });
}

function orderName() {
  return part.sortOrder.querySelector(':checked + span').textContent.toLowerCase();
}

function showTime(time, ms) {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return;
  time.dateTime = date.toISOString();
  time.title = fullDate.format(date);
  time.textContent = ago(ms);
}

function refreshTimes() {
  part.commentList.querySelectorAll('.comment > header > .when > time')
    .forEach((time) => { time.textContent = ago(Date.parse(time.dateTime)); });
}

function ago(ms) {
  const seconds = Math.max(0, Date.now() - ms) / 1000;
  const units = [['year', 31_557_600], ['month', 2_629_800], ['week', 604_800], ['day', 86_400], ['hour', 3600], ['minute', 60]];
  const [unit, length] = units.find(([, size]) => seconds >= size) ?? [];
  return unit ? relative.format(-Math.floor(seconds / length), unit) : say('demo.justNow');
}

function focusComment(item) {
  const article = item.querySelector('.comment');
  article.focus({ preventScroll: true });
  article.scrollIntoView({ block: 'nearest' });
}

function showLinkedComment() {
  const item = shown.get(decodeURIComponentSafely(location.hash.slice(1)));
  if (item) focusComment(item);
}

function decodeURIComponentSafely(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

// --- likes

function likeButton(button, failure, comment, nick) {
  const id = String(comment.objectId);
  let likes = comment.like ?? 0;
  let isSending = false;

  const show = () => {
    const isLiked = likedIds().includes(id);
    button.setAttribute('aria-pressed', isLiked);
    button.setAttribute('aria-label', say('demo.like', { nick, count: likes }));
    button.querySelector('.like-count').textContent = number(likes);
  };
  const toggle = (isLiked) => {
    rememberLike(id, comment.objectId, isLiked);
    likes = Math.max(0, likes + (isLiked ? 1 : -1));
    show();
  };

  // Show the like immediately, and revert it if the server rejects it.
  button.addEventListener('click', async () => {
    if (isSending) return;
    const isLiked = !likedIds().includes(id);
    isSending = true;
    failure.textContent = '';
    toggle(isLiked);
    try {
      const updated = await ask(`comment/${encodeURIComponent(id)}`, 'PUT', { like: isLiked });
      if (Number.isInteger(updated?.like)) likes = updated.like;
      show();
    } catch (refusal) {
      toggle(!isLiked);
      failure.textContent = [say('demo.notLiked'), refusal.message, ...Object.values(refusal.fields ?? {})].filter(Boolean).join(' ');
    } finally {
      isSending = false;
    }
  });
  show();
}

/** Where the site takes reports; each reader counts once. */
function reportButton(button, failure, comment, nick) {
  if (!button) return;
  button.setAttribute('aria-label', say('demo.reportOf', { nick }));
  button.addEventListener('click', async () => {
    button.disabled = true;
    failure.textContent = '';
    try {
      await ask('report', 'POST', { id: comment.objectId });
      button.removeAttribute('aria-label');
      button.textContent = say('demo.reported');
    } catch (refusal) {
      button.disabled = false;
      failure.textContent = [say('demo.notReported'), refusal.message].filter(Boolean).join(' ');
    }
  });
}

function likedIds() {
  const stored = read(localStorage, 'WALINE_LIKE', []);
  return Array.isArray(stored) ? stored.map(String) : [];
}

function rememberLike(id, objectId, isLiked) {
  const others = [read(localStorage, 'WALINE_LIKE', [])].flat().filter((each) => String(each) !== id);
  write(localStorage, 'WALINE_LIKE', isLiked ? [...others, objectId].slice(-LIKES_KEPT) : others);
}

// --- writing

function replyButton(button, place, comment, root, nick) {
  button.hidden = !mayWrite;
  button.setAttribute('aria-label', say('demo.replyTo', { nick }));
  button.addEventListener('click', () => {
    const wasOpen = openReply?.button === button;
    closeReply();
    if (wasOpen) return button.focus();
    const form = commentForm({
      name: `reply-${comment.objectId}`,
      reply: { pid: comment.objectId, rid: root.objectId, at: nick },
      onCancel: () => { closeReply(); button.focus(); },
    });
    openReply = { button, form };
    button.setAttribute('aria-expanded', 'true');
    place.append(form);
    form.elements.comment.focus();
  });
}

function closeReply() {
  if (!openReply) return;
  openReply.form.remove();
  openReply.button.setAttribute('aria-expanded', 'false');
  openReply = null;
}

function commentForm({ name, reply, onCancel }) {
  const form = part.formTemplate.content.cloneNode(true).firstElementChild;
  const { comment, nick, mail, link } = form.elements;
  const author = read(localStorage, 'WALINE_USER_META', {}) ?? {};

  for (const field of [comment, nick, mail, link]) nameField(field, `${name}-${field.name}`);
  for (const field of [nick, mail, link]) field.value = author[field.name] ?? '';
  // What was typed and not sent survives a reload and the closing of its form, in this tab.
  comment.value = read(sessionStorage, draftOf(name), '');
  comment.addEventListener('input', () => write(sessionStorage, draftOf(name), comment.value));
  form.querySelector('.fields').hidden = mustLogIn; // the account has them
  form.id = `${name}-form`;
  form.setAttribute('aria-label', reply ? say('demo.replyTo', { nick: reply.at }) : say('demo.write'));
  if (/Mac|iPhone|iPad/.test(navigator.platform)) form.querySelector('.keys kbd').textContent = '⌘';
  if (reply) {
    form.querySelector('.field-comment label').textContent = say('demo.replyTo', { nick: reply.at });
    form.querySelector('[type=submit]').textContent = say('demo.postReply');
    form.querySelector('.cancel').hidden = false;
    form.querySelector('.cancel').addEventListener('click', onCancel);
  }
  form.addEventListener('keydown', (event) => {
    if (event.isComposing) return; // then Enter and Escape belong to the input method
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
    if (event.key === 'Escape' && onCancel && !comment.value.trim()) onCancel();
  });
  form.addEventListener('submit', (event) => { event.preventDefault(); submit(form, reply); });
  return form;
}

function draftOf(name) {
  return `footfall-draft ${PATH} ${name}`;
}

function nameField(field, id) {
  field.id = id;
  const place = field.closest('.field');
  place.querySelector('label').htmlFor = id;
  const hint = place.querySelector('.hint');
  const error = document.createElement('p');
  error.className = 'field-error';
  error.id = `${id}-error`;
  error.hidden = true;
  place.append(error);
  if (hint) hint.id = `${id}-hint`;
  field.setAttribute('aria-describedby', hint ? `${hint.id} ${error.id}` : error.id);
}

async function submit(form, reply) {
  if (form.getAttribute('aria-busy') === 'true') return;
  clearErrors(form);
  const { comment, nick, mail, link } = form.elements;
  if (!comment.value.trim()) return showErrors(form, new Refusal('', { comment: say('demo.writeFirst') }));

  link.value = withScheme(link.value.trim());
  const author = { nick: nick.value.trim(), mail: mail.value.trim(), link: link.value };
  write(localStorage, 'WALINE_USER_META', author);
  sending(form, true);
  try {
    const stored = await ask('comment', 'POST', { comment: comment.value, ...author, url: PATH, ua: navigator.userAgent, ...reply });
    comment.value = '';
    sessionStorage.removeItem(draftOf(reply ? `reply-${reply.pid}` : 'new'));
    introduce(author);
    showStored(form, stored, reply);
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    showErrors(form, refusal);
  } finally {
    sending(form, false);
  }
}

// People enter "example.com" without a scheme.
function withScheme(address) {
  return !address || /^[a-z][a-z0-9+.-]*:(?!\d)|^\/\//i.test(address) ? address : `https://${address}`;
}

// Copy a name entered for a reply to the main form.
function introduce(author) {
  const { elements } = document.forms['new-form'];
  for (const [name, text] of Object.entries(author)) elements[name].value ||= text;
}

function sending(form, isSending) {
  const button = form.querySelector('[type=submit]');
  form.setAttribute('aria-busy', isSending);
  button.setAttribute('aria-disabled', isSending); // "disabled" would lose the focus
  button.textContent = say(isSending ? 'demo.sending' : form.id === 'new-form' ? 'demo.post' : 'demo.postReply');
}

function clearErrors(form) {
  form.querySelector('.form-error').textContent = '';
  form.querySelector('.form-notice').textContent = '';
  form.querySelectorAll('.field-error').forEach((error) => { error.textContent = ''; error.hidden = true; });
  form.querySelectorAll('[aria-invalid]').forEach((field) => field.removeAttribute('aria-invalid'));
}

/** Show each message next to its field, others above the button. */
function showErrors(form, refusal) {
  const general = [refusal.message];
  for (const [name, text] of Object.entries(refusal.fields)) {
    const field = ['comment', 'nick', 'mail', 'link'].includes(name) && form.elements[name];
    if (!field) { general.push(text); continue; }
    const error = field.closest('.field').querySelector('.field-error');
    error.textContent = text;
    error.hidden = false;
    field.setAttribute('aria-invalid', 'true');
  }
  form.querySelector('.form-error').textContent = general.filter(Boolean).join(' ');
  form.querySelector('[aria-invalid]')?.focus();
}

function showStored(form, stored, reply) {
  const thanks = say(isHeld(stored.status) ? 'demo.held' : reply ? 'demo.replyPublished' : 'demo.published');
  const item = reply ? placeReply(stored, reply) : placeRoot(stored);
  if (!isHeld(stored.status)) { total += 1; showTotal(); }
  part.listEmpty.hidden = true;
  if (!reply) form.querySelector('.form-notice').textContent = thanks;
  if (openReply?.form === form) closeReply();
  if (reply) announce(thanks);
  if (item) focusComment(settle(item));
}

function placeReply(stored, { pid, rid, at }) {
  const rootItem = shown.get(String(rid));
  if (!rootItem) return null; // the list was sorted again while the reply was being sent
  const item = commentItem({ ...stored, reply_user: { nick: at } }, { objectId: rid });
  addReply(rootItem, item);
  return item;
}

// Always on top, so that the author sees it, but below pinned comments.
function placeRoot(stored) {
  const item = threadItem(stored);
  const firstUnpinned = [...part.commentList.children].find((each) => each.querySelector('.pinned').hidden);
  part.commentList.insertBefore(item, firstUnpinned ?? null);
  return item;
}

// --- the rest of the page

function fillSettings() {
  const { server, site } = document.documentElement.dataset;
  const address = (webAddress(server) ?? new URL('.', location.href).href).replace(/\/+$/, '');
  document.querySelectorAll('.server-url').forEach((spot) => { spot.textContent = address; });
  document.querySelectorAll('.forum-link').forEach((link) => { if (!webAddress(link.getAttribute('href'))) link.replaceWith(...link.childNodes); });
  if (!webAddress(site)) document.querySelector('.site-link').remove();
}

async function copySnippet(button) {
  const code = document.getElementById(button.dataset.copy);
  const isCopied = await copy(code);
  button.textContent = say(isCopied ? 'demo.copied' : 'demo.selected');
  announce(say(isCopied ? 'demo.copiedNews' : 'demo.selectedNews'));
  setTimeout(() => { button.textContent = say('demo.copy'); }, 2000);
}

// The clipboard API exists on HTTPS and localhost only; elsewhere use the old command, or select the text.
async function copy(code) {
  const isWritten = await navigator.clipboard?.writeText(code.textContent).then(() => true, () => false);
  if (isWritten) return true;
  getSelection().selectAllChildren(code);
  return document.execCommand('copy');
}

function announce(text) {
  part.liveStatus.textContent = ''; // so that the same text is announced twice
  setTimeout(() => { part.liveStatus.textContent = text; }, 50);
}

function read(storage, key, otherwise) {
  try { return JSON.parse(storage.getItem(key)) ?? otherwise; } catch { return otherwise; }
}

// Storage may be full or forbidden; the page works without it.
function write(storage, key, value) {
  try { storage.setItem(key, JSON.stringify(value)); } catch { /* forgotten on reload, no more */ }
}
