"""`footfall check`: are the keys consistent, as the scripts maintain them?

docs/redis-keys.md has the rules. Changes that the site has not followed come first
(check_journals.py); then each page is checked in itself (check_page.py), the site against the pages
(check_site.py), and accounts against their indexes (check_accounts.py). `repair` corrects data
derived from comments and accounts. Everything is read in small steps, so that requests do not wait,
and concurrent changes are not reported as problems.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass

from ..driver.keys import Keys
from ..driver.walks import walked
from ..plurals import number_of
from .backup import Pages
from .check_accounts import AccountCheck
from .check_journals import journal_problems
from .check_page import PageCheck
from .check_site import SiteCheck
from .check_views import ViewsCheck
from .dataset import DataSet


class Line(str):
    """A line of the report; the summary is not a problem."""

    is_problem = False


class Problem(Line):
    is_problem = True


async def check(data: DataSet, *, repair: bool) -> AsyncIterator[Line]:
    """The lines of the report: problems first, a summary last. Raises StoreUnavailable."""
    site = SiteCheck(data, repair=repair)
    findings = Findings()
    parts = (
        # What the site has not followed would be missing in everything else.
        journal_problems(data, repair=repair),
        _pages(data, site, findings, repair=repair),
        _counters(data, findings, repair=repair),
        site.problems(),
        AccountCheck(data, repair=repair).problems(),
    )
    problems = 0
    for part in parts:
        async for text in part:
            problems += 1
            yield Problem(text)
    yield Line(
        f"{number_of(findings.pages, 'page')}, {number_of(site.approved, 'approved comment')}, "
        f"{site.held:,} held, {number_of(findings.counters, 'counter')}, "
        f"{number_of(problems, 'problem')}"
    )


@dataclass
class Findings:
    """The amounts."""

    pages: int = 0
    counters: int = 0


async def _pages(
    data: DataSet, site: SiteCheck, findings: Findings, *, repair: bool
) -> AsyncIterator[str]:
    for name in await Pages.of(data, data.keys.every_thread):
        page = PageCheck(data, name, repair=repair)
        async for text in page.problems(site.add):
            yield text
        async for text in site.settled():
            yield text
        findings.pages += page.exists


async def _counters(data: DataSet, findings: Findings, *, repair: bool) -> AsyncIterator[str]:
    views = ViewsCheck(data, repair=repair)
    has_views = await views.is_needed()
    async for text in views.problems_of_site():
        yield text
    async for names in data.redis.scan(data.keys.every_counter_key, type="hash"):
        async for key, counts in walked(data.redis, map(bytes.decode, set(names))):
            findings.counters += len(counts)
            for text in _counter_problems(data.keys, key, counts):
                yield f"counters {key}: {text}"
            if has_views:
                async for text in views.problems(counts):
                    yield text
    async for text in data.numbers.problems(repair=repair):
        yield f"counters: {text}"
    async for text in data.views_ever.problems(repair=repair):
        yield f"counters: {text}"


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
