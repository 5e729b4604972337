"""Search for readers: in what the public sees of approved comments, and in nothing else."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import BadRequest, NotFound
from ...ids import is_id
from ...model import PUBLIC, Caller, Lookups, StoredComment
from ...render.reading import plain, texts_of
from ..noun import Comments
from ..store import codec
from .comments import lookups

# A search takes as long as so many pages.
TOKENS = 50
# Comments that are read for one answer, at a time, and their bytes.
MAX_SEARCHED, STEP, MAX_BYTES = 500, 100, 2 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """Matching comments, newest first; `after` is where to continue, "" at the end."""

    comments: Sequence[StoredComment]
    live: Lookups
    searched: int
    after: str


async def search(
    comments: Comments, words: str, path: str | None, caller: Caller, *, size: int, after: str
) -> Found:
    """The next `size` approved comments, of a page or of the site, that have all these words in
    their text, as links, or in their author's name. Raises NotFound if readers may not search,
    BadRequest, TooMany."""
    if not comments.rules.readers_search:
        raise NotFound()
    if after and not is_id(after):
        raise BadRequest({"after": "after need the objectId of a comment"})
    await comments.counting.charge(caller.address, TOKENS)
    sought = plain(words).casefold().split()
    found, searched, bytes_left = list[StoredComment](), 0, MAX_BYTES
    while searched < MAX_SEARCHED and bytes_left > 0 and len(found) < size:
        _, ids = await comments.index.listed(("approved",), size=STEP, behind=after)
        some = await comments.store.by_ids(ids) if ids else []
        found += await _matching(comments, sought, path, some)
        searched += len(ids)
        bytes_left -= sum(len(comment.body.content) for comment in some)
        after = ids[-1] if len(ids) == STEP else ""
        if not after:
            break
    if len(found) > size:
        found = found[:size]
        after = found[-1].id
    return Found(found, await lookups(comments, found, PUBLIC), searched, after)


async def _matching(
    comments: Comments, sought: Sequence[str], path: str | None, some: Sequence[StoredComment]
) -> list[StoredComment]:
    # The index follows a comment's page: one that was held just now may be in it.
    public = [each for each in some if each.status == "approved" and path in (None, each.path)]
    ids = {each.body.account for each in public} - {""}
    accounts = await comments.accounts.store.by_ids(ids) if ids else {}

    def has_all(stored: StoredComment) -> bool:
        try:
            comment = codec.comment(stored._replace(private=b""))
        except (TypeError, ValueError):
            return False
        account = accounts.get(comment.account)
        # As accounts are called now.
        nick = account.nick if account else "" if comment.account else comment.nick or ""
        text = "\n".join((plain(nick), *texts_of("", comment.html))).casefold()
        return all(word in text for word in sought)

    # In a thread: a hundred long ones take as long as many pages.
    return await asyncio.to_thread(lambda: [each for each in public if has_all(each)])
