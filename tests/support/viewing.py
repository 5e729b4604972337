"""Views at a time that a test decides, of visitors that it names."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from itertools import count

from footfall.callbacks import awaited
from footfall.counting.clients import Bot, CountingClient, Person
from footfall.counting.packed import PackedChange
from footfall.data.store import Store
from footfall.driver.commands import pack_word
from footfall.driver.keys import Keys
from footfall.driver.script_calls import CountsCallback
from footfall.model import NO_ORIGIN, Origin
from footfall.statistics.reports import Day, Reports

TODAY = 20261123
BOT = Bot("", pack_word("seo"))


class Clock:
    def __init__(self) -> None:
        self.now = int(datetime(2026, 11, 23, 16, 30, tzinfo=UTC).timestamp()) * 1000

    def __call__(self) -> int:
        return self.now


def in_another_group(keys: Keys, path: str) -> str:
    """A page that shares no key with this one, as two may by chance."""
    paths = map("/b{}".format, count())
    return next(each for each in paths if keys.group(each) != keys.group(path))


def person(name: int) -> CountingClient:
    return Person("", f"sender {name}", b"")


async def view(
    store: Store, path: str, clients: Iterable[CountingClient], origin: Origin = NO_ORIGIN
) -> None:
    """One view each, all in one batch; then the site knows of them, too."""
    change = store.counters.change([(path, "time", 1)], origin)
    sent = (awaited(partial(send, store, change, client)) for client in clients)
    await asyncio.gather(*sent)
    await store.background.finished()


def send(store: Store, change: PackedChange, client: CountingClient, done: CountsCallback) -> None:
    store.counters.send(change, done, client)


async def today(statistics: Reports, path: str | None) -> Day:
    at = statistics.today()
    (day,) = (await statistics.report(path, at, at)).days.values()
    return day
