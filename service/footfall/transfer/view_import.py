"""An import of views of the past: read all files, and then add what statistics do not have yet.

Days that the service has counted itself are left out, and so is today. Services may run meanwhile.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, TypeVar

from ..model import OnProgress
from ..statistics.calendar import DAY_MS, Calendar, days_between, months_between
from ..statistics.most_read import KEPT_DAYS
from ..statistics.past_store import Applied, Lines, PageChange, PastDay, PastFile, PastViews
from .past_log import PastLog, PastView
from .view_staging import Step, ViewStaging

# Views that are read without a pause.
STEP_VIEWS = 1_000
# Pages whose months are put in order together.
STEP_PAGES = 50
# Script calls that are under way.
STEPS_AT_ONCE = 8

# Why views are left out.
OLD = "older than STATISTICS_MONTHS"
TODAY = "of today, which is not over"
COUNTED = "of days that this service has counted"
OTHER_TOOL = "of days that another import has"
SAME_TIME = "of times that another file had, which was imported before"

T = TypeVar("T")


class Period(NamedTuple):
    """The first day that is kept, and today."""

    first: int
    today: int

    @property
    def months(self) -> list[int]:
        return months_between(self.first, self.today)


@dataclass(frozen=True, slots=True)
class PastImport:
    """`tool` is what reads the files; `page_of` says by which path a page is counted. With `counts`
    views are added to the counters, too. With `overlaps` other files may have had views of the same
    times. Without `tells_visitors` nobody is told apart."""

    tool: str
    counts: bool = False
    is_dry: bool = False
    overlaps: bool = False
    tells_visitors: bool = True
    page_of: Callable[[str], str] = str


@dataclass(slots=True)
class PastReport:
    """How many views are new, how many were there, and how many were left out, by the reason, and
    between which days; of the new ones, how many each class of bots has."""

    new: int = 0
    there: int = 0
    pages: int = 0
    bots: Counter[str] = field(default_factory=Counter)
    days: dict[int, PastDay] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    left_days: dict[str, tuple[int, int]] = field(default_factory=dict)

    def leave_out(self, why: str, day: int) -> None:
        self.left_out[why] += 1
        first, last = self.left_days.get(why, (day, day))
        self.left_days[why] = min(first, day), max(last, day)


class _Known(NamedTuple):
    """What statistics have: days of other imports and of this one, and those that were counted."""

    period: Period
    days: dict[int, PastDay]
    counted: frozenset[int]

    def why_not(self, wanted: PastImport, at: int, day: int, new_since: int | None) -> str:
        """Why a view is left out; "" for one that is not. `new_since` is when its file begins, if
        no other import had it."""
        if day < self.period.first:
            return OLD
        if day >= self.period.today:
            return TODAY
        past = self.days.get(day)
        if past is None:
            return COUNTED if day in self.counted else ""
        if past.tool != wanted.tool:
            return OTHER_TOOL
        if new_since is None or wanted.overlaps or not past.first <= at <= past.last:
            return ""
        # The file that follows on another begins in the second in which that one has ended.
        return "" if new_since == at == past.last else SAME_TIME


@dataclass(slots=True)
class _Reading:
    past: PastViews
    calendar: Calendar
    wanted: PastImport
    known: _Known
    report: PastReport
    staging: ViewStaging = field(default_factory=ViewStaging)
    # Each file once, with a number; it may be there twice under other names.
    files: dict[PastFile, int] = field(default_factory=dict)
    applied: list[Applied] = field(default_factory=list)
    # The last line of each file that was read.
    read_lines: dict[int, int] = field(default_factory=dict)
    # Files that have come to today: what stands behind that is of today, or late, and both are
    # read by a later import.
    ended: set[int] = field(default_factory=set)

    async def read(self, log: PastLog) -> None:
        file = await self._number_of(log)
        before = self.read_lines.get(file, 0)
        new_since = None if self.applied[file].is_known else log.begins
        for views in _parts(log.views(), STEP_VIEWS):
            for number, view in views:
                if number > before:
                    self.read_lines[file] = number
                    self._take(file, number, view, new_since)
            # So that a connection which Redis closes meanwhile is known to be.
            await asyncio.sleep(0)

    async def _number_of(self, log: PastLog) -> int:
        """A number for a file, by the name under which it is known."""
        named, applied = log.file, await self.past.applied(log.file)
        if log.once != named and not applied.is_known:
            before = await self.past.applied(log.once)
            named, applied = (log.once, before) if before.is_known else (named, applied)
        number = self.files.setdefault(named, len(self.files))
        if number == len(self.applied):
            self.applied.append(applied)
        return number

    def _take(self, file: int, number: int, view: PastView, new_since: int | None) -> None:
        hour, applied = self.calendar.hour_of(view.at), self.applied[file]
        if why := self._why_not(file, number, view.at, hour.day, new_since):
            self.report.leave_out(why, hour.day)
            return
        view = view._replace(path=self.wanted.page_of(view.path))
        group = self.past.group(view.path)
        if not self.wanted.tells_visitors:
            view = view._replace(visitor=None)
        # An import that was broken off has added some views to their pages alone.
        is_new, is_new_to_site = number > applied.groups[group], number > applied.site
        self.staging.begin(file, number)
        self.staging.add_to_page(view, hour.day, group, is_new=is_new)
        if is_new_to_site:
            self.staging.add_to_site(view, hour)
        self._count(view, hour.day, is_new=is_new or is_new_to_site)

    def _why_not(self, file: int, number: int, at: int, day: int, new_since: int | None) -> str:
        applied = self.applied[file]
        if day == self.known.period.today:
            self.ended.add(file)
        if file in self.ended:
            return TODAY
        was_left = applied.left_from <= number <= applied.left_to
        if was_left and not self.wanted.overlaps:
            return SAME_TIME
        why = self.known.why_not(self.wanted, at, day, new_since)
        if why == SAME_TIME:
            applied.leave_out(number)
        return why

    def _count(self, view: PastView, day: int, *, is_new: bool) -> None:
        report = self.report
        report.new += is_new
        report.there += not is_new
        if is_new and view.agent:
            report.bots[view.agent] += 1
        known = self.report.days.get(day) or self.known.days.get(day)
        first, last = (known.first, known.last) if known else (view.at, view.at)
        report.days[day] = PastDay(self.wanted.tool, min(first, view.at), max(last, view.at))


async def run(
    past: PastViews,
    calendar: Calendar,
    period: Period,
    logs: Iterable[PastLog],
    wanted: PastImport,
    report: PastReport,
    on_progress: OnProgress,
) -> None:
    """Raises Damaged, OSError, StoreUnavailable; OtherImport if another one adds the same file."""
    known = _Known(period, await past.days(period.months), await past.counted_days(period.months))
    reading = _Reading(past, calendar, wanted, known, report)
    try:
        for log in logs:
            await reading.read(log)
        reading.staging.end()
        report.pages = reading.staging.number_of_pages()
        if not wanted.is_dry:
            await _store(reading, on_progress)
    finally:
        reading.staging.close()


async def _store(reading: _Reading, on_progress: OnProgress) -> None:
    past, staging, report = reading.past, reading.staging, reading.report
    files = list(reading.files)
    await past.begin(dict(zip(files, reading.applied, strict=True)), report.days)
    total, done = max(report.new, 1), 0
    for steps in staging.page_steps():
        for some in _parts(steps, STEPS_AT_ONCE):
            await asyncio.gather(*(_add(reading, files, *step) for step in some))
        done += sum(change.views for _, changes in steps for change in changes)
        on_progress("pages", done / total)
    for step, changes in staging.site_steps():
        applied = reading.applied[step.file]
        await past.add_to_site(_lines(files, step, applied.site), changes)
        applied.site = step.line
    months = _months_from(report.days, reading)
    for paths in _parts(staging.new_paths(), STEP_PAGES):
        await past.put_in_order(paths, months)
    await _note_most_read(reading)


async def _add(
    reading: _Reading, files: Sequence[PastFile], step: Step, changes: Sequence[PageChange]
) -> None:
    groups = reading.applied[step.file].groups
    group = reading.past.group(changes[0].path)
    lines = _lines(files, step, groups[group])
    await reading.past.add(lines, changes, counts=reading.wanted.counts)
    groups[group] = step.line


def _lines(files: Sequence[PastFile], step: Step, before: int) -> Lines:
    return Lines(files[step.file], before, step.line)


def _months_from(days: Iterable[int], reading: _Reading) -> list[int]:
    """From the first month of these days on."""
    first = min(days, default=reading.known.period.today)
    return months_between(first, reading.known.period.today)


async def _note_most_read(reading: _Reading) -> None:
    """Of the last days; also of those that were there, in case an import was ended before that."""
    for day in sorted(reading.report.days):
        age = len(days_between(day, reading.known.period.today)) - 1
        if age < KEPT_DAYS:
            paths = reading.staging.most_read(day)
            await reading.past.note_most_read(day, paths, (KEPT_DAYS - age) * DAY_MS)
    await reading.past.note_most_read_ever(reading.staging.most_read_ever())


def _parts(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
