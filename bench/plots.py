"""Pictures of results; they need matplotlib, which `make bench` installs."""

import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

from .results import OURS, Results

WORK = ("inc", "inc-browser", "read1", "read50", "page", "submit", "mixed")
COLOURS = {
    OURS: "#c2410c",
    "nginx": "#0f766e",
    "nginx-joined": "#5eead4",
    "webdis": "#6366f1",
    "ioredis": "#84cc16",
    "plain": "#a8a29e",
    "waline": "#334155",
    "waline-pg": "#94a3b8",
    "least": "#f472b6",
    "floor": "#facc15",
}


def draw(results: Results, directory: Path) -> list[Path]:
    """Draw the pictures for which there are results; none without matplotlib."""
    plt = _pyplot()
    if plt is None:
        return []
    directory.mkdir(parents=True, exist_ok=True)
    made = [_throughput(plt, results, directory / "bench-throughput.png")]
    for of in ("paths", "comments"):
        made.append(_growth(plt, results, of, directory / f"bench-growth-{of}.png"))
    return [each for each in made if each]


def _pyplot() -> Any:
    try:
        matplotlib = import_module("matplotlib")
        matplotlib.use("Agg")
        plt: Any = import_module("matplotlib.pyplot")
    except ImportError:
        print("no pictures: pip install --group bench brings matplotlib", file=sys.stderr)
        return None
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    return plt


def _throughput(plt: Any, results: Results, file: Path) -> Path | None:
    bars = []
    for scenario in WORK:
        for peer in results.peers(scenario):
            spread = results.spread(scenario, peer)
            if spread and spread.median:
                bars.append((scenario, peer, spread))
    if not bars:
        return None
    figure, axes = plt.subplots(figsize=(9, 0.6 + 0.26 * len(bars)))
    y, ticks, seen = 0.0, [], set[str]()
    last = ""
    for scenario, peer, spread in bars:
        y += 1.8 if last and scenario != last else 1
        last = scenario
        axes.barh(y, spread.median, color=COLOURS.get(peer, "#d4d4d4"), height=0.85)
        axes.plot([spread.least, spread.greatest], [y, y], color="black", linewidth=1)
        axes.text(spread.greatest * 1.06, y, f"{spread.median:,.0f}", va="center", fontsize=8)
        if scenario not in seen:
            seen.add(scenario)
            title = results.titles.get(scenario, scenario)
            across = axes.get_yaxis_transform()
            axes.text(0, y - 0.95, title, va="center", fontweight="bold", transform=across)
        ticks.append((y, peer))
    axes.set_yticks([at for at, _ in ticks], [label for _, label in ticks])
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.set_xlabel("requests a second, one server core (logarithmic); line: least to greatest")
    return _save(plt, figure, file)


def _growth(plt: Any, results: Results, of: str, file: Path) -> Path | None:
    rows = [row for row in results.growth if row["of"] == of and not row["is_discarded"]]
    if not rows:
        return None
    lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        lines[row["operation"]].append(row)
    figure, pair = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
    for axes, what, title in (
        (pair[0], "redis_us", "Redis, CPU µs a request"),
        (pair[1], "server_us", "server, CPU µs a request"),
    ):
        for operation, points in lines.items():
            axes.plot(
                [p["size"] for p in points], [p[what] for p in points], marker="o", label=operation
            )
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("paths counted" if of == "paths" else "comments of the article")
    pair[0].legend(frameon=False, fontsize=8)
    return _save(plt, figure, file)


def _save(plt: Any, figure: Any, file: Path) -> Path:
    figure.tight_layout()
    figure.savefig(file, dpi=130)
    plt.close(figure)
    return file
