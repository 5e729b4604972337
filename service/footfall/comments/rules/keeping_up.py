"""Goes on behind the requests: the site follows what a crash or a lost reply has left behind, what
was deleted is removed when it cannot be put back any more, and the views of an hour are added up
when it is over; moves of pages are carried on. And the sum of all views is found, if it is not
known.

Every service does so. What two do at once has its effect once.
"""

import asyncio
import logging
from contextlib import suppress
from random import uniform

from ...driver.replies import ErrorReply
from ...errors import StoreUnavailable
from ...site import Site
from .page_moves import carry_on

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0


async def keep_up(site: Site) -> None:
    """Until it is cancelled. First it walks over all pages, for what nobody has noted."""
    has_walked = False
    while True:
        try:
            site.statistics.reports.forget()
            site.counting.clients.forget_others_than(site.statistics.reports.today())
            # Before the walk, which may take long: without a salt no visitor is counted. A damaged
            # one must not stop what comments need.
            with suppress(ErrorReply):
                await site.statistics.reports.keep_salts()
            if not has_walked:
                await site.comments.journal.follow_all()
                has_walked = True
            await site.comments.journal.catch_up()
            await site.comments.deletions.sweep_due(site.process.clock())
            await site.statistics.reports.keep_up()
            await site.statistics.views_ever.keep_up()
            await carry_on(site.comments)
        except (StoreUnavailable, ErrorReply):
            # Connections log outages, and /readyz reports them.
            pass
        except Exception:
            log.exception("what was left behind could not be looked at")
        # At random, so that services do not look all at once; nothing is kept secret by it.
        await asyncio.sleep(LOOK_SECONDS * uniform(0.8, 1))  # noqa: S311
