"""The cycle of a hot request: it sends commands to Redis, and a callback writes the answer.

Endpoints and hot cycles use the same parse functions, the same batch and the same answers, and a
test sends the same bytes to both and compares.
"""

import asyncio
import logging
from collections.abc import Coroutine
from time import monotonic
from typing import ClassVar

from ..domain.counters import charge_new, pay
from ..domain.site import Site
from ..http.client import Headers, forwarded_address, is_proxy
from ..http.policy import Policy
from ..http.protocol import HttpProtocol
from ..http.response import Reply, Response, answer_of, failed, lines, tagged
from ..telemetry.logs import SlowLog, named_request
from .hot import HotRequest, HotRequests

# To join head and body costs a copy of the body: for longer ones writelines is cheaper.
MAX_COPIED_BYTES = 4096
_WITHOUT_TAG = b"%bcontent-length: %d\r\n\r\n%b"
_WITH_TAG = b"%bcontent-length: %d\r\n" + lines(tagged(b"%b")) + b"\r\n%b"


class _NobodyWaits:
    """Stands for uvicorn's event that more of a body has come: a hot request is whole already."""

    @staticmethod
    def set() -> None:
        pass


class HotCycle:
    """The hot request of a connection, with the attributes that uvicorn expects of its cycles.

    It answers one request after the other; requests that are pipelined have a cycle each.
    """

    site: ClassVar[Site]
    slow: ClassVar[SlowLog]

    message_event = _NobodyWaits
    response_started = False

    __slots__ = (
        "_client_key",
        "_id",
        "_is_proxy",
        "_known",
        "_making",
        "_peer",
        "_peer_key",
        "connection",
        "disconnected",
        "keep_alive",
        "request",
        "response_complete",
        "since",
    )

    def __init__(self, connection: HttpProtocol) -> None:
        self.connection = connection
        peer = connection.client[0] if connection.client else ""
        self._peer = peer
        self._is_proxy = is_proxy(peer, connection.policy.trusted_proxies)
        # Names the client whose tokens changes of the peer itself take; empty if they need none.
        self._peer_key = self.site.rate_limits.client_key(peer)
        self.keep_alive = self.response_complete = True

    def accepts(self, request: HotRequest, headers: Headers) -> bool:
        """Take this request; False if ASGI must answer it after all."""
        client_key = ""
        if request.changes:
            limits = self.site.rate_limits
            client_key = self._peer_key
            forwarded = headers.get(b"x-forwarded-for")
            if forwarded is not None and self._is_proxy:
                trusted = self.connection.policy.trusted_proxies
                client_key = limits.client_key(forwarded_address(self._peer, forwarded, trusted))
            if client_key in limits.owing or self.site.quota.is_full:
                return False
        self.request = request
        self._client_key = client_key
        self._known = headers.get(b"if-none-match", b"")
        self._id = headers.get(b"x-request-id", b"")
        self.since = self.connection.since
        self.response_complete = False
        return True

    def start(self) -> None:
        request, client_key = self.request, self._client_key
        try:
            if not client_key or self.site.rate_limits.covers(client_key, len(request.changes)):
                request.send(self.arrived)
            else:
                pay(self.site, client_key, len(request.changes), self.paid)
        except Exception as error:
            # The parser calls this, and an error here would pass for one of its own.
            self.arrived(error)

    def paid(self, waits: list[int] | Exception) -> None:
        if isinstance(waits, Exception):
            self.arrived(waits)
        else:
            self.request.send(self.arrived)

    def arrived(self, numbers: list[int] | Exception) -> None:
        """Make the reply of Redis's numbers, and answer."""
        request = self.request
        reply: Reply | Response | Coroutine[None, None, Reply]
        try:
            if isinstance(numbers, Exception):
                raise numbers
            if 1 in numbers and self._client_key:
                # Further tokens for counters that did not exist: those whose new count is 1.
                charge_new(self.site, self._client_key, request.changes, numbers)
            reply = request.make_reply(numbers)
        except Exception as error:
            reply = self._failed(error)
        if isinstance(reply, tuple | Response):
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
        self.site.process.metrics.refused.add(type(error).__name__)
        with named_request(self._id):
            return failed(error, "", self.request.route.name)

    def answer(self, reply: Reply | Response) -> int:
        """Write the answer; returns its status, or 0 if the client is gone."""
        self.response_complete = True
        connection, route = self.connection, self.request.route
        transport = connection.transport
        if transport.is_closing():
            return 0
        status = 200
        if isinstance(reply, Response) or self._known or not self.keep_alive:
            answer = reply if isinstance(reply, Response) else answer_of(reply, self._known)
            close = () if self.keep_alive else ((b"connection", b"close"),)
            transport.write(connection.plain(answer, close))
            status = answer.status
        else:
            body, tag = reply
            first = connection.first_lines()
            if not tag:
                transport.write(_WITHOUT_TAG % (first, len(body), body))
            elif len(body) > MAX_COPIED_BYTES:
                transport.writelines((_WITH_TAG % (first, len(body), tag, b""), body))
            else:
                transport.write(_WITH_TAG % (first, len(body), tag, body))
        now = connection.since = monotonic()
        seconds = now - self.since
        route.took(seconds, status)
        if seconds > self.slow.seconds:
            with named_request(self._id):
                self.slow.write(route.name, seconds, route=route.name, status=status)
        if not self.keep_alive:
            connection.close_gently()
        elif connection.pipeline or connection.last_error is not None:
            connection.on_response_complete()
        return status


def protocol_of(
    site: Site, policy: Policy, *, is_hot: bool = True, cycle_type: type[HotCycle] = HotCycle
) -> type[HttpProtocol]:
    """The protocol class for one service; uvicorn makes one object of it for each connection.

    Unless `is_hot`, every request goes through ASGI.
    """
    own = {
        "__slots__": (),
        "site": site,
        "slow": SlowLog(logging.getLogger(__name__), policy.slow_seconds),
    }
    values = {
        "metrics": site.process.metrics,
        "policy": policy,
        "requests": HotRequests(site, is_on=is_hot),
        "cycle_type": type("HotCycle", (cycle_type,), own),
    }
    return type("HttpProtocol", (HttpProtocol,), values)
