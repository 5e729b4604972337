"""An import of past views: read all files, then add the days that have no views yet.

A day is imported once and as a whole. Days that have views already are skipped, whether the service
counted them or another import did, and so is today. An interrupted import continues when it is
repeated with the same files. Services may run meanwhile.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, TypeVar

from ..model import OnProgress
from ..statistics.agents import PEOPLE
from ..statistics.calendar import DAY_MS, Calendar, days_between, months_between
from ..statistics.most_read import KEPT_DAYS
from ..statistics.past_store import OtherImport, PageChange, PastDay, PastViews
from .past_log import PastLog
from .view_staging import ViewStaging

# Views that are read without a pause.
STEP_VIEWS = 1_000
# Pages of a day that one script call changes.
STEP_CHANGES = 200
# Pages whose months are put in order together.
STEP_PAGES = 50
# Script calls that are under way.
STEPS_AT_ONCE = 8

# Why views are left out.
OLD = "older than STATISTICS_MONTHS"
TODAY = "of today, which is not over"
COUNTED = "of days that have views already"
INTERRUPTED = "of days whose import was interrupted: repeat that one with the same files"

T = TypeVar("T")


class Period(NamedTuple):
    """The first day that is stored, and today."""

    first: int
    today: int

    @property
    def months(self) -> list[int]:
        return months_between(self.first, self.today)


@dataclass(frozen=True, slots=True)
class PastImport:
    """`tool` reads the files; `page_of` gives the path by which a page is counted. With `counts`
    views are added to the counters, too. Without `tells_visitors` nobody is tracked."""

    tool: str
    counts: bool = False
    is_dry: bool = False
    tells_visitors: bool = True
    page_of: Callable[[str], str] = str


@dataclass(slots=True)
class PastReport:
    """How many views are stored, of how many pages and which days, and by each class of bots; and
    how many were left out, by the reason, and between which days."""

    new: int = 0
    pages: int = 0
    bots: Counter[str] = field(default_factory=Counter)
    days: list[int] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    left_days: dict[str, tuple[int, int]] = field(default_factory=dict)

    def leave_out(self, why: str, day: int, views: int = 1) -> None:
        self.left_out[why] += views
        first, last = self.left_days.get(why, (day, day))
        self.left_days[why] = min(first, day), max(last, day)


async def run(
    past: PastViews,
    calendar: Calendar,
    period: Period,
    logs: Iterable[PastLog],
    wanted: PastImport,
    report: PastReport,
    on_progress: OnProgress,
) -> None:
    """Raises Damaged, OSError, StoreUnavailable; OtherImport if another one adds the same day."""
    days = await past.days(period.months)
    counted = await past.counted_days(period.months)

    def why_not(day: int) -> str:
        if day < period.first:
            return OLD
        if day >= period.today:
            return TODAY
        is_started = day in days and not days[day].is_done
        return "" if is_started or day not in counted | days.keys() else COUNTED

    with closing(ViewStaging()) as staging:
        await _read(staging, calendar, logs, wanted, why_not, report)
        ids = _accepted(staging, days, report)
        if not wanted.is_dry:
            await _store(past, period, staging, wanted, ids, on_progress)


async def _read(
    staging: ViewStaging,
    calendar: Calendar,
    logs: Iterable[PastLog],
    wanted: PastImport,
    why_not: Callable[[int], str],
    report: PastReport,
) -> None:
    # A file may be there twice, under another name or before it has grown.
    lines_read = defaultdict[str, int](int)
    for log in logs:
        before = lines_read[log.id]
        for views in _parts(log.views(), STEP_VIEWS):
            for number, view in views:
                if number <= before:
                    continue
                lines_read[log.id] = number
                hour = calendar.hour_of(view.at)
                if why := why_not(hour.day):
                    report.leave_out(why, hour.day)
                    continue
                visitor = view.visitor if wanted.tells_visitors else None
                staging.add(view._replace(path=wanted.page_of(view.path), visitor=visitor), hour)
            # So that a connection that Redis has closed meanwhile is noticed.
            await asyncio.sleep(0)
    staging.flush()


def _accepted(staging: ViewStaging, days: dict[int, PastDay], report: PastReport) -> dict[int, str]:
    """The days to be stored, each with the digest of its views; enters all days in the report."""
    ids = {day: staging.digest(day) for day in staging.days()}
    for day, id in ids.items():
        agents = staging.agents(day)
        if day in days and days[day].id != id:
            report.leave_out(INTERRUPTED, day, agents.total())
            continue
        report.days.append(day)
        report.new += agents.total()
        report.bots += Counter({agent: n for agent, n in agents.items() if agent != PEOPLE})
    report.pages = staging.number_of_pages()
    return {day: ids[day] for day in report.days}


async def _store(
    past: PastViews,
    period: Period,
    staging: ViewStaging,
    wanted: PastImport,
    ids: dict[int, str],
    on_progress: OnProgress,
) -> None:
    """A day is done only when all is, so that a repeated import leaves no step out."""
    for at, (day, id) in enumerate(ids.items()):
        if not await past.start(day, PastDay(wanted.tool, id)):
            raise OtherImport
        for steps in _parts(_steps(past, staging.page_changes(day)), STEPS_AT_ONCE):
            added = (past.add(f"{id} {n}", some, counts=wanted.counts) for n, some in steps)
            await asyncio.gather(*added)
        for n, some in enumerate(_parts(staging.site_changes(day), STEP_CHANGES)):
            await past.add_to_site(f"{id} {n}", some)
        on_progress("pages", (at + 1) / len(ids))
    months = months_between(min(ids, default=period.today), period.today)
    for paths in _parts(staging.paths(), STEP_PAGES):
        await past.put_in_order(paths, months)
    for day in ids:
        age = len(days_between(day, period.today)) - 1
        if age < KEPT_DAYS:
            await past.note_most_read(day, staging.most_read(day), (KEPT_DAYS - age) * DAY_MS)
    await past.note_most_read_ever(staging.most_read_ever())
    await past.finish(ids, wanted.tool)


def _steps(
    past: PastViews, changes: Sequence[PageChange]
) -> Iterator[tuple[int, list[PageChange]]]:
    """The changes of each group of pages in bounded steps, each with its number in its group."""
    groups = defaultdict[int, list[PageChange]](list)
    for change in changes:
        groups[past.group(change.path)].append(change)
    for some in groups.values():
        yield from enumerate(_parts(some, STEP_CHANGES))


def _parts(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
