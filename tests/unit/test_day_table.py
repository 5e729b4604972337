"""What the owner's pages say of days: rows, sums, and how a period compares."""

from collections.abc import Sequence

import pytest

from footfall.http.page_words import PageWords
from footfall.owner.day_table import chart_of, last_days, period_of, rows_of
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


def both(views: Sequence[int], days: int) -> tuple[Report, Report]:
    """The last days, and as many before them."""
    found = report(views)
    return last_days(found, days), last_days(found, days, skip=days)


def test_each_day_stands_beside_its_day_of_the_period_before() -> None:
    rows = rows_of(*both([11, 0, 31, 41], 2), WORDS)
    assert [(row.day, row.people, row.bots, row.before) for row in rows] == [
        ("Nov 29, 2026", 30, 1, 10),
        ("Nov 30, 2026", 40, 1, 0),
    ]


def test_weeks_start_on_monday_and_stand_beside_as_many_days() -> None:
    rows = rows_of(*both([2] * 20, 10), WORDS, "week")
    assert [(row.day, row.people, row.visitors, row.before) for row in rows] == [
        ("Nov 21, 2026 – Nov 22, 2026", 2, 4, 2),
        ("Nov 23, 2026 – Nov 29, 2026", 7, 14, 7),
        ("Nov 30, 2026", 1, 2, 1),
    ]


def test_a_month_has_its_name() -> None:
    (row,) = rows_of(report([2] * 30), None, WORDS, "month")
    assert (row.day, row.people, row.before) == ("November 2026", 30, 0)


@pytest.mark.parametrize(
    ("views", "days", "told"),
    [
        ([11, 16], 1, ("15", "10 yesterday")),
        ([6, 6, 11, 11], 2, ("20", "+100% compared to 10")),
        ([0, 0, 11, 11], 2, ("20", "none in that period")),
        ([11, 11, 0, 0], 2, ("0", "-100% compared to 20")),
    ],
    ids=str,
)
def test_a_period_is_compared_with_as_many_days_before(
    views: Sequence[int], days: int, told: tuple[str, str]
) -> None:
    now, before = both(views, days)
    found = period_of("P", now, before, WORDS, has_visitors=False, is_today=days == 1)
    assert (found.views, found.before) == told
    assert found.visitors == ""


def test_visitors_are_told_where_they_are_kept() -> None:
    now, before = both([1, 1, 11, 11], 2)
    assert period_of("P", now, before, WORDS, has_visitors=True).visitors == "4 visitors"
    rows = rows_of(now, before, WORDS)
    assert "10 views, 2 visitors, 1 by bots" in chart_of(rows, WORDS, has_visitors=True).svg
    assert "visitors" not in chart_of(rows, WORDS, has_visitors=False).svg


def test_the_top_of_a_chart_is_the_highest_day_of_both_periods() -> None:
    rows = rows_of(*both([5_001, 0, 31, 41], 2), WORDS)
    chart = chart_of(rows, WORDS, has_visitors=False)
    assert (chart.marks, chart.top) == (("Nov 29, 2026", "Nov 30, 2026"), "5,000")
