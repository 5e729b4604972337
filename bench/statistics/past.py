"""A store whose clock is set, to count views of any day, and what its keys take."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from redis import Redis

from footfall.callbacks import awaited
from footfall.config import Settings
from footfall.counting.clients import NO_CLIENT, Bot, CountingClient, Person
from footfall.counting.packed import PackedChange
from footfall.data.store import Store
from footfall.driver.commands import pack_word
from footfall.driver.script_calls import CountsCallback
from footfall.model import Origin
from footfall.statistics.calendar import Calendar
from footfall.statistics.keeper import Keeper
from footfall.statistics.moments import Moments
from footfall.statistics.reports import Reports
from footfall.statistics.visitors import salted
from footfall.stores import open_process, open_store

# As many as a busy worker has in a batch.
AT_ONCE = 500
SALTED = salted(b"0123456789abcdef", "")

View = tuple[PackedChange, CountingClient]


class Clock:
    """Returns the Unix time in ms that it was set to."""

    def __init__(self) -> None:
        self.now_ms = 0

    def __call__(self) -> int:
        return self.now_ms


class Past:
    """Counts views when `at` has said. All coroutines raise StoreUnavailable."""

    def __init__(self, store: Store, admin: "Redis", settings: Settings, clock: Clock) -> None:
        self.store = store
        self.keys = store.keys
        self._admin: Any = admin
        self._clock = clock
        self._calendar = Calendar(settings.timezone)
        months = settings.statistics_months
        reports = Reports(store.views, store.site_views, self._calendar, clock, months)
        self.keeper = Keeper(store.site_views, reports, clock, months)

    def at(self, when: datetime) -> None:
        self._clock.now_ms = int(when.replace(tzinfo=UTC).timestamp()) * 1000
        day = self._calendar.hour_of(self._clock.now_ms).day
        assert isinstance(self.store.moment, Moments)
        assert self.store.moment.salts is not None
        self.store.moment.salts[day] = SALTED

    async def view(self, views: Iterable[View], at_once: int = AT_ONCE) -> None:
        """Views, so many of them in a batch, and what is told of their visitors behind it. What a
        batch has of the site goes into one share."""
        rest = iter(views)
        while some := list(islice(rest, at_once)):
            await asyncio.gather(*(self._view(*each) for each in some))
            await self.store.background.finished()

    async def _view(self, change: PackedChange, client: CountingClient) -> None:
        def send(done: CountsCallback) -> None:
            self.store.counters.send(change, done, client)

        await awaited(send)

    def by_nobody(self, path: str, views: int = 1, source: str = "") -> View:
        """By a visitor without a number, from this host."""
        change = [(path, "time", views)]
        return self.store.counters.change(change, Origin(source)), NO_CLIENT

    def by_people(self, path: str, number: int) -> Iterator[View]:
        change = self.store.counters.change([(path, "time", 1)])
        return ((change, person(n)) for n in range(number))

    def by_bots(self, path: str, classes: Iterable[str]) -> Iterator[View]:
        change = self.store.counters.change([(path, "time", 1)])
        return ((change, Bot("", pack_word(name))) for name in classes)

    def bytes_of(self, keys: Iterable[str]) -> int:
        """What these keys take together, as Redis tells."""
        pipeline = self._admin.pipeline(transaction=False)
        for key in keys:
            pipeline.memory_usage(key, samples=0)
        return sum(each or 0 for each in pipeline.execute())


@asynccontextmanager
async def opened(socket: str) -> AsyncIterator[Past]:
    """On an empty Redis, with the defaults of all settings."""
    url, clock = f"unix://{socket}", Clock()
    settings = Settings.from_env(
        {"REDIS_URL": url, "DURABILITY": "memory", "STATISTICS": "visitors"}
    )
    store = open_store(settings, open_process(settings, url, clock=clock))
    await store.create()
    with Redis(unix_socket_path=socket) as admin:
        yield Past(store, admin, settings, clock)
    await store.redis.close()


def person(number: int) -> Person:
    """One of 16.8 million at addresses of their own."""
    return Person("", f"11.{number >> 16}.{number >> 8 & 255}.{number & 255}", b"")
