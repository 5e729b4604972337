"""An import, from its file to the store: read and check all rows, join threads, store.

Nothing is stored before the file was read to its end. Services may run meanwhile.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from ..comments.noun import Comments
from ..counters import counter_of
from ..data.imports import Imports, Way
from ..ids import digest
from ..model import NO_VIEWS, OnProgress
from . import checks
from .checks import DAY_MS
from .formats import Format
from .report import ImportReport
from .rows import AccountRow, CommentRow, CounterRow, ImportRow, Kind, Refusal
from .source import Source
from .staging import Staging
from .storing import (
    Comparison,
    Offload,
    at_once,
    compare_counters,
    name_comments,
    store_accounts,
    store_comments,
    store_counters,
)
from .trial import try_out
from .values import address_of, path_of

# Counters that are staged together.
STEP_COUNTERS = 1000

Undated = Literal["skip", "now"]
# What names a page here: the file's own name, or the path of an address.
PagesBy = Literal["key", "path"]


@dataclass(frozen=True, slots=True)
class Import:
    """An import and its options: `is_dry` stores nothing, and `is_check` compares counters instead.
    Rows without a date are rejected, or dated `now`, the file's modification time, so that a
    repeated import finds them. Imported accounts `may_administer` if an operator imports them.
    `pages_by` is the format's own, if it is None."""

    format: Format
    way: Way = "max"
    is_dry: bool = False
    undated: Undated = "skip"
    may_administer: bool = True
    is_check: bool = False
    pages_by: PagesBy | None = None

    @property
    def keeps_keys(self) -> bool:
        return self.format.has_keys if self.pages_by is None else self.pages_by == "key"


@dataclass(slots=True)
class _Reading:
    comments: Comments
    staging: Staging
    place: Callable[[str], str]
    report: ImportReport
    undated_ms: int | None
    may_administer: bool
    keeps_keys: bool
    counters: list[tuple[str, str, str, int]] = field(default_factory=list)

    def read(self, files: Iterable[Source], format: Format) -> None:
        for source in files:
            for row in format.read(source):
                self.take(row)
        self.flush()
        self.staging.tell_joined(self.report)
        if not self.keeps_keys:
            self.staging.tell_renamed(self.report)
        self.staging.put_together(self.report, self.comments.process.clock() + DAY_MS)

    def take(self, row: ImportRow) -> None:
        try:
            match row:
                case Refusal():
                    self.report.count(row.kind, "read")
                    self.report.refuse(row)
                case CommentRow():
                    self._comment(row)
                case CounterRow():
                    self._counter(row)
                case AccountRow():
                    self._account(row)
        except checks.Unusable as error:
            kind, where = _named(row)
            self.report.refuse(Refusal(kind, where, str(error)))

    def _comment(self, row: CommentRow) -> None:
        self.report.count("comments", "read")
        # A comment without an id gets one that is the same in each import.
        source = row.source or digest(row.path, str(row.at), row.nick, row.text)
        address = address_of(row.path)
        row = row._replace(source=source, path=self._page(row.path))
        notes = list[str]()
        if row.status == "deleted":
            why = row.hidden or "was deleted there"
            self.report.refuse(Refusal("comments", source, why))
        else:
            try:
                row = checks.comment(row, self.comments.rules, notes.append, self.undated_ms)
            except checks.Unusable as error:
                self.report.refuse(Refusal("comments", source, str(error)))
                row = row._replace(status="deleted", text="")
        if not self.staging.add_comment(row._replace(notes=()), address):
            raise checks.Unusable("has the ID of an earlier row")
        for note in notes:
            self.report.change("comments", source, note)

    def _counter(self, row: CounterRow) -> None:
        self.report.count("counters", "read")
        address = address_of(row.path)
        row = row._replace(path=self._page(row.path))
        row = checks.counter(row, (*self.comments.counting.types, NO_VIEWS))
        name = counter_of(row.path, row.type)
        self.counters.append((self.place(name), name, address, row.number))
        if len(self.counters) >= STEP_COUNTERS:
            self.flush()

    def _page(self, address: str) -> str:
        return self.comments.counting.page_of(address if self.keeps_keys else path_of(address))

    def _account(self, row: AccountRow) -> None:
        self.report.count("accounts", "read")
        notes = list[str]()
        latest_ms, may = self.comments.process.clock() + DAY_MS, self.may_administer
        row = checks.account(row, latest_ms, notes.append, self.undated_ms, may_administer=may)
        row = row._replace(source=row.source or digest(row.mail), notes=())
        if not self.staging.add_account(row):
            raise checks.Unusable("has the ID of an earlier row")
        for note in notes:
            self.report.change("accounts", row.source, note)

    def flush(self) -> None:
        self.staging.add_counters(self.counters)
        self.counters = []


async def run(
    comments: Comments,
    imports: Imports,
    files: Sequence[Source],
    wanted: Import,
    report: ImportReport,
    on_progress: OnProgress,
    apart: Offload = at_once,
) -> Comparison | None:
    """`apart` runs slow work that waits for nothing. Raises Damaged, StoreUnavailable, OSError."""
    staging = Staging(wanted.way)
    try:
        undated_ms = files[0].changed_ms if wanted.undated == "now" else None
        reading = _Reading(
            comments,
            staging,
            imports.place,
            report,
            undated_ms,
            wanted.may_administer,
            wanted.keeps_keys,
        )
        await apart(lambda: reading.read(files, wanted.format))
        if wanted.is_check:
            return await compare_counters(comments.counting, staging, apart)
        await apart(lambda: name_comments(staging, wanted.format.name))
        if wanted.is_dry:
            name, way = wanted.format.name, wanted.way
            await try_out(comments, imports, staging, way, name, report, apart)
            return None
        await store_accounts(comments.accounts.store, staging, wanted.format.name, report)
        on_comments = partial(on_progress, "comments")
        await store_comments(comments, imports, staging, report, on_comments, apart)
        on_counters = partial(on_progress, "counters")
        await store_counters(imports, staging, wanted.way, report, on_counters, apart)
        return None
    finally:
        staging.close()


def _named(row: ImportRow) -> tuple[Kind, str]:
    match row:
        case CommentRow():
            return "comments", row.source or row.path
        case AccountRow():
            return "accounts", row.source or row.mail
        case CounterRow():
            return "counters", f"{row.type} {row.path}"
    return row.kind, row.where
