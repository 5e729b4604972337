"""Who may be sent a mail: nobody who wants none, and nobody more than so many in an hour.

Each mail has two links, by which its reader wants no more of the thread, or of any. They are signed
and hold a digest of the address, so that nobody can unsubscribe others, or learn who they are.
"""

import secrets
from hashlib import sha256

from ..driver.batch_kinds import Rate
from ..driver.keys import digest
from ..notify.mail import Unsubscribing
from ..store.accounts import Accounts
from ..store.cooldown import Cooldown
from ..store.unsubscribed import Unsubscribed
from .mails import canonical

ALGORITHM = "HS256"
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

    async def ask(self, mail: str, thread: str) -> Unsubscribing:
        """Raises StoreUnavailable."""
        who = digest(canonical(mail))
        if await self._unsubscribed.has(who, thread):
            return Unsubscribing(may_get=False)
        if self._rate and not await self._cooldown.may_mail(canonical(mail), self._rate):
            return Unsubscribing(may_get=False)
        if not self._address:
            return Unsubscribing(may_get=True)
        return Unsubscribing(True, await self._link(who, thread), await self._link(who, ""))

    async def unsubscribe(self, token: str) -> bool:
        """False for a token that is none of ours. Raises StoreUnavailable."""
        import jwt

        try:
            claims = jwt.decode(token, await self._key(), [ALGORITHM])
        except jwt.InvalidTokenError:
            return False
        await self._unsubscribed.add(str(claims["who"]), str(claims["thread"]))
        return True

    async def _link(self, who: str, thread: str) -> str:
        import jwt  # loaded by the first mail

        claims = {"who": who, "thread": thread}
        token = jwt.encode(claims, await self._key(), ALGORITHM)
        return f"{self._address}/unsubscribe?token={token}"

    async def _key(self) -> bytes:
        key = await self._accounts.signing_key(secrets.token_hex(32))
        return sha256(b"footfall mail\0" + key.encode()).digest()
