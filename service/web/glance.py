"""What a busy site's three requests ask, read from their bytes at a glance.

Most visitors of a page ask in the same words, and load generators and proxies in the same bytes, so
what both mean is remembered. Headers differ from visitor to visitor and are read anew.

This is no second HTTP parser to be smuggled past: llhttp reads the request here too, in a parser as
strict as uvicorn's, and only bytes that it takes for exactly one whole request mean anything.
"""

import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from sys import getsizeof
from types import SimpleNamespace
from typing import Protocol, TypeVar

import httptools
import orjson

from ..domain.counters import lowers_views, trials_of
from ..domain.service import Service
from ..errors import ServiceError
from ..meters import Route
from ..model import PUBLIC
from . import comments, counters
from .answer import Said
from .caller import is_allowed
from .parse import Asked, parse_query
from .policy import Policy

# Bytes, as far as they can be told, of requests that are remembered as a whole, and of lines with
# their bodies; longer requests are not remembered whole, and big ones not at all.
MOST_BYTES = 12 * 1024 * 1024
LONGEST_WHOLE = 320
BIGGEST = MOST_BYTES // 256
# Of a question and its place in a dictionary.
SMALLEST = 600

# What is asked here, and whether in the layout without prefix.
_SHAPES = {
    (b"GET", b"/api/article"): ("read", False),
    (b"GET", b"/article"): ("read", True),
    (b"POST", b"/api/article"): ("change", False),
    (b"POST", b"/article"): ("change", True),
    (b"GET", b"/api/comment"): ("page", False),
    (b"GET", b"/comment"): ("page", True),
}
# The headers that change what these requests mean. No other does; but a header may go on in the
# next line. The look ahead at a first letter halves the time for those that most requests have
# besides.
_TELLING = re.compile(
    rb"\n(?=[tcpeuaixTCPEUAIX \t])(?:((?i:transfer-encoding|(?:proxy-)?connection|expect|upgrade"
    rb"|authorization|if-none-match|content-type|content-encoding|x-forwarded-for))"
    rb"[ \t]*:[ \t]*([^\r\n]*)|[ \t])"
)
_SOURCE = re.compile(rb"\n((?i:referer|origin))[ \t]*:[ \t]*([^\r\n]*)")
_JSON = (b"application/json", b"text/plain")
# llhttp takes the second for the first.
_KEEPING = (b"connection", b"proxy-connection")
ONE = ["begun", "complete"]

Done = Callable[[list[int] | Exception], None]


class Question(Protocol):
    """What a request asks, whoever asks it: where it is counted, how many counters it changes."""

    @property
    def route(self) -> Route: ...

    @property
    def tokens(self) -> int: ...

    @property
    def changes(self) -> Sequence[tuple[str, int]]:
        """Of counters, (name, delta) each."""

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""

    def ask(self, service: Service, done: Done) -> None:
        """Ask Redis for numbers."""

    def said(self, service: Service, numbers: list[int]) -> Said | Coroutine[None, None, Said]:
        """The answer that they make, or what will find it."""


# A request that can be answered at once: what it asks, the ETags of answers that the client has,
# and for whom a proxy asks. No named tuple, which takes ten times as long to make.
Seen = tuple[Question, bytes, bytes | None]


K = TypeVar("K")
V = TypeVar("V")


class _Kept(dict[K, V]):
    """What was understood, until it is too much: then all of it is forgotten."""

    def __init__(self) -> None:
        self._bytes = 0

    def keep(self, key: K, value: V, size: int) -> None:
        if size > BIGGEST:
            return
        self._bytes += size
        if self._bytes > MOST_BYTES:
            self.clear()
            self._bytes = size
        self[key] = value


