"""The site's indexes over all pages: recent comments, the moderation queue, totals, authors.

They are in another slot than the pages, and follow them by the pages' journals (journal.py).
"""

from collections.abc import AsyncIterator, Container, Sequence
from typing import Literal, get_args

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.replies import scored
from ...driver.scripts import Scripts
from ...ids import created_ms
from ...model import STATUSES, Status, Viewer
from .indexes import SITE_INDEXES

INDEX_OF = dict(zip(STATUSES, SITE_INDEXES, strict=True))
# What only moderators and its author see.
Held = Literal["spam", "waiting"]
HELD: Sequence[Held] = get_args(Held)


class SiteIndex:
    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._list = scripts["site/list"]

    async def forget_pages_of(self, account: str) -> bool:
        """Forget on which pages an account wrote; False if nothing was known."""
        (number,) = await self._redis.change(("DEL", self._keys.pages_of(account)))
        return bool(number)

    async def pages_of(self, account: str, step: int) -> AsyncIterator[list[str]]:
        """The pages on which an account wrote, this many per step; each page that exists throughout
        is included."""
        key, last = self._keys.pages_of(account), "-"
        while True:
            question = ("ZRANGE", key, last, "+", "BYLEX", "LIMIT", 0, step)
            (reply,) = await self._redis.ask_masters(question)
            if not reply:
                return
            yield [page.decode() for page in reply]
            last = f"({reply[-1].decode()}"

    async def listed(
        self, statuses: Sequence[Status], *, first: int = 0, size: int, behind: str = ""
    ) -> tuple[int, list[str]]:
        """The number of comments of these statuses, and the ids of some, newest first.

        Those from `first` on, or with an id `behind` the older ones after that comment.
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
        """The numbers of pending and of spam comments."""
        waiting, spam = await self._redis.ask(
            *(("ZCARD", self._keys.site(name)) for name in ("waiting", "spam"))
        )
        return int(waiting), int(spam)

    async def spam_since(self, at_ms: int) -> int:
        """The number of spam comments written since this time."""
        question = ("ZCOUNT", self._keys.site("spam"), at_ms, "+inf")
        (number,) = await self._redis.ask(question)
        return int(number)

    async def note_held(
        self, status: Held, before_ms: int, now_ms: int, first: int, count: int
    ) -> dict[str, int]:
        """Some of the spam or pending comments that were written before that time, oldest first,
        and since when each was noted to be that."""
        held, noted = self._keys.site(status), self._keys.site(f"{status}seen")
        old = ("ZRANGE", held, "-inf", f"({before_ms}", "BYSCORE", "LIMIT", first, count)
        (ids,) = await self._redis.ask_masters(old)
        if not ids:
            return {}
        scores = [word for id in ids for word in (now_ms, id)]
        *_, since = await self._redis.change(
            ("ZADD", noted, "NX", *scores), ("ZMSCORE", noted, *ids)
        )
        return {id.decode(): int(at or now_ms) for id, at in zip(ids, since, strict=True)}

    async def forget_noted_but(self, status: Held, ids: Container[str]) -> None:
        """Forget all notes of this status except these."""
        noted = self._keys.site(f"{status}seen")
        (known,) = await self._redis.ask_masters(("ZRANGE", noted, 0, -1))
        if gone := [id for id in known if id.decode() not in ids]:
            await self._redis.change(("ZREM", noted, *gone))

    async def total(self, viewer: Viewer) -> int:
        """The number of the site's approved comments and of the viewer's own unpublished ones."""
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
        return {author: int(n or 0) for author, n in zip(authors, counts, strict=True)}

    async def ranking(self, size: int) -> list[tuple[str, int, str]]:
        """Authors of most approved comments: each with their number, and the id of the newest."""
        key = self._keys.site("authors")
        (reply,) = await self._redis.ask(("ZRANGE", key, 0, size - 1, "REV", "WITHSCORES"))
        ranked = [(author.decode(), int(number)) for author, number in scored(reply)]
        if not ranked:
            return []
        newest = await self._redis.ask(
            *(("ZRANGE", self._keys.by(author), 0, 0, "REV") for author, _ in ranked)
        )
        return [(*each, b"".join(ids).decode()) for each, ids in zip(ranked, newest, strict=True)]
