"""Opens the store at startup: waits for a Redis that is not up yet, rejects an unsafe one."""

import asyncio
import logging

from ..config import Settings
from ..data.store import Store
from ..driver import private_aof
from ..driver.loading import Loading
from ..driver.replies import ErrorReply, sentence
from ..driver.safety import Safety
from ..driver.scheme import require_scheme
from ..driver.url import advised, may_pass
from ..errors import StoreUnavailable
from ..plurals import number_of
from ..process.process import Process

log = logging.getLogger(__name__)

# Between two attempts to reach Redis.
RETRY_SECONDS = 0.25


async def opened(process: Process, store: Store, settings: Settings, *, creates: bool) -> None:
    """Open the store; wait for Redis up to REDIS_WAIT, and longer while it loads its data.

    Raises Unsafe if GUARD rejects this Redis, and StoreUnavailable.

    With `creates` it creates the data set if there is none, checks GUARD and logs problems. The
    parent does that once, and its workers do not.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + settings.redis_wait
    is_logged = False
    loading = Loading("Redis")
    while True:
        try:
            return await _open(process.safety, store, settings, creates=creates)
        except StoreUnavailable as error:
            if settings.redis_wait and await _loads(error, process.safety, loading):
                deadline = loop.time() + settings.redis_wait
            is_over = loop.time() > deadline or not may_pass(error.__cause__)
            if not is_logged:
                await require_scheme(settings.redis_url, error)
            if is_over:
                raise
            if not is_logged:
                text = advised(sentence(error))
                waits = number_of(settings.redis_wait, "second")
                log.warning("%s; waiting for it for %s", text, waits)
                is_logged = True
            await asyncio.sleep(RETRY_SECONDS)


async def _open(safety: Safety, store: Store, settings: Settings, *, creates: bool) -> None:
    await safety.check(logs=settings.guard == "warn" and creates)
    if creates:
        safety.refuse(is_strict=settings.guard == "refuse")
    if creates:
        await store.create()
    else:
        await store.open()
    if creates and not settings.redis_url:
        private_aof.mark(settings.data_dir)
    try:
        if creates:
            # Any group tells whether this user may count its counters.
            await store.numbers.recount_one()
        await store.quota.read()
        if store.moment is None:
            # Before the first of these views.
            await store.views_ever.note_undated()
    except StoreUnavailable:
        # An unreachable node of a Cluster must not prevent serving the others' data.
        if not store.redis.is_cluster:
            raise
    if creates and await store.accounts.lacks_administrator():
        log.warning("%s", settings.account_rules.vacancy)


async def _loads(error: StoreUnavailable, safety: Safety, loading: Loading) -> bool:
    """Does a server of this Redis load its data? Then it is logged now and then how far it is."""
    if not isinstance(error.__cause__, ErrorReply) or error.__cause__.code != "LOADING":
        return False
    try:
        return any([loading.goes_on(facts) for facts in (await safety.facts()).values() if facts])
    except (StoreUnavailable, ErrorReply):
        return False
