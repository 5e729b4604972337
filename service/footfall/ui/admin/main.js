/* The page at /ui/: who is logged in, the pages that they may open, and the one that was asked for. */

import { make, button } from './dom.js';
import { complain } from './notice.js';
import { ask } from './server.js';
import { chosenLanguage, loadWords, say } from './words.js';

// Name in the address -> for administrators alone? The first shows everybody else their own comments.
const PAGES = { '': false, queue: true, statistics: true, accounts: true, bans: true, authors: true, counters: true, moving: true, log: true, outbox: true, settings: true, state: true, profile: false };

// To administrators the server shows these whole, without this script.
const WHOLE = ['', 'statistics'];

const asked = location.pathname.split('/').pop();
const main = document.querySelector('main');

async function begin() {
  await loadWords();
  const account = await ask('GET', 'token');
  if (!account.objectId) {
    location.replace(`login?next=${asked}`);
    return;
  }
  const isAdministrator = account.type === 'administrator';
  document.body.classList.toggle('is-administrator', isAdministrator);
  showTop(account, isAdministrator);
  const name = asked in PAGES && (isAdministrator || !PAGES[asked]) ? asked : '';
  if (isAdministrator && WHOLE.includes(name)) {
    showWay(name);
    return;
  }
  const module = await import(`./${name || 'queue'}.js`);
  document.title = `${say(`page.${name || 'queue'}`)} · ${document.title}`;
  await module.open(main, account);
}

/** The browser left the cookie out, since a page of another site led here: from this one it is sent. */
function showWay(name) {
  document.title = `${say(`page.${name || 'overview'}`)} · ${document.title}`;
  main.replaceChildren(make('h1', {}, say(`page.${name || 'overview'}`)), make('div', { class: 'state' },
    make('p', {}, say('openAgain')), make('a', { href: location.pathname + location.search, class: 'button' }, say('goOn'))));
}

function showTop(account, isAdministrator) {
  const links = Object.entries(PAGES).filter(([, isTheirs]) => isAdministrator || !isTheirs).map(([name]) =>
    make('a', { href: `./${name}${WHOLE.includes(name) ? chosenLanguage() : ''}`, 'aria-current': name === asked && 'page' },
      name || isAdministrator ? say(`page.${name || 'overview'}`) : say('page.own')));
  document.querySelector('.top nav').append(
    ...links, button(say('logOut'), logOut, { class: 'plain', title: account.email }));
}

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
