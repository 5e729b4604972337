/* The number of the bar under a mouse or a finger, above the bars; a title comes late, and not to fingers. */

for (const chart of document.querySelectorAll('figure.chart')) {
  const said = chart.querySelector('.said');
  const say = ({ target }) => {
    const title = target.closest('g')?.querySelector('title');
    if (title) said.textContent = title.textContent;
  };
  chart.querySelector('svg').addEventListener('pointermove', say);
  chart.querySelector('svg').addEventListener('pointerdown', say);
}
