"""The cycle of a request on the fast path: it sends commands to Redis, and a callback writes the
answer.

Endpoints await the same callbacks, and a test sends the same bytes to both and compares.
"""

import asyncio
import logging
from time import monotonic
from typing import Any, ClassVar

from ..errors import ServiceError, TooMany
from ..http.client import Headers
from ..http.policy import Policy
from ..http.protocol import HttpProtocol
from ..http.response import Reply, Response, answer_of, lines, tagged
from ..limits.clients import PoolClient, pool_client_of
from ..limits.pool import Shares
from ..model import Caller
from ..telemetry.logs import SlowLog, named_request
from .context import Clients, Served
from .fast import FastRequest
from .fast_requests import FastRequests
from .operations import Operations

# To join head and body costs a copy of the body: for longer ones writelines is cheaper.
MAX_COPIED_BYTES = 4096
_WITHOUT_TAG = b"%bcontent-length: %d\r\n\r\n%b"
_WITH_TAG = b"%bcontent-length: %d\r\n" + lines(tagged(b"%b")) + b"\r\n%b"


class _NobodyWaits:
    """Stands for uvicorn's event that more of a body has come: a fast request is whole already."""

    @staticmethod
    def set() -> None:
        pass


class FastCycle:
    """A request that takes the fast path, with the attributes that uvicorn expects of its cycles.

    It answers one request after the other; requests that are pipelined have a cycle each.
    """

    site: ClassVar[Served]
    clients: ClassVar[Clients]
    slow: ClassVar[SlowLog]

    message_event = _NobodyWaits
    response_started = False

    __slots__ = (
        "_client",
        "_forwarded",
        "_header",
        "_id",
        "_known",
        "_making",
        "_may_forward",
        "_peer",
        "_peer_client",
        "_tells",
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
        # True if headers of the browser are part of the client's identity.
        self._tells = self.clients.tells_visitors
        # True if the peer may name another client.
        proxies = connection.policy.proxies
        self._may_forward = (self.clients.are_limited or self._tells) and peer in proxies
        self._header = proxies.header
        # Who else it is.
        self._peer_client = self.clients.of_peer(peer)
        self._forwarded = b""
        self.keep_alive = self.response_complete = True

    def take(self, request: FastRequest, headers: Headers) -> None:
        self.request = request
        self._client = self._peer_client
        self._forwarded = b""
        # Most sites trust no proxy, or distinguish no visitors.
        may_differ = self._tells or (self._may_forward and self._header in headers)
        if may_differ and request.is_change:
            get = headers.get
            forwarded = get(self._header, b"") if self._may_forward else b""
            self._forwarded = forwarded
            purpose = get(b"sec-purpose") or get(b"purpose", b"")
            asked = self._peer, forwarded, get(b"user-agent", b""), purpose
            try:
                self._client = self.clients[asked]
            except KeyError:
                self._client = self.clients.meet(asked, get(b"accept-language", b""))
        if request.takes_turns or not self._may_forward:
            self._forwarded = headers.get(self._header, b"")
        self._known = headers.get(b"if-none-match", b"")
        self._id = headers.get(b"x-request-id", b"")
        self.since = self.connection.since
        self.response_complete = False

    def start(self) -> None:
        try:
            self.request.send(self._client, self.arrived)
        except Exception as error:
            # The parser calls this, and an error here would pass for one of its own.
            self.arrived(error)

    def arrived(self, numbers: list[int] | Exception) -> None:
        """Make the answer of Redis's numbers, and write it."""
        reply: Reply | Response | None
        try:
            if not isinstance(numbers, list):
                raise numbers
            reply = self.request.answer(numbers)
            if type(reply) is not tuple:
                reply = self._reply(reply)
        except Exception as error:
            reply = self._failed(error)
        if reply is not None:
            self.answer(reply)

    def _made(self, making: "asyncio.Task[Any]") -> None:
        if making.cancelled():
            self.connection.transport.close()
        elif error := making.exception():
            self.answer(self._failed(error))
        else:
            self.answer(self._finished(making.result()))

    def _reply(self, answer: Any) -> Reply | Response | None:
        """None if it takes longer to make it."""
        if callable(answer):
            # The event loop keeps only a weak reference to a task.
            self._making = self.connection.loop.create_task(answer(self._pool_client()))
            self._making.add_done_callback(self._made)
            return None
        return self._finished(answer)

    def _pool_client(self) -> PoolClient:
        address, proxies = self._address(), self.connection.policy.proxies
        return pool_client_of(Caller(address=address, is_anybody=address in proxies))

    def _address(self) -> str:
        forwarded = {self._header: self._forwarded} if self._forwarded else {}
        return self.connection.policy.proxies.address_of(self.connection.client, forwarded)

    def _finished(self, answer: Any) -> Reply | Response:
        try:
            return self.request.operation.finish(answer)
        except Exception as error:
            # If this were raised in a task, the request would get no answer.
            return self._failed(error)

    def _failed(self, error: BaseException) -> Response:
        process = self.site.process
        process.metrics.refused.add(type(error).__name__)
        if isinstance(error, ServiceError) and error.limit:
            process.refusals.note(self._address(), error.limit)
        if isinstance(error, TooMany) and not self._may_forward and self._forwarded:
            self.site.unknown_proxies.refused(self._peer, self._forwarded)
        try:
            with named_request(self._id):
                return self.request.operation.refuse(error, self.request.language)
        except Exception:
            # Without an answer the client would wait for ever.
            self.connection.transport.close()
            raise

    def answer(self, reply: Reply | Response) -> int:
        """Write the answer; returns its status, or 0 if the client is gone."""
        self.response_complete = True
        connection, operation = self.connection, self.request.operation
        transport = connection.transport
        if transport.is_closing():
            return 0
        status = operation.status
        if type(reply) is tuple and self.keep_alive and not self._known:
            body, tag = reply
            first = operation.first_lines
            if first.defaults is not connection.server_state.default_headers:
                first.renew(connection.server_state.default_headers)
            if not tag:
                transport.write(_WITHOUT_TAG % (first.text, len(body), body))
            elif len(body) > MAX_COPIED_BYTES:
                transport.writelines((_WITH_TAG % (first.text, len(body), tag, b""), body))
            else:
                transport.write(_WITH_TAG % (first.text, len(body), tag, body))
        else:
            response = operation.whole(reply) if type(reply) is tuple else reply
            answer = answer_of(response, self._known)
            close = () if self.keep_alive else ((b"connection", b"close"),)
            transport.write(connection.plain(answer, close))
            status = answer.status
        now = connection.since = monotonic()
        seconds = now - self.since
        operation.route.took(seconds, status)
        if seconds > self.slow.seconds:
            with named_request(self._id):
                name = operation.route.name
                self.slow.write(name, seconds, route=name, status=status)
        if not self.keep_alive:
            connection.close_gently()
        elif (
            connection.cycle is not self  # type: ignore[comparison-overlap]
            or connection.last_error is not None
        ):
            connection.on_response_complete()
        return status


def protocol_of(
    site: Served,
    policy: Policy,
    operations: Operations,
    *,
    is_fast: bool = True,
    cycle_type: type[FastCycle] = FastCycle,
) -> type[HttpProtocol]:
    """The protocol class for one service; uvicorn makes one object of it for each connection.

    Unless `is_fast`, every request goes through ASGI.
    """
    own = {
        "__slots__": (),
        "site": site,
        "clients": site.clients,
        "slow": SlowLog(logging.getLogger(__name__), policy.slow_seconds),
    }
    values = {
        "metrics": site.process.metrics,
        "policy": policy,
        "places": Shares(policy.connections, max(1, policy.connections // 3), "MAX_CONNECTIONS"),
        "refusals": site.process.refusals,
        "requests": FastRequests(site, operations, is_on=is_fast),
        "cycle_type": type("FastCycle", (cycle_type,), own),
    }
    return type("HttpProtocol", (HttpProtocol,), values)
