"""A server's current problems, by its own replies: it is unreachable, or rejects commands.

They are noted where replies arrive, so a problem is known with the first request that fails, and
over with the first that succeeds. Without requests, probe.py finds out.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Literal, Protocol

from .replies import ErrorReply
from .url import advised

# A denied permission counts as granted after this long without another rejection.
REFUSED_SECONDS = 300.0
# What a server does only if it takes changes: probe.py's command, and the script that counts.
PROBE = "SET"
PROOFS = frozenset({PROBE, "counters/add", "counters/count"})
REFUSED = "refused"
# The name in logs of a single server, or one behind Sentinels; a Cluster's nodes have others.
SINGLE = "Redis"


Hurts = Literal["all", "changes", "some"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """`what` starts with "Redis"; `todo` is the remedy; `over` is the log's word for its end.

    It affects `all` requests, all `changes`, or only `some` requests.
    """

    code: str
    what: str
    todo: str = ""
    hurts: Hurts = "changes"
    over: str = "takes changes again"

    @property
    def text(self) -> str:
        return f"{self.what}: {self.todo}" if self.todo else self.what


AWAY = Trouble("away", "Redis does not answer", "", "all", "answers again")
LOADING = Trouble(
    "loading", "Redis is loading its data", "wait until it has finished", "all", AWAY.over
)
NO_DESCRIPTOR = Trouble(
    "descriptors",
    "Redis cannot be reached, as no file descriptor is left",
    "raise ulimit -n, or LimitNOFILE, and restart this service",
    "all",
    AWAY.over,
)
PASSWORD = Trouble(
    "password",
    "Redis rejects the user name or the password",
    "correct REDIS_URL, REDIS_PASSWORD or their file, or restore it in Redis; a new environment "
    "needs a restart",
    "all",
    "accepts the password again",
)
WRONG_KIND = Trouble(
    "wrong_kind",
    "Redis is a Cluster, but REDIS_URL is for a single server",
    "append ?cluster=true, and restart the services",
    "all",
    AWAY.over,
)
REPLICA = Trouble(
    "replica",
    "Redis is a read-only replica",
    "set REDIS_URL to its master; with Sentinels, wait for their failover",
)
UNCONFIRMED = Trouble(
    "unconfirmed",
    "Redis does not confirm changes as DURABILITY requires",
    "check that its replicas follow, and that its disk is neither slow nor full",
    over="confirms again",
)
# What error replies start with.
_TROUBLES = {
    "OOM": Trouble(
        "full",
        "Redis is out of memory and rejects changes",
        "raise its maxmemory, or run footfall counters prune",
    ),
    "READONLY": REPLICA,
    "MASTERDOWN": REPLICA,
    "NOREPLICAS": Trouble(
        "alone",
        "Redis has fewer replicas than min-replicas-to-write and rejects changes",
        "start more replicas",
    ),
    "MISCONF": Trouble(
        "file_fails",
        "Redis cannot write its files and rejects changes",
        "free space on its disk, and check its log",
    ),
    "NOAUTH": PASSWORD,
    "WRONGPASS": PASSWORD,
    "LOADING": LOADING,
    "BUSY": Trouble("busy", "Redis is busy with a script", "run SCRIPT KILL", "all", AWAY.over),
    "CLUSTERDOWN": Trouble(
        "cluster_down",
        "Redis does not serve all slots of its Cluster",
        "start the failed nodes; see CLUSTER INFO",
        "all",
        AWAY.over,
    ),
}
# Why there is no connection, if known: a new one ends it.
_OF_CONNECTIONS = (AWAY, LOADING, NO_DESCRIPTOR, PASSWORD)
_ENDED_BY_PROOF = frozenset({*_TROUBLES.values(), WRONG_KIND, LOADING} - {PASSWORD})
# While one of these is true every change is rejected, also one that frees memory.
_REJECTING = frozenset({"replica", "alone", "file_fails", REFUSED})
# Then so often one is tried; after so long without a rejection none is kept back, also in a process
# that nothing else tells of the end.
TRY_SECONDS = 1.0
LAPSE_SECONDS = 3.0
# The codes of all of them.
TROUBLES = {trouble.code for trouble in (*_OF_CONNECTIONS, *_ENDED_BY_PROOF, UNCONFIRMED)} | {
    REFUSED
}
# On a Cluster these are redirections.
_OF_A_CLUSTER = frozenset({"MOVED", "CROSSSLOT"})
# Why a connection could not be opened, by a pattern of the error's text.
_UNOPENED = {
    "(?i)NOAUTH|username-password|AUTH <password>|authentication|Sentinels refuse": PASSWORD,
    "Too many open files": NO_DESCRIPTOR,
    "is loading": LOADING,
}
ADVICE = "docs/operations.md lists the permissions it needs"
# Commands that the service can do without.
_OPTIONAL = re.compile("['`](config|info|time|memory|scan|hrandfield)\\b", re.IGNORECASE)
# Without these no script runs, and every change is one.
_EVERY_CHANGE = re.compile("['`]evalsha\\b", re.IGNORECASE)


class Log(Protocol):
    """The outage with these words for its start and end (stats.py)."""

    def goes_on(self, reason: object) -> None: ...

    def ends(self) -> None: ...


class Stats(Protocol):
    """Counts connections, commands, their times, and problems (stats.py)."""

    connections: int

    def answered(self, sent_at: float, command: bytes) -> None: ...

    def failed(self) -> None: ...

    def found(self, code: str, *, hurts: bool) -> None: ...

    def name(self, command: bytes) -> str: ...

    def outage(self, starts: str, ends: str) -> Log: ...


class ServerState:
    """The state of one server, for all connections to it. `troubles` maps codes to current
    problems."""

    def __init__(self, name: str, stats: Stats) -> None:
        self.troubles: dict[str, Trouble] = {}
        self._name = name
        self._stats = stats
        self._is_cluster = name != SINGLE
        # When this user was denied a permission.
        self._refused_at = -math.inf
        # Are all changes rejected, as far as is known; and when was one tried in spite of that?
        self.rejects_changes = False
        self._tried_at = self._rejected_at = -math.inf
        # Is there no room for changes on the disk of a private server?
        self._has_no_room = False

    def keeps_back(self) -> bool:
        """Is a change not sent, since all are rejected? One in a while is, to find out whether they
        still are. Reads go on as ever."""
        if not self.rejects_changes:
            return False
        if self._has_no_room:
            # The next change would end the server, and reads with it.
            return True
        now = monotonic()
        if now > self._rejected_at + LAPSE_SECONDS:
            return False
        if now < self._tried_at + TRY_SECONDS:
            return True
        self._tried_at = now
        return False

    def start(self, trouble: Trouble, reason: object = "") -> None:
        """Note it, or that it continues; that it starts is logged."""
        if trouble in _OF_CONNECTIONS:
            # Only one of these can be true.
            self._drop(trouble.code for trouble in _OF_CONNECTIONS)
        earlier = self.troubles.get(trouble.code)
        if earlier and earlier.hurts == "changes" and trouble.hurts == "some":
            # Of two missing permissions, the one that every change needs.
            trouble = earlier
        self.troubles[trouble.code] = trouble
        if trouble.code in _REJECTING:
            self._rejected_at = monotonic()
        self._weigh_troubles()
        self._stats.found(trouble.code, hurts=trouble.hurts != "some")
        texts = (str(reason).rstrip("."), trouble.todo) if trouble.todo else (advised(reason),)
        self._log(trouble).goes_on("; ".join(filter(None, texts)))

    def end(self, *ended: Trouble) -> None:
        self._drop(trouble.code for trouble in ended)
        for trouble in ended:
            self._log(trouble).ends()

    def unopened(self, reason: BaseException) -> None:
        """A connection could not be opened, or broke with commands in flight."""
        text = str(reason)
        troubles = (trouble for pattern, trouble in _UNOPENED.items() if re.search(pattern, text))
        self.start(next(troubles, AWAY), reason)

    def opened(self, reply: object) -> None:
        """A connection was opened; `reply` is the one to its first command."""
        self._stats.connections += 1
        trouble = self._trouble_of(reply) if isinstance(reply, ErrorReply) else None
        self.end(*(each for each in (*_OF_CONNECTIONS, WRONG_KIND) if each != trouble))

    def refuses(self, reply: ErrorReply) -> bool:
        """Note an error reply if the server cannot run the command now; is it such a reply?"""
        trouble = self._trouble_of(reply)
        if trouble is None:
            return False
        if trouble.code == REFUSED:
            self._refused_at = monotonic()
        self.start(trouble, "" if trouble.code == REFUSED else reply)
        return True

    def failed(self, reply: ErrorReply) -> None:
        """This was the reply to a query; count it if it is a rejection."""
        if self._trouble_of(reply) is not None:
            self._stats.failed()

    def did(self, name: str) -> None:
        """What starts with this command, or script, was done without an error."""
        if name in PROOFS:
            self.end(*(trouble for trouble in self.troubles.values() if trouble in _ENDED_BY_PROOF))
        refused = self.troubles.get(REFUSED)
        if name == PROBE and refused and refused.hurts == "changes":
            self.end(refused)

    def unconfirmed(self, reason: object) -> None:
        """Changes were made, and are not as durable as DURABILITY requires."""
        self._stats.failed()
        self.start(UNCONFIRMED, reason)

    def confirmed(self) -> None:
        if UNCONFIRMED.code in self.troubles:
            self.end(UNCONFIRMED)

    def forget(self) -> None:
        """The service no longer uses this server; its problems do not matter."""
        self._drop(self.troubles)

    def look(self) -> Mapping[str, Trouble]:
        """The current problems. When a permission is granted again is unknown."""
        if REFUSED in self.troubles and monotonic() - self._refused_at > REFUSED_SECONDS:
            self.end(self.troubles[REFUSED])
        return self.troubles

    def _drop(self, codes: Iterable[str]) -> None:
        for code in [*codes]:
            self.troubles.pop(code, None)
        self._weigh_troubles()

    def note_room(self, *, has_none: bool) -> None:
        self._has_no_room = has_none
        self._weigh_troubles()

    def _weigh_troubles(self) -> None:
        self.rejects_changes = self._has_no_room or any(
            code in _REJECTING and trouble.hurts == "changes"
            for code, trouble in self.troubles.items()
        )

    def _trouble_of(self, reply: ErrorReply) -> Trouble | None:
        if reply.code in _OF_A_CLUSTER:
            return None if self._is_cluster else WRONG_KIND
        if trouble := _TROUBLES.get(reply.code):
            return trouble
        text = str(reply)
        if not reply.is_refusal or _OPTIONAL.search(text):
            return None
        hurts: Hurts = "changes" if _EVERY_CHANGE.search(text) else "some"
        # The arguments of an unknown command are private.
        todo = f"{text.partition(', with args ')[0]}; {ADVICE}"
        over = "accepts commands again"
        return Trouble(REFUSED, "Redis rejects a command", todo, hurts, over)

    def _log(self, trouble: Trouble) -> Log:
        # A server that is loading does not answer: its log has one line for both.
        what = AWAY.what if trouble is LOADING else trouble.what
        starts = f"{self._name}{what.removeprefix('Redis')}"
        return self._stats.outage(starts, f"{self._name} {trouble.over}")
