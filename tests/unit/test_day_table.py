"""What the owner's pages say of days: rows, sums, and how a period compares."""

from collections.abc import Sequence

import pytest

from footfall.http.page_words import PageWords
from footfall.owner.day_table import chart_of, period_of, rows_of
from footfall.statistics.calendar import days_between
from footfall.statistics.reports import Day, Report

WORDS = PageWords("en")


def report(views: Sequence[int], *, people: frozenset[str] = frozenset()) -> Report:
    """Of so many days to 2026-11-30, each with a bot and two visitors."""
    days = days_between(20261101, 20261130)[-len(views) :]
    found = {
        number: Day(count, 2, {"seo": 1} if count else {})
        for number, count in zip(days, views, strict=True)
    }
    return Report(found, people, 10)


def test_each_day_stands_beside_its_day_of_the_period_before() -> None:
    rows = rows_of(report([11, 0, 31, 41]), 2, WORDS)
    assert [(row.day, row.people, row.bots, row.before) for row in rows] == [
        ("Nov 29, 2026", 30, 1, 10),
        ("Nov 30, 2026", 40, 1, 0),
    ]


@pytest.mark.parametrize(
    ("views", "days", "told"),
    [
        ([11, 16], 1, ("Today", "15", "10 yesterday")),
        ([6, 6, 11, 11], 2, ("Last 2 days", "20", "+100% compared to 10")),
        ([0, 0, 11, 11], 2, ("Last 2 days", "20", "none in the previous period")),
        ([11, 11, 0, 0], 2, ("Last 2 days", "0", "-100% compared to 20")),
    ],
    ids=str,
)
def test_a_period_is_compared_with_as_many_days_before(
    views: Sequence[int], days: int, told: tuple[str, str, str]
) -> None:
    found = period_of(report(views), days, WORDS, has_visitors=False)
    assert (found.name, found.views, found.before) == told
    assert found.visitors == ""


def test_visitors_are_told_where_they_are_kept() -> None:
    found = report([1, 1, 11, 11])
    assert period_of(found, 2, WORDS, has_visitors=True).visitors == "4 visitors"
    rows = rows_of(found, 2, WORDS)
    assert "10 views, 2 visitors, 1 by bots" in chart_of(rows, WORDS, has_visitors=True).svg
    assert "visitors" not in chart_of(rows, WORDS, has_visitors=False).svg


def test_the_top_of_a_chart_is_the_highest_day_of_both_periods() -> None:
    rows = rows_of(report([5_001, 0, 31, 41]), 2, WORDS)
    chart = chart_of(rows, WORDS, has_visitors=False)
    assert (chart.marks, chart.top) == (("Nov 29, 2026", "Nov 30, 2026"), "5,000")
