"""Is this Redis set up so that it keeps its data? Checked at the start, and every minute after.

Other counting services have lost counts to an eviction policy that nobody had checked. Each problem
names the setting, and the command that corrects it.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..model import Durability
from . import disk
from .client import Connected
from .replies import ErrorReply, failure

log = logging.getLogger(__name__)

FULL_MEMORY_SHARE = 0.8
# Comments are ordered by services' clocks, so these should agree.
MAX_CLOCK_DIFFERENCE_SECONDS = 10
# Redis's first release with WAITAOF; Valkey reports the release that it was forked from.
FIRST_RELEASE_WITH_WAITAOF = (7, 2)

ADVICE = "docs/operations.md says what its user must be allowed"

# The fields of INFO, with `time` and `appendfsync`.
Facts = Mapping[str, str]


class Unsafe(Exception):
    """This Redis may lose data; the message says why, and how to correct it."""


class Problem(NamedTuple):
    """Something wrong with Redis. One that is not `is_fatal` is a warning."""

    code: str
    text: str
    is_fatal: bool = True


class Safety:
    """`problems` maps codes to what is wrong; it is empty if Redis is safe.

    `data_dir` is that of a private server, whose disk is looked at, too.
    """

    def __init__(self, redis: Connected, durability: Durability) -> None:
        self._redis = redis
        self.durability = durability
        self.codes = CODES
        self.data_dir: Path | None = None
        # The problems of the last check.
        self._found: dict[str, Problem] = {}

    @property
    def problems(self) -> dict[str, Problem]:
        """The problems of the last check, and what else is known now."""
        found = dict(self._found)
        if problem := self._redis.mark.problem:
            found["other_data"] = Problem("other_data", problem)
        if refusal := self._redis.stats.refusal:
            text = f"Redis refuses what it is asked: {refusal}"
            found["refused"] = Problem("refused", f"{text}; {ADVICE}", is_fatal=False)
        for code in disk.CODES:
            found.pop(code, None)
        return found | self._on_disk()

    def _on_disk(self) -> dict[str, Problem]:
        found = disk.find(self.data_dir) if self.data_dir else None
        return {found[0]: Problem(*found)} if found else {}

    async def check(self, *, logs: bool = True) -> None:
        """Check all servers; with `logs`, log new problems. Raises StoreUnavailable."""
        found = self._on_disk()
        for facts in await self.facts():
            found |= {each.code: each for each in find(facts, self.durability, time.time())}
        if self._redis.wait:
            # Every DurableSender reads again how its server flushes.
            self._redis.wait.checks += 1
        known, self._found = self._found, found
        if logs:
            for code in found.keys() - known.keys():
                log.error("%s", found[code].text)
            for code in known.keys() - found.keys():
                log.warning("mended: %s", known[code].text)
        await self._redis.check_mark()

    def refuse(self) -> None:
        """Raises Unsafe if there are problems that are no mere warnings, which are logged."""
        problems = self.problems.values()
        if fatal := [each.text for each in problems if each.is_fatal]:
            raise Unsafe("\n".join(fatal))
        for each in problems:
            log.warning("%s", each.text)

    async def facts(self) -> list[Facts | None]:
        """The facts of each server; many hosted ones refuse some of these commands.

        Raises StoreUnavailable.
        """
        commands = (("INFO",), ("TIME",), ("CONFIG", "GET", "appendfsync"))
        replies = await self._redis.every_server(*commands, may_refuse=True)
        return [_facts(*each) for each in replies]


def _facts(info: Any, time: Any, config: Any) -> Facts | None:
    """The facts in the replies to INFO, TIME and CONFIG GET; None if INFO or TIME is refused.

    Raises any other error reply, and that a password is missing.
    """
    for reply in (info, time, config):
        if isinstance(reply, ErrorReply) and (not reply.is_refusal or reply.code == "NOAUTH"):
            raise failure(reply)
    if isinstance(info, ErrorReply) or isinstance(time, ErrorReply):
        return None
    facts = {**_parse(info), "time": time[0].decode()}
    if config and not isinstance(config, ErrorReply):
        facts["appendfsync"] = config[1].decode()
    return facts


def _parse(info: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in info.decode().splitlines())
    return {name: value for name, _, value in lines}


def find(facts: Facts | None, durability: Durability, now: float) -> Iterator[Problem]:
    """The problems of a server, for this level; `now` is our time in seconds since the epoch."""
    if facts is None:
        yield Problem(
            "unseen", f"Redis does not say how it is set up, by +info and +time: {ADVICE}"
        )
        return
    policy = facts.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        text = f"Redis throws data away when it is full, by maxmemory-policy {policy}"
        yield Problem("evicts", f"{text}: CONFIG SET maxmemory-policy noeviction")
    if facts.get("role") == "slave":
        master = f"{facts.get('master_host')}:{facts.get('master_port')}"
        yield Problem("replica", f"this is a replica, which takes no changes: name {master}")
    replicas = int(facts.get("connected_slaves", 0))
    if replicas < durability.replicas:
        text = f"DURABILITY={durability} needs {durability.replicas} replicas"
        yield Problem("alone", f"{text}, and Redis has {replicas}: let more follow it")
    # While a server loads its file, it says that it has none.
    if durability.level != "memory" and facts.get("loading", "0") == "0":
        yield from _find_in_file(facts, durability)
    used, most = int(facts.get("used_memory", 0)), int(facts.get("maxmemory", 0))
    if most and used > FULL_MEMORY_SHARE * most:
        text = f"Redis uses {used / most:.0%} of its memory and refuses changes at 100%"
        yield Problem("full", f"{text}: {_more_memory(2 * used, facts)}", is_fatal=False)
    ahead = int(facts["time"]) - int(now)
    if abs(ahead) > MAX_CLOCK_DIFFERENCE_SECONDS:
        text = f"the clock of Redis is {abs(ahead)} s {'ahead of' if ahead > 0 else 'behind'} ours"
        yield Problem("clock", f"{text}: set both by NTP", is_fatal=False)


def _more_memory(wanted: int, facts: Facts) -> str:
    command = f"CONFIG SET maxmemory {wanted}"
    there = int(facts.get("total_system_memory", wanted))
    if wanted <= there:
        return command
    return f"its machine has {there} bytes and wants more, then {command}"


def _find_in_file(facts: Facts, durability: Durability) -> Iterator[Problem]:
    if facts.get("aof_enabled") != "1":
        text = f"Redis has no append-only file, which DURABILITY={durability} needs"
        yield Problem("no_file", f"{text}: CONFIG SET appendonly yes, or set DURABILITY=memory")
        return
    if facts.get("aof_last_write_status", "ok") != "ok":
        text = "Redis cannot write its append-only file"
        yield Problem("file_fails", f"{text}: make room on its disk, and see its log")
    if facts.get("aof_last_bgrewrite_status", "ok") != "ok":
        text = "Redis could not write its append-only file anew, so that it grows without end"
        advice = "make room for a second one on its disk, let it have the memory, then BGREWRITEAOF"
        yield Problem("rewrite_fails", f"{text}: {advice}", is_fatal=False)
    release = tuple(int(part) for part in facts.get("redis_version", "0").split(".")[:2])
    is_waited_for = durability.level == "fsync" and facts.get("appendfsync") != "always"
    if is_waited_for and release < FIRST_RELEASE_WITH_WAITAOF:
        text = "DURABILITY=fsync needs appendfsync always, or Redis 7.2 to be asked to wait"
        yield Problem("no_wait", f"{text}: CONFIG SET appendfsync always")


# All codes, for metrics.
CODES = (
    "unseen", "evicts", "replica", "alone", "no_file", "file_fails", "no_wait", "full", "clock",
    "other_data", "refused", "rewrite_fails", *disk.CODES,
)  # fmt: skip
