"""What statistics keep: bytes of each key, which Redis itself tells (MEMORY USAGE).

The service's own store counts views, by a clock that is set, so each key is what the scripts make
of it. It grows with the digits of its numbers: a page here has a hundred views on each of its days,
twenty of them by as many people, and the site a thousand in each hour.
"""

from calendar import monthrange
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from footfall.driver.keys import GROUPS
from footfall.statistics.agents import CLASSES
from footfall.statistics.audience import BROWSERS, SYSTEMS
from footfall.statistics.calendar import DAY_MS, day_number
from footfall.statistics.visits import SHARES

from .. import machine
from ..machine import Cores
from ..peers import Environment, commit, redis_server
from ..scenarios import path
from .past import Past, opened

VIEWS, PEOPLE, SITE_VIEWS = 100, 20, 1_000
# The months of the site are in a year of their own, in which nothing else is counted.
YEAR, MONTH, SITE_YEAR = 2026, 10, 2027
HOURS = 72
VISITORS = (20, 100, 500, 5_000, 20_000)
SITE_VISITORS = (1_000, 10_000, 100_000)
# More pages and hosts than the lists have room for.
MANY_PAGES, MANY_HOSTS = 40_000, 2_000

Row = dict[str, Any]
_numbers = count(MANY_PAGES)


async def measure(home: Path, many: int = MANY_PAGES) -> Row:
    """A row for each kind of key, with its bytes; None of what is not kept with `views`."""
    environment = Environment(home, Cores.choose(), "none")
    with redis_server(environment, environment.directory("memory")) as (_, socket):
        async with opened(socket) as past:
            return {
                "when": date.today().isoformat(),
                "commit": commit(),
                "redis": machine.version_of_redis(),
                "page": [row async for row in of_a_page(past)],
                "visitors": [await of_visitors(past, number) for number in VISITORS],
                "site": [row async for row in of_the_site(past, many)],
                "site_visitors": [await of_site_visitors(past, n) for n in SITE_VISITORS],
            }


def days_of(months: Sequence[int], a_month: int = 31, year: int = YEAR) -> list[date]:
    """The first days of each month, at most so many."""
    lengths = {month: min(a_month, monthrange(year, month)[1]) for month in months}
    return [date(year, month, 1 + n) for month, days in lengths.items() for n in range(days)]


def noon(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12)


# A page.


async def of_a_page(past: Past) -> AsyncIterator[Row]:
    for what, days in (
        ("a month, viewed on each day", days_of([MONTH])),
        ("a month, viewed on 3 days", days_of([MONTH], 3)),
        ("a year, viewed on each day", days_of(range(1, 13))),
        ("a year, viewed on 3 days a month", days_of(range(1, 13), 3)),
    ):
        without, with_people = [await of_days(past, days, people) for people in (0, PEOPLE)]
        yield {"what": what, "views": without, "visitors": with_people}
    for what, hours in (("hours, viewed in each of 72", 1), ("hours, viewed in 6 of 72", 12)):
        found = await of_hours(past, hours)
        yield {"what": what, "views": found, "visitors": found}
    for classes, days, what in (
        (1, days_of([MONTH]), "bots of a month, one class on each day"),
        (3, days_of([MONTH]), "bots of a month, three classes on each day"),
        (1, days_of([MONTH], 3), "bots of a month, one class on 3 days"),
    ):
        yield {"what": what, "views": None, "visitors": await of_bots(past, days, classes)}


async def of_days(past: Past, days: Sequence[date], people: int) -> int:
    page = path(next(_numbers))
    for day in days:
        past.at(noon(day))
        await past.view([past.by_nobody(page, VIEWS - people)])
        await past.view(past.by_people(page, people))
    return past.bytes_of(past.keys.views(page).days(month) for month in months_of(days))


async def of_hours(past: Past, step: int) -> int:
    page, first = path(next(_numbers)), noon(date(YEAR, MONTH, 1))
    for hour in range(0, HOURS, step):
        past.at(first + timedelta(hours=hour))
        await past.view([past.by_nobody(page, VIEWS)])
    return past.bytes_of([past.keys.views(page).hours])


async def of_bots(past: Past, days: Sequence[date], classes: int) -> int:
    page = path(next(_numbers))
    for day in days:
        past.at(noon(day))
        await past.view(past.by_bots(page, CLASSES[:classes]))
    return past.bytes_of(past.keys.views(page).bots(month) for month in months_of(days))


