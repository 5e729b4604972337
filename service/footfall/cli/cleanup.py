"""Removes the counters of `footfall bench` and `verify` through the service's Redis.

The API cannot remove counters. Before anything is counted, this checks that Redis is the one in
which the server counts: a counter is set there, and the server must read the same number. So
nothing is left in another server.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

import click
import uvloop

from ..config import Settings
from ..counters import view_counter
from ..data.store import Store
from ..driver.private_server import CannotStart
from ..driver.replies import ErrorReply
from ..errors import StoreUnavailable
from ..loadtest.interrupt import interruptible, until_interrupted
from ..loadtest.measurement import Cleanup, Report
from ..loadtest.target import CannotMeasure, Target
from ..maintenance.prune import remove_named
from ..plurals import number_of
from .console import aside, settings_of_environment
from .dataset import described, existing, opened
from .errors import errors_as_messages

# A replica that the server reads from may lag a little.
SEEN_SECONDS = 2.0
SEEN_POLL_SECONDS = 0.2
# Redis may be starting again just when the measurement is over, or the service with it.
RETRY_SECONDS = 30.0
RETRY_PAUSE_SECONDS = 0.5
# The server may still count a request that it has not answered.
LATE_SECONDS = 2.0

_HELP = (
    "The counters are removed again through the Redis of the service: give its REDIS_URL or "
    "DATA_DIR, and its KEY_PREFIX, in the environment, in .env or by --data. With --leave-behind "
    "nothing is removed, and no Redis is needed"
)


@contextlib.contextmanager
def counters_removed(report: Report, *, leave_behind: bool) -> Iterator[None]:
    """Around the measurement: check before it that the counters can be removed, and remove them
    afterwards, also after an interruption. The report gets the result.

    Raises ClickException, before anything is counted. With `leave_behind` the counters stay.
    """
    with interruptible():
        settings = None if leave_behind else _settings_of(report.target, report.namespace)
        try:
            yield
        except BaseException:
            # The report is no longer printed.
            aside(_cleanup(report, settings).line)
            raise
        report.cleanup = _cleanup(report, settings)


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
            await _removed(store, [path])


def _cleanup(report: Report, settings: Settings | None) -> Cleanup:
    if settings is None:
        return Cleanup(_left_behind(report), is_as_asked=True)
    try:
        # One more signal does not keep the counters from being removed.
        with until_interrupted(lambda: None):
            removed = _run(_remove_all(settings, report))
            _require_none(report)
    except (click.ClickException, KeyboardInterrupt) as error:
        why = getattr(error, "message", "Interrupted before all of them were removed")
        return Cleanup(f"{_left_behind(report)}\n{why}", is_as_asked=False)
    line = f"Removed: {number_of(removed, 'counter')}, {report.namespace}*"
    return Cleanup(line, is_as_asked=True)


def _require_none(report: Report) -> None:
    """Raises ClickException if the server still has counts: it may have been restarted with another
    Redis. A server that does not answer is not queried again."""
    deadline = time.monotonic() + SEEN_SECONDS
    with contextlib.suppress(CannotMeasure):
        while any(report.target.counted(report.ledger.paths)):
            if time.monotonic() > deadline:
                raise click.ClickException(
                    f"{report.target.address} no longer counts in the Redis of these settings, and "
                    "still has some of them"
                )
            time.sleep(SEEN_POLL_SECONDS)


def _left_behind(report: Report) -> str:
    paths = number_of(len(report.ledger.paths), "path")
    line = f"Left behind: counters of up to {paths}, {report.namespace}*"
    if report.target.footfall is None:
        return line
    return f"{line}; remove them with: footfall counters delete --yes '{report.namespace}*'"


async def _remove_all(settings: Settings, report: Report) -> int:
    deadline, removed = time.monotonic() + RETRY_SECONDS, 0
    while True:
        try:
            async with opened(settings) as store:
                removed += await _removed(store, report.ledger.paths)
                if report.is_unsure:
                    await asyncio.sleep(LATE_SECONDS)
                    removed += await _removed(store, report.ledger.paths)
                return removed
        except (StoreUnavailable, ErrorReply, CannotStart, OSError):
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(RETRY_PAUSE_SECONDS)


async def _removed(store: Store, paths: Sequence[str]) -> int:
    names = [view_counter(path) for path in paths]
    return await remove_named(store.redis, store.scripts, store.keys, store.views, names)


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    with errors_as_messages():
        return uvloop.run(work)
