"""Script calls that serve several requests together, and answer each: tokens are here; counters
have their own (counting/calls.py). On a Cluster there is one call per slot."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from .commands import Command, pack_word
from .replies import deliver, failure
from .scripts import Script

# Called with the numbers in the order of the request, or with what went wrong.
CountsCallback = Callable[[list[int] | Exception], None]


class Rate:
    """A token bucket gets `per_second` tokens and holds `capacity`."""

    def __init__(self, per_second: float, capacity: int) -> None:
        self.per_second = per_second
        self.capacity = capacity
        each = round(1_000_000 / per_second)
        # The script's arguments, packed: µs for one token, and µs for a full bucket.
        self.packed = pack_word(each) + pack_word(each * capacity)


# (key of a bucket, tokens, rate, callback)
Taking = tuple[str, int, Rate, CountsCallback]


class ScriptCall(ABC):
    """A call of a script that returns `size` numbers."""

    size: int

    @abstractmethod
    def command(self, *, in_full: bool = False) -> Command: ...

    @abstractmethod
    def answer(self, replies: list[Any]) -> "ScriptCall | None":
        """Answer all requests, but for those that need another call: that one."""

    @abstractmethod
    def fail(self, error: Exception) -> None: ...


class TokenCall(ScriptCall):
    """Tokens that are taken from buckets."""

    def __init__(self, script: Script, takings: Sequence[Taking]) -> None:
        self._script = script
        self._takings = takings
        self.size = len(takings)

    def command(self, *, in_full: bool = False) -> Command:
        now = pack_word(time.time_ns() // 1000)
        arguments = [pack_word(bucket) for bucket, _, _, _ in self._takings]
        arguments += [now + pack_word(tokens) + rate.packed for _, tokens, rate, _ in self._takings]
        return self._script.call(self.size, arguments, in_full=in_full)

    def answer(self, replies: list[Any]) -> None:
        for (_, _, _, done), wait in zip(self._takings, replies, strict=True):
            deliver(done, sound([wait]))

    def fail(self, error: Exception) -> None:
        for _, _, _, done in self._takings:
            deliver(done, error)


def sound(numbers: list[Any]) -> list[int] | Exception:
    """The numbers, or the error of the first that is one."""
    wrong = next((number for number in numbers if isinstance(number, Exception)), None)
    return failure(wrong) if wrong else numbers