def months_of(days: Sequence[date]) -> list[int]:
    return sorted({day_number(day) // 100 for day in days})


async def of_visitors(past: Past, number: int) -> Row:
    page, day = path(next(_numbers)), date(YEAR, MONTH, 1)
    past.at(noon(day))
    await past.view(past.by_people(page, number))
    found = past.bytes_of([past.keys.views(page).visitors(day_number(day))])
    return {"number": number, "bytes": found}


# The site.


async def of_the_site(past: Past, many: int) -> AsyncIterator[Row]:
    sums = {"views": await of_site_month(past, 1), "visitors": await of_site_month(past, 3, PEOPLE)}
    yield {"what": "sums of a month", **sums}
    shares = await of_shares(past)
    yield both(f"hours of the last three days, in {GROUPS} shares", shares)
    day = date(SITE_YEAR, 7, 1)
    await visit_everything(past, day, many)
    for what, today, kept in (
        ("list of most read pages", past.keys.read_in, past.keys.most_read),
        ("sources", past.keys.sources_in, past.keys.sources),
        ("sources of pages", past.keys.referrals_in, past.keys.referrals),
    ):
        number = day_number(day)
        groups = past.bytes_of(today(group, number) for group in range(GROUPS))
        yield both(f"{what} of a day, in {GROUPS} groups", groups)
        yield both(f"{what} of a day, of the site", past.bytes_of([kept(number)]))
    shared, summed = await of_audience(past, day_number(day))
    what = "classes of visitors of a day"
    yield {"what": f"{what}, in {SHARES} groups", "views": None, "visitors": shared}
    yield {"what": f"{what}, of the site", "views": None, "visitors": summed}
    yield both("list of most read pages ever", past.bytes_of([past.keys.most_read(0)]))


async def of_audience(past: Past, day: int) -> tuple[int, int]:
    """Every class that a large site has, in each share, and together: all browsers and systems, and
    readers of many countries."""
    codes = [a + b for a in "abcdefghij" for b in "acegik"]
    names = {
        "browser": BROWSERS.values(),
        "system": SYSTEMS.values(),
        "size": ("phone", "tablet", "desktop"),
        "country": map(str.upper, codes),
        "language": codes,
    }
    classes = Counter({f"{kind} {name}": 1_000 for kind in names for name in names[kind]})
    shares = [past.keys.audience_in(n * (GROUPS // SHARES), day) for n in range(SHARES)]
    words = [word for item in classes.items() for word in item]
    await past.store.redis.change(*(("HSET", share, *words) for share in shares))
    await past.store.site_views.audience.keep(day, classes, DAY_MS)
    return past.bytes_of(shares), past.bytes_of([past.keys.audience(day)])


def both(what: str, found: int) -> Row:
    return {"what": what, "views": found, "visitors": found}


async def of_site_month(past: Past, month: int, people: int = 0) -> int:
    page = path(next(_numbers))
    for day in days_of([month], year=SITE_YEAR):
        await day_of_site(past, page, day, people)
    past.at(noon(date(SITE_YEAR, month + 1, 1)))
    await past.keeper.keep_hours()
    return past.bytes_of([past.keys.site_views(100 * SITE_YEAR + month)])


async def day_of_site(past: Past, page: str, day: date, people: int) -> None:
    for hour in range(24):
        past.at(datetime(day.year, day.month, day.day, hour))
        await past.view([past.by_nobody(page, SITE_VIEWS)])
    if people:
        await past.view(past.by_people(page, people))
        await past.view(past.by_bots(page, CLASSES[:3]))


async def of_shares(past: Past) -> int:
    """Each share has each hour, as it has where many requests come."""
    pages = {past.keys.group(path(n)): path(n) for n in range(16 * GROUPS)}
    first = datetime(SITE_YEAR, 5, 29)
    for hour in range(HOURS):
        past.at(first + timedelta(hours=hour))
        await past.view((past.by_nobody(page, VIEWS) for page in pages.values()), at_once=1)
    return past.bytes_of(map(past.keys.share, range(GROUPS)))


async def visit_everything(past: Past, day: date, many: int) -> None:
    """So many pages on a day, from many hosts; and what is kept of them when it is over."""
    past.at(noon(day))
    hosts = [f"blog-{n:04d}.example.com" for n in range(MANY_HOSTS)]
    views = (past.by_nobody(path(n), source=hosts[n % MANY_HOSTS]) for n in range(many))
    await past.view(views, at_once=1)
    past.at(noon(day) + timedelta(days=1))
    await past.keeper.keep_hours()


async def of_site_visitors(past: Past, number: int) -> Row:
    page, day = path(next(_numbers)), date(SITE_YEAR, 9, len(str(number)))
    past.at(noon(day))
    await past.view(past.by_people(page, number))
    keys = (past.keys.visitors_in(group, day_number(day)) for group in range(GROUPS))
    return {"number": number, "bytes": past.bytes_of(keys)}
