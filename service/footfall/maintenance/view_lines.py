"""When pages were viewed, in the lines of a backup.

A page's count is read together with them: so they add up to it.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from ..domain.moments import HOURS_MS
from ..driver.keys import Keys
from ..store.views import BASE, UNDATED, Month, PageViews
from .dataset import DataSet

PAGES_A_TRIP = 50
# How often pages that are viewed while they are read are read again.
MAX_TRIES = 20
# From the beginning of a month, as by the default of STATISTICS_MONTHS, for each 31 days.
KEPT_MS = 26 * 31 * 86_400_000

Line = dict[str, Any]
Command = Sequence[object]


async def lines_of_counters(
    data: DataSet, counters: Mapping[str, int], months: Sequence[int]
) -> AsyncIterator[Line]:
    """The lines of these counters, and when their pages were viewed in these months."""
    rest = dict(counters)
    paths = [name[5:] for name in counters if months and name.startswith("time ")]
    for first in range(0, len(paths), PAGES_A_TRIP):
        pages = await _steady(data, paths[first : first + PAGES_A_TRIP], months)
        found = {path: page for path, page in pages.items() if page.months and page.after}
        if found:
            # Their counts are those that were read with the days, and no others.
            read = {f"time {path}": page.after for path, page in found.items()}
            for name in read:
                del rest[name]
            yield {"counters": read}
            yield {"views": {path: _packed(page) for path, page in found.items()}}
    if rest:
        yield {"counters": rest}


async def _steady(
    data: DataSet, paths: Sequence[str], months: Sequence[int]
) -> dict[str, PageViews]:
    """These pages, none of them read while it was viewed, unless it always is."""
    steady: dict[str, PageViews] = {}
    left = list(paths)
    for _ in range(MAX_TRIES):
        found = dict(zip(left, await data.views.of_pages(left, months), strict=True))
        steady |= found
        left = [path for path, page in found.items() if page.before != page.after]
        if not left:
            break
    return steady


async def line_of_site(data: DataSet, months: Sequence[int]) -> Line:
    """The hours of the site: sums that are kept, and those that may grow yet."""
    parts = await data.views.hours_of_site()
    kept = await data.views.kept_hours(months)
    return {"site_views": {"kept": _named(kept), "parts": _named(parts)}}


def _packed(page: PageViews) -> Line:
    months = {str(month): _fields(each) for month, each in page.months.items()}
    return {"months": months, "hours": _named(page.hours)}


def _fields(month: Month) -> dict[str, int]:
    rest = {BASE.decode(): month.base, UNDATED.decode(): month.undated}
    return _named(month.days) | {name: number for name, number in rest.items() if number}


def _named(numbers: Mapping[int, int]) -> dict[str, int]:
    return {str(at): number for at, number in numbers.items()}


def viewed(keys: Keys, line: Line) -> Iterator[Command]:
    """The commands that restore such a line."""
    now_ms = datetime.now(UTC).timestamp() * 1000
    for path, page in line.get("views", {}).items():
        for month, fields in page["months"].items():
            left_ms = KEPT_MS - (now_ms - _begun_ms(month))
            if left_ms > 0 and fields:
                key = keys.days(path, int(month))
                yield "HSET", key, *chain(*({BASE.decode(): 0} | fields).items())
                yield "PEXPIRE", key, int(left_ms)
        if hours := page["hours"]:
            yield "HSET", keys.hours(path), *chain(*hours.items())
            yield "PEXPIRE", keys.hours(path), HOURS_MS
    site = line.get("site_views", {"kept": {}, "parts": {}})
    if parts := site["parts"]:
        yield "HSET", keys.hours_in(0), *chain(*parts.items())
    for month in {hour[:6] for hour in site["kept"]}:
        key = keys.site_hours(int(month))
        kept = ((hour, views) for hour, views in site["kept"].items() if hour[:6] == month)
        yield "HSET", key, *chain(*kept)
        yield "PEXPIRE", key, KEPT_MS


def _begun_ms(month: str) -> float:
    return datetime(int(month[:4]), int(month[4:]), 1, tzinfo=UTC).timestamp() * 1000


async def compared(data: DataSet, pages: Mapping[str, Any]) -> AsyncIterator[tuple[str, str]]:
    """(name, difference) for the days of each page in a line; the difference is "" if there is
    none."""
    months = sorted({int(month) for page in pages.values() for month in page["months"]})
    paths = list(pages)
    for first in range(0, len(paths), PAGES_A_TRIP):
        some = paths[first : first + PAGES_A_TRIP]
        for path, there in zip(some, await data.views.of_pages(some, months), strict=True):
            is_same = _packed(there)["months"] == pages[path]["months"]
            yield f"views of {path!r}", "" if is_same else "have other days"
