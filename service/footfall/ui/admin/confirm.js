/* Confirm an email address with the token from a link, after its # so that it is sent nowhere else. Nothing happens
 * before the button is pressed: email scanners open links, too.
 */

import { ask } from './server.js';
import { loadWords, say } from './words.js';

const form = document.getElementById('form');
const status = document.getElementById('status');
const password = document.getElementById('password');
const token = location.hash.slice(1);
history.replaceState(null, '', location.pathname + location.search);
// The token for a changed address starts with the account.
const account = token.includes('.') ? token.slice(0, token.lastIndexOf('.')) : '';

async function isTheirs() {
  if (!account) return false;
  try {
    return (await ask('GET', 'token')).objectId === account;
  } catch {
    return false;
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = form.querySelector('button');
  button.disabled = true;
  status.textContent = say('moment');
  try {
    await ask('PUT', 'verification', { token, password: password.value });
    form.hidden = true;
    status.textContent = say('confirmed');
  } catch (refusal) {
    status.textContent = refusal.message;
  }
  // Also after an error: if it was confirmed before, a login is enough.
  document.getElementById('login').hidden = false;
  button.disabled = false;
});

await loadWords();
if (token) {
  const isLoggedIn = await isTheirs();
  document.getElementById('proof').hidden = isLoggedIn;
  password.required = !isLoggedIn;
  form.hidden = false;
  status.textContent = '';
  if (!isLoggedIn) password.focus();
}
