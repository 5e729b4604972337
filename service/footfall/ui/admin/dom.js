/* Create elements without markup, so that visitors' text stays text. */

/** `attributes`: names starting with on are listeners, true sets an attribute, false omits it; children: nodes or text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value') element.value = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** While its promise is pending, it is busy: another click does nothing. A disabled one keeps the focus. */
export const button = (text, onclick, attributes = {}) =>
  make('button', { type: 'button', class: 'plain', ...attributes, onclick: (event) => busily(event.currentTarget, () => onclick(event)) }, text);

/** Run an action of a control, unless one is running or the control is disabled. */
export async function busily(control, action) {
  if ([control.ariaDisabled, control.ariaBusy].includes('true')) return;
  control.setAttribute('aria-busy', 'true');
  try {
    await action();
  } finally {
    control.removeAttribute('aria-busy');
  }
}

export const disable = (control, isDisabled) => control.setAttribute('aria-disabled', isDisabled);

// Between press and release nothing may move: the click would be on something else.
let isPressed = false;
let waiting = [];
const release = () => setTimeout(() => {
  isPressed = false;
  waiting.splice(0).forEach((go) => go());
});
addEventListener('pointerdown', () => { isPressed = true; }, true);
for (const kind of ['pointerup', 'pointercancel', 'contextmenu', 'dragend', 'blur']) addEventListener(kind, release, true);

/** Wait until no finger and no mouse button is down. */
export const released = () => new Promise((go) => { if (isPressed) waiting.push(go); else go(); });

/** A label and its field; `more`: the field's attributes. */
export function field(label, name, more = {}, hint = '') {
  const { tag = 'input', ...attributes } = more;
  const described = hint ? { 'aria-describedby': `${name}-hint` } : {};
  const input = make(tag, { name, id: `f-${name}`, ...described, ...attributes });
  return make('p', { class: 'field' },
    make('label', { for: `f-${name}` }, label), input,
    hint && make('span', { class: 'hint', id: `${name}-hint` }, hint));
}

/** A label and its select; options are [value, text]. */
export const choice = (label, name, options, chosen) => make('p', { class: 'field' }, make('label', { for: `f-${name}` }, label),
  make('select', { id: `f-${name}`, name }, options.map(([value, text]) => make('option', { value, selected: value === chosen }, text))));

const SVG = 'http://www.w3.org/2000/svg';

export function drawing(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
