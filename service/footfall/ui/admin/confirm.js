/* Confirm an email address with the token from a link, after its # so that it is sent nowhere else. Nothing happens
 * before the button is pressed: email scanners open links, too.
 */

import { ask } from './server.js';
import { loadWords, say } from './words.js';

const form = document.getElementById('form');
const status = document.getElementById('status');
const password = document.getElementById('password');
const anew = document.getElementById('anew');
const name = document.getElementById('name');
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

// The link asks for the password that was registered with, which an owner of the address need not know.
anew.addEventListener('change', () => {
  document.getElementById('name-line').hidden = !anew.checked;
  name.required = anew.checked;
  password.autocomplete = anew.checked ? 'new-password' : 'current-password';
  document.getElementById('hint').textContent = say(anew.checked ? 'passwordHint' : 'confirmHint');
});

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = form.querySelector('button');
  button.disabled = true;
  status.textContent = say('moment');
  try {
    await ask('PUT', 'verification', {
      token, password: password.value, ...(anew.checked && { display_name: name.value }),
    });
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
  document.getElementById('others').hidden = account !== '';
  form.hidden = false;
  status.textContent = '';
  if (!isLoggedIn) password.focus();
}
