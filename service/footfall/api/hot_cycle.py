"""A hot request on its way: what it asks is put to Redis, and a callback writes the answer."""

import asyncio
from collections.abc import Coroutine
from time import monotonic

from ..domain.counters import charge_new, pay
from ..http.client import Headers
from ..http.connection import Connection
from ..http.response import Reply, Response, answer_of, failed, lines, tagged
from ..telemetry.logs import named_request
from .hot import HotRequest

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

    message_event = _NobodyWaits
    response_started = False

    __slots__ = (
        "_client_key", "_id", "_known", "_making", "connection", "disconnected", "keep_alive",
        "request", "response_complete", "since",
    )  # fmt: skip

    def __init__(
        self, connection: Connection, request: HotRequest, headers: Headers, client_key: str
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
        request, client_key, connection = self.request, self._client_key, self.connection
        try:
            if not client_key:
                request.ask(self.arrived)
            elif connection.service.rate_limits.covers(client_key, len(request.changes)):
                request.ask(self._counted)
            else:
                pay(connection.service, client_key, len(request.changes), self.paid)
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
            charge_new(self.connection.service, self._client_key, self.request.changes, numbers)
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
        self.connection.service.metrics.refused.add(type(error).__name__)
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
        route, slow = self.request.route, self.connection.slow
        route.took(seconds, status)
        if seconds > slow.seconds:
            with named_request(self._id):
                slow.say(route.name, seconds, route=route.name, status=status)
