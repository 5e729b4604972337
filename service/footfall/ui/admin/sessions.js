/* The list of your sessions, and buttons to end them. */

import { make, button } from './dom.js';
import { complain, tell } from './notice.js';
import { ask, query } from './server.js';
import { date, say } from './words.js';

const services = JSON.parse(document.documentElement.dataset.services);

/** An element with the list, and a function that reloads it. */
export function sessionList() {
  const place = make('div', {});
  const show = async () => {
    try {
      const { sessions, proof } = await ask('GET', 'token/sessions');
      place.replaceChildren(...proof === 'log-in' ? logInAgain() : [], list(sessions, end), ...others(sessions, end));
    } catch (refusal) {
      complain(refusal);
    }
  };
  const end = async (path) => {
    try {
      await ask('DELETE', path);
      tell(say('sessionEnded'));
    } catch (refusal) {
      complain(refusal);
    }
    await show();
  };
  return [place, show];
}

const list = (sessions, end) =>
  make('ul', { class: 'rows' }, sessions.map((each) => make('li', { 'data-current': each.current },
    make('span', { class: 'who' },
      make('span', {}, [each.browser, each.os].filter(Boolean).join(' · ') || say('unknownBrowser'), ' ',
        each.current && make('span', { class: 'badge' }, say('thisSession'))),
      make('span', { class: 'quiet' }, facts(each).filter(Boolean).join(' · '))),
    !each.current && button(say('endSession'), () => end(`token/sessions/${each.id}`), { class: 'plain danger' }))));

const facts = ({ began, network, by }) => [
  began && say('sessionSince', { date: date(began) }),
  network,
  by && (by === 'password' ? say('byPassword') : say('byService', { service: services[by] ?? by })),
];

const others = (sessions, end) =>
  sessions.length > 1 ? [button(say('endOthers'), () => end('token/sessions'), { class: 'button' })] : [];

/** For accounts with a login service only: log in there again as proof. */
function logInAgain() {
  const redirect = location.pathname.replace(/profile$/, 'login?next=profile');
  return [
    make('p', {}, say('logInAgain')),
    make('p', { class: 'actions' }, Object.entries(services).map(([type, service]) =>
      make('a', { class: 'button', href: `../api/oauth?${query({ type, redirect })}` }, say('logInBy', { service })))),
  ];
}
