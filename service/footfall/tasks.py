"""What has happened to a comment, and is to be notified."""

import asyncio
from dataclasses import asdict, dataclass
from typing import Protocol

import orjson


@dataclass(frozen=True, slots=True)
class Task:
    """A task for a comment whose status has become `now`; `was` is "" for a new one.

    `kind` is `event` for a change that is not divided into tasks yet, else a channel's name. `by`
    is author, moderator or, for a spam filter, `judge`. `version` is the page's after the change.
    """

    kind: str
    id: str
    was: str
    now: str
    by: str
    version: int
    attempts: int = 0
    # Spam filters have answered or failed: now people are notified.
    is_judged: bool = False
    # It was approved before: "1" if people know of that, "0" if readers were not notified; else "".
    seen: str = ""
    # What the comment was when it was not what this is about; "" if that was never so.
    met: str = ""

    def dump(self) -> bytes:
        return orjson.dumps(asdict(self))

    @property
    def name(self) -> str:
        """A name that each attempt has, and no other task."""
        return f"{self.kind} {self.id} {self.version}"


class Outlet(Protocol):
    """Where tasks go: `is_on` if there is one, and `arrived` is set when one was written."""

    is_on: bool
    arrived: asyncio.Event
