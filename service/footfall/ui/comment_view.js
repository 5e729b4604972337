/* Render comments on the demonstration page and in the admin UI.
 *
 * Only a comment's HTML, sanitised by the server, becomes markup; its pictures are not loaded.
 */

export function spaced(browser) {
  return browser?.replace(/(\D)(\d+)(\.\d+)*$/, '$1 $2'); // "Firefox131.0" on the wire
}

export function tone(nick) {
  return [...nick].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 9973, 7) % 6;
}

export function linkTo(anchor, address) {
  const url = webAddress(address);
  if (!url) return;
  anchor.href = url;
  anchor.rel = 'nofollow ugc noopener noreferrer';
  anchor.target = '_blank';
}

export function webAddress(address) {
  try { return /^https?:\/\//i.test(address) ? new URL(address).href : null; } catch { return null; }
}

/** The sanitised HTML as nodes, with pictures and media replaced by links before they load. */
export function contentOf(html) {
  const template = document.createElement('template');
  template.innerHTML = html;
  const { content } = template;
  content.querySelectorAll('[class], [style], [background]').forEach((node) => {
    // A class could make a comment look like a badge or notice of this page; a background is a picture.
    for (const name of ['class', 'style', 'background']) node.removeAttribute(name);
  });
  content.querySelectorAll('picture').forEach((picture) => picture.replaceWith(picture.querySelector('img') ?? ''));
  content.querySelectorAll('img, image, video, audio, iframe, embed, object').forEach(linkInstead);
  content.querySelectorAll('table').forEach((table) => {
    const frame = document.createElement('div');
    frame.className = 'scroll';
    table.replaceWith(frame);
    frame.append(table);
  });
  return content;
}

function linkInstead(media) {
  const source = media.getAttribute('src') ?? media.querySelector('source')?.getAttribute('src') ?? '';
  media.removeAttribute('srcset');
  if (media.localName === 'img' && source.startsWith('data:image/')) return;
  const link = document.createElement('a');
  link.textContent = media.getAttribute('alt') || media.getAttribute('title') || 'Picture or media';
  linkTo(link, source);
  media.replaceWith(media.closest('a') ? link.textContent : link);
}

// Elements that scroll need keyboard focus; this is known once the comment is in the page.
export function settle(item) {
  item.querySelectorAll('pre, .scroll').forEach((box) => {
    if (box.scrollWidth <= box.clientWidth) return;
    box.tabIndex = 0;
    box.setAttribute('role', 'region');
    box.setAttribute('aria-label', box.localName === 'pre' ? 'Code' : 'Table');
  });
  return item;
}
