/* Set a password with the token from a link, after its # so that it is sent nowhere else; without a token, request a
 * link by email.
 */

import { ask } from './server.js';
import { loadWords, say } from './words.js';

const byId = (id) => document.getElementById(id);
const status = byId('status');
const token = location.hash.slice(1);
history.replaceState(null, '', location.pathname + location.search);

async function send(form, fields) {
  const button = form.querySelector('button');
  button.disabled = true;
  status.textContent = say('moment');
  try {
    await ask('PUT', 'user/password', fields);
    form.hidden = true;
    return true;
  } catch (refusal) {
    status.textContent = refusal.message;
    return false;
  } finally {
    button.disabled = false;
  }
}

byId('ask').addEventListener('submit', async (event) => {
  event.preventDefault();
  const mail = byId('mail').value;
  if (await send(byId('ask'), { email: mail })) status.textContent = say('linkSent', { mail });
});

byId('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (byId('password').value !== byId('again').value) {
    status.textContent = say('twoPasswords');
    byId('again').focus();
    return;
  }
  if (!(await send(byId('form'), { token, password: byId('password').value }))) return;
  status.textContent = say('passwordSet');
});

await loadWords();
const shown = token ? 'form' : document.documentElement.dataset.mails && 'ask';
if (shown) {
  byId(shown).hidden = false;
  status.textContent = '';
  byId(shown).querySelector('input').focus();
}
