/* The captcha of registrations, if the server requires one. Its script is loaded on first use. */

import { Refusal } from './server.js';
import { say } from './words.js';

const { field, key, script } = JSON.parse(document.documentElement.dataset.captcha || '{}');

const loaded = () =>
  new Promise((resolve, reject) => {
    const element = document.createElement('script');
    element.addEventListener('load', resolve);
    element.addEventListener('error', () => {
      element.remove();
      reject(new Refusal(say('captchaAway')));
    });
    element.src = script;
    document.head.append(element);
  });

const WIDGETS = {
  turnstile: (place) =>
    new Promise((resolve, reject) => {
      const refuse = () => reject(new Refusal(say('captchaAway')));
      const widget = window.turnstile.render(place, {
        sitekey: key,
        callback: (token) => {
          window.turnstile.remove(widget);
          resolve(token);
        },
        'error-callback': refuse,
        'timeout-callback': refuse,
      });
    }),
  recaptchaV3: () =>
    new Promise((resolve, reject) => {
      const refuse = () => reject(new Refusal(say('captchaAway')));
      window.grecaptcha.ready(() => window.grecaptcha.execute(key, { action: 'register' }).then(resolve, refuse));
    }),
};
const GLOBALS = { turnstile: 'turnstile', recaptchaV3: 'grecaptcha' };

/** The captcha's field of a registration; empty if none is required. `place` shows it. */
export async function passed(place) {
  if (!field) return {};
  if (!key) throw new Refusal(say('captchaWithoutKey'));
  if (!window[GLOBALS[field]]) await loaded();
  place.replaceChildren();
  return { [field]: await WIDGETS[field](place) };
}
