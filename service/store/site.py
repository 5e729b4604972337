"""What the site knows about all its pages: recent comments, the moderation queue, the totals.

These indexes live in another slot than the pages, so they are told of a change in a second step,
after the truth is stored. Telling them twice changes nothing, so that step may be repeated; one
that never came is made up for by `footfall check --repair`, which reads the pages.
"""

from ..model import Viewer
from .comments import Change
from .connect import Clients
from .ids import born, split
from .keys import Keys
from .scripts import Scripts

# Twenty times the most that anybody may ask for: withdrawn comments leave gaps, not refilled.
RECENT = 1000


class Site:
    def __init__(self, clients: Clients, scripts: Scripts, keys: Keys) -> None:
        self._clients = clients
        self._keys = keys
        self._announce = scripts["site/announce"]

    async def announce(self, change: Change) -> int:
        """Tell the indexes; the site's count of approved comments now."""
        _, total = await self._announce(
            **{
                name: self._keys.site(name)
                for name in ("recent", "waiting", "spam", "totals", "total", "authors")
            },
            own=self._keys.own(change.account),
            id=change.id,
            at=born(change.id),
            status=change.status,
            owner=bool(change.account),
            page=split(change.id)[1],
            version=change.version,
            visible=change.visible,
            author=change.author,
            gained=change.gained,
            keep=RECENT,
        )
        return int(total)

    async def total(self, viewer: Viewer) -> int:
        """Approved comments of the site, and the viewer's own held ones."""
        pipeline = self._clients.reader.pipeline(transaction=False)
        pipeline.get(self._keys.site("total"))
        if viewer.account:
            pipeline.zcard(self._keys.own(viewer.account.id))
        async with self._clients.answering():
            counts = await pipeline.execute()
        return sum(int(count or 0) for count in counts)

    async def recent(self, count: int, viewer: Viewer) -> list[str]:
        """Ids of the newest comments that the viewer may see, newest first."""
        pipeline = self._clients.reader.pipeline(transaction=False)
        pipeline.zrevrange(self._keys.site("recent"), 0, count - 1)
        if viewer.account:
            pipeline.zrevrange(self._keys.own(viewer.account.id), 0, count - 1)
        async with self._clients.answering():
            found = await pipeline.execute()
        ids = sorted((id.decode() for part in found for id in part), reverse=True)
        return ids[:count]

    async def tallies(self, authors: list[str]) -> dict[str, int]:
        """How many approved comments each author has on the site."""
        if not authors:
            return {}
        async with self._clients.answering():
            counts = await self._clients.reader.hmget(self._keys.site("authors"), authors)
        return {author: int(n or 0) for author, n in zip(authors, counts, strict=True)}
