/* Log in or register. A site's page that opened this one receives the login, by a message or in the address to return
 * to: the server has decided which page may receive it, and whether the reader is asked first. Everybody else continues
 * in the admin UI.
 */

import { passed } from './captcha.js';
import { ask, problem, query } from './server.js';
import { loadWords, say } from './words.js';
import { done } from './work.js';

const byId = (id) => document.getElementById(id);
const form = byId('form');
const status = byId('status');
const page = document.documentElement.dataset;
const { opener, return: back, asks, refused } = page;
const asked = new URLSearchParams(location.search);
// From a page of the admin UI, return to it without handing over a login. A site may have the same origin.
const isOurs = asked.has('next') || back.startsWith(new URL('./', location).href);
const isAsked = Boolean(opener && !isOurs && (window.opener || back));
const isRefused = Boolean(refused && (window.opener || asked.has('redirect')));
const services = Object.entries(JSON.parse(page.services));

let isRegistering = false;
// The email of a new account, to be confirmed.
let unconfirmed = '';
// Does the account need a two-factor code, which this page asks for?
let asksCode = false;
// The ticket of a login through another service, instead of email and password.
let ticket = '';

function show() {
  isRegistering = location.hash === '#register' || location.pathname.endsWith('/register');
  if (location.hash === '#login') isRegistering = false;
  const isCodeStep = asksCode || Boolean(ticket);
  const title = say(isCodeStep ? 'section.secondFactor' : isRegistering ? 'register' : 'logIn');
  document.title = document.title.replace(/^[^·]*/, `${title} `);
  byId('title').textContent = title;
  form.querySelector('button').textContent = say(isRegistering ? 'register' : 'logIn');
  const shown = {
    register: isRegistering, setup: isRegistering && Boolean(page.setup), login: !isRegistering, password: !isCodeStep,
  };
  for (const each of document.querySelectorAll('[data-only]')) each.hidden = !shown[each.dataset.only];
  byId('mail').required = byId('password').required = !isCodeStep;
  byId('nick').required = isRegistering;
  byId('password').minLength = isRegistering ? 8 : 1;
  byId('password').autocomplete = isRegistering ? 'new-password' : 'current-password';
  byId('code-row').hidden = !isCodeStep;
  byId('services').hidden = isCodeStep;
  byId('forgot').hidden = isRegistering || isCodeStep || !page.mails;
  byId('other').hidden = !isRegistering && !isCodeStep && !page.open;
  byId('other').textContent = say(isCodeStep ? 'otherAccount' : isRegistering ? 'haveAccount' : 'register');
  byId('other').href = isRegistering || isCodeStep ? '#login' : '#register';
  status.textContent = '';
}

/** Hand the login to the page that asked for it, or continue in the admin UI. */
async function goOn(person, remember) {
  const isHanded = isAsked && (!asks || (await mayHand()));
  if (isHanded && window.opener) {
    window.opener.postMessage({ type: 'userInfo', data: { ...person, remember } }, opener);
    status.textContent = say('closeWindow');
    return;
  }
  if (isHanded) {
    const target = new URL(back);
    target.searchParams.set('token', person.token);
    location.replace(target);
    return;
  }
  // Only the demonstration page or the name of a page: no open redirect.
  const next = asked.get('next') ?? '';
  location.replace(next === 'demo' ? '../' : `./${/^[a-z]+$/.test(next) ? next : ''}`);
}

/** Ask whether a page that no setting names may receive the login. */
function mayHand() {
  status.textContent = '';
  byId('hand-question').textContent = say('handQuestion', { site: opener });
  byId('hand').hidden = false;
  // No button has the focus: a key press while typing is no answer.
  byId('hand').focus();
  return new Promise((answer) => {
    for (const [id, isYes] of [['hand-yes', true], ['hand-no', false]]) {
      byId(id).addEventListener('click', () => {
        byId('hand').hidden = true;
        answer(isYes);
      }, { once: true });
    }
  });
}

