/* Logs in or registers. A site's page that asked for it is handed the log-in, by a message or by an address to come
 * back to: the server has said which page may have it. Everybody else goes on to the rooms at /ui/.
 */

import { ask } from './server.js';
import { loadWords, say } from './words.js';

const byId = (id) => document.getElementById(id);
const form = byId('form');
const status = byId('status');
const { opener, return: back } = document.documentElement.dataset;
// Whoever comes from a page of ours is sent on, and nothing is handed over.
const origin = opener === location.origin ? '' : opener;
const isAsked = Boolean(origin && (window.opener || back));

let isRegistering = false;

function show() {
  isRegistering = location.hash === '#register' || location.pathname.endsWith('/register');
  if (location.hash === '#login') isRegistering = false;
  const title = say(isRegistering ? 'register' : 'logIn');
  document.title = document.title.replace(/^[^·]*/, `${title} `);
  byId('title').textContent = title;
  form.querySelector('button').textContent = title;
  for (const each of document.querySelectorAll('[data-only]')) {
    each.hidden = (each.dataset.only === 'register') !== isRegistering;
  }
  byId('nick').required = isRegistering;
  byId('password').minLength = isRegistering ? 5 : 1;
  byId('password').autocomplete = isRegistering ? 'new-password' : 'current-password';
  byId('code-row').hidden = true;
  byId('other').textContent = say(isRegistering ? 'haveAccount' : 'register');
  byId('other').href = isRegistering ? '#login' : '#register';
  status.textContent = '';
}

function goOn(person, remember) {
  if (window.opener && origin) {
    window.opener.postMessage({ type: 'userInfo', data: { ...person, remember } }, origin);
    status.textContent = say('closeWindow');
    return;
  }
  if (origin && back) {
    const target = new URL(back);
    target.searchParams.set('token', person.token);
    location.replace(target);
    return;
  }
  // The name of a room and nothing else, so that nobody is sent elsewhere from here.
  const next = new URLSearchParams(location.search).get('next') ?? '';
  location.replace(`./${/^[a-z]+$/.test(next) ? next : ''}`);
}

/** What to say, or null where there is nothing more to be done here. */
async function submit() {
  const person = { email: byId('mail').value, password: byId('password').value };
  if (isRegistering) {
    await ask('POST', 'user', { ...person, display_name: byId('nick').value, setup_code: byId('setup').value });
  }
  if (byId('code-row').hidden) {
    const { enable } = await ask('GET', `token/2fa?email=${encodeURIComponent(person.email)}`);
    if (enable) {
      byId('code-row').hidden = false;
      byId('code').focus();
      return say('needsCode');
    }
  }
  const remember = byId('remember').checked;
  const account = await ask('POST', 'token', { ...person, code: byId('code').value, remember, hand: isAsked });
  form.hidden = true;
  byId('other').hidden = true;
  goOn(account, remember);
  return null;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = form.querySelector('button');
  button.disabled = true;
  status.textContent = say('moment');
  try {
    const words = await submit();
    if (words !== null) status.textContent = words;
  } catch (refusal) {
    status.textContent = refusal.isBlank ? say('wrongLogIn') : refusal.message;
  }
  button.disabled = false;
});

await loadWords();
addEventListener('hashchange', show);
byId('for').textContent = isAsked ? say('for', { site: new URL(origin).host }) : '';
show();
