"""`footfall verify`: does a deployment count exactly, also while parts of it fail?

Many clients change and read counters of a namespace of their own, each one request after the other,
and go on through outages; one ledger checks all answers. Speed does not matter: a client pauses
after a failure, so that few requests have an unknown outcome.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from ..model import OnShare
from ..plurals import number_of
from .exchange import ANSWER_SECONDS, Answer, Connection
from .ledger import Ledger
from .load import IDLE_SECONDS, OPENERS, TICK_SECONDS
from .report import INTERRUPTED, Ending
from .target import CannotMeasure, Target, counts_in, reason

# How long a client pauses after a failure.
PAUSE_SECONDS = 0.1
# The share of increments among all requests.
INCREMENT_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Plan:
    """`rate` is in requests a second; without it, each client sends when its answer has come.

    If no request is answered for `retry_for` seconds, the run is given up.
    """

    seconds: float
    connections: int
    paths: int = 100
    rate: float | None = None
    retry_for: float = 30.0


@dataclass
class VerifyReport:
    target: Target
    namespace: str
    plan: Plan
    ledger: Ledger
    seconds: float = 0.0
    # Why it ended early, and why the counts could not be read back; else "".
    ended: str = ""
    unread: str = ""
    is_interrupted: bool = False
    # What became of the counters, once that is known.
    ending: Ending | None = None

    @property
    def paths(self) -> Sequence[str]:
        return self.ledger.paths

    @property
    def is_unsure(self) -> bool:
        """May the server still count increments that it has not answered?"""
        return bool(self.ledger.total.unknown)

    @property
    def is_sound(self) -> bool:
        """Is every path's count exact, and can every answer be true?"""
        verdicts = self.ledger.verdicts().values()
        return bool(verdicts) and all(each.is_exact for each in verdicts) and not self.ledger.wrong

    @property
    def code(self) -> int:
        # If nothing was accepted, nothing was proved.
        if not self.is_sound or self.ended or not self.ledger.total.accepted:
            return 1
        if self.ending is not None and not self.ending.is_as_asked:
            return 1
        return INTERRUPTED if self.is_interrupted else 0

    @property
    def verdict(self) -> str:
        total = self.ledger.total
        if not self.ledger.counted:
            return (
                f"accepted {total.accepted:,}, unknown {total.unknown:,}, "
                f"but the counts cannot be read: {self.unread}"
            )
        wrong = {p: each for p, each in self.ledger.verdicts().items() if not each.is_exact}
        if wrong and total.is_exact:
            path, worst = next(iter(wrong.items()))
            return f"WRONG on {number_of(len(wrong), 'path')}, though not in sum; {path}: {worst}"
        return str(total)

    def head(self) -> list[str]:
        return [
            f"{self.target.address}: {self.target.name}",
            f"{number_of(self.plan.connections, 'connection')}; "
            f"{number_of(self.plan.paths, 'path')}, {self.namespace}*",
        ]

    def lines(self) -> list[str]:
        ledger = self.ledger
        sent = sum(ledger.sent.values())
        lines = [
            f"{self.seconds:.1f} seconds: {number_of(sent, 'increment')} sent, "
            f"{ledger.refused:,} refused; {number_of(ledger.reads, 'read')} answered",
            *(f"  {n:,} x {words}" for words, n in ledger.troubles.most_common()),
            f"Longest outage: {ledger.longest_outage:.1f} seconds",
            f"Hung: {ledger.hung:,} without an answer in {ANSWER_SECONDS:.0f} seconds",
        ]
        if ledger.wrong:
            lines += [f"Answers: {ledger.wrong:,} WRONG", *(f"  {each}" for each in ledger.wrongs)]
        else:
            lines.append("Answers: no count twice, none below what was known")
        lines += [each for each in (self.ended,) if each]
        if self.is_interrupted:
            lines.append("Stopped early; this is what was seen so far.")
        if self.ending is not None:
            lines.append(self.ending.line)
        lines.append(f"Increments: {self.verdict}")
        return lines

    def as_json(self) -> dict[str, Any]:
        ledger, total = self.ledger, self.ledger.total
        return {
            "url": str(self.target.address),
            "server": self.target.name,
            "is_footfall": self.target.footfall is not None,
            "namespace": self.namespace,
            "connections": self.plan.connections,
            "seconds": round(self.seconds, 3),
            "increments": {
                "sent": sum(ledger.sent.values()),
                "accepted": total.accepted,
                "unknown": total.unknown,
                "refused": ledger.refused,
                "counted": total.counted if ledger.counted else None,
                "is_sound": self.is_sound,
                "verdict": self.verdict,
            },
            "reads": ledger.reads,
            "hung": ledger.hung,
            "wrong": ledger.wrong,
            "wrongs": ledger.wrongs,
            "troubles": dict(ledger.troubles),
            "longest_outage": round(ledger.longest_outage, 3),
            "ended": self.ended,
            "is_interrupted": self.is_interrupted,
            "counters": self.ending.line if self.ending else "",
            "exit": self.code,
        }


def prepare(url: str, plan: Plan, *, namespace: str) -> "Checker":
    """Find out which server this is. Raises CannotMeasure."""
    return Checker(Target.find(url, namespace), namespace, plan)


