/* The page at /ui/: who is logged in, the rooms that they may enter, and the one that was asked for. */

import { make, button } from './dom.js';
import { complain } from './notice.js';
import { ask } from './server.js';
import { loadWords, say } from './words.js';

// Name in the address -> for administrators alone? The first is the queue.
const ROOMS = { '': false, accounts: true, bans: true, authors: true, counters: true, log: true, outbox: true, settings: true, state: true, profile: false };

const room = location.pathname.split('/').pop();
const main = document.querySelector('main');

async function begin() {
  await loadWords();
  const account = await ask('GET', 'token');
  if (!account.objectId) {
    location.replace(`login?next=${room}`);
    return;
  }
  const isAdministrator = account.type === 'administrator';
  document.body.classList.toggle('is-administrator', isAdministrator);
  showTop(account, isAdministrator);
  const name = room in ROOMS && (isAdministrator || !ROOMS[room]) ? room : '';
  const module = await import(`./${name || 'queue'}.js`);
  document.title = `${say(`room.${name || 'queue'}`)} · ${document.title}`;
  await module.open(main, account);
}

function showTop(account, isAdministrator) {
  const links = Object.entries(ROOMS).filter(([, isTheirs]) => isAdministrator || !isTheirs).map(([name]) =>
    make('a', { href: `./${name}`, 'aria-current': name === room && 'page' },
      name || isAdministrator ? say(`room.${name || 'queue'}`) : say('room.own')));
  document.querySelector('.top nav').append(
    ...links, button(say('logOut'), logOut, { class: 'plain', title: account.email }));
}

async function logOut() {
  try {
    await ask('DELETE', 'token');
    location.replace('login');
  } catch (refusal) {
    complain(refusal);
  }
}

begin().catch((error) => {
  main.replaceChildren(make('div', { class: 'state', role: 'alert' },
    make('p', {}, error.message), button(say('again'), () => location.reload(), { class: 'button' })));
});
