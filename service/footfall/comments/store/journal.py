"""Journals of pages: changes of their comments that the site has not followed yet.

Every script that changes a comment appends an entry to its page's journal in the same step. The
site's projections (comments/store/projections.py) are in another slot of a Cluster, so they follow
in a second step: immediately, by the process that made the change. The site remembers how far it
has followed each page, so an entry may be applied repeatedly, and takes effect once.

Before a change its page is noted in the site's `changing`, where changes interrupted by a crash or
a lost reply are found within seconds (`catch_up`); a walk over all journals at a service's start
also finds changes without that note.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Any
from weakref import WeakValueDictionary

from ...driver.background import Background
from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.replies import ErrorReply, scored
from ...driver.scripts import Script, Scripts
from ...errors import StoreUnavailable
from ...tasks import Outlet
from .projections import Applying, JournalEntry

# How long a change may be in progress before another process checks it.
LEFT_MS = 3_000
# For so long a lost change is waited for: a server that was frozen may still carry it out.
ABANDONED_MS = 60_000
# Changes that were left, in one step.
MAX_LEFT = 100
# Entries that a script returns (lua/includes/unapplied.lua), and that a walk reads in a step.
STEP_ENTRIES = 10
MAX_ENTRIES = 100
# Comments per script call that the site follows, except for a single large entry.
JOURNAL_STEP_COMMENTS = 100

SITE_KEYS = (
    "recent",
    "waiting",
    "spam",
    "totals",
    "total",
    "authors",
    "log",
    "filtered",
    "outbox",
    "changing",
    "removals",
    "bin",
)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class _Turn:
    """Whose turn it is to walk over a page's journal, and when the last walk started."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.started = -math.inf


