"""The site's indexes over all pages: recent comments, the moderation queue, the totals.

They are in another slot than the pages, so a change is announced to them in a second step, after it
is stored on its page. Announcements may come in any order, and twice: the change with the newest
version decides where a comment stands. Only an announcement that comes more than ANNOUNCED_MS after
its change may undo a newer one; attempts end after a minute or two, but a process may have been
frozen. `footfall check --repair` corrects that, and what was never announced, from the pages.
"""

from collections.abc import AsyncIterator, Sequence

from ..driver.client import Connected
from ..driver.keys import Keys
from ..driver.replies import scored
from ..driver.scripts import Scripts
from ..model import STATUSES, Status, Viewer
from .comments import Change
from .ids import created_ms, split
from .indexes import DERIVED, SITE_INDEXES

INDEX_OF = dict(zip(STATUSES, SITE_INDEXES, strict=True))
# How long the site remembers announcements; services' clocks may differ by as much.
ANNOUNCED_MS = 3_600_000


class SiteIndex:
    def __init__(self, redis: Connected, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        # Changes of pages wait until they are durable, their announcements do not.
        self.may_be_taken_back = redis.wait is not None
        self._announce = scripts["site/announce"]
        self._settle = scripts["site/settle"]
        self._list = scripts["site/list"]

    async def announce(self, change: Change, now_ms: int) -> int:
        """Announce a change; returns the site's number of approved comments."""
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
            before=now_ms - ANNOUNCED_MS,
            log=self._keys.site("log"),
            entry=change.entry,
        )
        return int(total)

    async def settle(self, page: str, version: int, visible: int) -> None:
        """Set a page's number of approved comments; below zero, remove the page."""
        totals = self._keys.site("totals")
        await self._settle(totals=totals, page=page, version=version, visible=visible)

    async def forget(self, id: str, account: str) -> None:
        """Remove a comment that does not exist any more from every index."""
        indexes = [self._keys.site(name) for name in ("recent", "waiting", "spam")]
        indexes.append(self._keys.own(account))
        await self._redis.change(*(("ZREM", key, id) for key in indexes))

    async def note_page(self, account: str, page: str) -> None:
        """Write down that an account writes on a page, before it does."""
        await self._redis.change(("ZADD", self._keys.pages_of(account), 0, page))

    async def disown(self, id: str, account: str) -> None:
        """Take a comment out of the list of an account's held ones."""
        await self._redis.change(("ZREM", self._keys.own(account), id))

    async def forget_author(self, account: str, names: Sequence[str]) -> None:
        """Forget under which pages an account wrote, and the tallies of these authors."""
        site = self._keys.site
        commands: list[tuple[object, ...]] = []
        if account:
            commands.append(("DEL", self._keys.pages_of(account), self._keys.own(account)))
        if names:
            commands.append(("ZREM", site("authors"), *names))
            commands.append(("HDEL", site("faces"), *names))
        await self._redis.change(*commands)

    async def pages_of(self, account: str, step: int) -> AsyncIterator[list[str]]:
        """The pages on which an account wrote, so many at a time; none that was there all along is
        left out."""
        key, last = self._keys.pages_of(account), "-"
        while True:
            question = ("ZRANGE", key, last, "+", "BYLEX", "LIMIT", 0, step)
            (found,) = await self._redis.ask_masters(question)
            if not found:
                return
            yield [page.decode() for page in found]
            last = f"({found[-1].decode()}"

    async def listed(
        self, statuses: Sequence[Status], *, first: int = 0, size: int, behind: str = ""
    ) -> tuple[int, list[str]]:
        """How many comments of these statuses there are, and the ids of some, newest first.

        Those at `first`, or with an id `behind` those that are older than that comment.
        """
        total, *ids = await self._list(
            indexes=[self._keys.site(INDEX_OF[status]) for status in statuses],
            first=first,
            size=size,
            behind=behind,
            at=created_ms(behind) if behind else 0,
        )
        return int(total), [id.decode() for id in ids]

    async def held(self) -> tuple[int, int]:
        """How many comments are waiting, and how many are spam."""
        waiting, spam = await self._redis.ask(
            *(("ZCARD", self._keys.site(name)) for name in ("waiting", "spam"))
        )
        return int(waiting), int(spam)

    async def total(self, viewer: Viewer) -> int:
        """How many approved comments the site has, and held ones of the viewer's own."""
        questions = [("GET", self._keys.site("total"))]
        if viewer.account:
            questions.append(("ZCARD", self._keys.own(viewer.account.id)))
        counts = await self._redis.ask(*questions)
        return sum(int(count or 0) for count in counts)

    async def tallies(self, authors: list[str]) -> dict[str, int]:
        """How many approved comments each author has on the site."""
        if not authors:
            return {}
        (counts,) = await self._redis.ask(("ZMSCORE", self._keys.site("authors"), *authors))
        # A tally is below zero when a hold was announced before the new comment itself.
        return {author: max(0, int(n or 0)) for author, n in zip(authors, counts, strict=True)}

    async def ranking(self, size: int) -> list[tuple[str, int, str]]:
        """Authors of most approved comments: each with their number and the id of one of them."""
        key = self._keys.site("authors")
        (found,) = await self._redis.ask(("ZRANGE", key, 0, size - 1, "REV", "WITHSCORES"))
        ranked = [(author.decode(), int(number)) for author, number in scored(found)]
        if not ranked:
            return []
        names = [author for author, _ in ranked]
        (ids,) = await self._redis.ask(("HMGET", self._keys.site("faces"), *names))
        return [(*each, (id or b"").decode()) for each, id in zip(ranked, ids, strict=True)]
