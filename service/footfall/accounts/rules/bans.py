"""Bans as this process knows them: who may not comment, like, edit, register or log in.

Every worker keeps all of them in memory, so that nothing is asked for them. A post brings the
version of the list along on a trip that it makes anyway, so a ban holds for the next post
everywhere; whatever else is refused looks behind the request, and at least once a minute.
Administrators are exempt: otherwise a ban could lock out who would lift it.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from ...driver.background import Background
from ...driver.replies import ErrorReply
from ...errors import Banned, Refused, StoreUnavailable, Unavailable
from ...model import Ban, Caller
from ...netaddr import NetworkMap, Networks, network_text
from ..store.bans import Bans, Changed
from .mails import canonical, is_mail

# How old the list may be before it is looked at again behind a request.
FRESH_SECONDS = 1.0
# How often to read again what somebody else has changed meanwhile.
MAX_READINGS = 5
NOT_BANNABLE = "This is not an address, network, email or account"


def value_of(text: str) -> str:
    """What is banned by this text, in its canonical form: an address, a network, an email, or else
    the id of an account. An IPv6 address stands for its /64. Raises Refused for no such text."""
    text = text.strip()
    if network := network_text(text):
        return network
    if is_mail(text):
        return canonical(text)
    if "@" in text or "/" in text:
        raise Refused(NOT_BANNABLE)
    return text


def kind_of(value: str) -> str:
    """Of a value in its canonical form."""
    if "@" in value:
        return "mail"
    if "/" in value:
        return "network"
    return "address" if network_text(value) else "account"


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


class BanList:
    """All bans, to be searched."""

    def __init__(self) -> None:
        self.every: dict[str, Ban] = {}
        self._networks = NetworkMap[Ban]()
        self._has_mails = False

    def add(self, ban: Ban) -> None:
        self.every[ban.value] = ban
        kind = kind_of(ban.value)
        if kind in ("address", "network"):
            self._networks[ban.value] = ban
        self._has_mails |= kind == "mail"

    def of(self, caller: Caller, mail: str = "") -> Iterator[Ban]:
        """The bans, ended ones too, of somebody who gives this email, which an account's own
        replaces."""
        account = caller.viewer.account
        yield from self._networks.of(caller.address)
        names = [account.id if account else caller.viewer.former]
        if self._has_mails:
            names.append(canonical(account.mail if account else mail))
        yield from (self.every[name] for name in names if name in self.every)


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

    async def require_none(self, caller: Caller, mail: str = "") -> int:
        """Raises Banned with the end of the ban that ends last; administrators are exempt. The
        version of the list that was searched.

        Nobody is refused by an old list: once a ban is lifted, they may write. Raises
        StoreUnavailable.
        """
        ban = self._longest(caller, mail)
        if ban:
            await self.refresh()
            ban = self._longest(caller, mail)
        if ban:
            raise Banned(until_of(ban))
        return self._version

    def _longest(self, caller: Caller, mail: str) -> Ban | None:
        if caller.viewer.is_administrator:
            return None
        matching = list(self._list.of(caller, mail))
        if not matching:
            return None
        now_ms = self._clock()
        holding = (ban for ban in matching if ban.holds(now_ms))
        return max(holding, key=lambda ban: ban.until_ms or float("inf"), default=None)

    def ended(self) -> list[str]:
        now_ms = self._clock()
        return [value for value, ban in self._list.every.items() if not ban.holds(now_ms)]

    def newest(self) -> list[Ban]:
        """All of them, those that have ended too, the newest first."""
        return sorted(self._list.every.values(), key=lambda ban: (-ban.at_ms, ban.value))

    async def change(
        self, value: str, after: Callable[[Ban | None], Ban | None], by: str = "", did: str = ""
    ) -> bool:
        """Make of a ban what it is to be; False if it is that already. It is logged if anybody did
        it.

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
        """Take a ban off the list, of which the log says nothing; False if there was none."""
        return await self.change(value, lambda ban: None)

    def look(self) -> None:
        """Look for changes without keeping anybody waiting, unless that was done just now."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._looked_at > FRESH_SECONDS:
            self._looked_at = loop.time()
            self._background.start(self._try())

    async def refresh(self) -> None:
        """Raises StoreUnavailable."""
        await self.follow(await self.store.version())

    async def follow(self, version: int) -> None:
        """Read the list anew if it has another version than is known. Raises StoreUnavailable."""
        self._looked_at = asyncio.get_running_loop().time()
        if version == self._version:
            return
        async with self._reading:
            # Others may have read it meanwhile.
            if version != self._version:
                await self._read()

    async def _read(self) -> None:
        # The version first: what changes meanwhile has another one, and is read next time.
        version, bans = await self.store.version(), BanList()
        async for part in self.store.every():
            for ban in part:
                bans.add(ban)
        self._list, self._version = bans, version

    async def _try(self) -> None:
        # Who looks next tries again, and so does the watch.
        with contextlib.suppress(StoreUnavailable, ErrorReply):
            await self.refresh()
