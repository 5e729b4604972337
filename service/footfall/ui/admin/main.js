/* The admin UI's frame: login, navigation by role, and the requested page. */

import { make, button } from './dom.js';
import { keepDraft } from './drafts.js';
import { complain } from './notice.js';
import { ask } from './server.js';
import { chosenLanguage, loadWords, say } from './words.js';

// Name in the address -> roles. The first page shows guests their own comments.
const MODERATORS = ['administrator', 'moderator'];
const OWNERS = ['administrator'];
const PAGES = { '': null, queue: MODERATORS, statistics: OWNERS, counters: OWNERS, accounts: OWNERS, bans: MODERATORS, authors: OWNERS, moving: OWNERS, log: MODERATORS, outbox: OWNERS, settings: OWNERS, state: OWNERS, profile: null };

// Links in the bar; the others are under "More".
const SHOWN = 5;
const SHOWN_ON_PHONES = 3;

// For administrators, the server renders these.
const WHOLE = ['', 'statistics'];

const asked = location.pathname.split('/').pop();
const main = document.querySelector('main');
// Forms whose texts survive a reload.
const kept = new Set();

async function begin() {
  const loaded = loadWords();
  const [account] = await Promise.all([ask('GET', 'token'), loaded]);
  if (!account.objectId) {
    location.replace(`login?next=${asked}`);
    return;
  }
  const isAdministrator = account.type === 'administrator';
  document.body.classList.toggle('is-administrator', isAdministrator);
  showTop(account, isAdministrator);
  if (isAdministrator) showAlarms().catch(() => {});
  const name = asked in PAGES && isFor(account, asked) ? asked : '';
  if (isAdministrator && WHOLE.includes(name)) {
    showWay(name);
    return;
  }
  const module = await import(`./${name || 'queue'}.js`);
  document.title = `${say(`page.${name || 'queue'}`)} · ${document.title}`;
  const opened = module.open(main, account);
  // Somebody may type while lists are loaded.
  keepDrafts();
  await opened;
  keepDrafts();
}

function keepDrafts() {
  for (const form of main.querySelectorAll('form.stack')) {
    if (kept.has(form)) continue;
    keepDraft(form, form.dataset.form ?? `${asked} ${kept.size}`);
    kept.add(form);
  }
}

/** After a link on another site, the browser omits the cookie; from this page, it sends it. */
function showWay(name) {
  document.title = `${say(`page.${name || 'overview'}`)} · ${document.title}`;
  main.replaceChildren(make('h1', {}, say(`page.${name || 'overview'}`)), make('div', { class: 'state' },
    make('p', {}, say('openAgain')), make('a', { href: location.pathname + location.search, class: 'button' }, say('goOn'))));
}

// A click or tap elsewhere closes "More".
document.addEventListener('click', ({ target }) => {
  const others = document.querySelector('.others');
  if (others && !others.contains(target)) others.open = false;
});

const isFor = (account, name) => !PAGES[name] || PAGES[name].includes(account.type);

function showTop(account, isAdministrator) {
  // For moderators the first page is the queue, which has a link already.
  const names = Object.keys(PAGES).filter((name) => isFor(account, name) && (name || account.type !== 'moderator'));
  const link = (name, width) => make('a', { href: `./${name}${WHOLE.includes(name) ? chosenLanguage() : ''}`, class: width, 'aria-current': name === asked && 'page' },
    name || isAdministrator ? say(`page.${name || 'overview'}`) : say('page.own'));
  const out = button(say('logOut'), logOut, { class: 'plain', title: account.email });
  const nav = document.querySelector('.top nav');
  if (names.length <= SHOWN) {
    nav.append(...names.map((name) => link(name)), out);
    return;
  }
  nav.append(...names.slice(0, SHOWN).map((name, place) => link(name, place >= SHOWN_ON_PHONES && 'wide')),
    make('details', { class: 'others' }, make('summary', {}, say('nav.more')),
      make('div', {}, names.slice(SHOWN_ON_PHONES).map((name, place) => link(name, place < SHOWN - SHOWN_ON_PHONES && 'narrow')), out)));
}

/** Mark failed notifications and problems with Redis. A proxy may block /readyz. */
async function showAlarms() {
  const answer = await fetch('../readyz');
  const { outbox, reasons = [], warnings = [] } = await answer.json();
  // One of the warnings is about failed notifications.
  const failed = outbox?.undelivered ? 1 : 0;
  const marked = [failed && 'outbox', reasons.length + warnings.length > failed && 'state'].filter(Boolean);
  for (const name of marked) document.querySelector(`.top nav a[href^="./${name}"]`)?.append(' ', alarm());
  if (marked.length) document.querySelector('.others summary')?.append(' ', alarm());
}

const alarm = () => make('span', { class: 'alarm' }, say('alarm'));

async function logOut() {
  try {
    await ask('DELETE', 'token');
    sessionStorage.clear();
    location.replace('login');
  } catch (refusal) {
    complain(refusal);
  }
}

begin().catch((error) => {
  main.replaceChildren(make('div', { class: 'state', role: 'alert' },
    make('p', {}, error.message), button(say('again'), () => location.reload(), { class: 'button' })));
});
