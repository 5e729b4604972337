"""Who may be sent an email: nobody who wants none, and nobody more than so many in an hour.

Each email to a reader has two links, by which its reader wants no more of the thread, or of any.
They are signed and hold a digest of the recipient, so that nobody can unsubscribe others, or learn
who they are. Limits and unsubscribing are a person's, who gets emails under many spellings.
"""

import logging
import re
import secrets
from collections.abc import Callable
from unicodedata import normalize

from ...accounts.rules import tokens
from ...accounts.rules.mails import canonical
from ...accounts.store.accounts import AccountStore
from ...driver.keys import digest
from ...driver.script_calls import Rate
from ...notify.mail import Unsubscribing, address_of
from ...notify.notification import Failed
from ...plurals import number_of
from ...store.cooldown import Cooldown
from ..store.unsubscribed import Unsubscribed

log = logging.getLogger(__name__)

HOUR_SECONDS = 3600
GMAIL = ("gmail.com", "googlemail.com")
# A host by its number can be written in any number of ways.
_NUMBERED_HOST = re.compile(r"@\[|[@.]\d+$")


def recipient_of(mail: str) -> str:
    """Whose mailbox an email comes into: the canonical form of its address, without what is after a
    plus, and at Gmail without dots. Raises ValueError for what no email can be sent to."""
    address = address_of(mail).addr_spec
    if _NUMBERED_HOST.search(address):
        raise ValueError(f"{mail!r} is no mail address")
    local, _, domain = normalize("NFKC", canonical(address)).rpartition("@")
    local = local.partition("+")[0] or local
    if domain in GMAIL:
        return f"{local.replace('.', '')}@{GMAIL[0]}"
    return f"{local}@{domain}"


class Unmailed:
    """Comments that the owner got no email of, since there were too many: how many these were is
    logged once an hour. Times are in ms."""

    def __init__(self) -> None:
        self._number = 0
        self._due_ms = 0

    def add(self, now_ms: int) -> None:
        if not self._number:
            self._due_ms = now_ms + HOUR_SECONDS * 1000
        self._number += 1

    def report(self, now_ms: int, *, is_last: bool = False) -> None:
        """Log them, if an hour is over since the first one, or if there will be no later report."""
        if self._number and (is_last or now_ms >= self._due_ms):
            log.warning(
                "AUTHOR_EMAIL was sent no mail of %s in the last hour, as "
                "OWNER_MAIL_RATE says; the administrators' pages at /ui have them",
                number_of(self._number, "new comment"),
            )
            self._number = 0


class Recipients:
    """`an_hour` is how many mails an address may get, `owner_an_hour` how many the owner may, 0 for
    no limit; `address` is where browsers reach this service, "" if it does not know."""

    def __init__(
        self,
        unsubscribed: Unsubscribed,
        cooldown: Cooldown,
        accounts: AccountStore,
        clock: Callable[[], int],
        *,
        an_hour: int,
        owner_an_hour: int,
        address: str,
    ) -> None:
        self.unmailed = Unmailed()
        self._unsubscribed = unsubscribed
        self._cooldown = cooldown
        self._accounts = accounts
        self._clock = clock
        self._rate = _rate(an_hour)
        self._owner_rate = _rate(owner_an_hour)
        self._address = address

    async def ask(self, mail: str, thread: str, is_counted: bool) -> Unsubscribing:
        """What an earlier attempt has counted is not counted again. Raises Failed for what is no
        email address; StoreUnavailable."""
        try:
            recipient = recipient_of(mail)
        except ValueError as error:
            raise Failed(str(error), is_final=True) from None
        who = digest(recipient)
        # Older versions have noted the address as it was written.
        if await self._unsubscribed.has({who, digest(canonical(mail))}, thread):
            return Unsubscribing(may_get=False)
        rate = None if is_counted else self._rate
        if rate and not await self._cooldown.may_mail(recipient, rate):
            return Unsubscribing(may_get=False)
        if not self._address:
            return Unsubscribing(may_get=True)
        return Unsubscribing(True, await self._link(who, thread), await self._link(who, ""))

    async def may_mail_owner(self, mail: str, is_counted: bool) -> bool:
        """May the owner get another email? If not, that is noted. Raises StoreUnavailable."""
        if is_counted or not self._owner_rate:
            return True
        may = await self._cooldown.may_mail(f"owner {canonical(mail)}", self._owner_rate)
        if not may:
            self.unmailed.add(self._clock())
        return may

    def is_same(self, one: str, other: str) -> bool:
        """Do emails to these two come to one person? Not where there is no email."""
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
        return f"{self._address}/unsubscribe?token={token}"

    async def _key(self) -> bytes:
        secret = await self._accounts.signing_key(secrets.token_hex(32))
        return tokens.key_of("mail", secret)


def _rate(an_hour: int) -> Rate | None:
    return Rate(an_hour / HOUR_SECONDS, an_hour) if an_hour else None


def _compared(mail: str) -> str:
    try:
        return recipient_of(mail)
    except ValueError:
        return canonical(mail)
