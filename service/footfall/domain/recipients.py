"""Who may be sent a mail: nobody who wants none, and nobody more than so many in an hour.

Each mail has two links, by which its reader wants no more of the thread, or of any. They are signed
and hold a digest of the address, so that nobody can unsubscribe others, or learn who they are.
"""

import secrets

from ..driver.batch_kinds import Rate
from ..driver.keys import digest
from ..notify.mail import Unsubscribing
from ..store.accounts import Accounts
from ..store.cooldown import Cooldown
from ..store.unsubscribed import Unsubscribed
from . import tokens
from .mails import canonical

HOUR_SECONDS = 3600


class Recipients:
    """`an_hour` is how many mails an address may get, 0 for no limit; `address` is where browsers
    reach this service, "" if it does not know."""

    def __init__(
        self,
        unsubscribed: Unsubscribed,
        cooldown: Cooldown,
        accounts: Accounts,
        *,
        an_hour: int,
        address: str,
    ) -> None:
        self._unsubscribed = unsubscribed
        self._cooldown = cooldown
        self._accounts = accounts
        self._rate = Rate(an_hour / HOUR_SECONDS, an_hour) if an_hour else None
        self._address = address

    async def ask(self, mail: str, thread: str, is_counted: bool) -> Unsubscribing:
        """What an earlier attempt has counted is not counted again. Raises StoreUnavailable."""
        who = digest(canonical(mail))
        if await self._unsubscribed.has(who, thread):
            return Unsubscribing(may_get=False)
        rate = None if is_counted else self._rate
        if rate and not await self._cooldown.may_mail(canonical(mail), rate):
            return Unsubscribing(may_get=False)
        if not self._address:
            return Unsubscribing(may_get=True)
        return Unsubscribing(True, await self._link(who, thread), await self._link(who, ""))

    async def unsubscribe(self, token: str) -> bool:
        """False for a token that is none of ours. Raises StoreUnavailable."""
        claims = tokens.claims_of(token, await self._key())
        if claims is None:
            return False
        await self._unsubscribed.add(str(claims["who"]), str(claims["thread"]))
        return True

    async def _link(self, who: str, thread: str) -> str:
        claims = {"who": who, "thread": thread}
        token = tokens.sign(claims, await self._key())
        return f"{self._address}/unsubscribe?token={token}"

    async def _key(self) -> bytes:
        secret = await self._accounts.signing_key(secrets.token_hex(32))
        return tokens.key_of("mail", secret)
