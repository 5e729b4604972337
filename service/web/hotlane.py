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
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ..domain.counters import VIEWS
from ..domain.service import Service
from ..errors import ServiceError
from ..model import PUBLIC
from . import comments, counters, dialects
from .answer import COMMON, Answer, body_tag, conditional, failed, page_tag
from .caller import is_allowed
from .guard import MAX_HEAD, Guarded, lines
from .parse import Asked, parse_query
from .policy import Policy

_LINE = re.compile(
    rb"((?:GET|POST) /(?:api/)?article|GET /(?:api/)?comment)(?:\?([^ #]*))? HTTP/1\.1\r\n"
)
# The headers that change what these requests mean. No other does.
# The look ahead at a first letter halves the time for those that most requests have besides.
_TELLING = re.compile(
    rb"\n(?=[tceuaiTCEUAI])((?i:transfer-encoding|connection|expect|upgrade|authorization"
    rb"|if-none-match|content-type|content-encoding))[ \t]*:[ \t]*([^\r\n]*)"
)
_SOURCE = re.compile(rb"\n((?i:referer|origin))[ \t]*:[ \t]*([^\r\n]*)")
_UNCOMMON = frozenset(
    (b"transfer-encoding", b"expect", b"upgrade", b"authorization", b"content-encoding")
)
_JSON = (b"application/json", b"text/plain")

Telling = Mapping[bytes, bytes]