class Glance:
    def __init__(self, service: Service, policy: Policy) -> None:
        self._service = service
        self._policy = policy
        self._sniff_anew()
        self._whole_ones = _Kept[bytes, Seen]()
        self._questions = _Kept[tuple[bytes, bytes], Question]()

    def __call__(self, data: bytes) -> Seen | None:
        """What these bytes ask, if they are one whole request and nothing about it is unusual."""
        if len(data) > LONGEST_WHOLE:
            return self._look(data)
        seen = self._whole_ones.get(data)
        if seen is None and (seen := self._look(data)):
            self._whole_ones.keep(data, seen, len(data) + seen[0].bytes)
        return seen

    def _sniff_anew(self) -> None:
        """A parser that says how many requests have begun and ended, in no code of ours."""
        self._heard: list[str] = []
        heard = SimpleNamespace(
            on_message_begin=partial(self._heard.append, "begun"),
            on_message_complete=partial(self._heard.append, "complete"),
        )
        self._sniffer = httptools.HttpRequestParser(heard)

    def _look(self, data: bytes) -> Seen | None:
        seen = self._whole(data)
        if seen is None:
            # It may be in the middle of something, or believe that the connection is to be closed.
            self._sniff_anew()
        return seen

    def _whole(self, data: bytes) -> Seen | None:
        end = data.find(b"\r\n\r\n")
        line, body = data[: data.find(b"\r\n")], data[end + 4 :]
        try:
            self._sniffer.feed_data(data)
            question = self._questions.get((line, body)) or self._learn(line, body)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, ServiceError):
            # The endpoint will find the same, and has the words for it.
            return None
        if question is None or self._heard != ONE:
            return None
        self._heard.clear()
        known = kind = b""
        forwarded = None
        telling = _TELLING.findall(data, len(line), end + 2)
        for name, value in telling:
            name = name.lower()
            if name == b"if-none-match":
                known = value
            elif name == b"content-type":
                kind = value.partition(b";")[0].strip().lower()
            elif name == b"x-forwarded-for":
                forwarded = value
            elif name not in _KEEPING or value.lower() != b"keep-alive":
                return None
        if (body and kind not in _JSON) or (len(telling) > 1 and _repeats(telling)):
            return None
        if self._policy.domains and not self._is_allowed(data, len(line), end):
            return None
        return question, known, forwarded

    def _is_allowed(self, data: bytes, start: int, stop: int) -> bool:
        found = _SOURCE.findall(data, start, stop)
        source = {name.lower(): value for name, value in found}
        return len(source) == len(found) and is_allowed(source, self._policy.domains)

    def _learn(self, line: bytes, body: bytes) -> Question | None:
        question = self._understand(line, body)
        if question:
            size = len(line) + len(body) + question.bytes
            self._questions.keep((line, body), question, size)
        return question

    def _understand(self, line: bytes, body: bytes) -> Question | None:
        """What is asked, if that is answered here. Raises ServiceError for what is refused."""
        method, _, rest = line.partition(b" ")
        target, _, version = rest.partition(b" ")
        path, _, query = target.partition(b"?")
        what, is_bare = _SHAPES.get((method, path), ("", False))
        if not what or version != b"HTTP/1.1" or b"#" in query:
            return None
        if what == "change":
            return _change(self._service, body, is_bare)
        # A body may ask, too; the endpoint knows.
        if body:
            return None
        asked = Asked(parse_query(query), is_bare=is_bare)
        if what == "read":
            return _read(self._service, asked)
        if "type" in asked.query or not comments.is_common(self._service, PUBLIC):
            return None
        route = self._service.meters.routes["comment_page"]
        return _Page(comments.List.parse(asked, self._service), route)


def _repeats(telling: list[tuple[bytes, bytes]]) -> bool:
    """Is there a header of several lines? They are one list, which the endpoint joins."""
    return len({name.lower() for name, _ in telling}) < len(telling)


def _read(service: Service, asked: Asked) -> "_Read | None":
    read = counters.Read.parse(asked, service)
    if read.paths is None:
        return None
    names = service.store.counters.names(read.paths, read.types)
    return _Read(read, names, service.meters.routes["article_read"])


def _change(service: Service, body: bytes, is_bare: bool) -> "_Change | None":
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(fields, dict):
        return None
    change = counters.Change.parse(Asked({}, fields, is_bare=is_bare), service)
    # A POST may read many paths, too.
    if isinstance(change, counters.Read) or lowers_views(change.changes):
        return None
    changes = service.store.counters.changes(change.changes)
    made = (change, changes, len(changes), service.meters.routes["article_change"])
    trials = trials_of(name for name, _ in changes)
    return _Trial(*made, tuple(trials)) if trials else _Change(*made)


# Of objects with slots, since asking a named tuple for its fields takes longer.


@dataclass(frozen=True, slots=True)
class _Read:
    asked: counters.Read
    names: list[str]
    route: Route
    tokens: int = 0
    changes: tuple[()] = ()

    @property
    def bytes(self) -> int:
        return SMALLEST + 2 * sum(map(getsizeof, self.names))

    def ask(self, service: Service, done: Done) -> None:
        service.store.batch.read(self.names, done)

    def said(self, service: Service, counts: list[int]) -> Said:
        return self.asked.said(counts)


@dataclass(frozen=True, slots=True)
class _Change:
    asked: counters.Change
    changes: list[tuple[str, int]]
    tokens: int
    route: Route

    @property
    def bytes(self) -> int:
        # Of each the path stands here twice, and two tuples.
        return SMALLEST + sum(200 + 2 * getsizeof(name) for name, _ in self.changes)

    def ask(self, service: Service, done: Done) -> None:
        service.store.changes.add(self.changes, done)

    def said(self, service: Service, counts: list[int]) -> Said:
        return self.asked.said(counts)


@dataclass(frozen=True, slots=True)
class _Trial(_Change):
    trials: tuple[str, ...] = ()

    def ask(self, service: Service, done: Done) -> None:
        add = partial(service.store.changes.add, self.changes, done)
        service.store.trials.when_admitted(self.trials, add, done)


@dataclass(frozen=True, slots=True)
class _Page:
    asked: comments.List
    route: Route
    tokens: int = 0
    changes: tuple[()] = ()

    @property
    def bytes(self) -> int:
        return SMALLEST + getsizeof(self.asked.path)

    def ask(self, service: Service, done: Done) -> None:
        if service.pages.has(self.asked):
            service.store.comments.ask_versions(self.asked.path, done)
        else:
            done([])

    def said(self, service: Service, versions: list[int]) -> Said | Coroutine[None, None, Said]:
        if not versions:
            return comments.first_page(service, self.asked)
        kept = comments.kept_page(service, self.asked, *versions)
        return kept or comments.common_page(service, self.asked, *versions)
