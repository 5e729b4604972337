"""A hot request on its way: what it asks is put to Redis, and a callback writes the answer.

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

# Clients' addresses that are remembered, by headers of this length at most.
MAX_KEPT_CLIENTS = 8192
MAX_FORWARDED_BYTES = 256
# Beyond this, a page, copying costs more than sending head and body apart in one call.
MAX_COPIED_BYTES = 4096
# What is to be written; anything else has to be waited for.
_READY = (tuple, Response)
_WITHOUT_TAG = b"%bcontent-length: %d\r\n\r\n%b"
_WITH_TAG = b"%bcontent-length: %d\r\n" + lines(tagged(b"%b")) + b"\r\n%b"


class _NobodyWaits:
    """For the rest of a body."""

    @staticmethod
    def set() -> None:
        pass


class HotCycle:
    """A hot request and its answer; to uvicorn, a cycle like its own."""

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
        # The ETags that the client has, a proxy's name for the request, and whose allowance the
        # changes are.
        self._known = headers.get(b"if-none-match", b"")
        self._id = headers.get(b"x-request-id", b"")
        self._client_key = client_key
        self.since = connection.since
        self.keep_alive = True
        self.response_complete = False

    def start(self) -> None:
        request, client_key, service = self.request, self._client_key, self.service
        try:
            if not client_key:
                request.ask(self.arrived)
            elif service.rate_limits.covers(client_key, len(request.changes)):
                request.ask(self._counted)
            else:
                pay(service, client_key, len(request.changes), self.paid)
        except Exception as error:
            # uvicorn would take it for an error of the parser's.
            self.arrived(error)

    def paid(self, waits: list[int] | Exception) -> None:
        if isinstance(waits, Exception):
            self.arrived(waits)
        else:
            self.request.ask(self._counted)

    def _counted(self, numbers: list[int] | Exception) -> None:
        """Whoever pays has changed counters."""
        if isinstance(numbers, list) and 1 in numbers:
            charge_new(self.service, self._client_key, self.request.changes, numbers)
        self.arrived(numbers)

    def arrived(self, numbers: list[int] | Exception) -> None:
        """Answer what the numbers mean."""
        said: Reply | Response | Coroutine[None, None, Reply]
        try:
            if isinstance(numbers, Exception):
                raise numbers
            said = self.request.say(numbers)
        except Exception as error:
            said = self._failed(error)
        if isinstance(said, _READY):
            self.answer(said)
        else:
            # Kept here, because nobody else holds on to a task.
            self._making = self.connection.loop.create_task(said)
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

    def answer(self, said: Reply | Response) -> None:
        self.response_complete = True
        connection = self.connection
        transport = connection.transport
        if transport.is_closing():
            return
        status = 200
        if isinstance(said, Response) or self._known or not self.keep_alive:
            answer = said if isinstance(said, Response) else answer_of(said, self._known)
            close = () if self.keep_alive else ((b"connection", b"close"),)
            transport.write(connection.plain(answer, close))
            status = answer.status
        else:
            # In one piece.
            body, tag = said
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
        elif connection.pipeline or connection.last_words is not None:
            connection.on_response_complete()

    def note(self, seconds: float, status: int) -> None:
        route, slow = self.request.route, self.slow
        route.took(seconds, status)
        if seconds > slow.seconds:
            with named_request(self._id):
                slow.say(route.name, seconds, route=route.name, status=status)


def protocol_of(
    service: Service, policy: Policy, *, is_hot: bool = True, cycle_type: type[HotCycle] = HotCycle
) -> type[HttpProtocol]:
    """The protocol class for one service: uvicorn makes an object of it for each connection.

    Not `is_hot`, every request goes through ASGI.
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
