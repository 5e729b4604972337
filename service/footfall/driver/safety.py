"""Is this Redis set up so that it keeps its data? Checked at startup and every minute.

Other counting services have lost counts to an eviction policy that nobody had checked. Each problem
names the setting, and the command that corrects it.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from ..errors import StoreUnavailable
from ..model import Durability
from ..telemetry.metrics import FINDINGS
from . import disk
from .client import RedisClient
from .clock import Clock
from .facts import Facts, Problem, facts_of, find
from .probe import PROBE_SECONDS, Probe
from .replies import ErrorReply
from .rights import FOR_VISITORS, failing
from .roles import roles
from .server_state import ADVICE, AWAY, REFUSED, SINGLE, TROUBLES, WRONG_KIND, Trouble

log = logging.getLogger(__name__)

# How long /readyz waits for Redis: it answers within two seconds.
READY_SECONDS = 1.7
# What requests meet, and what passes by itself once its cause is gone.
PASSING = TROUBLES | {"replica", "alone", "file_fails", "rights", "rights_minor"}

# A name for it among the servers' names.
ON_DISK = "the disk"


class Unsafe(Exception):
    """This Redis may lose data; the message gives the reason and the correction."""


class Safety:
    """`problems` maps codes to problems; it is empty if Redis is safe.

    `data_dir` is that of a private server, whose disk is checked, too.
    """

    def __init__(
        self,
        redis: RedisClient,
        durability: Durability,
        probe: Probe,
        clock: Clock | None = None,
        data_dir: Path | None = None,
    ) -> None:
        """Redis's time is told to the clock with each check."""
        self._redis = redis
        self._clock = clock or Clock()
        self.durability = durability
        self.probe = probe
        self.data_dir = data_dir
        # The problems of the last check, for each server; a private server's disk is ON_DISK.
        self._found: dict[str, dict[str, Problem]] = {}
        # The problems that the log has, or must not repeat: a worker's parent has logged some.
        self._noted: dict[str, str] = {}
        # Was a worker hurt when this one looked last?
        self._is_hurt = False

    @property
    def problems(self) -> dict[str, Problem]:
        """The problems of the last check, and what requests have met since.

        What passes hurts the service only where it is true of each node of a Cluster: requests for
        the others are answered.
        """
        servers = self._servers()
        is_hurt = all(
            any(_hurts(problem) for problem in problems.values()) for problems in servers.values()
        )
        is_away = all(
            any(problem.is_outage for problem in problems.values()) for problems in servers.values()
        )
        problems: dict[str, Problem] = {}
        for code in dict.fromkeys(code for problems in servers.values() for code in problems):
            there = [problems[code] for problems in servers.values() if code in problems]
            problem = max(there, key=lambda each: (each.is_outage, each.is_fatal))
            if code in PASSING:
                problem = problem._replace(
                    is_fatal=problem.is_fatal and is_hurt, is_outage=problem.is_outage and is_away
                )
                if len(servers) > 1:
                    where = f"{len(there)} of {len(servers)} masters of the Cluster"
                    problem = problem._replace(text=f"{where}: {problem.text}")
            problems[code] = problem
        if text := self._redis.data_set_ids.problem:
            problems["other_data"] = Problem("other_data", text, is_outage=True)
        return problems | self._on_disk()

    @property
    def room(self) -> disk.Space | None:
        """The room on the disk of a private server."""
        with suppress(OSError):
            return disk.free_bytes(self.data_dir) if self.data_dir else None
        return None

    def _on_disk(self) -> dict[str, Problem]:
        if not self.data_dir:
            return {}
        filesystem = disk.find(self.data_dir)
        is_full = filesystem is not None and filesystem[0] == "disk_full"
        self._redis.stats.server(SINGLE).note_room(has_none=is_full)
        return {filesystem[0]: Problem(*filesystem)} if filesystem else {}

    def _servers(self) -> dict[str, dict[str, Problem]]:
        stats = self._redis.stats
        return {
            name: {
                **self._found.get(name, {}),
                **{code: _problem(each) for code, each in stats.server(name).look().items()},
            }
            for name in self._redis.names()
        }

    async def check(self, *, logs: bool = True, tries: bool = True) -> None:
        """Check all servers; with `logs`, log new problems; with `tries`, find missing permissions,
        by changes of test keys. Raises StoreUnavailable."""
        current = {ON_DISK: self._on_disk()}
        every = await self.facts()
        self._clock.compare([int(facts["time"]) for facts in every.values() if facts])
        for name, facts in every.items():
            if facts and facts.get("cluster_enabled") == "1" and not self._redis.is_cluster:
                problems = [_problem(WRONG_KIND)]
            else:
                problems = [
                    *find(facts, self.durability, time.time_ns() / 1e9, self._redis.timeout)
                ]
            current[name] = {problem.code: problem for problem in problems}
        # A change on a full disk would end the server.
        tries = tries and "disk_full" not in current[ON_DISK]
        for name, rights in (await self.probe.refused() if tries else {}).items():
            if rights:
                problem = _lacking(rights)
                current.setdefault(name, {})[problem.code] = problem
        if self._redis.wait:
            # Every DurableSender reads again how its server flushes.
            self._redis.wait.checks += 1
        # Nothing new is known of a node that does not answer.
        kept = {name: self._found[name] for name in self._redis.names() if name in self._found}
        self._found = kept | current
        self._note(_texts(self._found), logs=logs)
        await self._redis.check_data_set_ids()

    def _note(self, now: Mapping[str, str], *, logs: bool) -> None:
        """Log new and ended problems, except those met by requests, which are logged already."""
        stats = self._redis.stats
        met = {code for name in self._redis.names() for code in stats.server(name).troubles}
        for code in now.keys() - self._noted.keys() - met:
            self._noted[code] = now[code]
            if logs:
                log.error("%s", now[code])
        for code in self._noted.keys() - now.keys():
            text = self._noted.pop(code)
            if logs:
                log.warning("fixed: %s", text)

    def refuse(self, *, is_strict: bool = True) -> None:
        """Raises Unsafe if Redis is of the wrong kind, and with `is_strict` if the last check found
        it unsafe; then mere warnings are logged. What requests have met may pass."""
        if kind := self.problems.get(WRONG_KIND.code):
            raise Unsafe(kind.text)
        if not is_strict:
            return
        checked = (item for known in self._found.values() for item in known.items())
        problems = {**dict(checked), **self._on_disk()}
        if wrong := [problem.text for problem in problems.values() if problem.is_fatal]:
            raise Unsafe("\n".join(wrong))
        for problem in problems.values():
            log.warning("%s", problem.text)

    async def trouble(self) -> str:
        """Why no request can be answered now; "" if Redis answers and has our data.

        It queries Redis, for READY_SECONDS at most. On a Cluster one reachable node is enough.
        """
        answers: Mapping[str, bool] = {}
        # /readyz is public, so it does not show the address of Redis or the error's text.
        with suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(READY_SECONDS):
                answers, _ = await asyncio.gather(self.probe.answers(), self._look_at_ids())
        if problem := self._redis.data_set_ids.problem:
            return problem
        if any(answers.values()):
            return ""
        outages = (problem.text for problem in self.problems.values() if problem.is_outage)
        return next(outages, AWAY.text)

    async def _look_at_ids(self) -> None:
        # On a Cluster their node may be the only one that is unreachable.
        with suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(PROBE_SECONDS):
                await self._redis.check_data_set_ids()

    async def roles(self, wait_seconds: float) -> list[str]:
        """Each server's role, within this time (roles.py)."""
        return await roles(self._redis, wait_seconds)

    async def look(self, *, logs: bool) -> None:
        """While a worker has a problem that affects requests, or its clock was set, query Redis
        whether that persists.

        So a problem ends promptly, also if no client sends changes to a service that is not ready,
        and each worker knows the problems of all.
        """
        self.publish()
        servers = map(self._redis.stats.server, self._redis.names())
        is_refused = any(REFUSED in server.troubles for server in servers)
        was_hurt = self._is_hurt
        self._is_hurt = is_refused or bool(self._redis.stats.metrics.hurt.total)
        # Once more after its end, as the last check may have found a problem that is over now.
        if not self._is_hurt and not was_hurt and not self._clock.was_set:
            return
        for ask in (partial(self.check, logs=logs), self.probe.answers):
            # Connections log why they fail.
            with suppress(StoreUnavailable, ErrorReply):
                await ask()
        self.publish()

    def publish(self) -> None:
        """Copy what this worker knows to the memory that all workers share."""
        metrics, problems = self._redis.stats.metrics, self.problems
        for code in FINDINGS:
            metrics.findings.show(code in problems, code)
        every = (problem for found in self._servers().values() for problem in found.values())
        metrics.hurt.show("other_data" in problems or any(map(_hurts, every)))

    def findings(self) -> dict[str, bool]:
        """Every code, and whether it is a problem for one of the workers."""
        self.publish()
        totals = self._redis.stats.metrics.findings.totals()
        return {code: workers > 0 for code, workers in totals.items()}

    async def facts(self) -> dict[str, Facts | None]:
        """The facts of each server that answers, by its name in logs; many hosted ones reject some
        of these commands.

        Raises StoreUnavailable if none answers.
        """
        settings = ("CONFIG", "GET", "*appendfsync*")
        commands = (("INFO",), ("TIME",), settings, ("LATENCY", "LATEST"))
        facts: dict[str, Facts | None] = {}
        failed: StoreUnavailable | None = None
        for name, replies in (await self._redis.every_server(*commands, may_refuse=True)).items():
            try:
                facts[name] = facts_of(*replies)
            except StoreUnavailable as error:
                failed = error
        if failed and not facts:
            raise failed
        return facts


def _lacking(rights: list[str]) -> Problem:
    fails = failing(rights)
    what = f" (affects {', '.join(fails)})" if fails else ""
    text = f"Redis does not allow {' '.join(rights)}{what}: {ADVICE}"
    # Without its keys nothing works.
    is_fatal = not fails or not FOR_VISITORS.isdisjoint(fails)
    return Problem("rights" if is_fatal else "rights_minor", text, is_fatal=is_fatal)


def _problem(trouble: Trouble) -> Problem:
    return Problem(trouble.code, trouble.text, trouble.hurts != "some", trouble.hurts == "all")


def _hurts(problem: Problem) -> bool:
    return problem.is_fatal and problem.code in PASSING


def _texts(found: Mapping[str, Mapping[str, Problem]]) -> dict[str, str]:
    return {
        problem.code: problem.text for problems in found.values() for problem in problems.values()
    }
