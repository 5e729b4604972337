/* Draws the days of the page's table once more, so that a part of them can be seen larger: with a pointer by drawing
 * over that part, with the keyboard or a finger by the buttons. Without this script the page has its bars.
 */

const place = document.getElementById('zoom');
const table = document.getElementById('days');
const HEIGHT = 260;
// At least so many days are shown.
const LEAST_DAYS = 7;
const DAY = 86_400;

if (place && table) begin();

function begin() {
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows].reverse();
  const columns = heads.map((_, column) => rows.map((row) => Number(row.cells[column].dataset.value)));
  place.hidden = false;
  let plot = null;
  const draw = () => {
    const scale = plot && { min: plot.scales.x.min, max: plot.scales.x.max };
    plot?.destroy();
    plot = new uPlot(options(heads), columns, place);
    if (scale) plot.setScale('x', scale);
  };
  place.append(buttons((change) => plot.setScale('x', change(plot.scales.x, columns[0]))));
  draw();
  // Colours are read when it is drawn.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  addEventListener('resize', () => plot.setSize({ width: place.clientWidth, height: HEIGHT }));
}

/** Each column has its name in its head, and the colour that the bars have. */
function options(heads) {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
  const number = new Intl.NumberFormat(document.documentElement.lang);
  const day = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'medium', timeZone: 'UTC' });
  const short = new Intl.DateTimeFormat(document.documentElement.lang, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line') }, ticks: { stroke: colour('--line') } };
  const written = (value) => (value === null ? '–' : number.format(value));
  return {
    width: place.clientWidth,
    height: HEIGHT,
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC'),
    axes: [
      { ...axis, values: (_, found) => found.map((at) => short.format(at * 1000)) },
      { ...axis, size: 64, values: (_, found) => found.map(written) },
    ],
    series: heads.map(({ textContent: label, dataset }, index) => (index === 0
      ? { label, value: (_, at) => (at === null ? '–' : day.format(at * 1000)) }
      : { label, stroke: colour(dataset.colour), width: 2, value: (_, value) => written(value), points: { show: false } })),
    scales: { y: { range: (_, __, high) => [0, Math.max(1, high)] } },
  };
}

/** Buttons that change which days are shown; `act` gets what makes the new ends of the old ones and all days. */
function buttons(act) {
  const ways = {
    in: (shown, days) => around(shown, days, 0.5),
    out: (shown, days) => around(shown, days, 2),
    earlier: (shown, days) => moved(shown, days, -0.5),
    later: (shown, days) => moved(shown, days, 0.5),
    all: (_, days) => ({ min: days[0], max: days.at(-1) }),
  };
  const row = document.createElement('div');
  row.className = 'zoom-buttons';
  for (const [name, change] of Object.entries(ways)) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'button';
    button.textContent = place.dataset[name];
    button.addEventListener('click', () => act(change));
    row.append(button);
  }
  return row;
}

function around({ min, max }, days, factor) {
  const half = Math.max((max - min) * factor, LEAST_DAYS * DAY) / 2;
  const middle = (min + max) / 2;
  return within(middle - half, middle + half, days);
}

const moved = ({ min, max }, days, share) => within(min + (max - min) * share, max + (max - min) * share, days);

/** As wide as was wanted, and no day beyond those that there are. */
function within(min, max, days) {
  const first = days[0];
  const last = days.at(-1);
  const width = Math.min(max - min, last - first);
  const start = Math.min(Math.max(min, first), last - width);
  return { min: start, max: start + width };
}
