"""Background recovery after crashes and lost replies, and periodic work.

The site follows journals that a crash interrupted. Deleted comments are removed once they can no
longer be restored, the views of a past hour are summed, and moves of pages continue. Every service
does this; doing it twice has no further effect.
"""

import asyncio
import logging
from contextlib import suppress
from random import uniform

from ..comments.rules.held_sweep import HeldSweep
from ..comments.rules.page_moves import carry_on
from ..driver.replies import ErrorReply
from ..errors import StoreUnavailable
from ..site import Site

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0


async def keep_up(site: Site) -> None:
    """Runs until it is cancelled. First it checks all pages for changes that were never noted."""
    has_walked, sweep = False, HeldSweep(site.comments)
    while True:
        try:
            site.statistics.keeper.forget_salts()
            site.counting.clients.forget_others_than(site.statistics.reports.today())
            # Before the walk, which may take long: without a salt no visitor is counted. A damaged
            # one must not stop what comments need.
            with suppress(ErrorReply):
                await site.statistics.keeper.keep_salts()
            if not has_walked:
                await site.comments.journal.follow_all()
                has_walked = True
            await site.comments.journal.catch_up()
            await site.comments.deletions.sweep_due(site.process.clock())
            await site.statistics.keeper.keep_hours()
            await site.statistics.views_ever.keep_up()
            if site.statistics.reports.is_on:
                await site.statistics.live.keep_up()
            await carry_on(site.comments)
            await sweep.step()
        except (StoreUnavailable, ErrorReply):
            # Connections log outages, and /readyz reports them.
            pass
        except Exception:
            log.exception("what was left behind could not be looked at")
        # At random, so that services do not all look at the same moment; no secret depends on it.
        await asyncio.sleep(LOOK_SECONDS * uniform(0.8, 1))  # noqa: S311
