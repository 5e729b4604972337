"""Facts reported by a server, and those that endanger its data."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..model import Durability
from ..plurals import number_of
from .clock import MOST_OFF_MS
from .replies import ErrorReply, failure
from .server_state import ADVICE

FULL_MEMORY_SHARE = 0.8
# Comments are ordered by services' clocks, so these should agree.
MAX_CLOCK_DIFFERENCE_SECONDS = 10
# Redis's first release with WAITAOF; Valkey reports the release that it was forked from.
FIRST_RELEASE_WITH_WAITAOF = (7, 2)

# How long a slow flush of Redis's file is a problem: the service checks every minute.
RECENT_SECONDS = 150

# The fields of INFO, with `time`, how its file is flushed, and by LATENCY when its last slow write
# or flush was and how many ms it took.
Facts = Mapping[str, str]


class Problem(NamedTuple):
    """A problem with Redis.

    With one that `is_fatal` it stores no change, or may lose some: GUARD decides what follows. With
    one that `is_outage` it answers no request, whatever GUARD is. Any other is a warning.
    """

    code: str
    text: str
    is_fatal: bool = True
    is_outage: bool = False


def facts_of(info: Any, time: Any, config: Any, latency: Any) -> Facts | None:
    """The facts in the replies to INFO, TIME, CONFIG GET and LATENCY LATEST; None if INFO or TIME
    is rejected.

    Raises any other error reply, and that a password is missing.
    """
    for reply in (info, time, config):
        if isinstance(reply, ErrorReply) and (not reply.is_refusal or reply.code == "NOAUTH"):
            raise failure(reply)
    if isinstance(info, ErrorReply) or isinstance(time, ErrorReply):
        return None
    facts = {**_parse(info), "time": time[0].decode()}
    if config and not isinstance(config, ErrorReply):
        texts = [word.decode() for word in config]
        facts |= zip(texts[::2], texts[1::2], strict=True)
    # A server whose latency-monitor-threshold is 0 reports none, and few users have the permission.
    if latency and not isinstance(latency, ErrorReply):
        file = [(at, ms) for name, at, ms, *_ in latency if name.startswith(b"aof-")]
        if file:
            at, ms = max(file)
            facts |= {"flush_at": str(at), "flush_ms": str(ms)}
    return facts


def _parse(info: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in info.decode().splitlines())
    return {name: value for name, _, value in lines}


def find(
    facts: Facts | None, durability: Durability, now: float, timeout: float
) -> Iterator[Problem]:
    """The problems of a server, for this level; `now` is our time in seconds since the epoch, and
    `timeout` how many seconds a command may take."""
    if facts is None:
        yield Problem("unseen", f"Redis hides its configuration (+info, +time): {ADVICE}")
        return
    policy = facts.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        text = f"Redis evicts data when it is full (maxmemory-policy {policy})"
        yield Problem("evicts", f"{text}: CONFIG SET maxmemory-policy noeviction")
    if facts.get("role") == "slave":
        master = f"{facts.get('master_host')}:{facts.get('master_port')}"
        yield Problem("replica", f"this is a read-only replica: set REDIS_URL to {master}")
    replicas = int(facts.get("connected_slaves", 0))
    if replicas < durability.replicas:
        text = f"DURABILITY={durability} needs {number_of(durability.replicas, 'replica')}"
        yield Problem("alone", f"{text}, but Redis has {replicas}: start more")
    # While a server loads its file, it reports that it has none.
    if durability.level != "memory" and facts.get("loading", "0") == "0":
        yield from _find_in_file(facts, durability)
    seconds = int(facts.get("flush_ms", 0)) / 1000
    if seconds > timeout and int(facts["time"]) - int(facts["flush_at"]) < RECENT_SECONDS:
        text = f"Redis waited {seconds:g} s for its disk, and REDIS_TIMEOUT is {timeout:g} s"
        advice = "give it a faster disk, or raise REDIS_TIMEOUT"
        yield Problem("disk_slow", f"{text}, so that requests failed: {advice}", is_fatal=False)
    used, most = int(facts.get("used_memory", 0)), int(facts.get("maxmemory", 0))
    if most and used > FULL_MEMORY_SHARE * most:
        text = f"Redis uses {used / most:.0%} of its memory and rejects changes at 100%"
        yield Problem("memory_low", f"{text}: {_more_memory(2 * used, facts)}", is_fatal=False)
    ahead = int(facts["time"]) - int(now)
    if abs(ahead) > MAX_CLOCK_DIFFERENCE_SECONDS:
        text = f"the clock of Redis is {abs(ahead)} s {'ahead of' if ahead > 0 else 'behind'} ours"
        if abs(ahead) * 1000 > MOST_OFF_MS:
            text = f"{text}, so that its time is used"
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
        yield Problem("file_fails", f"{text}: free space on its disk, and check its log")
    if facts.get("aof_last_bgrewrite_status", "ok") != "ok":
        text = "Redis could not rewrite its append-only file, which keeps growing"
        advice = "free memory, and disk space for a second one, then run BGREWRITEAOF"
        yield Problem("rewrite_fails", f"{text}: {advice}", is_fatal=False)
    if facts.get("appendfsync") == "no":
        text = f"Redis leaves flushing to the system (appendfsync no), but DURABILITY={durability}"
        yield Problem("no_flush", f"{text} promises more: CONFIG SET appendfsync everysec")
    elif facts.get("no-appendfsync-on-rewrite") == "yes":
        text = "Redis does not flush its append-only file while it rewrites it"
        advice = "CONFIG SET no-appendfsync-on-rewrite no"
        yield Problem("rewrite_unflushed", f"{text}: {advice}", is_fatal=False)
    release = tuple(int(part) for part in facts.get("redis_version", "0").split(".")[:2])
    is_waited_for = durability.level == "fsync" and facts.get("appendfsync") != "always"
    if is_waited_for and release < FIRST_RELEASE_WITH_WAITAOF:
        text = "DURABILITY=fsync needs appendfsync always, or Redis 7.2"
        yield Problem("no_wait", f"{text}: CONFIG SET appendfsync always")