class Checker:
    """Runs once, in any thread; `report.ledger` may be read meanwhile.

    It counts the paths that are given, or as many as planned below the namespace.
    """

    def __init__(
        self, target: Target, namespace: str, plan: Plan, paths: Sequence[str] = ()
    ) -> None:
        paths = paths or [f"{namespace}{n:04d}" for n in range(plan.paths)]
        self.report = VerifyReport(target, namespace, plan, Ledger(paths))
        self._target = target
        self._plan = plan
        self._requests = {
            True: {path: target.view(path) for path in paths},
            False: {path: target.read([path]) for path in paths},
        }
        self._turns = count()
        self._start = 0.0
        self._is_over = False
        self._openers = ThreadPoolExecutor(OPENERS)

    def stop(self) -> None:
        """Send nothing more; answers to what was sent are still awaited."""
        self.report.is_interrupted = True
        self._is_over = True

    def run(self, on_progress: OnShare = lambda share: None) -> VerifyReport:
        with self._openers:
            asyncio.run(self._run(on_progress))
        self._read_back()
        return self.report

    async def _run(self, on_progress: OnShare) -> None:
        self._start = time.monotonic()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch(on_progress))
            for number in range(self._plan.connections):
                group.create_task(self._client(Random(number)))
        now = time.monotonic()
        ledger = self.report.ledger
        ledger.longest_outage = max(ledger.longest_outage, ledger.quiet(now))
        self.report.seconds = now - self._start

    async def _watch(self, on_progress: OnShare) -> None:
        plan, ledger = self._plan, self.report.ledger
        while not self._is_over:
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            on_progress(min((now - self._start) / plan.seconds, 1.0))
            if now - self._start >= plan.seconds:
                self._is_over = True
            elif ledger.quiet(now) > plan.retry_for:
                self.report.ended = (
                    f"Given up: nobody was answered for {number_of(plan.retry_for, 'second')}"
                )
                self._is_over = True

    async def _client(self, random: Random) -> None:
        connection = Connection(self._target.address)
        paths = self.report.ledger.paths
        await self._turn()
        while not self._is_over:
            is_increment = random.random() < INCREMENT_SHARE
            if not await self._ask(connection, random.choice(paths), is_increment):
                connection.close()
                await asyncio.sleep(PAUSE_SECONDS)
            await self._turn()
        connection.close()

    async def _turn(self) -> None:
        """Wait until this client may send its next request."""
        if self._plan.rate is None:
            return
        due = self._start + next(self._turns) / self._plan.rate
        while not self._is_over and (left := due - time.monotonic()) > 0:
            await asyncio.sleep(min(left, TICK_SECONDS))

    async def _ask(self, connection: Connection, path: str, is_increment: bool) -> bool:
        """Send one request and enter its outcome in the ledger; True if it was answered well."""
        ledger = self.report.ledger
        ledger.began(time.monotonic())
        is_good = False
        if await self._is_open(connection):
            floor = ledger.sends(path, is_increment=is_increment)
            answer = await self._answer(connection, self._requests[is_increment][path])
            is_good = self._enter(answer, path, floor, is_increment)
        else:
            ledger.refused += is_increment
        ledger.ended(time.monotonic(), is_good=is_good)
        return is_good

    async def _is_open(self, connection: Connection) -> bool:
        if (
            connection.socket is not None
            and time.monotonic() - connection.free_since < IDLE_SECONDS
        ):
            with contextlib.suppress(OSError):
                # Raises if the server has closed the connection, before anything is sent on it.
                connection.receive()
                return True
        try:
            await asyncio.get_running_loop().run_in_executor(self._openers, connection.open)
        except OSError as error:
            self.report.ledger.trouble(f"cannot connect: {reason(error)}")
            return False
        return True

    async def _answer(self, connection: Connection, message: bytes) -> Answer | None:
        """The answer, or None."""
        ledger = self.report.ledger
        try:
            connection.send(message)
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await _received(connection)
        except TimeoutError:
            ledger.hung += 1
        except OSError as error:
            ledger.trouble(reason(error))
        else:
            connection.free_since = time.monotonic()
            if answer.is_last:
                connection.close()
            return answer
        return None

    def _enter(self, answer: Answer | None, path: str, floor: int, is_increment: bool) -> bool:
        ledger = self.report.ledger
        counts = counts_in(answer) if answer and answer.is_accepted else None
        if counts and len(counts) == 1:
            (ledger.raised if is_increment else ledger.read)(path, counts[0], floor)
            ledger.reads += not is_increment
            return True
        if answer:
            ledger.trouble(answer.refusal)
        if is_increment:
            # With a 4xx the server has not counted; with other errors it may have.
            if answer and 400 <= answer.status < 500:
                ledger.refused += 1
            else:
                ledger.unknown[path] += 1
        return False

    def _read_back(self) -> None:
        report = self.report
        deadline = time.monotonic() + self._plan.retry_for
        while True:
            try:
                report.ledger.read_back(self._target.counted(report.ledger.paths))
                return
            except CannotMeasure as error:
                report.unread = str(error)
            if time.monotonic() > deadline:
                return
            time.sleep(PAUSE_SECONDS)


async def _received(connection: Connection) -> Answer:
    loop = asyncio.get_running_loop()
    while (answer := connection.receive()) is None:
        assert connection.socket is not None
        is_readable = asyncio.Event()
        socket = connection.socket
        loop.add_reader(socket, is_readable.set)
        try:
            await is_readable.wait()
        finally:
            loop.remove_reader(socket)
    return answer
