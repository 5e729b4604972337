"""The comments of a feed: the newest of the site, of a page, or replies to an account.

Feed readers query it now and then, so this costs some round trips instead of an index: on a busy
site only the newest SEARCHED_COMMENTS are searched for an old thread or for replies to an account.
"""

from collections.abc import Sequence

from ...ids import digest
from ...model import PUBLIC, Lookups, StoredComment
from ..noun import Comments
from ..store.codec import parent_of
from ..store.recent import Recent
from .comments import lookups, recent

# Comments of the site that are searched without an index, and how many of them are read.
SEARCHED_COMMENTS = 1000
READ_COMMENTS = 200


async def candidates(recent: Recent, count: int, path: str, account: str) -> tuple[str, ...]:
    """Ids of comments that a feed may have, newest first. Raises StoreUnavailable."""
    if account:
        ids = await recent.near(account, SEARCHED_COMMENTS)
        return tuple(ids[:READ_COMMENTS])
    if path:
        return tuple(await recent.of_page(digest(path), count, SEARCHED_COMMENTS))
    return (await recent.newest(count, PUBLIC)).ids


async def read(
    comments: Comments, ids: Sequence[str], count: int, account: str
) -> tuple[tuple[int, ...], Sequence[StoredComment], Lookups]:
    """The comments themselves, and the versions of their pages. Raises StoreUnavailable."""
    if not account:
        return await recent(comments, ids, count, PUBLIC)
    versions, stored = await comments.recent.read(ids, READ_COMMENTS, PUBLIC)
    replies = (await _replies_to(comments.recent, account, stored))[:count]
    return versions, replies, await lookups(comments, replies, PUBLIC)


async def _replies_to(
    recent: Recent, account: str, stored: Sequence[StoredComment]
) -> list[StoredComment]:
    parents = {parent for comment in stored if (parent := parent_of(comment.body))}
    _, above = await recent.read(sorted(parents), READ_COMMENTS, PUBLIC)
    own = {comment.id for comment in above if comment.body.account == account}
    return [
        comment
        for comment in stored
        if parent_of(comment.body) in own and comment.body.account != account
    ]
