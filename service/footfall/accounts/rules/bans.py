"""Bans as this process knows them: who cannot comment, like, edit, register or log in.

Every worker keeps all of them in memory, so that they cost no query. A post reads the list's
version on an existing round trip, so a ban applies to the next post everywhere; other requests
check the version afterwards, at least once a minute. Administrators are exempt: otherwise a ban
could lock out the person who lifts it.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime

from ...driver.background import Background
from ...driver.replies import ErrorReply
from ...errors import Banned, StoreUnavailable, TooManyBans, Unavailable
from ...model import Ban, Caller
from ...netaddr import Networks
from ..store.bans import Bans, Changed
from .ban_list import MAX_WORD_BANS, BanList

# How old the list may be before it is read again after a request.
FRESH_SECONDS = 1.0
# Attempts, each after reading what someone else has changed meanwhile.
MAX_READINGS = 5


def until_of(ban: Ban) -> str:
    """When it ends, for people; "" for never."""
    if not ban.until_ms:
        return ""
    return datetime.fromtimestamp(ban.until_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _said(ban: Ban | None) -> str:
    """A ban in the log."""
    if ban is None:
        return "not banned"
    until = until_of(ban)
    return f"banned until {until}" if until else "banned"


class KnownBans:
    """The bans of a data set, and which networks may not be banned: those of trusted proxies."""

    def __init__(
        self, store: Bans, clock: Callable[[], int], trusted: Networks, background: Background
    ) -> None:
        self.store = store
        self.trusted = trusted
        self._clock = clock
        self._list = BanList()
        self._version = 0
        self._looked_at = float("-inf")
        self._reading = asyncio.Lock()
        self._background = background
        # Ban -> number of catches that are not stored yet.
        self._caught = Counter[str]()
        self._is_noting = False

    async def require_none(self, caller: Caller, mail: str = "") -> int:
        """Raises Banned with the end of the ban that ends last; administrators are exempt. Returns
        the version of the list that was searched.

        An outdated list rejects nobody: once a ban is lifted, they may write. Raises
        StoreUnavailable.
        """
        ban = self._longest(caller, mail)
        if ban:
            await self.refresh()
            ban = self._longest(caller, mail)
        if ban:
            self.note_caught([ban.value])
            raise Banned(until_of(ban))
        return self._version

    def _longest(self, caller: Caller, mail: str) -> Ban | None:
        """`mail` is the email entered, which an account's own replaces."""
        viewer = caller.viewer
        if viewer.is_moderator:
            return None
        account = viewer.account
        id, mail = (account.id, account.mail) if account else (viewer.former, mail)
        matching = list(self._list.of(caller.address, id, mail))
        if not matching:
            return None
        now_ms = self._clock()
        holding = (ban for ban in matching if ban.holds(now_ms))
        return max(holding, key=lambda ban: ban.until_ms or float("inf"), default=None)

    def in_text(self, texts: Sequence[str], html: str, link: str) -> list[str]:
        """The bans that match one of these texts, or the links in this HTML or of its author. It
        may take 10 ms."""
        now_ms = self._clock()
        return [ban.value for ban in self._list.in_text(texts, html, link) if ban.holds(now_ms)]

    @property
    def reads_texts(self) -> bool:
        return self._list.reads_texts

    def require_room_for_words(self, value: str) -> None:
        """Raises TooManyBans if a ban of these would be one too many to search for."""
        if value not in self._list.words and len(self._list.words) >= MAX_WORD_BANS:
            raise TooManyBans(MAX_WORD_BANS)

    def note_caught(self, values: Collection[str]) -> None:
        """Count what bans have caught, after the request: all that comes while Redis answers goes
        there together."""
        self._caught.update(values)
        if values and not self._is_noting:
            self._is_noting = True
            self._background.start(self._note())

    async def _note(self) -> None:
        try:
            while self._caught:
                caught, self._caught = self._caught, Counter()
                await self.store.note_caught(caught, self._clock())
        except (StoreUnavailable, ErrorReply):
            # A number for people, which nothing depends on.
            pass
        finally:
            self._is_noting = False

    def ended(self) -> list[str]:
        now_ms = self._clock()
        return [value for value, ban in self._list.every.items() if not ban.holds(now_ms)]

    def newest(self) -> list[Ban]:
        """All of them, those that have ended too, the newest first."""
        return sorted(self._list.every.values(), key=lambda ban: (-ban.at_ms, ban.value))

    async def change(
        self, value: str, after: Callable[[Ban | None], Ban | None], by: str = "", did: str = ""
    ) -> bool:
        """Change a ban; False if nothing changes. It is logged if a person did it.

        Raises TooManyBans, Unavailable.
        """
        for _ in range(MAX_READINGS):
            before = await self.store.get(value)
            now = after(before)
            if before == now:
                return False
            words = ("by", by, "did", did, "id", value, "was", _said(before), "now", _said(now))
            entry = words if did else ()
            try:
                await self.store.change(value, before, now, self._clock(), entry)
            except Changed:
                continue
            await self.refresh()
            return True
        raise Unavailable()

    async def forget(self, value: str) -> bool:
        """Remove an ended ban from the list, without a log entry; False if there was none."""
        return await self.change(value, lambda ban: None)

    def look(self) -> None:
        """Check for changes in the background, unless that was done just now."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._looked_at > FRESH_SECONDS:
            self._looked_at = loop.time()
            self._background.start(self._try())

    async def refresh(self) -> None:
        """Raises StoreUnavailable."""
        await self.follow(await self.store.version())

    async def follow(self, version: int) -> None:
        """Read the list again if it has another version than is known. Raises StoreUnavailable."""
        self._looked_at = asyncio.get_running_loop().time()
        if version == self._version:
            return
        async with self._reading:
            # Other tasks may have read it meanwhile.
            if version != self._version:
                await self._read()

    async def _read(self) -> None:
        # The version first: a concurrent change has another one, and is read next time.
        version, bans = await self.store.version(), BanList()
        async for part in self.store.every():
            for ban in part:
                bans.add(ban)
        self._list, self._version = bans, version

    async def _try(self) -> None:
        # Who looks next tries again, and so does the watch.
        with contextlib.suppress(StoreUnavailable, ErrorReply):
            await self.refresh()
