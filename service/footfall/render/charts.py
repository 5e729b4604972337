"""Charts as SVG: bars, one per day, and lines as small as a word. Pure functions of numbers.

Screen readers get their name, and beside a chart of bars the page's table; a pointer shows the
title of each bar. Colours are the page's, by class, since inline styles would need a weaker
Content-Security-Policy.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

# In units of the picture, which is stretched to its place.
BAR_WIDTH = 10
GAP = 2
BARS_HEIGHT = 100
NOTE_HEIGHT = 4
LINE_WIDTH = 100
LINE_HEIGHT = 24
# So that the ends of a line are not cut off.
MARGIN = 2


class Bar(NamedTuple):
    """`title` describes it; `parts` are numbers, from the bottom up.

    A part below zero, which only damaged data has, is not drawn.
    """

    title: str
    parts: Sequence[int]
    # Has a mark over it.
    is_marked: bool = False

    @property
    def drawn(self) -> list[int]:
        return [max(0, part) for part in self.parts]


def bars(rows: Sequence[Bar], name: str, before: Sequence[int] = ()) -> str:
    """An SVG of bars side by side; the highest number is as high as the picture.

    `name` is its text alternative. Part number n has the class `part-n`; `before` are the numbers
    of an earlier period, a line over the bars.
    """
    top = max([1, *before, *(sum(bar.drawn) for bar in rows)])
    width = max(1, len(rows)) * BAR_WIDTH
    drawn = "".join(_bar(number, bar, top) for number, bar in enumerate(rows))
    picture = _scale(width) + drawn + _line_over(before, top)
    return (
        f'<svg class="bars" viewBox="0 0 {width} {BARS_HEIGHT}" preserveAspectRatio="none" '
        f'role="img" aria-label="{escape(name)}">{picture}</svg>'
    )


def _scale(width: int) -> str:
    """Lines at the highest number and at half of it."""
    return f'<path class="scale" d="M0 0H{width}M0 {BARS_HEIGHT / 2:g}H{width}"></path>'


def _line_over(numbers: Sequence[int], top: int) -> str:
    """Through the middle of each bar's top."""
    if not any(number > 0 for number in numbers):
        return ""
    points = " ".join(
        f"{BAR_WIDTH * (at + 0.5):g},{BARS_HEIGHT * (1 - max(0, number) / top):.6g}"
        for at, number in enumerate(numbers)
    )
    return f'<polyline class="before" points="{points}"></polyline>'


def _bar(number: int, bar: Bar, top: int) -> str:
    left, parts, floor = number * BAR_WIDTH, list[str](), 0.0
    for index, part in enumerate(bar.drawn):
        height = _share(part, top, BARS_HEIGHT)
        if height:
            y = BARS_HEIGHT - floor - height
            parts.append(_rectangle(left + GAP / 2, y, BAR_WIDTH - GAP, height, f"part-{index}"))
        floor += height
    if bar.is_marked:
        parts.append(_rectangle(left + GAP, -NOTE_HEIGHT, BAR_WIDTH - 2 * GAP, NOTE_HEIGHT, "mark"))
    # As high as the picture, so that a pointer finds the title of a day without views, too.
    place = _rectangle(left, 0, BAR_WIDTH, BARS_HEIGHT, "place")
    return f"<g><title>{escape(bar.title)}</title>{place}{''.join(parts)}</g>"


def _rectangle(x: float, y: float, width: float, height: float, name: str) -> str:
    place = f'x="{x:g}" y="{y:.6g}" width="{width:g}" height="{height:.6g}"'
    return f'<rect class="{name}" {place}></rect>'


def _share(part: int, whole: int, height: float) -> float:
    """A part's share of the height; a positive one is always visible."""
    if not part:
        return 0
    return max(1, round(height * (part / whole), 2))


def spark_line(numbers: Sequence[int], name: str) -> str:
    """An SVG of a line through these numbers, from 0 at its bottom; `name` is its text
    alternative."""
    heights = [max(0, number) for number in numbers] or [0]
    # A single number is a line, too.
    heights = heights if len(heights) > 1 else heights * 2
    top, steps = max(*heights, 1), len(heights) - 1
    points = " ".join(
        f"{MARGIN + (LINE_WIDTH - 2 * MARGIN) * at / steps:.4g},"
        f"{LINE_HEIGHT - MARGIN - (LINE_HEIGHT - 2 * MARGIN) * (number / top):.4g}"
        for at, number in enumerate(heights)
    )
    return (
        f'<svg class="spark" viewBox="0 0 {LINE_WIDTH} {LINE_HEIGHT}" preserveAspectRatio="none" '
        f'role="img" aria-label="{escape(name)}"><title>{escape(name)}</title>'
        f'<polyline points="{points}"></polyline></svg>'
    )