/** A link per service. It returns to this page, which remembers the page that asked for the login. */
function listServices() {
  for (const [type, service] of services) {
    const link = document.createElement('a');
    const lead = () => {
      const here = new URLSearchParams(location.search);
      if (opener) here.set('for', opener);
      if (back) here.set('redirect', back);
      if (byId('remember').checked) here.delete('remember');
      else here.set('remember', 'no');
      const redirect = `${location.pathname.replace(/register$/, 'login')}?${here}`;
      link.href = new URL(`../../api/oauth?${query({ type, redirect })}`, import.meta.url);
    };
    lead();
    link.addEventListener('click', lead);
    link.textContent = say('logInBy', { service });
    const item = document.createElement('li');
    item.append(link);
    byId('services').append(item);
  }
}

/** The other service's answer, after the #. */
async function comeBack() {
  const answer = new URLSearchParams(location.hash.slice(1));
  if (!answer.has('ticket') && !answer.has('problem')) return;
  history.replaceState(null, '', location.pathname + location.search);
  byId('remember').checked = asked.get('remember') !== 'no';
  ticket = answer.get('ticket') ?? '';
  show();
  if (!ticket) status.textContent = problem(answer.get('problem'));
  else if (answer.has('code')) byId('code').focus();
  else await trySubmit();
}

/** The message to show, or null if this page is done. */
async function submit() {
  const person = ticket ? { ticket } : { email: byId('mail').value, password: byId('password').value };
  if (isRegistering) {
    const challenge = await ask('GET', 'user/challenge');
    const work = challenge ? await done(challenge) : '';
    const proof = { work, ...(await passed(byId('captcha'))) };
    const made = await ask('POST', 'user', { ...person, display_name: byId('nick').value, setup_code: byId('setup').value, ...proof });
    if (made?.verify) {
      unconfirmed = person.email;
      history.replaceState(null, '', `${location.pathname}${location.search}#login`);
      show();
      return say('confirmSent', { mail: unconfirmed });
    }
  }
  if (!ticket && !asksCode) {
    const { enable } = await ask('GET', `token/2fa?email=${encodeURIComponent(person.email)}`);
    if (enable) {
      asksCode = true;
      show();
      byId('code').focus();
      return say('needsCode');
    }
  }
  const remember = byId('remember').checked;
  const account = await ask('POST', 'token', { ...person, code: byId('code').value, remember, hand: isAsked });
  form.hidden = byId('other').hidden = byId('forgot').hidden = true;
  await goOn(account, remember);
  return null;
}

async function trySubmit() {
  const button = form.querySelector('button');
  button.disabled = true;
  status.textContent = say('moment');
  try {
    const words = await submit();
    if (words !== null) status.textContent = words;
  } catch (refusal) {
    if (ticket && refusal.message !== say('wrongCode')) {
      // From another browser, used, or expired.
      ticket = '';
      show();
    }
    const isTooEarly = unconfirmed && unconfirmed === byId('mail').value;
    status.textContent = refusal.isBlank ? say(isTooEarly ? 'notConfirmed' : 'wrongLogIn') : refusal.message;
  }
  button.disabled = false;
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  trySubmit();
});

await loadWords();
addEventListener('hashchange', show);
byId('other').addEventListener('click', (event) => {
  if (byId('code-row').hidden) return;
  event.preventDefault(); // "Log in as someone else" restarts on this page
  asksCode = false;
  ticket = byId('code').value = '';
  show();
});
byId('vacant').hidden = !page.vacant;
listServices();
// The page that asked for the login stays open in its window.
if (isAsked) byId('forgot').target = '_blank';
if (isAsked) byId('for').textContent = say('for', { site: new URL(opener).host });
else if (isRefused) byId('for').textContent = say('notFor', { site: refused });
show();
// Before this script listens, submitting the form does nothing: form-action is 'none'.
form.querySelector('button').disabled = false;
await comeBack();
