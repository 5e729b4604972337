"""`footfall check`: do the keys agree with each other, as the scripts keep them?

Pages are compared with themselves (check_page.py), and the site's indexes with the pages
(check_site.py), and accounts with what leads to them (check_accounts.py); `repair` corrects the
indexes. Everything is read in small steps, so that requests
do not wait, and changes that happen meanwhile are not reported as problems.
"""

from collections.abc import AsyncIterator, Iterator, Mapping

from ..driver.keys import Keys
from ..store.counters import walked
from ..store.site_index import SiteIndex
from .backup import pages
from .check_accounts import AccountCheck
from .check_page import line_problems, strays
from .check_site import SiteCheck
from .dataset import DataSet


class Line(str):
    """A line of the report; the summary is no problem."""

    is_problem = False


class Problem(Line):
    is_problem = True


async def check(data: DataSet, site_index: SiteIndex, *, repair: bool) -> AsyncIterator[Line]:
    """The lines of the report: problems first, a summary last. Raises StoreUnavailable."""
    site = SiteCheck(data, site_index, repair=repair)
    number = counters = problems = 0
    async for text in _pages(data, site):
        number += text is None
        if text is not None:
            problems += 1
            yield Problem(text)
    async for names in data.redis.scan(data.keys.every_counter_key, type="hash"):
        found = (name.decode() for name in set(names) if b"}:trial:" not in name)
        async for key, counts in walked(data.redis, found):
            counters += len(counts)
            for text in _counter_problems(data.keys, key, counts):
                problems += 1
                yield Problem(f"counters {key}: {text}")
    async for text in site.problems():
        problems += 1
        yield Problem(text)
    async for text in AccountCheck(data, repair=repair).problems():
        problems += 1
        yield Problem(text)
    yield Line(
        f"{number} pages, {site.approved} approved comments, {site.held} held, "
        f"{counters} counters, {problems} problems"
    )


async def _pages(data: DataSet, site: SiteCheck) -> AsyncIterator[str | None]:
    """A sentence for everything that is wrong with pages, and None after each page."""
    complaints = list[str]()
    is_sound = True
    async for page, line in pages(data, complaints.append):
        if line["comments"]:
            async for text in line_problems(data, page, line):
                is_sound = False
                yield f"page {page}: {text}"
            await site.add(page, line)
            async for text in site.settled():
                yield text
        if line["end"]:
            async for text in strays(data, page, is_sound=is_sound and not complaints):
                yield f"page {page}: {text}"
            is_sound = True
            yield None
        while complaints:
            yield complaints.pop()
    while complaints:
        yield complaints.pop()


def _counter_problems(keys: Keys, key: str, counts: Mapping[bytes, bytes]) -> Iterator[str]:
    for name, count in counts.items():
        if not count.isdigit():
            yield f"{name!r} is {count!r}, not a count"
        try:
            belongs = keys.counts(name.decode())
        except UnicodeDecodeError:
            yield f"{name!r} is not UTF-8"
        else:
            if belongs != key:
                yield f"{name!r} belongs in {belongs}"
