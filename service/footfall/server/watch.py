"""Each worker's background check of Redis."""

import asyncio
import logging
from random import uniform

from ..accounts.rules import banning
from ..comments.rules import refresh
from ..driver.replies import ErrorReply
from ..errors import StoreUnavailable
from ..limits.floods import ADVICE, Floods
from ..process.process import Process
from ..site import Site

log = logging.getLogger(__name__)

# Between two checks of Redis, and between two looks at it while something is wrong.
WATCH_SECONDS = 60
LOOK_SECONDS = 1
# Clients in one line of the log.
MOST_LOGGED = 3


async def keep_watching(site: Site) -> None:
    stats = site.process.redis.stats
    noted = set[str]()
    outage = stats.outage("Redis could not be checked", "Redis can be checked again")
    while True:
        # At random, so that not all workers query at the same time; no secret depends on it.
        await asyncio.sleep(WATCH_SECONDS * uniform(0.8, 1))  # noqa: S311
        try:
            await site.process.safety.check(logs=stats.logs_outages)
            # First, as it mends a damaged number: each within hours.
            await site.counting.numbers.recount_one()
            await site.counting.quota.read()
            await site.comments.room.read()
            # The numbers before it change.
            now = {warning.partition(": ")[2]: warning for warning in site.warnings}
            for advice in now.keys() - noted:
                log.warning("%s", now[advice])
            noted = {*now}
            if site.process.metrics.is_first:
                await tell_floods(site.data.floods, site.process.clock())
            await refresh.resume(site.comments)
            await banning.tidy(site.accounts)
            outage.ends()
        except StoreUnavailable:
            # Connections log outages, and /readyz reports them.
            pass
        except ErrorReply as error:
            outage.goes_on(error)
        except Exception:
            log.exception("Redis could not be checked")


async def tell_floods(floods: Floods, now_ms: int) -> None:
    """A line in the log. Raises StoreUnavailable."""
    if lately := await floods.lately(now_ms):
        log.warning("who floods: %s. %s", "; ".join(map(str, lately[:MOST_LOGGED])), ADVICE)


async def keep_looking(process: Process, floods: Floods) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            await process.safety.look(logs=process.redis.stats.logs_outages)
            if refusals := process.refusals.take():
                await floods.add(refusals, process.clock())
        except StoreUnavailable:
            # These refusals are in no list then, but in the metrics.
            pass
        except Exception:
            log.exception("Redis could not be looked at")
