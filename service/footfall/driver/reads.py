"""Reads that requests add to a batch, in RESP, Redis's protocol.

Busy sites read the same few numbers repeatedly, so a prepared request caches its read
(table/fast_requests.py), and equal reads of one batch are sent to Redis once.
"""

from collections.abc import Callable, Sequence
from sys import getsizeof
from typing import TypeVar

from .cluster import slot_of_key
from .commands import Command, pack_word

# Names that are cached in their packed form, and how much memory one may take: some megabytes at
# most. By their characters it would be far more, since a wide one makes four bytes of each.
MAX_KEPT_WORDS = 16_384
MAX_KEPT_NAME_BYTES = 320

T = TypeVar("T")


class Memo(dict[str, T]):
    """A cache: name -> `make(name)`. When it is full, all of it is dropped."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, name: str) -> T:
        made = self._make(name)
        if getsizeof(name) <= MAX_KEPT_NAME_BYTES:
            if len(self) >= MAX_KEPT_WORDS:
                self.clear()
            self[name] = made
        return made


class PackedRead:
    """Commands that read one number each."""

    __slots__ = ("_slots", "commands", "size", "split")

    def __init__(self, commands: Sequence[Command]) -> None:
        self.commands = commands
        self.size = len(commands)
        self._slots: list[int] = []
        # On a Cluster, the nodes of the commands and this read in parts, as it was split last.
        self.split: tuple[list[str], list[tuple[str, list[int], PackedRead]]] = ([], [])

    @property
    def kept_bytes(self) -> int:
        """About how much memory it takes."""
        return sum(map(getsizeof, self.commands))

    @property
    def slots(self) -> list[int]:
        """The slot of each command, which only a Cluster has."""
        self._slots = self._slots or [slot_of_key(command) for command in self.commands]
        return self._slots


def read_of_key(key: str) -> PackedRead:
    """The number that a key has."""
    return PackedRead([b"*2\r\n$3\r\nGET\r\n" + pack_word(key)])
