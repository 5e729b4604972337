/* Sets a password with the token of a link, which is after its # and so is sent nowhere else. */

import { ask } from './server.js';
import { loadWords, say } from './words.js';

const form = document.getElementById('form');
const status = document.getElementById('status');
const password = document.getElementById('password');
const again = document.getElementById('again');
const token = location.hash.slice(1);
history.replaceState(null, '', location.pathname + location.search);

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  if (password.value !== again.value) {
    status.textContent = say('twoPasswords');
    again.focus();
    return;
  }
  const button = form.querySelector('button');
  button.disabled = true;
  status.textContent = say('moment');
  try {
    await ask('PUT', 'user/password', { token, password: password.value });
    form.hidden = true;
    document.getElementById('login').hidden = false;
    status.textContent = say('passwordSet');
  } catch (refusal) {
    status.textContent = refusal.message;
  }
  button.disabled = false;
});

await loadWords();
if (token) {
  form.hidden = false;
  status.textContent = '';
  password.focus();
}
