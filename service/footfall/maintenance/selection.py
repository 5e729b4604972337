"""Comments by id, page, status, author or text.

Without ids all comments of the site are read, newest first, in steps.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from ..comments.store.codec import mail_of, source_of
from ..comments.store.moderation import Moderation
from ..comments.store.site_index import SiteIndex
from ..ids import digest, is_id, split
from ..model import STATUSES, Status, StoredComment

# Comments that are read in one trip.
SELECTION_STEP_COMMENTS = 100


@dataclass(frozen=True, slots=True)
class CommentFilter:
    """Comments with one of these ids; or those for which all else is true that is given.

    `author` is an account's id or an email address, `words` are part of the text in any case.
    """

    ids: Sequence[str] = ()
    paths: Sequence[str] = ()
    statuses: Sequence[Status] = ()
    author: str = ""
    words: str = ""

    @property
    def is_everything(self) -> bool:
        return not (self.ids or self.paths or self.statuses or self.author or self.words)

    def matches(self, stored: StoredComment) -> bool:
        author = self.author.casefold()
        if self.statuses and stored.status not in self.statuses:
            return False
        if author and author not in (stored.body.account, mail_of(stored).casefold()):
            return False
        return self.words.casefold() in source_of(stored.body).casefold()


async def find(
    moderation: Moderation, site_index: SiteIndex, wanted: CommentFilter
) -> AsyncIterator[StoredComment]:
    """Newest first, or in the order of the ids. Raises StoreUnavailable."""
    pages = set(map(digest, wanted.paths))
    async for ids in _ids(site_index, wanted):
        near = [id for id in ids if not pages or split(id)[1] in pages]
        for comment in await moderation.whole(near):
            if wanted.matches(comment):
                yield comment


async def _ids(site_index: SiteIndex, wanted: CommentFilter) -> AsyncIterator[list[str]]:
    if wanted.ids:
        known = [id for id in dict.fromkeys(wanted.ids) if is_id(id)]
        for first in range(0, len(known), SELECTION_STEP_COMMENTS):
            yield known[first : first + SELECTION_STEP_COMMENTS]
        return
    behind = ""
    while True:
        statuses = wanted.statuses or STATUSES
        _, ids = await site_index.listed(statuses, size=SELECTION_STEP_COMMENTS, behind=behind)
        yield ids
        if len(ids) < SELECTION_STEP_COMMENTS:
            return
        behind = ids[-1]
