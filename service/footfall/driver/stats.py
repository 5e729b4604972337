"""What is noted of questions to Redis: how long each took, which were slow, how many failed.

And who is in trouble: a server that went has a line in the log when it went and one when it is
back, however many requests, connections and attempts that concerns.
"""

import logging
import math
import re
from time import monotonic

from ..telemetry.logs import SlowLog
from ..telemetry.metrics import Metrics
from .connection import Command
from .replies import ErrorReply

log = logging.getLogger(__name__)

# After an outage the next one must last for so long to be said, or a server that comes and goes
# would fill the log.
QUIET_SECONDS = 10.0
# A refusal is told of for so long: nobody knows that it is over but by being refused no more.
REFUSED_SECONDS = 300.0
# What the service can do without.
_OPTIONAL = re.compile("['`](config|info|time|memory|dbsize|scan|hrandfield)\\b", re.IGNORECASE)


class Outage:
    """One kind of trouble with one server, whoever runs into it."""

    def __init__(self, stats: "CommandStats", begins: str, ends: str) -> None:
        self._stats = stats
        self._begin, self._end = begins, ends
        self._since = math.inf
        self._is_said = False
        self._quiet_until = -math.inf

    def goes_on(self, reason: object) -> None:
        """Somebody has run into it, for the first time or once more."""
        now = monotonic()
        self._since = min(self._since, now)
        if self._stats.speaks and not self._is_said and now >= self._quiet_until:
            self._is_said = True
            log.error("%s: %s", self._begin, reason)

    def ends(self, how: str = "") -> None:
        """It is over, or whatever else keeps it from going on."""
        began, self._since = self._since, math.inf
        if self._is_said:
            self._is_said = False
            now = monotonic()
            self._quiet_until = now + QUIET_SECONDS
            log.warning("%s, after %.1f seconds", how or self._end, now - began)


class CommandStats:
    """`names` are of scripts, by their digests. `speaks` is one of those who share a server's log.

    A command at a terminal tells of trouble by its end, and so keeps quiet.
    """

    def __init__(self, metrics: Metrics, slow_seconds: float) -> None:
        self.names: dict[bytes, str] = {}
        self.speaks = False
        self._refused = ""
        self._refused_at = -math.inf
        self._metrics = metrics
        self._slow = SlowLog(logging.getLogger(__name__), slow_seconds)
        self._outages: dict[str, Outage] = {}

    def answered(self, asked_at: float, command: Command) -> None:
        """A question that began with this command and was asked then, by the monotonic clock."""
        took = monotonic() - asked_at
        self._metrics.redis_seconds.observe(took)
        if took > self._slow.seconds:
            name = self.name(command)
            self._slow.write(f"Redis's {name}", took, command=name)

    def batched(self, requests: int) -> None:
        self._metrics.batch_requests.observe(requests)

    def failed(self) -> None:
        self._metrics.redis_failures.add()

    def outage(self, begins: str, ends: str) -> Outage:
        """What is said of one kind of trouble; all who run into it share it."""
        if begins not in self._outages:
            self._outages[begins] = Outage(self, begins, ends)
        return self._outages[begins]

    def refuse(self, reply: ErrorReply) -> None:
        """Redis has sent this reply."""
        if reply.is_refusal and not _OPTIONAL.search(str(reply)):
            self._refused, self._refused_at = str(reply), monotonic()
            self._refusing.goes_on(reply)

    @property
    def refusal(self) -> str:
        """What Redis has refused lately; empty if all is well."""
        if monotonic() - self._refused_at < REFUSED_SECONDS:
            return self._refused
        self._refusing.ends()
        return ""

    @property
    def _refusing(self) -> Outage:
        minutes = round(REFUSED_SECONDS / 60)
        return self.outage(
            "Redis refuses what it is asked", f"Redis has refused nothing for {minutes} minutes"
        )

    def name(self, command: Command) -> str:
        """A command's first word, or the name of the script that it calls."""
        words = command.split(b"\r\n", 5)
        name = words[2].decode()
        return self.names.get(words[4], name) if name == "EVALSHA" else name
