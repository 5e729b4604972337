"""When pages were viewed, in the lines of a backup.

A page's count is read together with them: so they add up to it.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from ..counters import is_view_counter, view_counter, viewed_page
from ..driver.keys import GROUPS, Keys
from ..statistics.calendar import DAY_MS, HOURS_MS
from ..statistics.most_read import KEPT_DAYS
from ..statistics.open_hour import BASE, UNDATED
from ..statistics.page_views import Month, PageViews
from ..statistics.site_store import SiteNumbers, larger
from ..statistics.source_views import MORE, views_by_host
from ..statistics.store import days_of_groups
from .dataset import DataSet

PAGES_A_TRIP = 50
# From the start of a month, as by the default of STATISTICS_MONTHS, for each 31 days.
KEPT_MS = 26 * 31 * 86_400_000
# Tomorrow, today and yesterday, since a site may be in another time zone.
NOT_OVER = 3

# What a line of a day has -> its name in reports.
OF_DAY = {
    "sources": "sources",
    "referrals": "sources of pages",
    "read": "most read pages",
    "audience": "classes of visitors",
}
# Those with numbers that say how many more views there may be.
BOUNDED = ("sources", "referrals")

Line = dict[str, Any]
Command = Sequence[object]


class SiteBesidePages:
    """The site's numbers, to be stored beside those of pages that are viewed meanwhile: no fewer
    than these have together, and no more than they had before or got since."""

    def __init__(self, shares: SiteNumbers, kept: SiteNumbers) -> None:
        """Lines before those of pages; `kept` are stored sums."""
        self.kept = kept
        self._before = Counter(shares.fields())
        # Views of pages by day; and their bots and visitors, by field of the site.
        self._days, self._others = Counter[str](), Counter[str]()

    def add(self, page: PageViews) -> None:
        for month in page.months.values():
            self._days.update({f"{month.number}{day:02}": n for day, n in month.days.items()})
            # A visitor may be one of several pages.
            visitors = {f"v{month.number}{day:02}": n for day, n in month.visitors.items()}
            self._others |= Counter(visitors)
            for day, classes in month.bots.items():
                bots = {f"b{month.number}{day:02} {name}": n for name, n in classes.items()}
                self._others.update(bots)

    def fields(self, after: SiteNumbers) -> dict[str, int]:
        """With those that were read when all pages had been."""
        numbers = Counter(self._before)
        for field, most in sorted(after.fields().items()):
            if field[0] in "vb":
                wanted = self._others[field]
            else:
                day = field[: len("20261123")]
                others = sum(n for at, n in numbers.items() if at.startswith(day) and at != field)
                wanted = self._days[day] - others
            numbers[field] = max(numbers[field], min(most, wanted))
        return dict(+numbers)


async def lines_of_counters(
    data: DataSet, counters: Mapping[str, int], months: Sequence[int], site: SiteBesidePages
) -> AsyncIterator[Line]:
    """The lines of these counters, and when their pages were viewed in these months; the site has
    to know of these."""
    rest = dict(counters)
    paths = [viewed_page(name) for name in counters if months and is_view_counter(name)]
    for first in range(0, len(paths), PAGES_A_TRIP):
        some = paths[first : first + PAGES_A_TRIP]
        pages = zip(some, await data.views.of_pages(some, months), strict=True)
        viewed = {path: page for path, page in pages if page.months and page.total}
        for page in viewed.values():
            site.add(page)
        if viewed:
            # Their counts are those that were read with the days, and no others.
            read = {view_counter(path): page.total for path, page in viewed.items()}
            for name in read:
                del rest[name]
            yield {"counters": read}
            yield {"views": {path: _packed(page) for path, page in viewed.items()}}
    if rest:
        yield {"counters": rest}


async def lines_of_site(
    data: DataSet, months: Sequence[int], beside: SiteBesidePages
) -> AsyncIterator[Line]:
    """The numbers of the site, after all pages: stored sums, and those that may still grow; and by
    day, sources, referrals, classes of visitors and most read pages."""
    site = data.site_views
    kept, people = beside.kept.fields(), await site.people()
    notes = {str(day): text for day, text in (await site.notes()).items()}
    shares = beside.fields(await site.shares())
    numbers = {"kept": kept, "shares": shares, "people": sorted(people), "notes": notes}
    yield {"site_views": numbers}
    for day in (
        *(100 * month + day_of_month for month in months for day_of_month in range(1, 32)),
        0,
    ):
        of_day = await _of_day(data, day)
        if any(of_day[name] for name in OF_DAY):
            yield {"site_views": of_day}


async def _of_day(data: DataSet, day: int) -> Line:
    """From where visitors came on a day, what they are, and which pages were read most; of day 0,
    ever."""
    site, found = data.site_views, dict[str, Counter[str]]()
    lists = {"sources": site.sources, "referrals": site.referrals, "audience": site.audience}
    is_open = day in days_of_groups()
    for name, each in lists.items():
        (kept,) = await each.kept([day]) if day else [Counter[str]()]
        found[name] = kept | await each.shares(day) if is_open else kept
    (read,) = await site.read([day])
    read = larger(read, await site.shares_of_read(day)) if is_open else read
    return {"day": day, "read": read, **found}


def _packed(page: PageViews) -> Line:
    months = {str(month): _fields(numbers) for month, numbers in page.months.items()}
    bots = {
        str(month): _by_class(numbers) for month, numbers in page.months.items() if numbers.bots
    }
    return {"months": months, "bots": bots, "hours": page.hours}


def _fields(month: Month) -> dict[str, int]:
    rest = {BASE.decode(): month.base, UNDATED.decode(): month.undated}
    found = {str(day): views for day, views in month.days.items()}
    found |= {f"v{day}": visitors for day, visitors in month.visitors.items()}
    return found | {name: number for name, number in rest.items() if number}


def _by_class(month: Month) -> dict[str, int]:
    return {
        f"{day} {name}": views
        for day, classes in month.bots.items()
        for name, views in classes.items()
    }


def viewed(keys: Keys, line: Line) -> Iterator[Command]:
    """The commands that restore such a line."""
    for path, page in line.get("views", {}).items():
        for month, fields in page["months"].items():
            base = {BASE.decode(): 0} | _by_bots(page["bots"].get(month, {}))
            yield from _kept(keys.views(path).days(int(month)), base | fields, _left_ms(month))
        for month, fields in page["bots"].items():
            yield from _kept(keys.views(path).bots(int(month)), fields, _left_ms(month))
        yield from _kept(keys.views(path).hours, page["hours"], HOURS_MS)
    site = line.get("site_views", {})
    if "kept" in site:
        yield from _numbers_of_site(keys, site)
    elif site:
        yield from _day_of_site(keys, site)


def _by_bots(bots: Mapping[str, int]) -> Counter[str]:
    """Views by bots of each day, as its list of most viewed pages needs them."""
    total = Counter[str]()
    for field, views in bots.items():
        total[f"b{field.partition(' ')[0]}"] += views
    return total


def _numbers_of_site(keys: Keys, site: Line) -> Iterator[Command]:
    yield from _kept(keys.share(0), site["shares"])
    for month in {_month(field) for field in site["kept"]}:
        kept = {field: n for field, n in site["kept"].items() if _month(field) == month}
        yield from _kept(keys.site_views(int(month)), kept, KEPT_MS)
    yield from _kept(keys.site("people"), dict.fromkeys(site["people"], 1))
    if notes := site.get("notes"):
        yield "HSET", keys.notes, *chain(*notes.items())


def _day_of_site(keys: Keys, site: Line) -> Iterator[Command]:
    day = site["day"]
    # A backup of an earlier version has sources alone.
    audience, referrals = site.get("audience", {}), site.get("referrals", {})
    yield from _kept(keys.sources(day), site["sources"], KEPT_MS)
    yield from _kept(keys.referrals(day), referrals, KEPT_MS)
    yield from _kept(keys.audience(day), audience, KEPT_MS)
    if day in days_of_groups()[:NOT_OVER]:
        yield from _kept(keys.audience_in(0, day), audience, HOURS_MS)
        for group in range(GROUPS):
            # The first one says for all how many more they may have; of a referral, its own one.
            share = _share_of(site["sources"], group, bounds=not group)
            yield from _kept(keys.sources_in(group, day), share, HOURS_MS)
            share = _share_of(referrals, group, bounds=True)
            yield from _kept(keys.referrals_in(group, day), share, HOURS_MS)
    if scores := [word for path, views in site["read"].items() for word in (views, path)]:
        yield "ZADD", keys.most_read(day), *scores
        if day:
            yield "PEXPIRE", keys.most_read(day), KEPT_DAYS * DAY_MS


def _share_of(total: Mapping[str, int], group: int, *, bounds: bool) -> dict[str, int]:
    """A share has space for this many, including those still to come."""
    names = [name for name in total if not name.startswith(MORE)][group::GROUPS]
    more = [MORE + name for name in names] if bounds else []
    every = [*names, *more] if group else [*names, *more, MORE]
    return {name: total[name] for name in every if total.get(name)}


def _kept(key: str, fields: Mapping[str, int], kept_ms: int | None = None) -> Iterator[Command]:
    """For this many ms, or with None for ever."""
    if fields and (kept_ms is None or kept_ms > 0):
        yield "HSET", key, *chain(*fields.items())
        if kept_ms is not None:
            yield "PEXPIRE", key, kept_ms


def _month(field: str) -> str:
    """The month of an hour such as 2026112316, or of a day after a mark."""
    return field.lstrip("vb")[:6]


def _left_ms(month: str) -> int:
    now_ms = datetime.now(UTC).timestamp() * 1000
    return int(KEPT_MS - (now_ms - _started_ms(month)))


def _started_ms(month: str) -> float:
    return datetime(int(month[:4]), int(month[4:]), 1, tzinfo=UTC).timestamp() * 1000


async def compared_of_site(data: DataSet, line: Line) -> AsyncIterator[tuple[str, str]]:
    """Names of the site's numbers in a line, and how each differs from what is stored."""
    if "day" in line:
        day, there = line["day"], await _of_day(data, line["day"])
        for kind, name in OF_DAY.items():
            # A backup of an earlier version has fewer kinds.
            wanted, found = +Counter[str](line.get(kind, there[kind])), +there[kind]
            if kind in BOUNDED:
                wanted, found = views_by_host(wanted), views_by_host(found)
            yield f"{name} of {day or 'ever'}", "" if wanted == found else "differ"
        return
    # Sums stored since from values that only shares had.
    months = sorted({int(_month(field)) for field in line["kept"] | line["shares"]})
    kept, shares = await data.site_views.kept(months), await data.site_views.shares()
    numbers = Counter(kept.fields()) | Counter(shares.fields())
    wanted = Counter(line["kept"]) | Counter(line["shares"])
    yield "the site's views, visitors and bots", "" if numbers == wanted else "differ"
    # A backup of an earlier version has no notes.
    notes = {str(day): text for day, text in (await data.site_views.notes()).items()}
    yield "notes on days", "" if line.get("notes", notes) == notes else "differ"


async def compared(data: DataSet, pages: Mapping[str, Any]) -> AsyncIterator[tuple[str, str]]:
    """(name, difference) for the days of each page in a line; the difference is "" if there is
    none."""
    months = sorted({int(month) for page in pages.values() for month in page["months"]})
    paths = list(pages)
    for first in range(0, len(paths), PAGES_A_TRIP):
        some = paths[first : first + PAGES_A_TRIP]
        for path, there in zip(some, await data.views.of_pages(some, months), strict=True):
            kept, there_kept = pages[path], _packed(there)
            is_same = all(there_kept[kind] == kept[kind] for kind in ("months", "bots"))
            yield f"views of {path!r}", "" if is_same else "have other days"
