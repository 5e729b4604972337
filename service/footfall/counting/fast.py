"""Reads and changes of counters that need no ASGI, for every protocol."""

from collections.abc import Sequence

from ..model import NO_ORIGIN, Origin
from ..table.fast import Answering, Done, FastRequest
from .clients import CountingClient
from .rules import Counting


class CounterRead(FastRequest):
    """Reads these counters, and answers their counts."""

    __slots__ = ("_counting", "_kept_bytes", "_read")

    takes_turns = False

    def __init__(
        self, counting: Counting, names: Sequence[str], answer: Answering, *, kept_bytes: int = 0
    ) -> None:
        """`kept_bytes`: memory that `answer` keeps for this request alone."""
        super().__init__(answer)
        self._counting = counting
        self._read = counting.counters.reading(names)
        self._kept_bytes = kept_bytes

    def send(self, client: CountingClient, done: Done) -> None:
        self._counting.counters.fetch(self._read, done)

    def kept_bytes(self, text_bytes: int) -> int:
        return self._read.kept_bytes + self._kept_bytes


class CounterChange(FastRequest):
    """Makes these (path, type, delta) changes with the public's permissions, and returns the new
    counts."""

    __slots__ = ("_change", "_counting", "_kept_bytes")

    is_change = True
    takes_turns = False

    def __init__(
        self,
        counting: Counting,
        changes: Sequence[tuple[str, str, int]],
        answer: Answering,
        origin: Origin = NO_ORIGIN,
        *,
        kept_bytes: int = 0,
    ) -> None:
        """`kept_bytes`: memory that `answer` keeps for this request alone."""
        super().__init__(answer)
        self._counting = counting
        self._change = counting.counters.change(changes, origin)
        self._kept_bytes = kept_bytes

    def send(self, client: CountingClient, done: Done) -> None:
        self._counting.change(self._change, client, done)

    def kept_bytes(self, text_bytes: int) -> int:
        return self._change.kept_bytes + self._kept_bytes
