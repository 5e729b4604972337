"""lua/counters/take.lua and give.lua: all that is known of a page's views moves to another one."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate, count
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from footfall.callbacks import awaited
from footfall.comments.rules.page_moves import move
from footfall.config import Settings
from footfall.counting.clients import NO_CLIENT, Bot, CountingClient, Person
from footfall.counting.packed import PackedChange
from footfall.data.store import Store
from footfall.driver.commands import pack_word
from footfall.driver.script_calls import CountsCallback
from footfall.process.process import now_ms
from footfall.site import Site
from footfall.statistics.calendar import Calendar
from footfall.statistics.moments import Moments
from footfall.statistics.reports import Day
from footfall.statistics.salts import Salts
from footfall.statistics.store import every_month
from tests.support import extent
from tests.support.backups import report
from tests.support.sites import site_of

MONTHS = sorted(every_month()[1:5])
BOT = Bot("", pack_word("seo"))
_numbers = count()


class Clock:
    def __init__(self) -> None:
        self.now = now_ms()

    def __call__(self) -> int:
        return self.now

    def enter(self, month: int) -> None:
        """The first day of a month."""
        self.now = int(datetime(month // 100, month % 100, 1, 12, tzinfo=UTC).timestamp()) * 1000


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def site(store: Store, clock: Clock) -> AsyncIterator[Site]:
    """The same data set, where visitors are distinguished, by a clock that tests set."""
    salts = Salts(Calendar(ZoneInfo("UTC")), clock, "ff")
    moments = Moments(Calendar(ZoneInfo("UTC")), clock, 25, salts)
    dated = Store(store.redis, prefix=store.keys.prefix, buckets=256, moment=moments)
    await dated.open()
    await salts.keep_up(dated.site_views)
    site = site_of(Settings(statistics="visitors"), dated, clock=clock)
    yield site
    await site.process.background.finished()


def new_pages() -> tuple[str, str]:
    number = next(_numbers)
    return f"/from/{number}", f"/to/{number}"


def person(name: int) -> CountingClient:
    return Person("", f"sender {name}", b"")


async def view(
    site: Site, path: str, clients: Iterable[CountingClient] = (NO_CLIENT,), type: str = "time"
) -> None:
    """One view each, all in one batch; then the site knows of them, too."""
    change = site.counting.counters.change([(path, type, 1)])
    await asyncio.gather(*(awaited(partial(_send, site, change, client)) for client in clients))
    await site.process.background.finished()


def _send(site: Site, change: PackedChange, client: CountingClient, done: CountsCallback) -> None:
    site.counting.counters.send(change, done, client)


async def at_ends(site: Site, path: str) -> list[int]:
    """The count of a page at the end of each month, as the months of its views tell it."""
    months = await site.comments.views.months(path, MONTHS)
    (now,) = await site.comments.views.counts([path])
    if not months:
        return [now] * len(MONTHS)
    first = months[min(months)].base
    ends = (months[month].end if month in months else None for month in MONTHS)
    known = accumulate(ends, lambda before, end: before if end is None else end, initial=first)
    return list(known)[1:]


async def problems(store: Store) -> list[str]:
    *found, _ = await report(store)
    return found


# Of each month: views, and what else was added to the counter.
OF_A_MONTH = st.tuples(st.integers(0, 3), st.sampled_from((0, 0, 0, 7)))
OF_ALL = st.lists(OF_A_MONTH, min_size=len(MONTHS), max_size=len(MONTHS))


@pytest.mark.cluster
@settings(
    max_examples=40 if extent.ALL else 5, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(of_source=OF_ALL, of_target=OF_ALL)
async def test_the_count_at_the_end_of_each_month_is_that_of_both_pages(
    site: Site,
    store: Store,
    clock: Clock,
    of_source: list[tuple[int, int]],
    of_target: list[tuple[int, int]],
) -> None:
    source, target = new_pages()
    for month, *pages in zip(MONTHS, of_source, of_target, strict=True):
        clock.enter(month)
        for path, (views, delta) in zip((source, target), pages, strict=True):
            await view(site, path, [NO_CLIENT] * views)
            if delta:
                await site.counting.counters.correct(path, "time", delta)
    each = zip(await at_ends(site, source), await at_ends(site, target), strict=True)
    wanted = [sum(pair) for pair in each]
    assert await move(site.comments, source, target, "admin")
    assert await at_ends(site, target) == wanted
    assert await site.comments.views.counts([source, target]) == [
        0,
        sum(map(sum, of_source + of_target)),
    ]
    assert await site.comments.views.months(source, MONTHS) == {}
    assert await problems(store) == []


@pytest.mark.parametrize(
    ("of_source", "of_target"),
    [
        (range(5), range(3, 8)),
        (range(400), range(300, 700)),
        pytest.param(range(5), range(3, 600), marks=pytest.mark.rare),
        pytest.param(range(600), range(599, 603), marks=pytest.mark.rare),
        pytest.param(range(10_100), range(9_000, 19_000), marks=pytest.mark.rare),
    ],
)
async def test_who_has_viewed_both_pages_is_one_visitor(
    site: Site, store: Store, clock: Clock, of_source: range, of_target: range
) -> None:
    source, target = new_pages()
    await view(site, source, map(person, of_source))
    await view(site, target, map(person, of_target))
    assert await move(site.comments, source, target, "admin")
    wanted = len({*of_source, *of_target})
    found = (await today(site, target)).visitors
    assert found == wanted if wanted <= 512 else abs(found - wanted) < 0.03 * wanted
    # A returning visitor is recognised.
    await view(site, target, [person(of_source[0]), person(of_target[0])])
    assert (await today(site, target)).visitors == found
    assert (await today(site, source)).visitors == 0
    assert await problems(store) == []


async def today(site: Site, path: str) -> Day:
    day = site.statistics.reports.today()
    (found,) = (await site.statistics.reports.report(path, day, day)).days.values()
    return found


async def test_bots_hours_and_every_other_counter_move_with_the_views(
    site: Site, store: Store
) -> None:
    source, target = new_pages()
    for path, times in ((source, 2), (target, 1)):
        await view(site, path, [BOT, person(1)] * times)
        for type in ("reaction0", "reaction8"):
            await view(site, path, [NO_CLIENT] * times, type)
    (hour,) = await site.comments.views.hours(source)
    whole = await today(site, "")
    assert await move(site.comments, source, target, "admin")
    assert await today(site, target) == Day(6, 1, {"seo": 3})
    assert await site.comments.views.hours(target) == {hour: 6}
    assert await site.comments.views.in_hours([target], [hour], frozenset()) == [[(6, 3)]]
    names = [f"{type} {path}" for path in (source, target) for type in ("reaction0", "reaction8")]
    assert await site.counting.counters.read(names) == [0, 0, 3, 3]
    assert await today(site, "") == whole
    assert await problems(store) == []


async def test_a_moved_page_is_among_the_most_viewed_under_its_new_name(site: Site) -> None:
    source, target = new_pages()
    await view(site, source, [person(1), person(2), person(3)])
    await view(site, target, [person(3)])
    await site.statistics.keeper.keep_hours()
    assert await move(site.comments, source, target, "admin")
    for by, days in (("views", 0), ("views", 1), ("views", 7), ("visitors", 7)):
        found = await site.statistics.reports.top(by, days, 10)
        number = 4 if by == "views" else 3
        assert [(page.path, getattr(page, by)) for page in found] == [(target, number)], (by, days)


@pytest.mark.rare
async def test_views_that_come_during_and_after_the_move_stay_where_they_are_counted(
    site: Site, store: Store
) -> None:
    source, target = new_pages()
    accepted = Counter[str]()
    is_over = asyncio.Event()

    async def go_on_viewing() -> None:
        while not is_over.is_set():
            for path in (source, target):
                await view(site, path, [person(accepted.total()), BOT])
                accepted[path] += 2

    viewing = asyncio.create_task(go_on_viewing())
    while accepted.total() < 20:
        await asyncio.sleep(0)
    # Back and forth.
    for _ in range(5):
        assert await move(site.comments, source, target, "admin")
        assert await move(site.comments, target, source, "admin")
    is_over.set()
    await viewing
    assert sum(await site.comments.views.counts([source, target])) == accepted.total()
    assert sum([(await today(site, each)).views for each in (source, target)]) == accepted.total()
    assert await problems(store) == []
