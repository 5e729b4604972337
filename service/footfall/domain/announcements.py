"""Telling the site's indexes what was done to a page: the second step of every change of a comment.

Once the page is changed, no failure of this step turns the answer into an error: it is repeated
behind the request.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from ..driver.replies import ErrorReply
from ..errors import StoreUnavailable
from ..model import Comment, Shown, Status
from ..store.comments import Change, Standing
from ..store.ids import split
from .service import Service

log = logging.getLogger(__name__)

# Between attempts to announce a comment that is stored, or may be, to the site's indexes.
ANNOUNCE_DELAYS_SECONDS = (1, 2, 4, 8, 16, 32)


async def announce(service: Service, change: Change) -> None:
    """Announce a change to the site's indexes; if that fails, try again in the background.

    The change itself is durable, its announcement may not be: a failover can lose it. Where that is
    possible, it is announced once more a little later.
    """
    attempt = partial(_announce, service, change)
    try:
        await attempt()
        is_over = not service.site_index.may_be_taken_back
    except (StoreUnavailable, ErrorReply):
        is_over = False
    if not is_over:
        service.background.start(_try_again(change.id, attempt))


def announce_if_stored(service: Service, comment: Comment, status: Status) -> None:
    """The reply to a comment's birth was lost: announce it in the background if it is stored."""
    attempt = partial(_announce_if_stored, service, comment, status)
    service.background.start(_try_again(comment.id, attempt))


def announce_as_it_is(service: Service, shown: Shown, wanted: Standing) -> None:
    """The reply to a change was lost: announce where the comment stands, and later where it was to
    stand. What its author's tally has missed, `footfall check --repair` finds."""
    attempt = partial(_announce_as_it_is, service, shown, wanted)
    service.background.start(_try_again(shown.id, attempt))


async def _announce(service: Service, change: Change) -> bool:
    await service.site_index.announce(change, service.clock())
    if service.outbox.is_on:
        service.background.start(_collect(service, split(change.id)[1]))
    return True


async def _collect(service: Service, page: str) -> None:
    """Bring what happened on a page to whoever tells people; a worker finds what is left here."""
    with contextlib.suppress(StoreUnavailable, ErrorReply):
        await service.outbox.collect(page, service.clock())


async def _announce_if_stored(service: Service, comment: Comment, status: Status) -> bool:
    change = await service.comments.published(comment, status)
    return change is not None and await _announce(service, change)


async def _announce_as_it_is(service: Service, shown: Shown, wanted: Standing) -> bool:
    version, now, visible = await service.comments.standing(shown.id)
    await _announce(service, Change(shown.id, now, version, visible, shown.body.account, "", 0))
    return now == wanted


async def _try_again(id: str, attempt: Callable[[], Awaitable[bool]]) -> None:
    """Try until it succeeds, for a minute: a comment that is not stored by then never will be."""
    failed = False
    for delay in ANNOUNCE_DELAYS_SECONDS:
        await asyncio.sleep(delay)
        try:
            if await attempt():
                return
            failed = False
        except (StoreUnavailable, ErrorReply):
            failed = True
    if failed:
        log.error(
            "comment %s may be stored, but it is not in the site's indexes: "
            "run `footfall check --repair`",
            id,
        )
