"""The three requests that a busy site consists of, answered in uvicorn's protocol class.

Counting a view, reading counts and reading a page of comments take a short cut here: for them, what
ASGI asks for (a task, a scope, three messages, a router) costs several times the work itself. What
is in the least out of the ordinary (glance.py) goes to the Starlette endpoints, byte for byte from
its first one, and so does what would be refused. Both sides use the same parse functions, the same
batch and the same answers, and a test sends the same bytes to both and compares.
"""

import asyncio
import logging
from collections.abc import Coroutine
from functools import lru_cache
from time import monotonic
from typing import Any, ClassVar, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ..domain.counters import charge_new, pay
from ..domain.service import Service
from ..logs import SlowLog
from .answer import COMMON, Answer, Said, failed, tagged
from .caller import address_of
from .glance import Glance, Question
from .guard import MAX_HEAD, Guarded, lines, values_of
from .policy import Policy

# Beyond this, a page, copying costs more than sending head and body apart in one call.
LONG = 4096
# Payers that are remembered, by headers of this length at most.
KEPT_PAYERS = 8192
LONGEST_FORWARDED = 256
_WITHOUT_TAG = b"%bcontent-length: %d\r\n\r\n%b"
_WITH_TAG = b"%bcontent-length: %d\r\n" + lines(tagged(b"%b")) + b"\r\n%b"


class PayerOf(Protocol):
    """Who pays for a change, by the peer's address and X-Forwarded-For; nobody if ""."""

    def __call__(self, peer: str, forwarded: bytes | None) -> str: ...


class HotLane(Guarded):
    """uvicorn's protocol with the short cut in front; `hot_lane` makes one for a service."""

    service: ClassVar[Service]
    glance: ClassVar[Glance]
    payer_of: ClassVar["PayerOf"]
    slow: ClassVar[SlowLog]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # While an answer is under way: what was asked, which version of the answer the client has,
        # and the bytes that have come since.
        self._question: Question | None = None
        self._known = b""
        # Who pays where no proxy says for whom it asks.
        self._own_payer = ""
        self._charged = ""
        self._held: list[bytes] = []

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

    def _is_taken(self, data: bytes) -> bool:
        """Ask what these bytes ask. If that is not for here, nothing has happened."""
        seen = self.glance(data) if len(data) <= MAX_HEAD else None
        if seen is None:
            return False
        question, known, forwarded = seen
        payer = ""
        if question.tokens:
            if self.service.store.room.is_full or len(forwarded or b"") > LONGEST_FORWARDED:
                return False
            payer = self._own_payer if forwarded is None else self._payer(forwarded)
            if payer in self.service.tolls.owing:
                return False
        if self.timeout_keep_alive_task:
            self._unset_keepalive_if_required()
        # Before anything is asked: the answer may come at once.
        self._question, self._known = question, known
        self.since = monotonic()
        self._charged = payer
        if not payer:
            question.ask(self.service, self._arrived)
        elif self.service.tolls.covers(payer, question.tokens):
            question.ask(self.service, self._counted)
        else:
            pay(self.service, payer, question.tokens, self._paid)
        return True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._own_payer = self._payer(None)

    def _payer(self, forwarded: bytes | None) -> str:
        return self.payer_of(self.client[0] if self.client else "", forwarded)

    def _paid(self, waits: list[int] | Exception) -> None:
        assert self._question is not None
        if isinstance(waits, Exception):
            self._arrived(waits)
        else:
            self._question.ask(self.service, self._counted)

    def _counted(self, numbers: list[int] | Exception) -> None:
        """Whoever pays has changed counters."""
        if isinstance(numbers, list) and 1 in numbers:
            assert self._question is not None
            charge_new(self.service, self._charged, self._question.changes, numbers)
        self._arrived(numbers)

    @property
    def is_done(self) -> bool:
        return self._question is None and super().is_done

    # The answer.

    def _arrived(self, numbers: list[int] | Exception) -> None:
        """Say what the numbers mean."""
        assert self._question is not None
        said: Said | Answer | Coroutine[None, None, Said]
        try:
            if isinstance(numbers, Exception):
                raise numbers
            said = self._question.said(self.service, numbers)
        except Exception as error:
            said = self._failed(error)
        if isinstance(said, tuple):
            self._answer(said)
        else:
            # Kept here, because nobody else holds on to a task.
            self._making = self.loop.create_task(said)
            self._making.add_done_callback(self._made)

    def _made(self, making: "asyncio.Task[Said]") -> None:
        if making.cancelled():
            self.transport.close()
        elif error := making.exception():
            self._answer(self._failed(error))
        else:
            self._answer(making.result())

    def _failed(self, error: BaseException) -> Answer:
        self.meters.refused.add(type(error).__name__)
        return failed(error, "", "hot lane")

    def _answer(self, said: Said | Answer) -> None:
        assert self._question is not None
        self._route, self._question = self._question.route, None
        if self.transport.is_closing():
            return
        if isinstance(said, Said):
            self._say(said)
        else:
            self._write(said)
        if self._held and not self.transport.is_closing():
            held, self._held = self._held, []
            self.transport.resume_reading()
            for data in held:
                self.data_received(data)

    def _say(self, said: Said) -> None:
        """In one piece, and with the headers that uvicorn would send."""
        if self._known or self.is_closing_soon:
            self._write(said.to(self._known))
            return
        body, tag = said
        state = self.server_state
        if state.default_headers is not self._defaults:
            self._renew(state.default_headers)
        if len(body) > LONG:
            head = _WITH_TAG % (self._first_lines, len(body), tag, b"")
            self.transport.writelines((head, body))
        elif tag:
            self.transport.write(_WITH_TAG % (self._first_lines, len(body), tag, body))
        else:
            self.transport.write(_WITHOUT_TAG % (self._first_lines, len(body), body))
        self._took(200)

    def _write(self, answer: Answer) -> None:
        close = [(b"connection", b"close")] if self.is_closing_soon else []
        self.transport.write(self.plain(answer, close))
        self._took(answer.status)
        if self.is_closing_soon:
            self.transport.close()

    def _took(self, status: int) -> None:
        began, self.since = self.since, monotonic()
        took, route = self.since - began, self._route
        route.took(took, status)
        if took > self.slow.seconds:
            self.slow.say(route.name, took, route=route.name, status=status)

    # The beginning of a 200, and the headers it was made of; they change once a second, with the
    # date.
    _first_lines: ClassVar[bytes] = b""
    _defaults: ClassVar[list[tuple[bytes, bytes]] | None] = None

    @classmethod
    def _renew(cls, defaults: list[tuple[bytes, bytes]]) -> None:
        cls._defaults = defaults
        cls._first_lines = STATUS_LINE[200] + lines([*defaults, *COMMON])


def hot_lane(service: Service, policy: Policy) -> type[HotLane]:
    """The protocol class for one service: uvicorn makes an object of it for each connection."""

    @lru_cache(KEPT_PAYERS)
    def payer_of(peer: str, forwarded: bytes | None) -> str:
        headers = {} if forwarded is None else {b"x-forwarded-for": forwarded}
        return service.tolls.payer(address_of((peer,), headers, policy.trusted_proxies))

    values = {
        **values_of(service, policy),
        "service": service,
        "glance": Glance(service, policy),
        "payer_of": staticmethod(payer_of),
        "slow": SlowLog(logging.getLogger(__name__), policy.slow_seconds),
    }
    return type("HotLane", (HotLane,), values)
