"""A month whose truth is known: readers, some of whom come again, bots that crawl, one page that
everybody talks of for a day. The API, the owner's pages and the command tell the same, and that."""

import asyncio
import csv
import random
from collections import Counter, defaultdict
from datetime import date, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from footfall.callbacks import awaited
from footfall.counting.clients import Bot, CountingClient, Person
from footfall.counting.packed import PackedChange
from footfall.data.store import Store
from footfall.driver.commands import pack_word
from footfall.driver.script_calls import CountsCallback
from footfall.model import NO_ORIGIN, Origin
from footfall.process.process import now_ms
from footfall.statistics.calendar import DAY_MS, HOUR_MS, Calendar, date_of, day_number
from footfall.statistics.keeper import Keeper
from footfall.statistics.moments import Moments
from footfall.statistics.reports import Reports
from footfall.statistics.salts import Salts
from tests.conftest import Sites, server_of
from tests.support.backups import report
from tests.support.commands import invoke
from tests.support.servers import RealServer

ON = ("valkey",)

DAYS = 30
PAGES = [f"/{n}/" for n in range(40)]
TALKED_OF, CRAWLED = "/talked-of/", "ai-crawler"
SETTINGS = {"STATISTICS": "visitors", "STATISTICS_PUBLIC": "all", "TIMEZONE": "Europe/Berlin"}
OWNER = {"cookie": "footfall=admin"}


class Truth:
    """What really happened, by day and by page."""

    def __init__(self) -> None:
        self.views = defaultdict[int, Counter[str]](Counter)
        self.bots = defaultdict[int, Counter[str]](Counter)
        self.readers = defaultdict[int, dict[str, set[int]]](lambda: defaultdict(set))
        self.sources = Counter[str]()

    def visitors(self, day: int, path: str | None) -> int:
        found = self.readers[day]
        return len(found[path] if path else set[int]().union(*found.values()))

    def total(self, path: str | None) -> tuple[int, int, int]:
        """Views, people's views, and the visitors of all days."""
        views = sum(day.total() if path is None else day[path] for day in self.views.values())
        bots = sum(day.total() if path is None else day[path] for day in self.bots.values())
        return views, views - bots, sum(self.visitors(day, path) for day in [*self.readers])


class Clock:
    def __init__(self) -> None:
        self.now = now_ms() - (DAYS - 1) * DAY_MS

    def __call__(self) -> int:
        return self.now


@pytest.fixture
async def truth(store: Store) -> Truth:
    """The month passes, up to now, and what goes on behind the requests with it."""
    calendar, clock, chance = Calendar(ZoneInfo("Europe/Berlin")), Clock(), random.Random(1)
    salts = Salts(calendar, clock, "ff")
    moments = Moments(calendar, clock, 25, salts)
    keys = store.keys
    telling = Store(store.redis, prefix=keys.prefix, buckets=keys.buckets, moment=moments)
    await telling.open()
    statistics = Reports(telling.views, telling.site_views, calendar, clock, 25)
    keeper = Keeper(telling.site_views, statistics, clock, 25, salts)
    truth = Truth()
    for number in range(DAYS):
        await salts.keep_up(telling.site_views)
        day = statistics.today()
        await _one_day(telling, truth, day, chance, is_talked_of=number == 20)
        await telling.background.finished()
        await keeper.keep_hours()
        if number < DAYS - 1:
            clock.now += DAY_MS
    assert clock.now <= now_ms() < clock.now + HOUR_MS
    return truth


async def _one_day(
    store: Store, truth: Truth, day: int, chance: random.Random, *, is_talked_of: bool
) -> None:
    sent: list[tuple[str, CountingClient, str]] = []
    readers = [Person("", f"reader {n}", b"") for n in range(60)]
    bot = Bot("", pack_word(CRAWLED))
    for _ in range(120):
        who, path = chance.randrange(60), chance.choice(PAGES)
        source = chance.choice(["", "", "search.example", "news.example"])
        sent.append((path, readers[who], source))
        truth.views[day][path] += 1
        truth.readers[day][path].add(who)
        truth.sources[source] += source != ""
    for who in range(60 if is_talked_of else 0):
        sent.append((TALKED_OF, readers[who], ""))
        truth.views[day][TALKED_OF] += 1
        truth.readers[day][TALKED_OF].add(who)
    # It reads every page, every day.
    for path in PAGES:
        sent.append((path, bot, ""))
        truth.views[day][path] += 1
        truth.bots[day][path] += 1
    await asyncio.gather(*(_viewed(store, *each) for each in sent))


