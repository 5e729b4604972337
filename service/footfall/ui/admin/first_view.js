/* The overview of a site without views: copies the line for its pages, and shows the first view when it comes. */

const EVERY_MS = 3_000;

document.querySelectorAll('.first-view button').forEach((button) => {
  // Only secure contexts have a clipboard; elsewhere the line is selected by hand.
  button.hidden = !navigator.clipboard;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(document.querySelector('.first-view code').textContent);
    button.textContent = button.dataset.done;
  });
});

async function look() {
  if (document.hidden) return true;
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html');
  const now = page.querySelector('.first-view [role=status]');
  if (now) {
    document.querySelector('.first-view [role=status]').textContent = now.textContent;
    return true;
  }
  const main = page.querySelector('main');
  if (page.querySelector('.tiles')) document.querySelector('main').replaceWith(main);
  return !page.querySelector('.tiles');
}

const timer = setInterval(async () => {
  // A page that cannot be loaded now is looked at again.
  if (!await look().catch(() => true)) clearInterval(timer);
}, EVERY_MS);
