/* The overview's list of what is viewed now, made again while it is looked at. */

const EVERY_MS = 15_000;

async function look() {
  const live = document.querySelector('#live');
  if (document.hidden || !live || live.contains(document.activeElement)) return;
  const page = new DOMParser().parseFromString(await (await fetch(`live${location.search}`)).text(), 'text/html');
  const now = page.querySelector('#live');
  if (now) live.replaceWith(now);
}

// A page that cannot be loaded now is looked at again.
setInterval(() => look().catch(() => {}), EVERY_MS);
