"""Counters, log, settings and state, for administrators' pages alone. Each answer is bounded."""

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass

from ..accounts.noun import Accounts
from ..accounts.store.log import LogEntry
from ..comments.noun import Comments
from ..comments.rules.search import UNKNOWN, beginnings
from ..counters import MAX_COUNT, VIEWS
from ..errors import StoreUnavailable
from ..http.params import MAX_ID, MAX_PAGE, MAX_PAGE_SIZE, MAX_PATH
from ..limits.floods import told
from ..model import Caller, Verdict
from ..process.process import Process
from ..site import Data, Site
from ..table import schemas
from ..table.answers import JsonObject
from ..table.context import ParseContext
from ..table.fields import COUNTER_TYPES, NO_FIELDS, Choice, Count, Integer, Text, copied
from ..table.middleware import LOOKS
from ..table.prefixes import UI
from ..table.rows import Declared
from ..table.schemas import NUMBER, REAL, TEXT, AnswerSchema, list_of, map_of, object_of, ref
from ..table.who import ADMINISTRATOR, MODERATOR
from ..telemetry.metrics import Histogram, Metrics, Route
from . import counter_search
from .queue import VERDICT

of_site = Declared[Site]("", UI)
of_comments = Declared[Comments]("comments", UI)
of_accounts = Declared[Accounts]("accounts", UI)

MAX_REASON = 200
# How long to wait for a measurement of the stored data, which continues after that.
WAIT_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Search:
    """The counters of a page, or with `path` None the highest ones with these words."""

    path: str | None
    words: str
    type: str
    first: int


SEARCH = copied(
    Search,
    (
        Text("path", "Only the counters of this page", MAX_PATH, None),
        Text("keyword", "Words in the pages' paths", MAX_PATH),
        Choice("type", "Only counters of this type", "", COUNTER_TYPES),
        Integer("after", "The `after` of the last answer", 0, MAX_PAGE),
    ),
    source="query",
)


COUNTERS_ANSWER = AnswerSchema(
    {
        "anyOf": [
            object_of(path=TEXT, counts=ref("Counts")),
            object_of(
                data=list_of(object_of(count=NUMBER, type=TEXT, path=TEXT)),
                matching=NUMBER,
                after=NUMBER,
                share=REAL,
            ),
        ]
    }
)


@of_site("counter_search", "GET", "/counters", SEARCH, ADMINISTRATOR, COUNTERS_ANSWER)
async def counters(site: Site, parsed: Search, caller: Caller) -> JsonObject:
    if parsed.path is not None:
        counts = await counter_search.of_path(
            site.counting.counters, site.counting.types, parsed.path
        )
        return {"path": parsed.path, "counts": counts}
    known = {} if parsed.first else await _read_most(site)
    part = await counter_search.search(
        site.counting.walk, words=parsed.words, type=parsed.type, first=parsed.first, known=known
    )
    rows = [{"count": count, "type": type, "path": path} for count, type, path in part.found]
    return {"data": rows, "matching": part.matching, "after": part.next, "share": part.share}


async def _read_most(site: Site) -> dict[str, int]:
    """Counters of which most views are looked for, known before all are gone through."""
    if not site.statistics.reports.is_on:
        return {}
    counters = site.counting.counters
    names = counters.names(await site.statistics.reports.most_read.listed(), [VIEWS])
    counts = zip(names, await counters.read(names), strict=True)
    # One that was removed may be in a list still.
    return {name: count for name, count in counts if count}


@dataclass(frozen=True, slots=True)
class Correction:
    path: str
    type: str
    was: int
    now: int
    reason: str


CORRECTION = copied(
    Correction,
    (
        Text("path", "The page", MAX_PATH, required="path can not be blank"),
        Choice("type", "The counter", "time", COUNTER_TYPES, is_word=True),
        Count("from", "The current count, as seen", MAX_COUNT),
        Count("to", "What it should have been", MAX_COUNT),
        Text("reason", "Why, for the log", MAX_REASON, required="reason can not be blank"),
    ),
)


@of_comments("counter_correct", "PUT", "/counters", CORRECTION, ADMINISTRATOR, schemas.NUMBER_OF)
async def correct(comments: Comments, parsed: Correction, caller: Caller) -> JsonObject:
    count = await counter_search.correct(
        comments.counting.counters,
        comments.log,
        caller,
        path=parsed.path,
        type=parsed.type,
        was=parsed.was,
        now=parsed.now,
        reason=parsed.reason,
    )
    return {"count": count}


@dataclass(frozen=True, slots=True)
class Log:
    """So many entries, older than the one with the id `before`."""

    size: int
    before: str


def _check_entry(before: str, context: ParseContext) -> str:
    at, _, number = before.partition("-")
    is_id = at.isdecimal() and number.isdecimal() and before.isascii()
    return "" if is_id else "before need the id of an entry"


LOG = copied(
    Log,
    (
        Integer("pageSize", "How many entries", 50, MAX_PAGE_SIZE),
        Text("before", "The entry before which to continue", MAX_ID, check=_check_entry),
    ),
    source="query",
)


LOG_ANSWER = AnswerSchema(
    list_of(
        object_of(
            entry=TEXT,
            time=NUMBER,
            nick=TEXT,
            url=TEXT,
            orig=TEXT,
            author=TEXT,
            _optional=dict.fromkeys(("by", "did", "id", "was", "now", "door", "action"), TEXT)
            | {"verdict": VERDICT},
        )
    )
)