async def _viewed(store: Store, path: str, client: CountingClient, source: str) -> None:
    origin = Origin(source) if source else NO_ORIGIN
    change = store.counters.change([(path, "time", 1)], origin)
    await awaited(partial(_send, store, change, client))


def _send(store: Store, change: PackedChange, client: CountingClient, done: CountsCallback) -> None:
    store.counters.send(change, done, client)


async def test_api_pages_and_command_tell_the_truth_of_a_month(
    truth: Truth, make_site: Sites, store: Store, kind: str, servers: dict[str, RealServer]
) -> None:
    site = await make_site(**SETTINGS)
    site.clock.now = now_ms()
    last = date_of(max(truth.views))
    first = last - timedelta(DAYS - 1)
    for path in (None, PAGES[0], TALKED_OF):
        words = {"path": path} if path else {}
        period = {"from": first.isoformat(), "to": last.isoformat()}
        told = (await site.get("/api/statistics", **period, **words))["data"]
        assert (told["total"], told["people"], told["visitors"]) == truth.total(path)
        assert told["is_exact"]
        _compare(truth, path, told["views"])
        table = await site.http.get("/api/statistics.csv", params={**period, **words})
        _compare(truth, path, [{**row, "at": row["day"]} for row in _rows(table.text)])
        answer = invoke(
            *("statistics", *([path] if path else []), "--csv", "--days", str(DAYS)),
            environ={
                "REDIS_URL": server_of(kind, servers).url,
                "KEY_PREFIX": store.keys.prefix,
                **SETTINGS,
            },
        )
        rows = _rows(answer.output.partition("\n")[2])
        _compare(truth, path, [{**row, "at": row["day"]} for row in rows])
    assert {each["host"]: each["views"] for each in (await _of_site(site, period))["sources"]} == {
        host: views for host, views in truth.sources.items() if views
    }
    await _compare_lists(truth, site)
    assert (await report(store))[-1].endswith(" 0 problems")


async def _of_site(site: Any, period: dict[str, str]) -> Any:
    return (await site.get("/api/statistics", **period))["data"]


def _rows(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(table.splitlines()))


def _compare(truth: Truth, path: str | None, rows: list[dict[str, Any]]) -> None:
    assert len(rows) == DAYS
    for row in rows:
        day = day_number(date.fromisoformat(row["at"]))
        views, bots = truth.views[day], truth.bots[day]
        number = views.total() if path is None else views[path]
        by_bots = bots.total() if path is None else bots[path]
        expected = number, number - by_bots, truth.visitors(day, path)
        assert (int(row["views"]), int(row["people"]), int(row["visitors"])) == expected, row


async def _compare_lists(truth: Truth, site: Any) -> None:
    for days in (7, 30):
        month = sorted(truth.views)[-days:]
        views = sum((truth.views[day] for day in month), Counter[str]())
        told = (await site.get("/api/statistics/top", days=days, count=100))["data"]["pages"]
        assert {each["path"]: each["views"] for each in told} == views
        assert [each["views"] for each in told] == sorted(views.values(), reverse=True)
    ever = (await site.get("/api/statistics/top", days=0, count=1))["data"]["pages"]
    assert (ever[0]["path"], ever[0]["views"]) == sum(
        truth.views.values(), Counter[str]()
    ).most_common(1)[0]
    shown = (await site.http.get("/ui/statistics", headers=OWNER)).text
    # Of people, as bots stand apart.
    assert f"<strong>{truth.total(None)[1]:,}</strong>" in shown
