"""The three requests that a busy site consists of, answered in uvicorn's protocol class.

Counting a view, reading counts and reading a page of comments take a short cut here: for them, what
ASGI asks for (a task, a scope, three messages, a router) costs several times the work itself. What
is in the least out of the ordinary goes to the Starlette endpoints, byte for byte, and so does what
would be refused. Both sides use the same parse functions, the same batch and the same answers, and
a test sends the same bytes to both and compares.

This is no second HTTP parser to be smuggled past. llhttp reads a request here too, in a parser that
is as strict as uvicorn's or stricter, and only bytes that it takes for exactly one whole request
are looked at further. uvicorn's own parser sees all the others, each from its first byte.
"""

import re
from collections.abc import Callable
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Protocol

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ..domain.counters import lowers_views
from ..domain.service import Service
from ..errors import ServiceError
from ..model import PUBLIC
from . import comments, counters
from .answer import COMMON, Answer, body_tag, conditional, failed, page_tag, tagged
from .caller import is_allowed
from .guard import MAX_HEAD, Guarded, lines
from .parse import Asked, parse_query
from .policy import Policy

_LINE = re.compile(
    rb"((?:GET|POST) /(?:api/)?article|GET /(?:api/)?comment)(?:\?([^ #]*))? HTTP/1\.1"
)
# The headers that change what these requests mean. No other does; but a header may go on in the
# next line. The look ahead at a first letter halves the time for those that most requests have
# besides.
_TELLING = re.compile(
    rb"\n(?=[tceuaiTCEUAI \t])(?:((?i:transfer-encoding|connection|expect|upgrade|authorization"
    rb"|if-none-match|content-type|content-encoding))[ \t]*:[ \t]*([^\r\n]*)|[ \t])"
)
_SOURCE = re.compile(rb"\n((?i:referer|origin))[ \t]*:[ \t]*([^\r\n]*)")
_JSON = (b"application/json", b"text/plain")
# Visitors of one page ask in the same words, so what words mean is remembered: of so many requests,
# if they are not longer than this. Headers are another's in every request, and read anew.
KEPT_QUESTIONS = 8192
LONGEST_KEPT = 512

Done = Callable[[list[int] | Exception], None]


class Question(Protocol):
    """What a request asks, without its headers."""

    def ask(self, service: Service, done: Done) -> None: ...

    def said(self, service: Service, numbers: list[int]) -> tuple[bytes, bytes] | None:
        """Body and ETag of the answer; None means: ask the endpoint."""


class _Understand(Protocol):
    def __call__(self, line: bytes, body: bytes) -> Question | None: ...


class _Read(NamedTuple):
    asked: counters.Read
    names: list[str]

    def ask(self, service: Service, done: Done) -> None:
        service.store.batch.read(self.names, done)

    def said(self, service: Service, counts: list[int]) -> tuple[bytes, bytes]:
        body = self.asked.said(counts)
        return body, body_tag(body)


class _Change(NamedTuple):
    asked: counters.Change
    changes: list[tuple[str, int]]

    def ask(self, service: Service, done: Done) -> None:
        service.store.batch.add(self.changes, done)

    def said(self, service: Service, counts: list[int]) -> tuple[bytes, bytes]:
        return self.asked.said(counts), b""


class _Page(NamedTuple):
    asked: comments.List

    def ask(self, service: Service, done: Done) -> None:
        service.store.comments.ask_versions(self.asked.path, done)

    def said(self, service: Service, versions: list[int]) -> tuple[bytes, bytes] | None:
        page = service.pages.find(self.asked, *versions)
        return page and (page.body, page_tag(page, service.salt))


