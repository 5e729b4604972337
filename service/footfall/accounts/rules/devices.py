"""Browsers and addresses known to an account, from which it logged in lately.

Strangers who try passwords use up the strangers' attempts at an account. Its owner has separate
ones: by a cookie that only a login grants (OWASP calls it a device cookie), or by the address. Both
only select whose attempts are counted; neither authenticates.
"""

import hmac
import secrets
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

from ...driver.replies import ErrorReply
from ...errors import Unavailable
from ...model import Caller
from ...netaddr import limit_key
from ..store.accounts import AccountStore
from ..store.places import PlaceStore
from . import tokens

# Since the last login from there.
KNOWN_DAYS = 30
KNOWN_SECONDS = KNOWN_DAYS * 86_400
# Addresses of one account.
MAX_PLACES = 16
# Longer ones are not looked at: ours have about 200 characters.
MAX_COOKIE_CHARACTERS = 1024


class Devices:
    def __init__(
        self, accounts: AccountStore, places: PlaceStore, clock: Callable[[], int]
    ) -> None:
        self._accounts = accounts
        self._places = places
        self._clock = clock
        self._key = b""

    async def browser(self, id: str, cookie: str) -> str:
        """The name of the browser with this cookie; "" if this account does not know it."""
        if not cookie or len(cookie) > MAX_COOKIE_CHARACTERS:
            return ""
        claims = tokens.claims_of(cookie, await self._signing_key())
        if claims is None or claims["sub"] != id or claims["exp"] * 1000 < self._clock():
            return ""
        return str(claims["device"])

    async def cookie(self, id: str, before: str) -> str:
        """What identifies a browser in which this account has logged in; `before` did until now."""
        claims = {
            "sub": id,
            "device": await self.browser(id, before) or secrets.token_hex(8),
            "exp": self._clock() // 1000 + KNOWN_SECONDS,
        }
        return tokens.sign(claims, await self._signing_key())

    async def place(self, id: str, caller: Caller) -> str:
        """A digest of where the caller is; "" if this account does not know it.

        What a page of another site sends comes from nowhere: its author is a stranger.
        """
        if not caller.address or caller.is_sent_elsewhere:
            return ""
        place = await self._place(id, caller)
        since_ms = self._clock() - 1000 * KNOWN_SECONDS
        return place if await self._places.has(id, place, since_ms) else ""

    async def remember(self, id: str, caller: Caller) -> None:
        """Note that the account has logged in from there. It has, whether or not that is noted."""
        if not caller.address or caller.is_sent_elsewhere:
            return
        with suppress(Unavailable, ErrorReply):
            await self._places.remember(
                id,
                await self._place(id, caller),
                now_ms=self._clock(),
                lasts_ms=1000 * KNOWN_SECONDS,
                keep=MAX_PLACES,
            )

    async def _place(self, id: str, caller: Caller) -> str:
        """Keyed, since a plain digest could be reversed by trying all addresses; and different for
        each account, so that nobody sees which accounts share an address."""
        text = f"{id} {limit_key(caller.address)}"
        return hmac.digest(await self._signing_key(), text.encode(), sha256).hex()[:32]

    async def _signing_key(self) -> bytes:
        if not self._key:
            secret = await self._accounts.signing_key(secrets.token_hex(32))
            self._key = tokens.key_of("device", secret)
        return self._key
