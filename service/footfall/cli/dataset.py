"""The data set that the settings name, for commands; first of all they say which one that is.

Only `footfall serve` and `footfall restore` make one: whoever looks at a place where there is none
has named another one than they thought. A command may look over the shoulder of a service that has
the private server; a restore may not, and is refused then. That somebody serves from a Redis of
your own, no restore can see beforehand.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from ..app import open_store
from ..config import Settings
from ..driver.private_server import InUse, is_there, url_of
from ..server.run import own_redis, redis_of
from ..store import HOW_TO_MAKE_ONE, NoDataSet, Store
from .console import aside

# Nobody waits for an answer, as visitors do.
PATIENCE_SECONDS = 30.0


def described(settings: Settings) -> str:
    """Where the data set is, without what lets one in. Raises BadSettings."""
    place = (
        own_redis(settings) if settings.redis_url else f"DATA_DIR {settings.data_dir.absolute()}"
    )
    return f"KEY_PREFIX {settings.key_prefix} in {place}"


@asynccontextmanager
async def existing(settings: Settings, *, may_be_older: bool = False) -> AsyncIterator[Store]:
    """The data set, open; a service may be using it.

    Raises NoDataSet, Mismatch, and what `target` does.
    """
    _say(settings)
    if not settings.redis_url and not is_there(settings.data_dir):
        place = settings.data_dir.absolute()
        raise NoDataSet(f"there is no data set in DATA_DIR {place}; {HOW_TO_MAKE_ONE}")
    async with _store(settings, shares=True) as store:
        await store.open(may_be_older=may_be_older)
        yield store


@asynccontextmanager
async def target(settings: Settings) -> AsyncIterator[Store]:
    """Where a data set may be made, or replaced: not opened.

    Raises InUse, BadSettings, CannotStart, StoreUnavailable.
    """
    _say(settings)
    async with _store(settings, shares=False) as store:
        yield store


@asynccontextmanager
async def _store(settings: Settings, *, shares: bool) -> AsyncIterator[Store]:
    async with AsyncExitStack() as stack:
        try:
            url, _ = await stack.enter_async_context(redis_of(settings))
        except InUse:
            if not shares:
                raise
            url = url_of(settings.data_dir)
        store = open_store(
            replace(
                settings,
                redis_timeout=max(PATIENCE_SECONDS, settings.redis_timeout),
                slow_seconds=0.0,
                # They may not know yet what was acknowledged.
                read_from_replicas=False,
            ),
            url,
        )
        stack.push_async_callback(store.close)
        yield store


def _say(settings: Settings) -> None:
    aside(f"Data set: {described(settings)}")
