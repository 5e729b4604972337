"""The counters of `footfall bench` and `verify` are taken away again, through the service's Redis.

The API takes no counter away. Before anything is counted, Redis has to be the one in which the
server counts: a counter is set there, and the server must read the same number. So nothing is left
in a server of somebody else.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any, Protocol

import click
import uvloop

from ..config import Settings
from ..driver.private_server import CannotStart
from ..driver.replies import ErrorReply
from ..errors import StoreUnavailable
from ..loadtest.interrupt import interruptible, until_interrupted
from ..loadtest.report import Ending
from ..loadtest.target import CannotMeasure, Target
from ..maintenance.prune import remove_named
from ..plurals import number_of
from ..store import Store
from .console import aside, settings_of_environment
from .dataset import described, existing, opened
from .errors import errors_as_messages

# A replica that the server reads from may be a little behind.
SEEN_SECONDS = 2.0
SEEN_POLL_SECONDS = 0.2
# Redis may be starting again just when the measurement is over, or the service with it.
RETRY_SECONDS = 30.0
RETRY_PAUSE_SECONDS = 0.5
# The server may still count a request that it has not answered.
LATE_SECONDS = 2.0

_HELP = (
    "The counters are taken away again through the Redis of the service: give its REDIS_URL or "
    "DATA_DIR, and its KEY_PREFIX, in the environment, in .env or by --data. With --leave-behind "
    "nothing is taken away, and no Redis is needed"
)


class LoadTestRun(Protocol):
    """What a measurement has to say about itself."""

    target: Target
    namespace: str
    ending: Ending | None

    @property
    def paths(self) -> Sequence[str]: ...

    @property
    def is_unsure(self) -> bool: ...


@contextlib.contextmanager
def counters_taken_away(report: LoadTestRun, *, leave_behind: bool) -> Iterator[None]:
    """Around what counts: make sure before it that the counters can be taken away, and do so after
    it, also after an interruption. The report gets what became of them.

    Raises ClickException, before anything is counted. With `leave_behind` the counters stay.
    """
    with interruptible():
        settings = None if leave_behind else _settings_of(report.target, report.namespace)
        try:
            yield
        except BaseException:
            # The report is not printed any more.
            aside(_ending(report, settings).line)
            raise
        report.ending = _ending(report, settings)


def _settings_of(target: Target, namespace: str) -> Settings:
    """The settings, if they name the Redis in which the target counts. Raises ClickException."""
    try:
        settings = settings_of_environment()
        is_same = _run(_is_same(settings, target, f"{namespace}probe"))
    except click.ClickException as error:
        raise click.ClickException(f"{error.message}\n{_HELP}") from error
    if not is_same:
        raise click.ClickException(
            f"{target.address} counts elsewhere than under {described(settings)}\n{_HELP}"
        )
    return settings


async def _is_same(settings: Settings, target: Target, path: str) -> bool:
    # No other server has this number by chance, and JSON can hold it.
    number = secrets.randbelow(2**52) + 1
    async with existing(settings) as store:
        try:
            await store.counters.add([(path, "time", number)])
            deadline = time.monotonic() + SEEN_SECONDS
            while True:
                (seen,) = await asyncio.to_thread(target.counted, [path])
                if seen == number or time.monotonic() > deadline:
                    return seen == number
                await asyncio.sleep(SEEN_POLL_SECONDS)
        except CannotMeasure as error:
            raise click.ClickException(f"{target.address} does not answer: {error}") from error
        finally:
            await _removed(store, [f"time {path}"])


def _ending(report: LoadTestRun, settings: Settings | None) -> Ending:
    if settings is None:
        return Ending(_left_behind(report), is_as_asked=True)
    taking_away = TakingAway(settings, report.paths, is_unsure=report.is_unsure)
    try:
        # One more signal does not keep the counters from being taken away.
        with until_interrupted(lambda: None):
            _run(taking_away.run())
            _require_none(report)
    except click.ClickException as error:
        return Ending(f"{_left_behind(report)}\n{error.message}", is_as_asked=False)
    except KeyboardInterrupt:
        why = "Interrupted before all of them were taken away"
        return Ending(f"{_left_behind(report)}\n{why}", is_as_asked=False)
    removed = number_of(taking_away.removed, "counter")
    return Ending(f"Taken away: {removed}, {report.namespace}*", is_as_asked=True)


def _require_none(report: LoadTestRun) -> None:
    """Raises ClickException if the server still has counts: it may have been started again, with
    another Redis. A server that does not answer has been asked enough."""
    deadline = time.monotonic() + SEEN_SECONDS
    with contextlib.suppress(CannotMeasure):
        while any(report.target.counted(report.paths)):
            if time.monotonic() > deadline:
                raise click.ClickException(
                    f"{report.target.address} does not count in the Redis of these settings any "
                    "more, and still has some of them"
                )
            time.sleep(SEEN_POLL_SECONDS)


def _left_behind(report: LoadTestRun) -> str:
    line = f"Left behind: counters of up to {number_of(len(report.paths), 'path')}"
    if report.target.footfall is None:
        return f"{line}, {report.namespace}*"
    command = f"footfall counters delete --yes '{report.namespace}*'"
    return f"{line}, {report.namespace}*; take them away by: {command}"


class TakingAway:
    """Removes the counters of these paths, and counts how many were removed."""

    def __init__(self, settings: Settings, paths: Sequence[str], *, is_unsure: bool) -> None:
        self._settings = settings
        self._names = [f"time {path}" for path in paths]
        self._is_unsure = is_unsure
        self.removed = 0

    async def run(self) -> None:
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            try:
                await self._remove()
                return
            except (StoreUnavailable, ErrorReply, CannotStart, OSError):
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(RETRY_PAUSE_SECONDS)

    async def _remove(self) -> None:
        async with opened(self._settings) as store:
            self.removed += await _removed(store, self._names)
            if self._is_unsure:
                await asyncio.sleep(LATE_SECONDS)
                self.removed += await _removed(store, self._names)


async def _removed(store: Store, names: Sequence[str]) -> int:
    return await remove_named(store.redis, store.scripts, store.keys, store.views, names)


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    with errors_as_messages():
        return uvloop.run(work)
