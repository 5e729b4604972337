"""The data set in the settings, for commands, which print it first.

Only `footfall serve` and `footfall restore` create a data set; for other commands a missing one is
an error, as the settings are probably wrong. Commands may use the private server of a running
service. A restore may not, and is rejected then; with a REDIS_URL it cannot detect whether services
run.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import click
import uvloop

from ..app import create_site
from ..config import Settings
from ..data.store import HOW_TO_MAKE_ONE, NoDataSet, Store
from ..driver.private_aof import is_there
from ..driver.private_server import InUse, url_of
from ..driver.scheme import require_scheme
from ..errors import ServiceError, StoreUnavailable
from ..http.translations import translate
from ..model import Account, Caller, Viewer
from ..process.process import Process
from ..site import Site
from ..stores import open_process, open_store, own_redis, redis_of
from .console import aside, env_file, settings_of_environment
from .errors import errors_as_messages

T = TypeVar("T")

# The author of these changes in the log, with all permissions.
CONSOLE = Caller(Viewer(Account("console", "administrator", "Console", "")), door="command")
# REDIS_TIMEOUT for commands, for which no visitor waits.
TIMEOUT_SECONDS = 30.0


def described(settings: Settings) -> str:
    """Where the data set is, without credentials. Raises BadSettings."""
    place = (
        own_redis(settings) if settings.redis_url else f"DATA_DIR {settings.data_dir.absolute()}"
    )
    return f"KEY_PREFIX {settings.key_prefix} in {place}"


@asynccontextmanager
async def existing(settings: Settings) -> AsyncIterator[Store]:
    """Say which data set that is, and open it; a service may be using it.

    Raises NoDataSet, Mismatch, and what `target` raises.
    """
    _say(settings)
    async with _existing(settings) as (_, store):
        yield store


@asynccontextmanager
async def existing_site(settings: Settings) -> AsyncIterator[tuple[Store, Site]]:
    """An existing data set, and the site whose it is."""
    _say(settings)
    async with _existing(settings) as (process, store):
        yield store, create_site(settings, process, store)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    """An existing data set, for a command that has printed its name before."""
    async with _existing(settings) as (_, store):
        yield store


@asynccontextmanager
async def _existing(settings: Settings) -> AsyncIterator[tuple[Process, Store]]:
    if not settings.redis_url and not is_there(settings.data_dir):
        place = settings.data_dir.absolute()
        raise NoDataSet(
            f"there is no data set in DATA_DIR {place}; {HOW_TO_MAKE_ONE}, and --data names "
            "another directory"
        )
    async with _opened(settings, shares=True) as (process, store):
        await store.open()
        yield process, store


def with_site(work: Callable[[Site], Awaitable[T]], settings: Settings | None = None) -> T:
    """Run `work`, and wait for background work. The data set is the one
    in the settings, by default those of the environment."""
    chosen = settings or settings_of_environment()

    async def run() -> T:
        async with existing_site(chosen) as (_, site):
            done = await work(site)
            await site.process.background.finished()
            return done

    with errors_as_messages():
        try:
            return uvloop.run(run())
        except StoreUnavailable:
            # The operator sees why.
            raise
        except ServiceError as error:
            raise click.ClickException(translate(str(error), error.values, "en")) from error


@asynccontextmanager
async def target(settings: Settings) -> AsyncIterator[Store]:
    """A store that is not opened, for a data set to be made or replaced.

    Raises InUse, BadSettings, CannotStart, StoreUnavailable.
    """
    _say(settings)
    async with _opened(settings, shares=False) as (_, store):
        yield store


@asynccontextmanager
async def _opened(settings: Settings, *, shares: bool) -> AsyncIterator[tuple[Process, Store]]:
    async with AsyncExitStack() as stack:
        try:
            url, _ = await stack.enter_async_context(redis_of(settings))
        except InUse:
            if not shares:
                raise
            url = url_of(settings.data_dir)
        patient = replace(
            settings,
            redis_timeout=max(TIMEOUT_SECONDS, settings.redis_timeout),
            slow_seconds=0.0,
            # Replicas may not have all acknowledged changes yet.
            read_from_replicas=False,
        )
        process = open_process(patient, url)
        stack.push_async_callback(process.close)
        if settings.redis_url.startswith("rediss"):
            # A server without TLS would be silent for as long as a command may take.
            await require_scheme(settings.redis_url)
        try:
            yield process, open_store(patient, process)
        except StoreUnavailable as error:
            await require_scheme(settings.redis_url, error)
            raise


def _say(settings: Settings) -> None:
    aside(f"Data set: {described(settings)}")
    if env_file().is_absolute():
        aside(f"Settings: {env_file()}")