class Journal:
    """Changes are also written to the `outbox`, if notifications are configured."""

    def __init__(
        self,
        redis: RedisClient,
        scripts: Scripts,
        keys: Keys,
        outbox: Outlet,
        background: Background,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._outbox = outbox
        self._background = background
        self._clock = clock
        self._apply = scripts["journal/apply"]
        self._cut = scripts["journal/cut"]
        self._touch = scripts["comments/touch"]
        self._restate = scripts["journal/restate"]
        self._turns = WeakValueDictionary[str, _Turn]()

    async def change(self, script: Script, page: str, **values: Any) -> list[Any]:
        """Call a script that may change comments of a page, and let the site follow; the script's
        reply without the entries. Raises StoreUnavailable, ErrorReply; if it was done all the same,
        the site follows later."""
        change = f"{page} {token_hex(4)}"
        start = ("ZADD", self._keys.site("changing"), self._clock(), change)
        journal = self._keys.page(page, "journal")
        reply: list[Any] = await script.after(start, **values, journal=journal)
        if reply[0] != b"OK":
            self._background.start(self._end(change))
            return reply
        *outcome, entries = reply
        # The page has changed, and the answer reports it: what fails now is done by `catch_up`.
        with suppress(StoreUnavailable, ErrorReply):
            if len(entries) < STEP_ENTRIES:
                applied = await self._apply_to(page, entries, change)
                self._background.start(self._settle(page, applied))
            else:
                await self._follow_with_others(page)
                await self._end(change)
        return outcome

    async def _follow_with_others(self, page: str) -> None:
        """Let the site follow a page that changes faster than one by one. All waiting callers share
        the walks over its journal: one that started after their change includes it."""
        turn, since = self._turns.setdefault(page, _Turn()), asyncio.get_running_loop().time()
        async with turn.lock:
            if turn.started <= since:
                turn.started = asyncio.get_running_loop().time()
                await self.follow(page)

    async def follow(self, page: str) -> bool:
        """Let the site follow all of a page's journal; was there anything? Raises StoreUnavailable.

        What the site follows must be durable, so it is read after a change of the page
        that is as durable as any.
        """
        version, journal = (self._keys.page(page, name) for name in ("version", "journal"))
        was_behind = False
        while True:
            _, _, entries = await self._touch(
                version=version, journal=journal, now=self._clock(), most=MAX_ENTRIES
            )
            if not entries:
                return was_behind
            was_behind = True
            await self._cut_off(page, await self._apply_to(page, entries))

    async def follow_all(self) -> None:
        """Let the site follow every page. Raises StoreUnavailable."""
        async for page in self.pages():
            await self.follow(page)

    async def catch_up(self) -> None:
        """Follow the pages of interrupted changes. Raises StoreUnavailable."""
        changing, now = self._keys.site("changing"), self._clock()
        left = ("ZRANGE", changing, "-inf", now - LEFT_MS, "BYSCORE", "LIMIT", 0, MAX_LEFT)
        (reply,) = await self._redis.ask_masters((*left, "WITHSCORES"))
        for member, since in scored(reply):
            change = member.decode()
            page = change.partition(" ")[0]
            try:
                was_done = await self.follow(page) if await self._is_behind(page) else False
            except (StoreUnavailable, ErrorReply):
                # Its node may be frozen, and carry out a change when it recovers.
                await self._redis.change(("ZADD", changing, "XX", self._clock(), change))
                continue
            if was_done or since < now - ABANDONED_MS:
                await self._end(change)

    async def restate(self, page: str, comments: Sequence[tuple[str, str, str]]) -> None:
        """Let the site follow the state of comments again: of each the short id, and an account and
        an author whose lists may have it wrongly, "" for none."""
        names = ("version", "bodies", "held", "pinned", "hidden", "deleted")
        await self.change(
            self._restate,
            page,
            **{name: self._keys.page(page, name) for name in names},
            now=self._clock(),
            by="check",
            actor="",
            comments=[word or "-" for comment in comments for word in comment],
        )

    async def pages(self) -> AsyncIterator[str]:
        """Pages whose journals are not empty: a walk over all keys."""
        async for keys in self._redis.scan(self._keys.every_journal, "stream"):
            for key in keys:
                yield self._keys.page_of(key.decode())

    async def _apply_to(
        self, page: str, entries: Sequence[Any], change: str = "", *, is_durable: bool = False
    ) -> int:
        """The version of the last entry that the site has followed."""
        rest, applied = [JournalEntry.parse(*entry) for entry in entries], 0
        while True:
            part = _first(rest)
            rest = rest[len(part) :]
            applying = Applying(self._keys, page, part, tells=self._outbox.is_on)
            call = self._apply.durably if is_durable else self._apply
            _, applied, notified = await call(
                **{name: self._keys.site(name) for name in SITE_KEYS},
                lists=applying.lists,
                page=page,
                change="" if rest else change,
                entries=applying.words,
            )
            if notified:
                self._outbox.arrived.set()
            if not rest:
                return int(applied)

    async def _settle(self, page: str, applied: int) -> None:
        """Cut followed entries. If that fails, they are cut with the next change."""
        with suppress(StoreUnavailable, ErrorReply):
            await self._cut_off(page, applied)

    async def _cut_off(self, page: str, applied: int) -> None:
        if self._redis.wait:
            applied = await self._apply_to(page, (), is_durable=True)
        await self._cut(journal=self._keys.page(page, "journal"), applied=applied)

    async def _is_behind(self, page: str) -> bool:
        (length,) = await self._redis.ask_masters(("XLEN", self._keys.page(page, "journal")))
        return bool(length)

    async def _end(self, change: str) -> None:
        with suppress(StoreUnavailable, ErrorReply):
            await self._redis.change(("ZREM", self._keys.site("changing"), change))


def _first(entries: Sequence[JournalEntry]) -> Sequence[JournalEntry]:
    """The first of these entries, and as many more as have JOURNAL_STEP_COMMENTS together."""
    number, comments = 0, 0
    for entry in entries:
        comments += len(entry.changes)
        if number and comments > JOURNAL_STEP_COMMENTS:
            break
        number += 1
    return entries[:number]
