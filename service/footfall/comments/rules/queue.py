"""The moderation queue: comments of the whole site, newest first, for administrators.

Everybody with an account may look for their own.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from ...errors import BadRequest
from ...ids import is_id
from ...model import Lookups, Status, StoredComment, Viewer
from ..noun import Comments
from .comments import lookups
from .search import has_words, is_caught_by, with_authors

# Of a search, in one request, and in one step of it.
MAX_SEARCHED_COMMENTS = 1000
QUEUE_STEP_COMMENTS = 100
# Ids of what may be new in a list.
MAX_NEWS = 100
# A search ends early when it has read more bytes of bodies than this for each comment.
SEARCHED_COMMENT_BYTES = 1 << 13


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
    comments: Comments, statuses: Sequence[Status], viewer: Viewer, *, number: int, size: int
) -> QueuePage:
    """Page `number`, from 1."""
    first = (number - 1) * size
    total, ids = await comments.index.listed(statuses, first=first, size=size)
    shown = await comments.store.by_ids(ids) if ids else []
    live = await lookups(comments, shown, viewer)
    return QueuePage(shown, live, total, *await comments.index.held())


async def search(
    comments: Comments,
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
    wanted = Wanted(statuses, words, account)
    matching, searched = list[StoredComment](), 0
    looking = steps(comments, wanted, after, most=MAX_SEARCHED_COMMENTS)
    async with aclosing(looking) as looked_at:
        async for step in looked_at:
            matching += step.matching
            searched += step.searched
            after = step.after
    shown = matching[(number - 1) * size : number * size]
    waiting, spam = (0, 0)
    if viewer.is_moderator:
        waiting, spam = await comments.index.held()
    live = await lookups(comments, shown, viewer)
    return QueuePage(shown, live, len(matching), waiting, spam, after, searched)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Comments of these statuses that have these words (search.py), are by this account, and would
    be caught by a ban of this; "" for any."""

    statuses: Sequence[Status]
    words: str = ""
    account: str = ""
    banned: str = ""

    @property
    def is_search(self) -> bool:
        """Have comments to be read to know which of them match?"""
        return bool(self.words or self.account or self.banned)


@dataclass(frozen=True, slots=True)
class QueuePart:
    """The next part of a list: `after` is the id after which the following part starts, "" at the
    end.

    `total` is the number in all, None if only a search could tell, which has read `searched`
    comments for this part.
    """

    comments: Sequence[StoredComment]
    live: Lookups
    waiting: int
    spam: int
    total: int | None
    after: str = ""
    searched: int = 0


async def part(
    comments: Comments, wanted: Wanted, viewer: Viewer, *, size: int, after: str = ""
) -> QueuePart:
    """The next `size` comments after the one with the id `after`, which may have been deleted.

    Whatever is decided and whatever arrives meanwhile, none is skipped and none repeated. A search
    reads at most MAX_SEARCHED_COMMENTS per part. Raises BadRequest.
    """
    matching, searched, total = list[StoredComment](), 0, None
    looking = steps(comments, wanted, after, size, most=MAX_SEARCHED_COMMENTS)
    async with aclosing(looking) as looked_at:
        async for step in looked_at:
            matching += step.matching
            searched += step.searched
            after = step.after
            total = None if wanted.is_search else step.total
            if len(matching) >= size:
                break
    if len(matching) > size:
        matching = matching[:size]
        after = matching[-1].id
    waiting, spam = (0, 0)
    if viewer.is_moderator:
        waiting, spam = await comments.index.held()
    live = await lookups(comments, matching, viewer)
    return QueuePart(matching, live, waiting, spam, total, after, searched)


async def by_ids(comments: Comments, ids: Sequence[str], viewer: Viewer) -> QueuePart:
    """These comments as they are now, without those that are gone; the end of a list."""
    stored = await comments.store.by_ids([id for id in ids if is_id(id)]) if ids else []
    live = await lookups(comments, stored, viewer)
    return QueuePart(stored, live, *await comments.index.held(), None)


@dataclass(frozen=True, slots=True)
class QueueNews:
    """The newest comments of a list, by id, and their number."""

    ids: Sequence[str]
    total: int
    waiting: int
    spam: int


async def news(comments: Comments, statuses: Sequence[Status]) -> QueueNews:
    """Changes of a list since it was loaded. A comment may arrive late, so a time cannot tell what
    is new: ids can."""
    total, ids = await comments.index.listed(statuses, size=MAX_NEWS)
    return QueueNews(ids, total, *await comments.index.held())


@dataclass(frozen=True, slots=True)
class SearchStep:
    """Comments that were looked at together, those of them that match, and where to continue: "" at
    the end. `total` are of these statuses."""

    matching: Sequence[StoredComment]
    searched: int
    total: int
    after: str


async def steps(
    comments: Comments, wanted: Wanted, after: str, size: int = 0, *, most: int
) -> AsyncGenerator[SearchStep]:
    """Look at comments, newest first, at `most` and their usual bytes; `size` at a time where all
    match. Raises BadRequest."""
    if after and not is_id(after):
        raise BadRequest({"after": "after need the objectId of a comment"})
    if wanted.is_search or not size:
        size = QUEUE_STEP_COMMENTS
    searched, bytes_left = 0, most * SEARCHED_COMMENT_BYTES
    while searched < most and bytes_left >= 0:
        total, ids = await comments.index.listed(wanted.statuses, size=size, behind=after)
        shown = await comments.store.by_ids(ids) if ids else []
        searched += len(ids)
        bytes_left -= sum(len(comment.body.content) for comment in shown)
        after = ids[-1] if len(ids) == size else ""
        yield SearchStep(await matching(comments, wanted, shown), len(ids), total, after)
        if not after:
            return


async def matching(
    comments: Comments, wanted: Wanted, stored: Sequence[StoredComment]
) -> list[StoredComment]:
    """Which of these comments are wanted."""
    # The site's indexes follow a comment's page: one that was decided just now may be in them.
    stored = [comment for comment in stored if comment.status in wanted.statuses]
    if wanted.account:
        stored = [comment for comment in stored if comment.body.account == wanted.account]
    tests = [has_words(wanted.words)] if wanted.words else []
    if wanted.banned:
        tests.append(is_caught_by(wanted.banned))
    if not (tests and stored):
        return stored
    read = await with_authors(comments, stored)

    def found() -> list[StoredComment]:
        whole = ((comment, read.get(comment.id)) for comment in stored)
        return [comment for comment, it in whole if it and all(test(it) for test in tests)]

    # What a ban catches takes as long to find as for a new comment.
    return await comments.process.renderer.run_behind(found) if wanted.banned else found()