def understand(service: Service, line: bytes, body: bytes) -> Question | None:
    """What a request's line and body ask, if that is answered here.

    Raises ServiceError for what the endpoint refuses.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    what, query = match.groups(b"")
    method, path = what.split(b" ")
    is_bare = not path.startswith(b"/api/")
    if method == b"POST":
        return _change(service, body, is_bare)
    # A body may ask, too; the endpoint knows.
    if body:
        return None
    asked = Asked(parse_query(query), is_bare=is_bare)
    if path.endswith(b"article"):
        return _read(service, counters.Read.parse(asked, service))
    if "type" in asked.query or not comments.is_common(service, PUBLIC):
        return None
    return _Page(comments.List.parse(asked, service))


def _read(service: Service, asked: counters.Read) -> _Read | None:
    if asked.paths is None:
        return None
    return _Read(asked, service.store.counters.names(asked.paths, asked.types))


def _change(service: Service, body: bytes, is_bare: bool) -> _Change | None:
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(fields, dict):
        return None
    asked = counters.Change.parse(Asked({}, fields, is_bare=is_bare), service)
    # Many paths may be read in a POST, too.
    if isinstance(asked, counters.Read) or lowers_views(asked.changes):
        return None
    return _Change(asked, service.store.counters.changes(asked.changes))


class HotLane(Guarded):
    """uvicorn's protocol with the short cut in front; `hot_lane` makes one for a service."""

    service: ClassVar[Service]
    policy: ClassVar[Policy]
    understand: ClassVar[_Understand]
    recall: ClassVar[_Understand]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # While an answer is under way: what was asked, which version of the answer the client has,
        # the request's bytes, and those that have come since.
        self._question: Question | None = None
        self._known = b""
        self._request = b""
        self._held: list[bytes] = []
        self._is_closing = False
        self._sniff_anew()

    # What uvicorn calls.

    def data_received(self, data: bytes) -> None:
        if self._question is not None:
            # Answers leave in the order of their requests.
            self._held.append(data)
            self.transport.pause_reading()
        elif not (
            self.is_between
            and (self.cycle is None or self.cycle.response_complete)
            and not self.flow.write_paused
            and self._is_taken(data)
        ):
            super().data_received(data)

    def shutdown(self) -> None:
        if self._question is None:
            super().shutdown()
        else:
            self._is_closing = True

    def close_if_idle(self, since: float) -> None:
        # uvicorn's timer a request would cost as much as the request does here.
        if self._question is None:
            super().close_if_idle(since)

    # Is this a request for us?

    def _sniff_anew(self) -> None:
        """A parser whose only callback empties a list when a request is complete."""
        self._is_incomplete: list[bool] = []
        completed = SimpleNamespace(on_message_complete=self._is_incomplete.clear)
        self._sniffer = httptools.HttpRequestParser(completed)

    def _is_taken(self, data: bytes) -> bool:
        """Answer a request that is whole and ordinary. If it is not, nothing has happened."""
        question = None
        if len(data) <= MAX_HEAD:
            question = self._ordinary_question(data)
        if question is None:
            return False
        # Before anything is asked: the answer may come at once.
        self._question, self._request = question, data
        if self.timeout_keep_alive_task:
            self._unset_keepalive_if_required()
        question.ask(self.service, self._arrived)
        return True

    def _ordinary_question(self, data: bytes) -> Question | None:
        """What is asked, if llhttp takes these bytes for one request, and its headers are ordinary.

        Notes which answer the client has already.
        """
        end = data.find(b"\r\n\r\n")
        line, body = data[: data.find(b"\r\n")], data[end + 4 :]
        is_short = len(line) + len(body) <= LONGEST_KEPT
        self._is_incomplete.append(True)
        try:
            self._sniffer.feed_data(data)
            # With a second request behind it, a body is no JSON, and a GET has one.
            question = (self.recall if is_short else self.understand)(line, body)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, ServiceError):
            # The endpoint will find the same, and has the words for it.
            question = None
        if question is None or self._is_incomplete:
            self._sniff_anew()
            return None
        self._known = kind = b""
        for name, value in _TELLING.findall(data, len(line), end + 2):
            name = name.lower()
            if name == b"if-none-match":
                self._known = value
            elif name == b"content-type":
                kind = value.partition(b";")[0].strip().lower()
            elif name != b"connection" or value.lower() != b"keep-alive":
                return None
        if body and kind not in _JSON:
            return None
        if self.policy.domains:
            source = {name.lower(): value for name, value in _SOURCE.findall(data, len(line), end)}
            return question if is_allowed(source, self.policy.domains) else None
        return question

    # The answer.

    def _arrived(self, numbers: list[int] | Exception) -> None:
        """Say what the numbers mean."""
        question, self._question = self._question, None
        if question is None or self.transport.is_closing():
            return
        try:
            if isinstance(numbers, Exception):
                raise numbers
            said = question.said(self.service, numbers)
        except Exception as error:
            self._write(failed(error, "", "hot lane"))
        else:
            if said is None:
                super().data_received(self._request)
            else:
                self._say(*said)
        if self._held:
            held, self._held = self._held, []
            self.transport.resume_reading()
            for data in held:
                self.data_received(data)

    def _say(self, body: bytes, tag: bytes) -> None:
        """In one piece, and with the headers that uvicorn would send."""
        if self._known or self._is_closing:
            self._write(conditional(body, tag, self._known) if tag else Answer(200, body))
            return
        state = self.server_state
        if state.default_headers is not self._defaults:
            self._renew(state.default_headers)
        if tag:
            self.transport.write(_WITH_TAG % (self._first_lines, len(body), tag, body))
        else:
            self.transport.write(_WITHOUT_TAG % (self._first_lines, len(body), body))
        state.total_requests += 1
        self.since = self.loop.time()

    def _write(self, answer: Answer) -> None:
        close = [(b"connection", b"close")] if self._is_closing else []
        self.transport.write(self.plain(answer, close))
        self.server_state.total_requests += 1
        self.since = self.loop.time()
        if self._is_closing:
            self.transport.close()

    # The beginning of a 200, and the headers it was made of; they change once a second, with the
    # date.
    _first_lines: ClassVar[bytes] = b""
    _defaults: ClassVar[list[tuple[bytes, bytes]] | None] = None

    @classmethod
    def _renew(cls, defaults: list[tuple[bytes, bytes]]) -> None:
        cls._defaults = defaults
        cls._first_lines = STATUS_LINE[200] + lines([*defaults, *COMMON])


_WITHOUT_TAG = b"%bcontent-length: %d\r\n\r\n%b"
_WITH_TAG = b"%bcontent-length: %d\r\n" + lines(tagged(b"%b")) + b"\r\n%b"


def hot_lane(service: Service, policy: Policy) -> type[HotLane]:
    """The protocol class for one service: uvicorn makes an object of it for each connection."""
    asks = partial(understand, service)
    values = {
        "service": service,
        "policy": policy,
        "understand": staticmethod(asks),
        "recall": staticmethod(lru_cache(KEPT_QUESTIONS)(asks)),
    }
    return type("HotLane", (HotLane,), values)
