"""What is noted of questions to Redis: how long each took, which were slow, how many failed."""

import logging
from time import monotonic

from ..logs import SlowLog
from ..meters import Meters
from .wire import Command


class Notes:
    """`names` are of scripts, by their digests."""

    def __init__(self, meters: Meters, slow_seconds: float) -> None:
        self.names: dict[bytes, str] = {}
        self._meters = meters
        self._slow = SlowLog(logging.getLogger(__name__), slow_seconds)

    def answered(self, asked_at: float, command: Command) -> None:
        """A question that began with this command and was asked then, by the monotonic clock."""
        took = monotonic() - asked_at
        self._meters.redis_seconds.observe(took)
        if took > self._slow.seconds:
            name = self.name(command)
            self._slow.say(f"Redis's {name}", took, command=name)

    def batched(self, requests: int) -> None:
        self._meters.batch_requests.observe(requests)

    def failed(self) -> None:
        self._meters.redis_failures.add()

    def name(self, command: Command) -> str:
        """A command's first word, or the name of the script that it calls."""
        words = command.split(b"\r\n", 5)
        name = words[2].decode()
        return self.names.get(words[4], name) if name == "EVALSHA" else name
