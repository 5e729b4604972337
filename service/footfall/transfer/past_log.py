"""Views of the past in files of any kind: what statistics need of each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from itertools import chain
from secrets import token_bytes
from typing import NamedTuple

from ..ids import digest
from ..statistics.agents import PEOPLE, class_of
from ..statistics.sources import source_in
from ..statistics.visitors import MAX_SALT_BYTES, agent_part, number_of, salted, sender_of
from .access_log import LogRow, first_rows, in_order, log_source
from .page_views import ViewReport, page_views
from .source import Source

# Lines by which a file is known. Those of two servers may start with the same request, which a
# monitor sends to both.
FIRST_ROWS = 16
# With a label, such as access-log, days remember which import they are of.
ACCESS_LOG = "access-log"


class PastView(NamedTuple):
    """`at` in ms; `visitor` a number, None if visitors are not counted; `agent` the class of a bot,
    or PEOPLE; `source` the referring host, and its page's path if known, or ""."""

    at: int
    path: str
    visitor: int | None
    agent: str
    source: str


NumberedView = tuple[int, PastView]


class PastLog(NamedTuple):
    """A file, by a digest of how it starts, and what reads its views with the numbers of their
    lines."""

    id: str
    views: Callable[[], Iterator[NumberedView]]


def access_logs(
    sources: Iterable[Source], own: frozenset[str], report: ViewReport
) -> Iterator[PastLog]:
    """The files of a log, the oldest first; those without a line that can be read are only
    reported. `own` are the hosts of the site itself. Raises Damaged, OSError.

    Visitors are distinguished by numbers whose salt is as short-lived as the iterator.
    """
    hasher = salted(token_bytes(MAX_SALT_BYTES), "")
    for source in in_order(map(log_source, sources)):
        views = partial(_views, source, own, hasher, report)
        rows = first_rows(source, FIRST_ROWS)
        if not rows:
            # Its lines are reported, though none can be read.
            sum(1 for _ in views())
            continue
        yield PastLog(_id(rows), views)


def _id(rows: Sequence[LogRow]) -> str:
    columns = (
        (str(row.at), row.method, row.path, str(row.status), row.referer, repr(row.user_agent))
        for row in rows
    )
    return digest(*chain(*columns))


def _views(
    source: Source, own: frozenset[str], hasher: "blake2b", report: ViewReport
) -> Iterator[NumberedView]:
    for number, row in page_views(source, own, report):
        yield number, _view(row, own, hasher)


def _view(row: LogRow, own: frozenset[str], hasher: "blake2b") -> PastView:
    agent = class_of(row.user_agent)
    is_person = agent == PEOPLE
    sender = sender_of(row.address)
    visitor = number_of(hasher, sender, agent_part(row.user_agent)) if is_person else None
    return PastView(row.at, row.path, visitor, agent, source_in(row.referer, own))
