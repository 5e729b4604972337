"""Which days an owner has chosen, and what names none."""

import pytest

from footfall.http.page_words import PageWords
from footfall.owner.periods import NotAPeriod, Span, grouped, span_of
from footfall.statistics.calendar import days_between

TODAY = 20261129
WORDS = PageWords("en")


def span(**query: str) -> Span:
    return span_of({name.rstrip("_"): value for name, value in query.items()}, TODAY, WORDS)


def test_days_are_the_last_ones() -> None:
    assert (span(days="7").first, span(days="7").last) == (20261123, TODAY)
    for other in ("", "0", "-1", "8", "x", "\u0667"):
        assert span(days=other).days == 30


def test_dates_are_from_one_to_another() -> None:
    chosen = span(from_="2026-11-01", to="2026-11-29", days="7")
    assert (chosen.first, chosen.last, chosen.days) == (20261101, TODAY, 29)
    assert chosen.name(WORDS) == "Nov 1, 2026 – Nov 29, 2026"
    assert span(from_="2026-11-29", to="2026-11-29").name(WORDS) == "Nov 29, 2026"


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        ("2026-01-01", "", "“To” is missing. Enter both dates."),
        ("", "2026-01-01", "“From” is missing. Enter both dates."),
        ("2026-02-01", "2026-01-01", "“From” is after “To”."),
        ("2026-11-01", "2026-11-30", "“To” is in the future."),
        ("2026-11-30", "2026-12-30", "“From” is in the future."),
        ("0001-01-01", "0001-01-02", "“From”: 0001-01-01 is not a date such as 2026-11-23."),
        ("1999-12-31", "2000-01-02", "“From”: 1999-12-31 is not a date such as 2026-11-23."),
        ("2000-01-01", "2026-01-01", "Choose 730 days at most."),
        ("2026-01-01", "9999-12-31", "“To”: 9999-12-31 is not a date such as 2026-11-23."),
        ("2026-01-01", "2026-02-30", "“To”: 2026-02-30 is not a date such as 2026-11-23."),
        ("2026-W01-1", "2026-02-03", "“From”: 2026-W01-1 is not a date such as 2026-11-23."),
        ("<b>\u202e", "2026-02-03", "“From”: <b>%E2%80%AE is not a date such as 2026-11-23."),
    ],
)
def test_what_is_no_period_is_named(first: str, last: str, told: str) -> None:
    with pytest.raises(NotAPeriod) as found:
        span(from_=first, to=last)
    assert str(found.value) == told


def test_a_period_is_compared_with_the_days_before_or_with_the_year_before() -> None:
    assert span(days="7").before == (20261116, 20261122)
    assert span(days="7", compare="year").before == (20251123, 20251129)
    assert span(days="365").before == (20241130, 20251129)
    assert span(days="730").before is None
    leap = span(from_="2024-02-29", to="2024-03-01", compare="year")
    assert leap.before == (20230228, 20230301)


def test_a_link_asks_for_the_same_period() -> None:
    for query in (
        {"days": "90"},
        {"days": "7", "compare": "year"},
        {"from": "2026-01-01", "to": "2026-01-31"},
    ):
        assert span_of(query, TODAY, WORDS).fields() == query


def test_longer_periods_are_by_week_and_by_month() -> None:
    assert [span(days=days).unit for days in ("7", "90", "365", "730")] == [
        "day",
        "day",
        "week",
        "month",
    ]
    days = days_between(20261230, 20270105)
    assert [len(each) for each in grouped(days, "week")] == [5, 2]
    assert [len(each) for each in grouped(days, "month")] == [2, 5]
    assert [len(each) for each in grouped(days, "day")] == [1] * 7
