"""lua/counters/count.lua: what is kept of when pages are viewed adds up to their counters."""

import asyncio
from collections import Counter
from datetime import UTC, date, datetime
from functools import partial
from time import time_ns
from zoneinfo import ZoneInfo

import pytest

from footfall.callbacks import awaited
from footfall.counters import MAX_COUNT
from footfall.data.imports import Imports, Way
from footfall.data.store import Store
from footfall.maintenance.prune import CounterFilter, find, remove
from footfall.statistics import views_ever
from footfall.statistics.calendar import Calendar
from footfall.statistics.keeper import Keeper
from footfall.statistics.moments import Moments
from footfall.statistics.reports import Reports
from footfall.statistics.site_store import SiteNumbers
from footfall.statistics.store import every_month
from footfall.statistics.views_ever import ViewsEver

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


class Clock:
    def __init__(self) -> None:
        self.now = int(datetime(2026, 11, 23, 16, 30, tzinfo=UTC).timestamp()) * 1000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def dated(store: Store, clock: Clock) -> Store:
    """The same data set, whose views are dated in Berlin, by a clock that tests set."""
    moments = Moments(Calendar(ZoneInfo("Europe/Berlin")), clock, 25)
    keys = store.keys
    dated = Store(store.redis, prefix=keys.prefix, buckets=keys.buckets, moment=moments)
    await dated.open()
    return dated


async def view(store: Store, *paths: str) -> None:
    """Each in a request of its own, all in one batch."""
    changes = (store.counters.change([(path, "time", 1)]) for path in paths)
    sent = (awaited(partial(store.counters.send, change)) for change in changes)
    await asyncio.gather(*sent)


async def hash_of(store: Store, *keys: str) -> list[dict[str, int]]:
    """What each of these hashes has."""
    replies = await store.redis.ask_masters(*(("HSCAN", key, 0, "COUNT", 1000) for key in keys))
    pairs = (zip(words[::2], words[1::2], strict=True) for _, words in replies)
    return [{field.decode(): int(number) for field, number in pair} for pair in pairs]


async def days(store: Store, path: str, month: int = 202611) -> dict[str, int]:
    """Of a month: views and visitors of each day, the count before, and what has no day."""
    found = (await store.views.months(path, [month])).get(month)
    if not found:
        return {}
    undated = {"undated": found.undated} if found.undated else {}
    visitors = {f"v{day}": n for day, n in found.visitors.items()}
    return (
        {str(day): n for day, n in found.days.items()} | visitors | {"base": found.base} | undated
    )


async def hours(store: Store, path: str) -> dict[str, int]:
    (page,) = await store.views.of_pages([path], [202611])
    return dict(page.hours)


async def site_hours(store: Store) -> dict[str, int]:
    return {str(hour): views for hour, views in (await store.site_views.shares()).hours.items()}


async def count(store: Store, path: str) -> int:
    (number,) = await store.counters.read([f"time {path}"])
    return number


async def test_a_view_is_one_of_its_day_and_hour_and_of_the_sites(dated: Store) -> None:
    await view(dated, "/a", "/b", "/a", "/a")
    await view(dated, "/a")
    assert await days(dated, "/a") == {"23": 4, "base": 0}
    assert await hours(dated, "/a") == {"2026112317": 4}
    assert await days(dated, "/b") == {"23": 1, "base": 0}
    assert await site_hours(dated) == {"2026112317": 5}


async def test_views_stop_at_the_largest_number_that_clients_know(dated: Store) -> None:
    await dated.counters.add([("/a", "time", 1)])
    key = dated.keys.counts("time /a")
    await dated.redis.change(("HSET", key, "time /a", MAX_COUNT))
    for _ in range(2):
        assert await dated.counters.add([("/a", "time", 1)]) == [MAX_COUNT]
    assert await dated.counters.read(["time /a"]) == [MAX_COUNT]


async def test_a_day_ends_at_midnight_in_the_sites_time_zone(dated: Store, clock: Clock) -> None:
    await view(dated, "/a")
    clock.now = int(datetime(2026, 11, 23, 22, 59, 59, 999_000, tzinfo=UTC).timestamp() * 1000)
    await view(dated, "/a", "/a")
    clock.now += 1
    await view(dated, "/a", "/a", "/a")
    assert await days(dated, "/a") == {"23": 3, "24": 3, "base": 0}
    assert await hours(dated, "/a") == {"2026112317": 1, "2026112323": 2, "2026112400": 3}


