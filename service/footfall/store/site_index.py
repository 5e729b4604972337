"""What the site knows about all its pages: recent comments, the moderation queue, the totals.

These indexes live in another slot than the pages, so they are told of a change in a second step,
after the truth is stored. Changes may be told in any order, and twice, so the step may be repeated:
a comment is where its newest version says. A change that is told of more than HEARD_MS after it was
made may undo a newer one: nobody tries for longer than a minute or two, but a process may have been
frozen. That, and a step that never came, `footfall check --repair` makes up for by the pages.
"""

from ..driver.client import Connected
from ..driver.keys import Keys
from ..driver.scripts import Scripts
from ..model import Viewer
from .comments import Change
from .ids import created_ms, split
from .indexes import DERIVED, SITE_INDEXES

# Twenty times the most that anybody may ask for: withdrawn comments leave gaps, not refilled.
MAX_RECENT_COMMENTS = 1000
# How long what was announced is known; clocks of services may differ by as much.
HEARD_MS = 3_600_000


class SiteIndex:
    def __init__(self, redis: Connected, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        # Changes of pages are waited for, and what is announced is not.
        self.may_be_taken_back = redis.wait is not None
        self._announce = scripts["site/announce"]
        self._settle = scripts["site/settle"]

    async def announce(self, change: Change, now_ms: int) -> int:
        """Tell the indexes; the site's count of approved comments now."""
        _, total = await self._announce(
            **{name: self._keys.site(name) for name in (*SITE_INDEXES, *DERIVED)},
            own=self._keys.own(change.account),
            id=change.id,
            at=created_ms(change.id),
            status=change.status,
            owner=bool(change.account),
            page=split(change.id)[1],
            version=change.version,
            visible=change.visible,
            author=change.author,
            gained=change.gained,
            change=change.name,
            keep=MAX_RECENT_COMMENTS,
            before=now_ms - HEARD_MS,
        )
        return int(total)

    async def settle(self, page: str, version: int, visible: int) -> None:
        """Write down a page's count of approved comments; below zero, that there is no page."""
        totals = self._keys.site("totals")
        await self._settle(totals=totals, page=page, version=version, visible=visible)

    async def forget(self, id: str, account: str) -> None:
        """Take a comment that is gone out of every index."""
        indexes = [self._keys.site(name) for name in ("recent", "waiting", "spam")]
        indexes.append(self._keys.own(account))
        await self._redis.change(*(("ZREM", key, id) for key in indexes))

    async def total(self, viewer: Viewer) -> int:
        """Approved comments of the site, and the viewer's own held ones."""
        questions = [("GET", self._keys.site("total"))]
        if viewer.account:
            questions.append(("ZCARD", self._keys.own(viewer.account.id)))
        counts = await self._redis.ask(*questions)
        return sum(int(count or 0) for count in counts)

    async def tallies(self, authors: list[str]) -> dict[str, int]:
        """How many approved comments each author has on the site."""
        if not authors:
            return {}
        (counts,) = await self._redis.ask(("HMGET", self._keys.site("authors"), *authors))
        # One that is below zero waits for a birth to be announced.
        return {author: max(0, int(n or 0)) for author, n in zip(authors, counts, strict=True)}
