"""Views of the past in files of any kind: what statistics need of each, and of which file it is."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from itertools import chain
from secrets import token_bytes
from typing import NamedTuple

from ..driver.keys import digest
from ..statistics.agents import PEOPLE, class_of
from ..statistics.past_store import PastFile
from ..statistics.sources import source_of
from ..statistics.visitors import MAX_SALT_BYTES, number_of, salted, sender_of
from .access_log import LogRow, first_rows, in_order, log_source
from .page_views import ViewReport, page_views
from .source import Source

# Lines by which a file is known. Those of two servers may begin with the same request, which a
# monitor sends to both; a file with fewer lines is known by its first, until it has grown.
FIRST_ROWS = 16
# With a label, such as access-log, days remember which import they are of.
ACCESS_LOG = "access-log"


class PastView(NamedTuple):
    """`at` in ms; `visitor` a number of whom it was, None if that does not count; `agent` the class
    of a bot, or PEOPLE; `host` from where they came, or ""."""

    at: int
    path: str
    visitor: int | None
    agent: str
    host: str


NumberedView = tuple[int, PastView]


@dataclass(frozen=True, slots=True)
class PastLog:
    """A file, when it begins, in ms, and what reads its views with the numbers of their lines.

    `once` is the file as it was named when it was shorter, if it can have been.
    """

    file: PastFile
    once: PastFile
    begins: int
    views: Callable[[], Iterator[NumberedView]]


def access_logs(
    sources: Iterable[Source], own: frozenset[str], report: ViewReport
) -> Iterator[PastLog]:
    """The files of a log, the oldest first; those without a line that can be read are only
    reported. `own` are the hosts of the site itself. Raises Damaged, OSError.

    Visitors are told apart by numbers whose salt is as short-lived as the iterator.
    """
    hasher = salted(token_bytes(MAX_SALT_BYTES), "")
    for source in in_order(map(log_source, sources)):
        views = partial(_views, source, own, hasher, report)
        rows = first_rows(source, FIRST_ROWS)
        if not rows:
            # Its lines are reported, though none can be read.
            sum(1 for _ in views())
            continue
        once = _file(rows[:1])
        file = _file(rows) if len(rows) == FIRST_ROWS else once
        yield PastLog(file, once, rows[0].at, views)


def _file(rows: Sequence[LogRow]) -> PastFile:
    """Named without addresses, which nobody should find out by trying."""
    words = (
        (str(row.at), row.method, row.path, str(row.status), row.referer, repr(row.user_agent))
        for row in rows
    )
    return PastFile(digest(*chain(*words)), month_of_ms(rows[0].at))


def _views(
    source: Source, own: frozenset[str], hasher: "blake2b", report: ViewReport
) -> Iterator[NumberedView]:
    for number, row in page_views(source, own, report):
        yield number, _view(row, own, hasher)


def _view(row: LogRow, own: frozenset[str], hasher: "blake2b") -> PastView:
    agent = class_of(row.user_agent)
    is_person = agent == PEOPLE
    sender = sender_of(row.address)
    visitor = number_of(hasher, sender, row.user_agent) if is_person else None
    return PastView(row.at, row.path, visitor, agent, source_of(row.referer, own))


def month_of_ms(at: int) -> int:
    """Such as 202611, in UTC."""
    when = datetime.fromtimestamp(at // 1000, UTC)
    return when.year * 100 + when.month
