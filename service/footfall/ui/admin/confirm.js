/* Confirms an address with the token of a mailed link, which is after its # and so is sent nowhere else. Nothing
 * happens before somebody presses the button: programs that scan mails open links as well.
 */

import { ask } from './server.js';
import { loadWords, say } from './words.js';

const form = document.getElementById('form');
const status = document.getElementById('status');
const password = document.getElementById('password');
const token = location.hash.slice(1);
history.replaceState(null, '', location.pathname + location.search);
// The token of another address for an account begins with that account.
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
  // Also behind a refusal: who has confirmed already only has to log in.
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