class HotLane(Guarded):
    """uvicorn's protocol with the short cut in front; `hot_lane` makes one for a service."""

    service: ClassVar[Service]
    policy: ClassVar[Policy]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # While an answer is under way: its request, what to say when the numbers come, and the
        # bytes that have come since.
        self._request = b""
        self._said: Callable[[list[int]], Answer | None]
        self._held: list[bytes] | None = None
        self._is_closing = False
        self._sniffed = _Sniffed()
        self._sniffer = httptools.HttpRequestParser(self._sniffed)

    # What uvicorn calls.

    def data_received(self, data: bytes) -> None:
        if self._held is not None:
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
        if self._held is None:
            super().shutdown()
        else:
            self._is_closing = True

    def close_if_idle(self, since: float) -> None:
        # uvicorn's timer a request would cost as much as the request does here.
        if self._held is None:
            super().close_if_idle(since)

    # Is this a request for us?

    def _is_taken(self, data: bytes) -> bool:
        """Answer a request that is whole and ordinary. If it is not, nothing has happened."""
        line = _LINE.match(data)
        if line is None or len(data) > MAX_HEAD or not self._is_whole(data):
            return False
        telling = self._telling(data[line.end() - 1 : len(data) - len(self._sniffed.body)])
        if telling is None:
            return False
        what, query = line.groups(b"")
        take, is_bare = self._TAKERS[what]
        # Before anything is asked: the answer may come at once.
        self._request, self._held = data, []
        try:
            if take(self, query, telling, is_bare):
                self._unset_keepalive_if_required()
                return True
        except ServiceError:
            # The endpoint will find the same, and has the words for it.
            pass
        self._held = None
        return False

    def _is_whole(self, data: bytes) -> bool:
        """Does llhttp take these bytes for one request and nothing else?"""
        sniffed = self._sniffed
        sniffed.completed, sniffed.body = 0, b""
        try:
            self._sniffer.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            sniffed.completed = 0
        behind = len(data) - data.find(b"\r\n\r\n") - 4
        if sniffed.completed == 1 and behind == len(sniffed.body):
            return True
        self._sniffer = httptools.HttpRequestParser(sniffed)
        return False

    def _telling(self, head: bytes) -> Telling | None:
        """The headers that matter; None if the request is not ordinary."""
        telling = {}
        for name, value in _TELLING.findall(head):
            name = name.lower()
            if name in _UNCOMMON or (name == b"connection" and value.lower() != b"keep-alive"):
                return None
            telling[name] = value
        # A header may go on in the next line; ours do not.
        if b"\n " in head or b"\n\t" in head:
            return None
        if self.policy.domains:
            source = {name.lower(): value for name, value in _SOURCE.findall(head)}
            if not is_allowed(source, self.policy.domains):
                return None
        return telling

    # The three requests.

    def _take_read(self, query: bytes, telling: Telling, is_bare: bool) -> bool:
        if self._sniffed.body:
            return False
        asked = counters.Read.parse(Asked(parse_query(query)), self.service)
        if asked.paths is None:
            return False

        def said(counts: list[int]) -> Answer:
            data: Any = counters.rows(asked, counts)
            if is_bare:
                body = dialects.bare(counters.flat_read(data, asked))
            else:
                body = dialects.enveloped(data)
            return conditional(body, body_tag(body), telling.get(b"if-none-match", b""))

        self._said = said
        self.service.store.batch.read(asked.paths, asked.types, self._arrived)
        return True

    def _take_change(self, query: bytes, telling: Telling, is_bare: bool) -> bool:
        kind = telling.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind not in _JSON:
            return False
        try:
            body = orjson.loads(self._sniffed.body)
        except orjson.JSONDecodeError:
            return False
        if not isinstance(body, dict):
            return False
        if "paths" in body:
            return False
        change = counters.parse_change(body, self.service.counters)
        _, type, delta = change
        if type == VIEWS and delta < 0:
            return False

        def said(counts: list[int]) -> Answer:
            if is_bare:
                return Answer(200, b"%d" % counts[0])
            return Answer(200, dialects.enveloped([{type: counts[0]}]))

        self._said = said
        self.service.store.batch.add((change,), self._arrived)
        return True

    def _take_page(self, query: bytes, telling: Telling, is_bare: bool) -> bool:
        values = parse_query(query)
        if self._sniffed.body or "type" in values or not comments.is_common(self.service, PUBLIC):
            return False
        asked = comments.List.parse(Asked(values, is_bare=is_bare), self.service)

        def said(versions: list[int]) -> Answer | None:
            page = self.service.pages.find(asked, *versions)
            if page is None:
                return None
            known = telling.get(b"if-none-match", b"")
            return conditional(page.body, page_tag(page, self.service.salt), known)

        self._said = said
        self.service.store.comments.ask_versions(asked.path, self._arrived)
        return True

    # What it asks for, and whether in the layout without prefix.
    _TAKERS: ClassVar[Mapping[bytes, tuple[Callable[..., bool], bool]]] = {
        b"GET /api/article": (_take_read, False),
        b"GET /article": (_take_read, True),
        b"POST /api/article": (_take_change, False),
        b"POST /article": (_take_change, True),
        b"GET /api/comment": (_take_page, False),
        b"GET /comment": (_take_page, True),
    }

    # The answer.

    def _arrived(self, numbers: list[int] | Exception) -> None:
        """Say what the numbers mean; no answer means: ask the endpoint."""
        try:
            if isinstance(numbers, Exception):
                raise numbers
            answer = self._said(numbers)
        except Exception as error:
            answer = failed(error, "", "hot lane")
        held, self._held = self._held, None
        if held is None or self.transport.is_closing():
            return
        if answer is None:
            super().data_received(self._request)
        else:
            self._write(answer)
        if held:
            self.transport.resume_reading()
            for data in held:
                self.data_received(data)

    def _write(self, answer: Answer) -> None:
        """In one piece, and with the headers that uvicorn would send."""
        status, body, extra = answer
        if status == 200 and not self._is_closing:
            start = self._first_lines(self.server_state.default_headers)
            more = lines(extra) if extra else b""
            self.transport.write(
                b"%bcontent-length: %d\r\n%b\r\n%b" % (start, len(body), more, body)
            )
        else:
            close = [(b"connection", b"close")] if self._is_closing else []
            self.transport.write(self.plain(answer, close))
        self.server_state.total_requests += 1
        self.since = self.loop.time()
        if self._is_closing:
            self.transport.close()

    def _first_lines(self, defaults: list[tuple[bytes, bytes]]) -> bytes:
        """The beginning of a 200; it changes once a second, with the date."""
        cls = type(self)
        if cls._defaults is not defaults:
            cls._defaults = defaults
            cls._first = STATUS_LINE[200] + lines([*defaults, *COMMON])
        return cls._first

    _defaults: ClassVar[list[tuple[bytes, bytes]] | None] = None
    _first: ClassVar[bytes] = b""


class _Sniffed:
    """What a parser tells that is asked only whether a request is whole."""

    __slots__ = ("body", "completed")

    def __init__(self) -> None:
        self.completed = 0
        self.body = b""

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.completed += 1


def hot_lane(service: Service, policy: Policy) -> type[HotLane]:
    """The protocol class for one service: uvicorn makes an object of it for each connection."""
    return type("HotLane", (HotLane,), {"service": service, "policy": policy})