@pytest.mark.parametrize("skew_ms", [0, 40_000], ids=["one clock", "two clocks"])
@pytest.mark.parametrize("month", [3, 10], ids=["an hour is left out", "an hour comes twice"])
async def test_no_view_is_lost_where_summer_time_starts_and_ends(
    store: Store, dated: Store, clock: Clock, statistics: Reports, month: int, skew_ms: int
) -> None:
    """Both services view the page at each minute of the night, and around each full hour at each
    second."""
    other_clock, zone = Clock(), ZoneInfo("Europe/Berlin")
    moments = Moments(Calendar(zone), other_clock, 25)
    other = Store(store.redis, prefix=store.keys.prefix, buckets=256, moment=moments)
    await other.open()
    sunday = max(day for day in range(25, 32) if date(2026, month, day).isoweekday() == 7)
    midnight = int(datetime(2026, month, sunday, tzinfo=zone).timestamp())
    truth, views = Counter[int](), 0
    for second in range(-7_200, 5 * 3_600):
        if second % 60 == 0 or second % 3_600 in (1, 2, 3_598, 3_599):
            clock.now = (midnight + second) * 1000
            other_clock.now = clock.now + skew_ms
            for each in (dated, other):
                await view(each, "/a")
            at = Calendar(zone).hour_of(clock.now)
            truth[100 * at.day + at.hour] += 2
            views += 2
    months = [202600 + month]
    (page,) = await dated.views.of_pages(["/a"], months)
    found = {int(hour): number for hour, number in page.hours.items()}
    of_site = (await dated.site_views.shares()).hours
    assert sum(found.values()) == sum(of_site.values()) == page.total == views
    if skew_ms:
        # The last one is ahead into the next hour.
        assert set(found) - set(truth) <= {max(found)}
    else:
        assert found == of_site == truth
        day = 20260000 + 100 * month + sunday
        of_day = sum(number for hour, number in truth.items() if hour // 100 == day)
        assert await days_of(statistics, "/a", day, day) == {day: of_day}


async def test_a_month_starts_with_what_was_counted_before(dated: Store, clock: Clock) -> None:
    await view(dated, "/a", "/a")
    clock.now += 10 * DAY_MS
    await view(dated, "/a")
    assert await days(dated, "/a") == {"23": 2, "base": 0}
    assert await days(dated, "/a", 202612) == {"3": 1, "base": 2}
    keys = (dated.keys.views("/a").days(month) for month in (202611, 202612))
    kept = await dated.redis.ask_masters(*(("PTTL", key) for key in keys))
    ends = [datetime(2029, month, 1, tzinfo=UTC).timestamp() * 1000 for month in (1, 2)]
    days_off = [(end - clock.now - left) / DAY_MS for end, left in zip(ends, kept, strict=True)]
    assert days_off == pytest.approx([-10, 0], abs=0.01)


async def test_what_was_counted_without_a_date_is_the_base(dated: Store) -> None:
    undated = Store(dated.redis, prefix=dated.keys.prefix, buckets=dated.keys.buckets)
    await undated.open()
    await view(undated, "/a", "/a", "/a")
    assert await days(dated, "/a") == {}
    await view(dated, "/a", "/a")
    assert await days(dated, "/a") == {"23": 2, "base": 3}


async def test_views_of_a_time_without_statistics_are_of_no_hour(
    dated: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await view(dated, "/a", "/a", "/b")
    clock.now += HOUR_MS
    await view(dated, "/b")
    await dated.views_ever.note_dated()
    undated = Store(dated.redis, prefix=dated.keys.prefix, buckets=dated.keys.buckets)
    await undated.open()
    close_hours = partial(undated.views.close_hours, 25)
    ever = ViewsEver(undated.views_ever, clock, close_hours, is_dated=False)
    monkeypatch.setattr(views_ever, "STEP_SECONDS", -1)
    while await dated.views_ever.is_dated():
        await ever.keep_up()
    clock.now += HOUR_MS
    await view(undated, "/a", "/a", "/a", "/b")
    dated.packed.clear()
    await view(dated, "/a")
    assert await days(dated, "/a") == {"23": 3, "base": 0, "undated": 3}
    assert await hours(dated, "/a") == {"2026112317": 2, "2026112319": 1}
    assert await days(dated, "/b") == {"23": 2, "base": 0}
    await view(dated, "/b")
    assert await days(dated, "/b") == {"23": 3, "base": 0, "undated": 1}
    assert await hours(dated, "/b") == {"2026112317": 1, "2026112318": 1, "2026112319": 1}
    (left,) = await dated.redis.ask_masters(("PTTL", dated.keys.views("/b").days(202611)))
    assert left > 0


async def test_views_that_are_taken_back_are_undated(dated: Store) -> None:
    await view(dated, "/a", "/a", "/a")
    lower = dated.counters.change([("/a", "time", -1)])
    assert await awaited(partial(dated.counters.send, lower)) == [2]
    assert await days(dated, "/a") == {"23": 3, "base": 0, "undated": -1}
    for _ in range(4):
        await awaited(partial(dated.counters.send, lower))
    # No count falls below zero, and nothing is taken from one that is.
    assert await days(dated, "/a") == {"23": 3, "base": 0, "undated": -3}
    await view(dated, "/a")
    assert (await days(dated, "/a"), await count(dated, "/a")) == (
        {"23": 4, "base": 0, "undated": -3},
        1,
    )


async def test_reactions_are_not_dated(dated: Store) -> None:
    change = dated.counters.change([("/a", "reaction0", 1), ("/a", "time", 1)])
    assert await awaited(partial(dated.counters.send, change)) == [1, 1]
    assert (await days(dated, "/a"))["23"] == 1
    assert await site_hours(dated) == {"2026112317": 1}


async def test_hours_are_kept_for_three_days(dated: Store, clock: Clock) -> None:
    for _ in range(80):
        await view(dated, "/a")
        clock.now += HOUR_MS
    found = await hours(dated, "/a")
    assert (len(found), sum(found.values())) == (73, 73)
    (ttl,) = await dated.redis.ask_masters(("PTTL", dated.keys.views("/a").hours))
    assert 73 * HOUR_MS < ttl <= 74 * HOUR_MS


@pytest.mark.parametrize("what", ["days", "hours", "site"])
async def test_damaged_statistics_stop_no_counter(dated: Store, what: str) -> None:
    group = int(dated.keys.views("/a").hours.partition("c:")[2][:2], 16)
    key = {
        "days": dated.keys.views("/a").days(202611),
        "hours": dated.keys.views("/a").hours,
        "site": dated.keys.share(group),
    }[what]
    await dated.redis.change(("SET", key, "text"))
    await view(dated, "/a", "/a")
    assert await count(dated, "/a") == 2


async def test_a_page_is_read_without_a_month(dated: Store) -> None:
    await view(dated, "/a", "/a")
    (page,) = await dated.views.of_pages(["/a"], [])
    assert (page.total, page.months, page.newest) == (2, {}, None)


async def test_a_correction_is_no_view(dated: Store) -> None:
    await view(dated, "/a")
    assert await dated.counters.correct("/a", "time", 1000) == 1001
    assert await dated.counters.correct("/a", "reaction0", 5) == 5
    assert await dated.counters.correct("/a", "time", -5000) == 0
    assert await days(dated, "/a") == {"23": 1, "base": 0, "undated": -1}
    assert await site_hours(dated) == {"2026112317": 1}


async def test_an_imported_count_is_no_view(dated: Store) -> None:
    await view(dated, "/a", "/a")
    imports = Imports(dated.redis, dated.scripts, dated.keys, dated.moment)
    batch = [(imports.place("time /a"), "time /a", 40)]
    ways: tuple[Way, ...] = ("max", "sum", "replace", "replace")
    for number, way in enumerate(ways):
        await imports.merge(batch, way, of="x", number=number)
    assert await count(dated, "/a") == 40
    assert await days(dated, "/a") == {"23": 2, "base": 0, "undated": 38}


async def test_a_removed_counter_leaves_nothing(dated: Store, clock: Clock) -> None:
    clock.now = time_ns() // 1_000_000 - 70 * DAY_MS
    for _ in range(3):
        await view(dated, "/a", "/b")
        clock.now += 32 * DAY_MS
    months = every_month()[:6]
    async for part in find(dated.redis, dated.keys, CounterFilter(["/a"])):
        await remove(dated.scripts, dated.views, part)
    assert [len(await days(dated, "/b", month)) for month in months].count(2) == 3
    assert [await days(dated, "/a", month) for month in months] == [{}] * 6
    assert await hours(dated, "/a") == {}


@pytest.fixture
def statistics(dated: Store, clock: Clock) -> Reports:
    return Reports(dated.views, dated.site_views, Calendar(ZoneInfo("Europe/Berlin")), clock, 25)


@pytest.fixture
def keeper(dated: Store, clock: Clock, statistics: Reports) -> Keeper:
    return keeper_of(dated, clock, statistics)


def keeper_of(dated: Store, clock: Clock, statistics: Reports) -> Keeper:
    return Keeper(dated.site_views, statistics, clock, 25)


async def days_of(statistics: Reports, path: str | None, first: int, last: int) -> dict[int, int]:
    report = await statistics.report(path, first, last)
    return {at: day.views for at, day in report.days.items()}


async def test_the_days_of_the_site_outlive_the_hours_of_its_parts(
    dated: Store, clock: Clock, statistics: Reports, keeper: Keeper
) -> None:
    for _ in range(6):
        await view(dated, "/a", "/b", "/b")
        await keeper.keep_hours()
        clock.now += DAY_MS
    await keeper.keep_hours()
    assert min((await dated.site_views.shares()).hours) == 2026112617
    expected = {20261122: 0} | dict.fromkeys(range(20261123, 20261129), 3) | {20261129: 0}
    assert await days_of(statistics, None, 20261122, 20261129) == expected
    # What has come in an hour that is over, from a clock that is late, is counted, too.
    clock.now -= DAY_MS
    await view(dated, "/a")
    assert (await days_of(statistics, None, 20261128, 20261128)) == {20261128: 4}


async def test_services_that_keep_an_hour_at_once_lose_nothing_of_it(
    dated: Store, clock: Clock, statistics: Reports
) -> None:
    await view(dated, *(f"/{n}" for n in range(50)))
    clock.now += 4 * DAY_MS
    others = [keeper_of(dated, clock, statistics) for _ in range(5)]
    await asyncio.gather(*(other.keep_hours() for other in others))
    assert await site_hours(dated) == {}
    assert await days_of(statistics, None, 20261123, 20261123) == {20261123: 50}
    # One that had read only some parts before they were removed.
    await dated.site_views.keep(SiteNumbers({2026112317: 20}, {}, {}), HOUR_MS)
    assert await days_of(statistics, None, 20261123, 20261123) == {20261123: 50}


async def test_the_days_of_a_page_are_told_with_those_without_a_view(
    dated: Store, clock: Clock, statistics: Reports
) -> None:
    await view(dated, "/a")
    clock.now += 8 * DAY_MS
    await view(dated, "/a", "/a")
    found = await days_of(statistics, "/a", statistics.days_before(20261201, 9), statistics.today())
    assert list(found)[:3] == [20261122, 20261123, 20261124]
    assert {day: views for day, views in found.items() if views} == {20261123: 1, 20261201: 2}


@pytest.mark.parametrize("field", ["text", "20261199", "9" * 5000])
async def test_fields_that_are_no_hours_or_days_stop_nothing(
    dated: Store, statistics: Reports, field: str
) -> None:
    keys, share = dated.keys.views("/a"), dated.keys.share(dated.keys.group("/a"))
    hashes = keys.hours, keys.days(202611), share
    await dated.redis.change(*(("HSET", key, field, field) for key in hashes))
    await view(dated, "/a", "/a")
    assert await count(dated, "/a") == 2
    for path in ("/a", None):
        assert await days_of(statistics, path, 20261123, 20261123) == {20261123: 2}
        assert await statistics.hours(path, 20261101, 20261130) == {2026112317: 2}
