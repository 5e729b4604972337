"""Statistics of commands: how long they took, which were slow, how many failed; and outages.

An outage of a server has one line in the log when it starts and one when it ends, however many
requests, connections and attempts it affects.
"""

import logging
import math
from time import monotonic

from ..telemetry.logs import SlowLog
from ..telemetry.metrics import Metrics
from .commands import Command
from .server_state import ServerState

log = logging.getLogger(__name__)

# After an outage the next one is not logged for this long: an unstable server must not fill the
# log.
QUIET_SECONDS = 10.0


class Outage:
    """One kind of outage of one server, for all connections to it."""

    def __init__(self, stats: "CommandStats", starts: str, ends: str) -> None:
        self._stats = stats
        self._start, self._end = starts, ends
        self._since = math.inf
        self._is_logged = False
        self._quiet_until = -math.inf

    def goes_on(self, reason: object) -> None:
        """Note a failure; the first one is logged."""
        now = monotonic()
        self._since = min(self._since, now)
        if self._stats.logs_outages and not self._is_logged and now >= self._quiet_until:
            self._is_logged = True
            log.error("%s: %s", self._start, reason)

    def ends(self, how: str = "") -> None:
        """Note that it is over; that is logged if its start was, as `how` or as usual."""
        started, self._since = self._since, math.inf
        if self._is_logged:
            self._is_logged = False
            now = monotonic()
            self._quiet_until = now + QUIET_SECONDS
            log.warning("%s, after %.1f seconds", how or self._end, now - started)


class CommandStats:
    """`names` maps scripts' digests to their names, `servers` names in logs to servers.

    One worker of a service has `logs_outages`. Commands in a terminal have not: they fail with the
    reason.
    """

    def __init__(self, metrics: Metrics, slow_seconds: float) -> None:
        self.names: dict[bytes, str] = {}
        self.logs_outages = False
        # How many were opened.
        self.connections = 0
        self.servers: dict[str, ServerState] = {}
        self.metrics = metrics
        # The number of requests of a batch.
        self.batched = metrics.batch_requests.observe
        self._slow = SlowLog(logging.getLogger(__name__), slow_seconds)
        self._outages: dict[str, Outage] = {}

    def answered(self, sent_at: float, command: Command) -> None:
        """Note replies to commands of which this is the first; `sent_at` is monotonic seconds."""
        took = monotonic() - sent_at
        self.metrics.redis_seconds.observe(took)
        if took > self._slow.seconds:
            name = self.name(command)
            self._slow.write(f"Redis's {name}", took, command=name)

    def failed(self) -> None:
        self.metrics.redis_failures.add()

    def outage(self, starts: str, ends: str) -> Outage:
        """The outage with this first log line, which all callers share."""
        if starts not in self._outages:
            self._outages[starts] = Outage(self, starts, ends)
        return self._outages[starts]

    def server(self, name: str) -> ServerState:
        """The state of the server with this name in logs, which all connections to it share."""
        if name not in self.servers:
            self.servers[name] = ServerState(name, self)
        return self.servers[name]

    def found(self, code: str, *, hurts: bool) -> None:
        """Tell all workers that something is wrong with Redis; see Safety.look."""
        self.metrics.findings.show(1, code)
        if hurts:
            self.metrics.hurt.show(1)

    def name(self, command: Command) -> str:
        """A command's first word, or the name of the script that it calls."""
        parts = command.split(b"\r\n", 5)
        name = parts[2].decode()
        return self.names.get(parts[4], name) if name == "EVALSHA" else name
