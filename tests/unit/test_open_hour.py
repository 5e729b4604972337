"""What readers make of a page's open hours."""

import pytest

from footfall.statistics.open_hour import Fields, Stored, closed


def of(number: int, **fields: int | str) -> Stored:
    named = {name.replace("_", " ").removeprefix("d"): n for name, n in fields.items()}
    return Stored(number, {name.encode(): b"%a" % n for name, n in named.items()}, {})


def opened(number: int, at: str, **fields: int) -> Stored:
    month = of(number, **fields)
    month.days[b"open"] = at.encode()
    return month


def test_an_open_hour_has_what_the_count_has_grown_by() -> None:
    month, hours = opened(202611, "2026112316 40", d23=2, base=38), Fields()
    month.days[b"open seo"] = b"3"
    month.bots[b"23 seo"] = b"1"
    closed([month], hours, 50)
    assert month == (202611, {b"23": b"12", b"base": b"38"}, {b"23 seo": b"4"})
    assert hours == {b"2026112316": b"10", b"2026112316 seo": b"3"}


def test_it_ends_when_the_next_month_starts() -> None:
    september, november = opened(202609, "2026093023 5", base=0), of(202611, base=9, d1=11)
    closed([september, of(202610), november], {}, 20)
    assert september.days == {b"30": b"4", b"base": b"0"}
    assert november.days == {b"1": b"11", b"base": b"9"}


def test_an_hour_of_which_the_next_month_knows_more_has_no_views() -> None:
    october = opened(202610, "2026103123 7", base=7)
    october.days[b"open seo"] = b"1"
    closed([october, of(202611, base=5)], {}, 20)
    assert october == (202610, {b"base": b"7"}, {})


def test_bots_are_no_more_than_there_were_views() -> None:
    month, hours = opened(202611, "2026110100 8", base=8), Fields()
    month.days.update({b"open seo": b"2", b"open ai-crawler": b"2"})
    closed([month], hours, 11)
    assert month.bots == {b"1 seo": b"2", b"1 ai-crawler": b"1"}


@pytest.mark.parametrize("at", ["", "x", "2026112316", "2026112316 x", "9" * 40 + " 1", " "])
def test_one_that_is_damaged_is_none(at: str) -> None:
    month, hours = opened(202611, at, d23=2, base=0), Fields()
    month.days[b"open seo"] = b"1"
    closed([month], hours, 50)
    assert (month.days, month.bots, hours) == ({b"23": b"2", b"base": b"0"}, {}, {})
