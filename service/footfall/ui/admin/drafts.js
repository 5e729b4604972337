/* Texts that were typed and not sent. They survive a reload and the closing of their form, in this tab until logout. */

const PREFIX = 'footfall-draft ';
// No passwords, and no codes, which are valid once.
const TEXTS = ':is(textarea, input:not([type]), input[type=email], input[type=url])[name]:not([autocomplete=one-time-code])';

const texts = (form) => [...form.querySelectorAll(TEXTS)];

/** Fill in what was left in the form of this name, and keep what is typed from now on. */
export function keepDraft(form, name) {
  const key = PREFIX + name;
  const first = new Map(texts(form).map((field) => [field.name, field.value]));
  const draft = JSON.parse(sessionStorage.getItem(key) ?? '{}');
  for (const field of texts(form)) field.value = draft[field.name] ?? field.value;
  form.addEventListener('input', () => {
    const typed = texts(form).filter((field) => field.value !== first.get(field.name));
    // Storage may be full: then a reload forgets.
    try { sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(typed.map((field) => [field.name, field.value])))); } catch { /* it stays in the form */ }
  });
  form.addEventListener('reset', () => forgetDraft(name));
}

export const forgetDraft = (name) => sessionStorage.removeItem(PREFIX + name);
