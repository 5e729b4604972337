"""Charts are well-formed SVG whose shapes have the sizes of their numbers."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, fromstring

import pytest

from footfall.render.charts import BARS_HEIGHT, Bar, bars, spark_line

HOSTILE = "</title><script>alert(1)</script>\"' onload=x &amp;"


def heights(svg: str, part: int = 0) -> list[float]:
    found = fromstring(svg).iter("rect")
    return [float(each.get("height", "")) for each in found if each.get("class") == f"part-{part}"]


def titles(svg: str) -> list[str | None]:
    return [each.text for each in fromstring(svg).iter("title")]


def points(svg: str) -> list[tuple[float, float]]:
    (line,) = fromstring(svg).iter("polyline")
    pairs = (pair.split(",") for pair in line.get("points", "").split())
    return [(float(x), float(y)) for x, y in pairs]


def test_the_highest_bar_is_as_high_as_the_picture_and_others_in_proportion() -> None:
    svg = bars([Bar("a", (50,)), Bar("b", (200,)), Bar("c", (100,))], "views")
    assert heights(svg) == [25, 100, 50]


def test_parts_of_a_bar_stand_on_each_other() -> None:
    svg = bars([Bar("a", (30, 70))], "views")
    first, second = (each for each in fromstring(svg).iter("rect") if each.get("class") != "place")
    assert (first.get("y"), first.get("height")) == ("70", "30")
    assert (second.get("y"), second.get("height")) == ("0", "70")


def test_a_single_view_among_millions_can_be_seen_and_none_cannot() -> None:
    svg = bars([Bar("a", (1,)), Bar("b", (0,)), Bar("c", (10**7,))], "views")
    assert heights(svg) == [1, 100]


def test_a_chart_is_a_picture_with_a_name() -> None:
    for svg in (bars([Bar("a", (1,))], "views a day"), spark_line([1, 2], "views a day")):
        root: Element = fromstring(svg)
        assert (root.get("role"), root.get("aria-label")) == ("img", "views a day")


def test_the_period_before_is_a_line_on_the_same_scale() -> None:
    svg = bars([Bar("a", (1,)), Bar("b", (2,))], "views", [4, 0])
    assert points(svg) == [(5, 0), (15, BARS_HEIGHT)]
    assert heights(svg) == [25, 50]


@pytest.mark.parametrize("numbers", [(), (0,), (5,), (0, 0, 0), (1, 2, 3), (-7, 2), (10**40, 1)])
def test_any_numbers_are_drawn_within_the_picture(numbers: Sequence[int]) -> None:
    svg = bars([Bar("a", (number, number)) for number in numbers], "a", numbers)
    rectangles = [each for each in fromstring(svg).iter("rect") if each.get("class") != "place"]
    for rectangle in rectangles:
        assert float(rectangle.get("y", "")) >= 0
        assert float(rectangle.get("y", "")) + float(rectangle.get("height", "")) <= BARS_HEIGHT
    assert all(0 <= x <= 100 and 0 <= y <= 24 for x, y in points(spark_line(numbers, "a")))


def test_words_are_text_and_nothing_else() -> None:
    for svg in (bars([Bar(HOSTILE, (1,))], HOSTILE, [1]), spark_line([1], HOSTILE)):
        assert titles(svg)[0] == HOSTILE
        assert fromstring(svg).get("aria-label") == HOSTILE
        assert "<script" not in svg
