"""Recipients of emails: without unsubscribed ones, and within an hourly limit.

Each email to a reader has two links, which unsubscribe its reader from the thread, or from all.
They are signed and hold a digest of the recipient, so that nobody can unsubscribe others, or learn
who they are. Limits and unsubscriptions apply to a mailbox under all its spellings.
"""

import secrets
from collections.abc import Callable

from ...accounts.rules import tokens
from ...accounts.rules.mailboxes import recipient_of
from ...accounts.rules.mails import canonical
from ...accounts.store.accounts import AccountStore
from ...driver.script_calls import Rate
from ...ids import digest
from ...limits.buckets import Bucket, TokenBuckets
from ...model import Comment, Viewer
from ...netaddr import limit_key, network_key
from ...notify.comment_letters import Unsubscribing
from ...notify.notification import NotDelivered
from ..store.digest import Digest
from ..store.unsubscribed import Unsubscribed

HOUR_SECONDS = 3600
# Emails that the replies of an address, or of a /48, cause: a stranger writes to many people in
# the site's name.
SENDER_RATE = Rate(1 / 60, 60)


class Recipients:
    """`an_hour` is how many emails an address may get, 0 for no limit; `address` is where browsers
    reach this service, "" if it does not know."""

    def __init__(
        self,
        unsubscribed: Unsubscribed,
        buckets: TokenBuckets,
        accounts: AccountStore,
        digest: Digest,
        clock: Callable[[], int],
        *,
        an_hour: int,
        address: str,
    ) -> None:
        self._unsubscribed = unsubscribed
        self._buckets = buckets
        self._accounts = accounts
        self.digest = digest
        self._clock = clock
        self._rate = Rate(an_hour / HOUR_SECONDS, an_hour) if an_hour else None
        self.address = address

    async def ask(self, mail: str, about: Comment, is_counted: bool) -> Unsubscribing:
        """A retry does not count again. Raises NotDelivered for an invalid email address;
        StoreUnavailable."""
        try:
            recipient = recipient_of(mail)
        except ValueError as error:
            raise NotDelivered(str(error), is_final=True) from None
        who, thread = digest(recipient), about.root
        if await self._unsubscribed.has(who, thread):
            return Unsubscribing(may_get=False)
        limits = [] if is_counted else await self._limits(recipient, about)
        if await self._buckets.retry_after(limits):
            return Unsubscribing(may_get=False)
        if not self.address:
            return Unsubscribing(may_get=True)
        return Unsubscribing(True, await self._link(who, thread), await self._link(who, ""))

    async def _limits(self, recipient: str, about: Comment) -> list[Bucket]:
        """The limits of the recipient, and of who has replied unless that is a moderator."""
        limits = [Bucket(f"reply {recipient}", self._rate)] if self._rate else []
        author = await self._accounts.by_id(about.account) if about.account else None
        if about.address and not Viewer(author.account if author else None).is_moderator:
            client = limit_key(about.address)
            limits.append(Bucket(f"replies by {network_key(client) or client}", SENDER_RATE))
        return limits

    async def may_mail_owner(self, id: str, *, waits: bool) -> bool:
        """May this comment be emailed to the owner now? Otherwise it joins the next digest, as does
        each one that `waits`. Raises StoreUnavailable."""
        return await self.digest.may_mail_now(id, self._clock(), waits=waits)

    def is_same(self, one: str, other: str) -> bool:
        """Do emails to these two addresses reach one person? No for an empty one."""
        return bool(one) and _compared(one) == _compared(other)

    async def unsubscribe(self, token: str) -> bool:
        """False for a token that this service did not make. Raises StoreUnavailable."""
        claims = tokens.claims_of(token, await self._key())
        if claims is None:
            return False
        await self._unsubscribed.add(str(claims["who"]), str(claims["thread"]))
        return True

    async def _link(self, who: str, thread: str) -> str:
        claims = {"who": who, "thread": thread}
        token = tokens.sign(claims, await self._key())
        return f"{self.address}/unsubscribe?token={token}"

    async def _key(self) -> bytes:
        secret = await self._accounts.signing_key(secrets.token_hex(32))
        return tokens.key_of("mail", secret)


def _compared(mail: str) -> str:
    try:
        return recipient_of(mail)
    except ValueError:
        return canonical(mail)