@of_comments("log_read", "GET", "/log", LOG, MODERATOR, LOG_ANSWER)
async def log(comments: Comments, parsed: Log, caller: Caller) -> list[JsonObject]:
    """With where a comment is that is still there, or in the bin, how it starts, and its author."""
    entries = await comments.log.newest(parsed.size, parsed.before)
    of = await beginnings(comments, [entry.fields.get("id", "") for entry in entries])
    people = await comments.accounts.store.by_ids(
        {entry.fields.get("by", "") for entry in entries} - {""}
    )
    judged = [e.fields["id"] for e in entries if e.fields.get("door") == "filter"]
    verdicts = await comments.verdicts.of(judged)
    return [
        {
            **entry.fields,
            **_verdict_of(entry, verdicts),
            "entry": entry.id,
            "time": entry.at,
            "nick": people[by].nick if (by := entry.fields.get("by", "")) in people else "",
            **of.get(entry.fields.get("id", ""), UNKNOWN)._asdict(),
        }
        for entry in entries
    ]


def _verdict_of(entry: LogEntry, verdicts: Mapping[str, Verdict]) -> dict[str, object]:
    """What a language model has said, of an entry by a spam filter."""
    is_by_filter = entry.fields.get("door") == "filter"
    verdict = verdicts.get(entry.fields.get("id", "")) if is_by_filter else None
    return {"verdict": verdict._asdict()} if verdict else {}


SETTINGS_ANSWER = AnswerSchema(
    list_of(object_of(name=TEXT, value=TEXT, default=TEXT, meaning=TEXT))
)


@of_accounts("settings_read", "GET", "/settings", NO_FIELDS, ADMINISTRATOR, SETTINGS_ANSWER)
async def settings(accounts: Accounts, parsed: None, caller: Caller) -> list[JsonObject]:
    """The settings in force, without secrets."""
    names = ("name", "value", "default", "meaning")
    return [dict(zip(names, row, strict=True)) for row in accounts.process.about.settings]


STATE_ANSWER = AnswerSchema(
    object_of(
        versions=map_of(TEXT),
        durability=TEXT,
        problems=list_of(TEXT),
        floods=list_of(TEXT),
        redisMs=REAL,
        servers=list_of(map_of(TEXT)),
        stored=map_of(object_of(number=REAL, bytesEach=REAL)),
        connections=REAL,
        waiting=NUMBER,
        requests=REAL,
        failed=REAL,
        seconds=map_of(REAL),
        redisSeconds=map_of(REAL),
    )
)


@of_site("state_read", "GET", "/state", NO_FIELDS, ADMINISTRATOR, STATE_ANSWER)
async def state(site: Site, parsed: None, caller: Caller) -> JsonObject:
    """How the service is, and Redis; numbers are since the start, and of all workers."""
    started = time.perf_counter()
    trouble = await site.process.safety.trouble()
    took_ms = round((time.perf_counter() - started) * 1000, 3)
    problems = [problem.text for problem in site.process.safety.problems.values()]
    if trouble and trouble not in problems:
        problems.insert(0, trouble)
    problems += site.warnings
    await site.data.scale.refresh(WAIT_SECONDS)
    metrics = site.process.metrics
    return {
        "versions": {"footfall": site.process.about.version, "python": platform.python_version()},
        "durability": str(site.process.safety.durability),
        "problems": problems,
        "floods": told(await site.data.floods.lately(site.process.clock())),
        "redisMs": took_ms,
        "servers": await _servers(site.process),
        "stored": _stored(site.data),
        "connections": metrics.connections.total,
        "waiting": site.data.waiting(),
        "requests": sum(number for _, number in _answered(metrics)),
        "failed": sum(number for status, number in _answered(metrics) if status >= "500"),
        "seconds": _buckets(*(route.seconds()[0] for route in _routes(metrics))),
        "redisSeconds": _of(metrics.redis_seconds),
    }


def _routes(metrics: Metrics) -> list[Route]:
    """All except health checks and metrics."""
    return [route for name, route in metrics.routes.items() if name not in LOOKS]


def _answered(metrics: Metrics) -> list[tuple[str, float]]:
    return [count for route in _routes(metrics) for count in route.by_status()]


def _of(histogram: Histogram) -> dict[str, float]:
    return _buckets(histogram.totals()[0])


def _buckets(*histograms: list[tuple[str, float]]) -> dict[str, float]:
    """Upper bound in seconds -> how many took no longer, of all of these together."""
    together: dict[str, float] = {}
    for histogram in histograms:
        for bound, number in histogram:
            together[bound] = together.get(bound, 0) + number
    return together


def _stored(data: Data) -> Mapping[str, Mapping[str, float]]:
    size = data.scale.reading
    kinds = {"counters": size.counters, "comments": size.comments} if size else {}
    return {name: {"number": k.number, "bytesEach": k.bytes_each} for name, k in kinds.items()}


# Fields of INFO, by their names here.
_FACTS = {
    "version": "redis_version",
    "valkey": "valkey_version",
    "role": "role",
    "used": "used_memory",
    "most": "maxmemory",
    "clients": "connected_clients",
    "replicas": "connected_slaves",
    "upSeconds": "uptime_in_seconds",
}


async def _servers(process: Process) -> list[Mapping[str, str]]:
    """The facts of each server of Redis; none of one that does not answer."""
    try:
        every = (await process.safety.facts()).values()
    except StoreUnavailable:
        return []
    return [
        {ours: facts[theirs] for ours, theirs in _FACTS.items() if theirs in facts} if facts else {}
        for facts in every
    ]
