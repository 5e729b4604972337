"""Can this Redis keep what it is given? Asked at the start, and every minute from then on.

Peers have lost their users' counts to an eviction policy that nobody had looked at. What is found
here names the setting and the command that mends it.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..model import Durability
from .client import Connected
from .replies import ErrorReply, failure

log = logging.getLogger(__name__)

FULL_MEMORY_SHARE = 0.8
# Comments are ordered by the services' clocks.
MAX_CLOCK_DIFFERENCE_SECONDS = 10
# The first release that can be asked to wait for the disk; Valkey says which one it began from.
HAS_WAITAOF = (7, 2)

ADVICE = "docs/operations.md says what its user must be allowed"

# What a server says of itself; None where this user may not ask.
Facts = Mapping[str, str]


class Unsafe(Exception):
    """This Redis cannot keep what it would be given; says why, and what mends it."""


class Problem(NamedTuple):
    """`is_fatal` is false for what may yet go well, and is worth a word all the same."""

    code: str
    text: str
    is_fatal: bool = True


class Safety:
    """`problems` is what is wrong, by code; empty while all is well."""

    def __init__(self, redis: Connected, durability: Durability) -> None:
        self._redis = redis
        self.durability = durability
        self.codes = CODES
        # What the last look has found.
        self._found: dict[str, Problem] = {}

    @property
    def problems(self) -> dict[str, Problem]:
        """What the last look has found, and what has become known since."""
        found = dict(self._found)
        if problem := self._redis.mark.problem:
            found["other_data"] = Problem("other_data", problem)
        if refusal := self._redis.stats.refusal:
            text = f"Redis refuses what it is asked: {refusal}"
            found["refused"] = Problem("refused", f"{text}; {ADVICE}", is_fatal=False)
        return found

    async def check(self, *, speaks: bool = True) -> None:
        """`speaks` if the log should say what is new. Raises StoreUnavailable."""
        found: dict[str, Problem] = {}
        for facts in await self._facts():
            found |= {each.code: each for each in find(facts, self.durability, time.time())}
        if self._redis.wait:
            # Every sender asks its server anew how that keeps its file.
            self._redis.wait.looks += 1
        known, self._found = self._found, found
        if speaks:
            for code in found.keys() - known.keys():
                log.error("%s", found[code].text)
            for code in known.keys() - found.keys():
                log.warning("mended: %s", known[code].text)
        await self._redis.look_at_mark()

    def refuse(self) -> None:
        """Raises Unsafe with all that was found."""
        if self.problems:
            raise Unsafe("\n".join(each.text for each in self.problems.values()))

    async def _facts(self) -> list[Facts | None]:
        """What each server says of itself; less where it refuses to, as with many hosts."""
        questions = (("INFO",), ("TIME",), ("CONFIG", "GET", "appendfsync"))
        replies = await self._redis.every_server(*questions, may_refuse=True)
        return [_facts(*each) for each in replies]


def _facts(info: Any, time: Any, config: Any) -> Facts | None:
    """The replies to INFO, TIME and CONFIG GET, each of which may be an error."""
    for reply in (info, time, config):
        if isinstance(reply, ErrorReply) and not reply.is_refusal:
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
    """What keeps this server from keeping what it is given, at this level."""
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
    if durability.level != "memory":
        yield from _find_in_file(facts, durability)
    used, most = int(facts.get("used_memory", 0)), int(facts.get("maxmemory", 0))
    if most and used > FULL_MEMORY_SHARE * most:
        text = f"Redis uses {used / most:.0%} of its memory and refuses changes at 100%"
        yield Problem("full", f"{text}: CONFIG SET maxmemory {2 * most}", is_fatal=False)
    ahead = int(facts["time"]) - int(now)
    if abs(ahead) > MAX_CLOCK_DIFFERENCE_SECONDS:
        text = f"the clock of Redis is {abs(ahead)} s {'ahead of' if ahead > 0 else 'behind'} ours"
        yield Problem("clock", f"{text}: set both by NTP", is_fatal=False)


def _find_in_file(facts: Facts, durability: Durability) -> Iterator[Problem]:
    if facts.get("aof_enabled") != "1":
        text = f"Redis has no append-only file, which DURABILITY={durability} needs"
        yield Problem("no_file", f"{text}: CONFIG SET appendonly yes, or set DURABILITY=memory")
        return
    if facts.get("aof_last_write_status", "ok") != "ok":
        text = "Redis cannot write its append-only file"
        yield Problem("file_fails", f"{text}: make room on its disk, and see its log")
    release = tuple(int(part) for part in facts.get("redis_version", "0").split(".")[:2])
    is_waited_for = durability.level == "fsync" and facts.get("appendfsync") != "always"
    if is_waited_for and release < HAS_WAITAOF:
        text = "DURABILITY=fsync needs appendfsync always, or Redis 7.2 to be asked to wait"
        yield Problem("no_wait", f"{text}: CONFIG SET appendfsync always")


# Every code there is, for metrics.
CODES = (
    "unseen", "evicts", "replica", "alone", "no_file", "file_fails", "no_wait", "full", "clock",
    "other_data", "refused",
)  # fmt: skip
