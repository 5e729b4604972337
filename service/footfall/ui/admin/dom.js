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

export const button = (text, onclick, attributes = {}) =>
  make('button', { type: 'button', class: 'plain', ...attributes, onclick }, text);

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
