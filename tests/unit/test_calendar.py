"""Days and hours are those of the site's clock, in every zone and on every day of the year."""

import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footfall.config import BadSettings, Settings
from footfall.statistics.calendar import (
    LEAST_MS,
    MAX_DAYS,
    MOST_MS,
    Calendar,
    LocalHour,
    date_of,
    day_number,
    days_between,
    month_of,
    months_between,
)
from tests.support.serving import SOURCES

HOUR_MS = 3_600_000
ZONES = sorted(available_timezones() - {"localtime", "posixrules"})
BERLIN = ZoneInfo("Europe/Berlin")

times = st.integers(LEAST_MS, MOST_MS - 1)
# In years in which clocks are changed.
recent = st.integers(LEAST_MS, 2_208_988_800_000)
dates = st.dates(date(1973, 1, 2), date(9998, 12, 30))


def ms(zone: ZoneInfo, *parts: int, fold: int = 0) -> int:
    return round(datetime(*parts, tzinfo=zone, fold=fold).timestamp() * 1000)  # type: ignore[arg-type,misc]


@given(st.sampled_from(ZONES), st.lists(recent | times, min_size=1), st.integers(0, 4 * HOUR_MS))
def test_the_hour_is_that_of_the_standard_library(name: str, starts: list[int], step: int) -> None:
    """In any order of times, since the last one is remembered."""
    zone = ZoneInfo(name)
    calendar = Calendar(zone)
    for at in (at for start in starts for at in (start, start + 999, start + step, start)):
        if at < MOST_MS:
            local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at)
            local = local.astimezone(zone)
            assert calendar.hour_of(at) == (int(local.strftime("%4Y%m%d")), local.hour)


def test_what_is_known_of_a_minute_is_right_for_all_of_it() -> None:
    """No zone's clock differs from UTC by a part of a minute."""
    for zone in map(ZoneInfo, ZONES):
        seconds = {
            datetime.fromtimestamp(at, zone).second
            for at in range(LEAST_MS // 1000, 2_208_988_800, 30 * 86_400)
        }
        assert (zone.key, seconds) == (zone.key, {0})


@pytest.mark.parametrize(
    ("day", "hours", "special"),
    [(20260329, 23, {2: 0, 3: 4}), (20261025, 25, {2: 8, 3: 4}), (20261123, 24, {2: 4, 3: 4})],
)
def test_a_day_of_summer_time_is_an_hour_longer_or_shorter(
    day: int, hours: int, special: dict[int, int]
) -> None:
    calendar = Calendar(BERLIN)
    noon = ms(BERLIN, *date_of(day).timetuple()[:3], 12)
    quarters = (calendar.hour_of(noon + each * HOUR_MS // 4) for each in range(-80, 80))
    found = Counter(quarter.hour for quarter in quarters if quarter.day == day)
    assert found.total() == 4 * hours
    assert {hour: found[hour] for hour in special} == special


def test_the_hour_that_comes_twice_is_one() -> None:
    calendar = Calendar(BERLIN)
    first, second = (ms(BERLIN, 2026, 10, 25, 2, 30, fold=fold) for fold in (0, 1))
    assert second - first == HOUR_MS
    assert calendar.hour_of(first) == calendar.hour_of(second) == LocalHour(20261025, 2)


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("UTC", "2026-11-23T23:59:59.999Z", (20261123, 23)),
        ("Asia/Kathmandu", "2026-11-23T18:14:59.999Z", (20261123, 23)),
        ("Asia/Kathmandu", "2026-11-23T18:15:00Z", (20261124, 0)),
        ("Pacific/Kiritimati", "2026-11-23T10:00:00Z", (20261124, 0)),
        ("Pacific/Niue", "2026-11-23T10:59:00Z", (20261122, 23)),
        # Half an hour of summer time, and a day that was left out.
        ("Australia/Lord_Howe", "2026-10-03T15:30:00Z", (20261004, 2)),
        ("Pacific/Apia", "2011-12-30T09:59:59Z", (20111229, 23)),
        ("Pacific/Apia", "2011-12-30T10:00:00Z", (20111231, 0)),
        # Clocks were changed at midnight, and a minute after it.
        ("America/Sao_Paulo", "2018-11-04T03:00:00Z", (20181104, 1)),
        ("America/St_Johns", "2006-10-29T02:30:30Z", (20061029, 0)),
        ("America/St_Johns", "2006-10-29T02:31:00Z", (20061028, 23)),
    ],
)
def test_an_unusual_zone_has_its_own_hours(name: str, at: str, expected: tuple[int, int]) -> None:
    at_ms = round(datetime.fromisoformat(at).timestamp() * 1000)
    assert Calendar(ZoneInfo(name)).hour_of(at_ms) == expected


@pytest.mark.parametrize("at", [-1, 0, LEAST_MS - 1, MOST_MS, 10**18, -(10**30), 10**30])
def test_a_time_that_is_none_is_refused(at: int) -> None:
    calendar = Calendar(ZoneInfo("Pacific/Kiritimati"))
    for _ in range(2):
        with pytest.raises(ValueError, match="not a time"):
            calendar.hour_of(at)


@pytest.mark.parametrize("name", ["Pacific/Kiritimati", "Pacific/Niue"])
def test_the_first_and_the_last_time_have_a_day(name: str) -> None:
    calendar = Calendar(ZoneInfo(name))
    assert str(calendar.hour_of(LEAST_MS).day)[:4] in ("1972", "1973")
    assert str(calendar.hour_of(MOST_MS - 1).day)[:4] in ("9998", "9999")


@given(dates, st.integers(-3, MAX_DAYS - 1))
def test_the_days_between_two_are_all_of_them(first: date, length: int) -> None:
    try:
        last = first + timedelta(length)
    except OverflowError:
        return
    days = days_between(day_number(first), day_number(last))
    assert [date_of(day) for day in days] == [first + timedelta(n) for n in range(length + 1)]
    assert months_between(day_number(first), day_number(last)) == sorted(set(map(month_of, days)))


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (20260230, 20260301),
        (20260101, 20261301),
        (20260101, 20260132),
        (0, 20260101),
        (20260101, 10**9),
        (-20260101, 20260101),
        (20000101, 20260101),
        (20260101, 10**400),
    ],
)
def test_days_that_do_not_exist_or_are_too_many_are_refused(first: int, last: int) -> None:
    with pytest.raises(ValueError, match="."):
        days_between(first, last)


def test_the_time_zone_is_a_setting() -> None:
    assert Settings.from_env({}).timezone == ZoneInfo("UTC")
    assert Settings.from_env({"TIMEZONE": " Europe/Berlin "}).timezone == BERLIN
    shown = Settings.from_env({"TIMEZONE": "Europe/Berlin"}).shown()
    assert ("TIMEZONE", "Europe/Berlin") in [row[:2] for row in shown]


@pytest.mark.parametrize(
    "name",
    ["Mars/Base", "Berlin", "America", "../UTC", "/etc/passwd", "zone.tab", "a\0b", "x" * 999],
)
def test_a_wrong_time_zone_is_refused_with_the_name_of_the_setting(name: str) -> None:
    with pytest.raises(BadSettings, match=r"^TIMEZONE=.* is not a time zone, such as "):
        Settings.from_env({"TIMEZONE": name})


def test_zones_are_there_on_a_system_without_any() -> None:
    program = "from footfall.values import time_zone; print(time_zone('Asia/Kolkata'))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": SOURCES, "PYTHONTZPATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "Asia/Kolkata\n"
