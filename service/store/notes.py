"""What is noted of questions to Redis: how long each took, which were slow, how many failed."""

import asyncio
import logging

from ..meters import Meters
from .wire import Command

log = logging.getLogger(__name__)

# When Redis is slow, everything is; one line so often says so.
QUIET_SECONDS = 1.0


class Notes:
    """`names` are of scripts, by their digests."""

    def __init__(self, meters: Meters, slow_seconds: float) -> None:
        self.names: dict[bytes, str] = {}
        self._meters = meters
        self._slow_seconds = slow_seconds
        self._quiet_until = float("-inf")
        self._unsaid = 0

    def answered(self, asked_at: float, command: Command) -> None:
        """A question that began with this command, asked then by the event loop's clock."""
        now = asyncio.get_running_loop().time()
        self._meters.redis_seconds.observe(now - asked_at)
        if now - asked_at > self._slow_seconds:
            self._say(now, round((now - asked_at) * 1000), command)

    def batched(self, requests: int) -> None:
        self._meters.batch_requests.observe(requests)

    def failed(self) -> None:
        self._meters.redis_failures.add()

    def _say(self, now: float, took_ms: int, command: Command) -> None:
        if now < self._quiet_until:
            self._unsaid += 1
            return
        words = command.split(b"\r\n", 5)
        name = words[2].decode()
        if name == "EVALSHA":
            name = self.names.get(words[4], name)
        also = f"; {self._unsaid} more were slow" if self._unsaid else ""
        log.warning(
            "Redis took %d ms for %s%s", took_ms, name, also,
            extra={"took_ms": took_ms, "command": name},
        )  # fmt: skip
        self._quiet_until, self._unsaid = now + QUIET_SECONDS, 0
