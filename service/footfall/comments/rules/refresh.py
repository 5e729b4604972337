"""Shows readers changes of an account: its name, avatar, label or role.

Pages are cached by their versions alone, and show accounts as of their making. So when an account
changes, the versions of the pages on which it wrote are raised, in the background and at a bounded
pace. The change itself notes the account; after a crash, any service finds the note.
"""

import asyncio
import logging

from ...driver.replies import ErrorReply
from ...errors import StoreUnavailable
from ...plurals import number_of
from ..noun import Comments

log = logging.getLogger(__name__)

# Pages whose versions are raised together, and the pause until the next ones.
STEP_PAGES = 50
PACE_SECONDS = 0.1
# Notes of this age were left by a service that stopped.
LEFT_MS = 60_000


def start(comments: Comments, account: str, since_ms: int) -> None:
    """Start refreshing the pages of a changed account, in the background."""
    comments.process.background.start(_try(comments, account, since_ms))


async def resume(comments: Comments) -> None:
    """Do what others have left. Raises StoreUnavailable."""
    for account, since_ms in await comments.accounts.store.unseen(
        comments.process.clock() - LEFT_MS
    ):
        await refresh(comments, account, since_ms)


async def refresh(comments: Comments, account: str, since_ms: int) -> int:
    """Raise the versions of the pages on which an account wrote; returns their number.

    Raises StoreUnavailable.
    """
    number = 0
    async for pages in comments.index.pages_of(account, STEP_PAGES):
        if number:
            await asyncio.sleep(PACE_SECONDS)
        await asyncio.gather(
            *(comments.store.touch(page, comments.process.clock()) for page in pages)
        )
        number += len(pages)
    await comments.accounts.store.seen(account, since_ms)
    return number


async def _try(comments: Comments, account: str, since_ms: int) -> None:
    try:
        number = await refresh(comments, account, since_ms)
    except (StoreUnavailable, ErrorReply) as error:
        log.warning("readers do not see account %s as it is now (%s); trying again", account, error)
    else:
        log.info("readers see account %s as it is now, on %s", account, number_of(number, "page"))
