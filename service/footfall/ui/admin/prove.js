/* Sensitive changes: ask for the password or a code, and send it with the change. */

import { make, button, field } from './dom.js';
import { ask } from './server.js';
import { say } from './words.js';

const FIELDS = {
  password: () => field(say('presentPassword'), 'current_password', { type: 'password', required: true, maxlength: 256, autocomplete: 'current-password' }),
  code: () => field(say('code'), 'current_code', { required: true, maxlength: 32, autocomplete: 'one-time-code' }, say('codeHint')),
};

/** {data} of an operation, after proof; null if the dialog was cancelled. Throws Refusal. */
export async function prove(method, path, body) {
  const { proof } = await ask('GET', 'token/sessions');
  // With a login service only, the server checks how recent the login is.
  if (!FIELDS[proof]) return { data: await ask(method, path, body) };
  return new Promise((resolve) => open(FIELDS[proof](), (known) => ask(method, path, { ...body, ...known }), resolve));
}

function open(input, send, resolve) {
  const refused = make('p', { role: 'alert' });
  const save = make('button', { type: 'submit', class: 'button primary' }, say('goOn'));
  const form = make('form', { class: 'stack', 'data-form': 'proof', onsubmit: async (event) => {
    event.preventDefault();
    save.disabled = true;
    try {
      resolve({ data: await send(Object.fromEntries(new FormData(form))) });
      dialog.close();
    } catch (refusal) {
      refused.textContent = refusal.message;
      save.disabled = false;
    }
  } },
  make('h2', {}, say('prove')), input, refused,
  make('div', { class: 'actions' }, save, button(say('cancel'), () => dialog.close(), { class: 'button' })));
  const close = () => {
    dialog.remove();
    resolve(null);
  };
  const dialog = make('dialog', { 'aria-label': say('prove'), onclose: close }, form);
  document.body.append(dialog);
  dialog.showModal();
  input.querySelector('input').focus();
}
