"""The cycle of a hot request: it sends commands to Redis, and a callback writes the answer.

Endpoints and hot cycles use the same parse functions, the same batch and the same answers, and a
test sends the same bytes to both and compares.
"""

import asyncio
import logging
from collections.abc import Coroutine
from functools import lru_cache
from time import monotonic
from typing import ClassVar

from ..domain.counters import charge_new, pay
from ..domain.service import Service
from ..http.client import Headers, address_of
from ..http.policy import Policy
from ..http.protocol import HttpProtocol
from ..http.response import Reply, Response, answer_of, failed, lines, tagged
from ..telemetry.logs import SlowLog, named_request
from .hot import HotRequest, HotRequests

# How many clients' keys are cached, and how long an X-Forwarded-For may be for that.
MAX_KEPT_CLIENTS = 8192
MAX_FORWARDED_BYTES = 256
# To join head and body costs a copy of the body: for longer ones writelines is cheaper.
MAX_COPIED_BYTES = 4096
# Replies that can be written at once; anything else is a coroutine.
_READY = (tuple, Response)
_WITHOUT_TAG = b"%bcontent-length: %d\r\n\r\n%b"
_WITH_TAG = b"%bcontent-length: %d\r\n" + lines(tagged(b"%b")) + b"\r\n%b"


class _NobodyWaits:
    """Stands for uvicorn's event that more of a body has come: a hot request is whole already."""

    @staticmethod
    def set() -> None:
        pass


class HotCycle:
    """A hot request and its answer, with the attributes that uvicorn expects of its cycles."""

    service: ClassVar[Service]
    slow: ClassVar[SlowLog]

    message_event = _NobodyWaits
    response_started = False

    __slots__ = (
        "_client_key", "_id", "_known", "_making", "connection", "disconnected", "keep_alive",
        "request", "response_complete", "since",
    )  # fmt: skip

    def __init__(
        self, connection: HttpProtocol, request: HotRequest, headers: Headers, client_key: str
    ) -> None:
        self.connection = connection
        self.request = request
        self._known = headers.get(b"if-none-match", b"")
        self._id = headers.get(b"x-request-id", b"")
        # Names the client whose tokens the changes take; empty if there are no changes.
        self._client_key = client_key
        self.since = connection.since
        self.keep_alive = True
        self.response_complete = False

    def start(self) -> None:
        request, client_key, service = self.request, self._client_key, self.service
        try:
            if not client_key:
                request.send(self.arrived)
            elif service.rate_limits.covers(client_key, len(request.changes)):
                request.send(self._counted)
            else:
                pay(service, client_key, len(request.changes), self.paid)
        except Exception as error:
            # uvicorn calls this from its parser, and would report a parser's error.
            self.arrived(error)

    def paid(self, waits: list[int] | Exception) -> None:
        if isinstance(waits, Exception):
            self.arrived(waits)
        else:
            self.request.send(self._counted)

    def _counted(self, numbers: list[int] | Exception) -> None:
        """Take further tokens for counters that did not exist: those whose new count is 1."""
        if isinstance(numbers, list) and 1 in numbers:
            charge_new(self.service, self._client_key, self.request.changes, numbers)
        self.arrived(numbers)

    def arrived(self, numbers: list[int] | Exception) -> None:
        """Make the reply of Redis's numbers, and answer."""
        reply: Reply | Response | Coroutine[None, None, Reply]
        try:
            if isinstance(numbers, Exception):
                raise numbers
            reply = self.request.make_reply(numbers)
        except Exception as error:
            reply = self._failed(error)
        if isinstance(reply, _READY):
            self.answer(reply)
        else:
            # The event loop keeps only a weak reference to a task.
            self._making = self.connection.loop.create_task(reply)
            self._making.add_done_callback(self._made)

    def _made(self, making: "asyncio.Task[Reply]") -> None:
        if making.cancelled():
            self.connection.transport.close()
        elif error := making.exception():
            self.answer(self._failed(error))
        else:
            self.answer(making.result())

    def _failed(self, error: BaseException) -> Response:
        self.service.metrics.refused.add(type(error).__name__)
        with named_request(self._id):
            return failed(error, "", self.request.route.name)

    def answer(self, reply: Reply | Response) -> None:
        self.response_complete = True
        connection = self.connection
        transport = connection.transport
        if transport.is_closing():
            return
        status = 200
        if isinstance(reply, Response) or self._known or not self.keep_alive:
            answer = reply if isinstance(reply, Response) else answer_of(reply, self._known)
            close = () if self.keep_alive else ((b"connection", b"close"),)
            transport.write(connection.plain(answer, close))
            status = answer.status
        else:
            body, tag = reply
            first = connection.first_lines()
            if len(body) > MAX_COPIED_BYTES:
                transport.writelines((_WITH_TAG % (first, len(body), tag, b""), body))
            elif tag:
                transport.write(_WITH_TAG % (first, len(body), tag, body))
            else:
                transport.write(_WITHOUT_TAG % (first, len(body), body))
        now = connection.since = monotonic()
        self.note(now - self.since, status)
        if not self.keep_alive:
            connection.close_gently()
        elif connection.pipeline or connection.last_error is not None:
            connection.on_response_complete()

    def note(self, seconds: float, status: int) -> None:
        route, slow = self.request.route, self.slow
        route.took(seconds, status)
        if seconds > slow.seconds:
            with named_request(self._id):
                slow.write(route.name, seconds, route=route.name, status=status)


def protocol_of(
    service: Service, policy: Policy, *, is_hot: bool = True, cycle_type: type[HotCycle] = HotCycle
) -> type[HttpProtocol]:
    """The protocol class for one service; uvicorn makes one object of it for each connection.

    Unless `is_hot`, every request goes through ASGI.
    """
    slow = SlowLog(logging.getLogger(__name__), policy.slow_seconds)
    own = {"__slots__": (), "service": service, "slow": slow}
    cycle: type[HotCycle] = type("HotCycle", (cycle_type,), own)
    limits, quota = service.rate_limits, service.quota

    @lru_cache(MAX_KEPT_CLIENTS)
    def client_key_of(peer: str, forwarded: bytes | None) -> str:
        headers = {} if forwarded is None else {b"x-forwarded-for": forwarded}
        return limits.client_key(address_of((peer,), headers, policy.trusted_proxies))

    def cycle_of(
        connection: HttpProtocol, request: HotRequest, headers: Headers
    ) -> HotCycle | None:
        client_key = ""
        if request.changes:
            forwarded = headers.get(b"x-forwarded-for")
            if forwarded and len(forwarded) > MAX_FORWARDED_BYTES:
                return None
            client = connection.client
            client_key = client_key_of(client[0] if client else "", forwarded)
            if client_key in limits.owing or quota.is_full:
                return None
        return cycle(connection, request, headers, client_key)

    values = {
        "metrics": service.metrics,
        "policy": policy,
        "requests": HotRequests(service, is_on=is_hot),
        "cycle_of": staticmethod(cycle_of),
    }
    return type("HttpProtocol", (HttpProtocol,), values)
