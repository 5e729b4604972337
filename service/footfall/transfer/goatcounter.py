"""GoatCounter's export of page views as CSV, of version 1 or 2: each row one view.

Its visitors are sessions of some hours, not addresses: GoatCounter does not store these.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import blake2b

from ..http.params import MAX_PATH
from ..markup import is_safe_url
from ..statistics.agents import OTHER_BOT, PEOPLE, PREFETCH, WEBDRIVER
from ..statistics.calendar import LEAST_MS, MOST_MS
from ..statistics.sources import source_in
from .access_log import log_source
from .page_views import NO_PATH, ViewReport
from .past_log import NumberedView, PastLog, PastView
from .source import Damaged, Source
from .table_rows import records
from .values import moment, path_of, truth, whole

GOATCOUNTER = "goatcounter"
# The first column, whose name has the version of the format before it.
_PATHS = ("2Path", "1Path")
_COLUMNS = {"Event", "Bot", "Session", "FirstVisit", "Referrer", "Referrer scheme", "Date"}
# Its numbers of bots, if they name a kind; 0 and 1 are people.
_PEOPLE = (0, 1)
_AGENTS = {2: PREFETCH, 4: "http-library", 150: WEBDRIVER, 151: WEBDRIVER}
_AGENTS |= {152: WEBDRIVER, 153: WEBDRIVER}

NO_DATE = "has no date from 1973 to 9998"
NO_BOT = "does not say whether it is by a bot"
EVENT = "is an event"

Record = Mapping[str, str]


def goatcounter_log(source: Source, own: frozenset[str], report: ViewReport) -> Iterator[PastLog]:
    """Raises Damaged, also for a file without a row, and OSError."""
    source = log_source(source)
    first = next((row for _, row in _rows(source) if not isinstance(row, str)), None)
    if first is None:
        raise Damaged(
            "it has no view: GoatCounter has kept none one by one (Individual pageviews); import "
            "its JSON export, which has their totals"
        )
    yield PastLog("", partial(_views, source, own, report))


def _views(source: Source, own: frozenset[str], report: ViewReport) -> Iterator[NumberedView]:
    for number, row in _rows(source):
        view = row if isinstance(row, str) else _view(row, number, own)
        if isinstance(row, str) or isinstance(view, str):
            report.refuse(str(view), f"{source.name}, line {number}")
            continue
        is_event = bool(truth(row["Event"]))
        why = EVENT if is_event else excluded(view.path)
        report.note(why, row["path"] if is_event else view.path)
        if not why:
            yield number, view


def excluded(path: str) -> str:
    """Why a path is not a page's; "" for a page."""
    is_page = path and len(path) <= MAX_PATH and is_safe_url(path)
    return "" if is_page else NO_PATH


def _view(row: Record, number: int, own: frozenset[str]) -> PastView | str:
    at, bot = _at(row), whole(row["Bot"] or "0")
    if at is None:
        return NO_DATE
    if bot is None:
        return NO_BOT
    agent = PEOPLE if bot in _PEOPLE else _AGENTS.get(bot, OTHER_BOT)
    is_first = agent == PEOPLE and truth(row["FirstVisit"])
    visitor = _visitor(row["Session"], number) if is_first else None
    referrer = source_named(row["Referrer"], row["Referrer scheme"], own)
    return PastView(at, page_of(row["path"]), visitor, agent, referrer)


def _at(row: Record) -> int | None:
    at = moment(row["Date"])
    return at if at is not None and LEAST_MS <= at < MOST_MS else None


def page_of(written: str) -> str:
    """With its query, as its own protocol counts it here (compat/goatcounter.py)."""
    return path_of(f"https://site{written}") if written.startswith("/") else ""


def _visitor(session: str, number: int) -> int:
    """A session is one visitor; a row that has none is another one each time."""
    of = session if session.strip("0-") else f"row {number}"
    return int.from_bytes(blake2b(of.encode(), digest_size=8).digest(), signed=True)


def source_named(referrer: str, scheme: str, own: frozenset[str]) -> str:
    """Links are stored without their scheme; names of campaigns are not hosts."""
    match scheme:
        case "h":
            return source_in(f"https://{referrer}", own)
        case "o":
            return source_in(referrer, own)
    return ""


def _rows(source: Source) -> Iterator[tuple[int, Record | str]]:
    return records(source, _names)


def _names(names: list[str]) -> list[str]:
    if not (names[:1] and names[0] in _PATHS) or _COLUMNS - set(names):
        raise Damaged("it is not a CSV export of GoatCounter, version 1 or 2")
    return ["path", *names[1:]]
