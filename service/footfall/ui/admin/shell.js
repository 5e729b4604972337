/* What the reference's admin front-end expects in its window, and what keeps a log-in from others: the front-end
 * is loaded when no token is in the address any more, and tells only pages that may know of it.
 */

const { siteUrl, siteName, serverUrl, services, captcha, asset, opener, asks } = document.documentElement.dataset;
const { field, key = '' } = JSON.parse(captcha);

Object.assign(window, {
  SITE_URL: siteUrl,
  SITE_NAME: siteName,
  serverURL: serverUrl,
  recaptchaV3Key: field === 'recaptchaV3' ? key : '',
  turnstileKey: field === 'turnstile' ? key : '',
  oauthServices: JSON.parse(services),
});

const address = new URL(location);
// Of a log-in by another service, and of a client that opens the profile.
const answer = new URLSearchParams(address.hash.slice(1));
const token = address.searchParams.get('token');
if (token) {
  window.TOKEN = token;
  address.searchParams.delete('token');
}
if (answer.has('ticket')) address.hash = '';
history.replaceState(null, '', address);

// The front-end sends messages to whichever page has opened this one.
const site = window.opener;
let mayTell = !asks;
const toSite = {
  postMessage(message) {
    mayTell ||= confirm(`Hand your log-in to ${opener}? Its pages could then do here whatever you can.`);
    if (mayTell) site.postMessage(message, opener);
  },
};
window.opener = site && opener ? toSite : null;

async function logIn() {
  const code = answer.has('code') ? prompt('The code of your authenticator') : '';
  const body = JSON.stringify({ ticket: answer.get('ticket'), code: code ?? '' });
  const sent = await fetch(`${serverUrl}token`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { data, errmsg } = await sent.json();
  if (data?.token) sessionStorage.setItem('TOKEN', data.token);
  else alert(errmsg);
}

async function begin() {
  if (answer.has('ticket')) await logIn().catch((error) => alert(error.message));
  const script = document.createElement('script');
  script.src = asset;
  document.body.append(script);
}

begin();
