"""Views by hour and day follow from a counter that only grows, whatever else is done with it.

Two services count views of some pages, by people and bots. Hours and months pass; counts are
corrected, imported, moved to another page, removed and erased; a service forgets what it knows, as
after an outage. With clocks that agree, every hour, day, bot and visitor is the
truth; with clocks 40 s apart, every sum.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from time import time
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from footfall.asgi import create_metrics
from footfall.callbacks import awaited
from footfall.comments.rules.page_moves import move
from footfall.config import Settings
from footfall.counting.clients import NO_CLIENT, Bot, CountingClient, Person
from footfall.data.imports import Imports
from footfall.data.store import Store
from footfall.driver.commands import pack_word
from footfall.maintenance.prune import CounterFilter, find, remove
from footfall.statistics.calendar import KEPT_HOURS, Calendar
from footfall.statistics.moments import Moments
from footfall.statistics.salts import Salts
from footfall.statistics.store import every_month
from tests.support.backups import report
from tests.support.sites import site_of

from .machines import PREFIX, SiteMachine, play

PAGES = ("/a", "/b", "/c")
HOUR_MS = 3_600_000
BOTS = ("seo", "ai-crawler")
CALENDAR = Calendar(ZoneInfo("Europe/Berlin"))

some_page = st.sampled_from(PAGES)
some_service = st.integers(0, 1)


class Clock:
    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


@dataclass
class Page:
    """What really happened."""

    count: int = 0
    hours: Counter[int] = field(default_factory=Counter)
    bots: Counter[tuple[int, str]] = field(default_factory=Counter)
    visitors: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))


class OpenHours(SiteMachine):
    # Visitors' numbers of a page move with it on the last days only, as later there are none.
    @initialize(
        skew=st.sampled_from((0, 0, 40_000)),
        ago=st.one_of(st.integers(0, 40), st.integers(0, 60 * 24)),
    )
    def start_services(self, skew: int, ago: int) -> None:
        self.start({})
        now = int(time() * 1000) - ago * HOUR_MS
        self.clocks = [Clock(now), Clock(now + skew)]
        self.is_exact = not skew
        self.pages = {path: Page() for path in PAGES}
        self.services = [self._service(clock) for clock in self.clocks]
        self.mover = site_of(Settings.from_env({}), self.services[0], metrics=create_metrics())

    def _service(self, clock: Clock) -> Store:
        moments = Moments(CALENDAR, clock, 25, Salts(CALENDAR, clock, "ff"))
        store = Store(self.redis, prefix=PREFIX, buckets=256, moment=moments)
        self.run(store.open())
        return store

    @property
    def is_recent(self) -> bool:
        return time() * 1000 - self.clocks[0].now < 40 * HOUR_MS

    @property
    def hour(self) -> int:
        at = CALENDAR.hour_of(self.clocks[0].now)
        return 100 * at.day + at.hour

    @rule(
        service=some_service,
        path=some_page,
        people=st.lists(st.integers(0, 5), max_size=4),
        bots=st.lists(st.sampled_from(BOTS), max_size=3),
        nobody=st.integers(0, 2),
    )
    def view(
        self, service: int, path: str, people: list[int], bots: list[str], nobody: int
    ) -> None:
        clients: list[CountingClient] = [Person("", f"192.0.2.{n}", b"") for n in people]
        clients += [Bot("", pack_word(name)) for name in bots] + [NO_CLIENT] * nobody
        self.run(self._view(self.services[service], path, clients))
        page, hour = self.pages[path], self.hour
        page.count += len(clients)
        page.hours[hour] += len(clients)
        page.bots.update((hour, name) for name in bots)
        page.visitors[hour // 100] |= {f"{n}" for n in people}

    async def _view(self, store: Store, path: str, clients: Sequence[CountingClient]) -> None:
        if isinstance(store.moment, Moments) and store.moment.salts is not None:
            await store.moment.salts.keep_up(store.site_views)
        change = store.counters.change([(path, "time", 1)])
        sent = (awaited(partial(_send, store, change, client)) for client in clients)
        await asyncio.gather(*sent)
        await store.background.finished()

    @rule(minutes=st.sampled_from((10, 30, 60, 60, 60, 300, 1440, 1440, 45 * 1440)))
    def pass_time(self, minutes: int) -> None:
        now = int(time() * 1000)
        by = min(minutes * 60_000, max(0, now - self.clocks[1].now))
        for clock in self.clocks:
            clock.now += by

    @rule(service=some_service)
    def reconnect(self, service: int) -> None:
        self.services[service].redis.stats.connections += 1

    @rule(service=some_service, path=some_page, by=st.integers(-8, 8).filter(bool))
    def correct(self, service: int, path: str, by: int) -> None:
        found = self.run(self.services[service].counters.correct(path, "time", by))
        page = self.pages[path]
        if page.count or by > 0:
            page.count = max(0, page.count + by)
        assert found == page.count

    @rule(service=some_service, path=some_page, count=st.integers(0, 30))
    def import_count(self, service: int, path: str, count: int) -> None:
        store, name = self.services[service], f"time {path}"
        imports = Imports(store.redis, store.scripts, store.keys, store.moment)
        self.run(imports.merge([(imports.place(name), name, count)], "replace", of="x", number=1))
        self.pages[path].count = count

    @rule(path=some_page)
    def remove_counter(self, path: str) -> None:
        async def removed() -> None:
            store = self.services[0]
            async for part in find(store.redis, store.keys, CounterFilter([path])):
                await remove(store.scripts, store.views, part)
            # It has expired in time.
            visitors = (store.keys.views(path).visitors(day) for day in self.pages[path].visitors)
            await store.redis.change(*(("DEL", key) for key in visitors))

        self.run(removed())
        if self.pages[path].count:
            self.pages[path] = Page()
            self._tell_visitors_again()

    @precondition(lambda self: self.is_recent)
    @rule(service=some_service, path=some_page)
    def erase(self, service: int, path: str) -> None:
        self.run(self.services[service].views.erase(path))
        self.pages[path] = Page(self.pages[path].count)
        self._tell_visitors_again()

    def _tell_visitors_again(self) -> None:
        """A visitor whom a service has told of is told again in the next hour: not waited for."""
        for each in self.services:
            each._forget_visitors()

    @precondition(lambda self: self.is_exact and self.is_recent)
    @rule(source=some_page, to=some_page)
    def move_page(self, source: str, to: str) -> None:
        if source == to:
            return
        self.run(move(self.mover.comments, source, to, "admin"))
        one, other = self.pages[source], self.pages[to]
        other.count += one.count
        other.hours.update(one.hours)
        other.bots.update(one.bots)
        for day, visitors in one.visitors.items():
            other.visitors[day] |= visitors
        self.pages[source] = Page()
        self._tell_visitors_again()

    @invariant()
    def the_days_add_up(self) -> None:
        if not hasattr(self, "services"):
            return
        months = every_month()[:6]
        read = self.run(self.services[0].views.of_pages(PAGES, months))
        for path, found in zip(PAGES, read, strict=True):
            page = self.pages[path]
            assert found.total == page.count, path
            assert not found.months or found.months[max(found.months)].end == page.count
            days, bots = Counter[int](), Counter[tuple[int, str]]()
            visitors = Counter[int]()
            for month in found.months.values():
                days.update({100 * month.number + day: n for day, n in month.days.items()})
                for day, by_class in month.bots.items():
                    at = 100 * month.number + day
                    bots.update({(at, name): n for name, n in by_class.items()})
                visitors.update({100 * month.number + d: n for d, n in month.visitors.items()})
            wanted = Counter[int]()
            for hour, views in page.hours.items():
                wanted[hour // 100] += views
            by_bots = Counter[tuple[int, str]]()
            for (hour, name), views in page.bots.items():
                by_bots[hour // 100, name] += views
            assert days.total() == wanted.total(), path
            if not self.is_exact:
                continue
            assert +days == +wanted, path
            assert +bots == +by_bots, path
            told = {day: len(seen) for day, seen in page.visitors.items() if seen}
            assert +visitors == Counter(told), path
            oldest = self._oldest()
            hours = {hour: n for hour, n in page.hours.items() if hour >= oldest and n}
            recent = {int(hour): n for hour, n in found.hours.items() if hour.isdigit()}
            assert {hour: n for hour, n in recent.items() if hour >= oldest} == hours, path

    def _oldest(self) -> int:
        at = CALENDAR.hour_of(self.clocks[0].now - KEPT_HOURS * HOUR_MS)
        return 100 * at.day + at.hour

    def teardown(self) -> None:
        if hasattr(self, "services"):
            problems = [line for line in self.run(report(self.services[0])) if "views of" in line]
            assert not problems
        super().teardown()


def _send(store: Store, change: Any, client: CountingClient, done: Any) -> None:
    store.counters.send(change, done, client)


@pytest.mark.parametrize(("server", "examples"), [("valkey", 200)])
def test_the_days_of_a_page_add_up_to_its_counter(server: str, examples: int) -> None:
    play(OpenHours, server, examples)
