"""The moderation queue: comments of the whole site, newest first, for administrators.

Everybody with an account may look for their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import BadRequest
from ..model import Lookups, Status, StoredComment, Viewer
from ..store.codec import source_of
from ..store.ids import is_id
from .comments import lookups
from .site import Site

# Of a search, in one request, and in one step of it.
MAX_SEARCHED_COMMENTS = 1000
QUEUE_STEP_COMMENTS = 100
# A search ends early when it has read so many bytes of bodies.
MAX_SEARCHED_BYTES = 1 << 23


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Some of the queue: `total` comments match, of those that were looked at.

    `after` is the id of the last one that was looked at, empty if that was the end of them all;
    `searched` is how many that were, 0 where nothing was searched for.
    """

    comments: Sequence[StoredComment]
    live: Lookups
    total: int
    waiting: int
    spam: int
    after: str = ""
    searched: int = 0


async def page(
    site: Site, statuses: Sequence[Status], viewer: Viewer, *, number: int, size: int
) -> QueuePage:
    """Page `number`, from 1."""
    first = (number - 1) * size
    total, ids = await site.site_index.listed(statuses, first=first, size=size)
    shown = await site.comments.by_ids(ids) if ids else []
    live = await lookups(site, shown, viewer)
    return QueuePage(shown, live, total, *await site.site_index.held())


async def search(
    site: Site,
    statuses: Sequence[Status],
    viewer: Viewer,
    *,
    number: int,
    size: int,
    words: str = "",
    account: str = "",
    after: str = "",
) -> QueuePage:
    """Page `number` of those that have these words, in any case, and are by this account.

    No more are looked at than MAX_SEARCHED_COMMENTS, the newest ones, or those older than the
    comment with the id `after`. Raises BadRequest.
    """
    if after and not is_id(after):
        raise BadRequest({"after": "after need the objectId of a comment"})
    matches = _matcher(words, account)
    found, searched, bytes_left = list[StoredComment](), 0, MAX_SEARCHED_BYTES
    while True:
        _, ids = await site.site_index.listed(statuses, size=QUEUE_STEP_COMMENTS, behind=after)
        shown = await site.comments.by_ids(ids) if ids else []
        found += filter(matches, shown)
        searched += len(ids)
        bytes_left -= sum(len(each.body.content) for each in shown)
        is_end = len(ids) < QUEUE_STEP_COMMENTS
        after = "" if is_end else ids[-1]
        if is_end or bytes_left < 0 or searched >= MAX_SEARCHED_COMMENTS:
            break
    shown = found[(number - 1) * size : number * size]
    waiting, spam = (0, 0)
    if viewer.is_administrator:
        waiting, spam = await site.site_index.held()
    live = await lookups(site, shown, viewer)
    return QueuePage(shown, live, len(found), waiting, spam, after, searched)


def _matcher(words: str, account: str) -> Callable[[StoredComment], bool]:
    sought = words.casefold()

    def matches(shown: StoredComment) -> bool:
        if account and shown.body.account != account:
            return False
        return sought in source_of(shown.body).casefold()

    return matches
