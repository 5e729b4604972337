"""Sends emails to accounts, in the background.

They are not stored: after a crash or a stop, people request them again.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage

from ...driver.background import Background
from ...driver.replies import ErrorReply
from ...driver.script_calls import Rate
from ...errors import Busy, StoreUnavailable, TooManyAttempts
from ...notifications.rules.recipients import recipient_of
from ...notify.account_mail import AccountMail, Kind, message_of
from ...notify.mail import Smtp
from ...notify.notification import Failed
from ...store.cooldown import Cooldown
from ...telemetry.metrics import Metrics

log = logging.getLogger(__name__)

# Emails of one kind to one address: this many at once, then one every this many seconds.
MAIL_RATE = Rate(1 / 720, 5)
# Emails being sent or queued; and attempts per email.
MAX_MAILS = 64
MAX_ATTEMPTS = 4
# Seconds for one attempt, and for the first wait, which doubles.
ATTEMPT_SECONDS = 40
FIRST_WAIT_SECONDS = 5.0

# Hosts that are numbers can be written in many ways, so they have one limit together.
NUMBERED_HOSTS = "numbered hosts"

# An email, or None if there is nothing to send.
Prepare = Callable[[], Awaitable[AccountMail | None]]


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of emails, and the site's details in them."""

    smtp: Smtp
    server_url: str
    site_name: str
    site_url: str


def _mailbox(mail: str) -> str:
    try:
        return recipient_of(mail)
    except ValueError:
        return NUMBERED_HOSTS


class AccountMails:
    """Without a `sender`, emails are off. With `confirms`, an address is confirmed by an email
    before an account gets it."""

    def __init__(
        self,
        background: Background,
        cooldown: Cooldown,
        metrics: Metrics,
        sender: Sender | None = None,
        *,
        confirms: bool = False,
    ) -> None:
        self._background = background
        self._cooldown = cooldown
        self._metrics = metrics
        self._sender = sender
        self._under_way = 0
        self.confirms = confirms

    @property
    def are_sent(self) -> bool:
        return self._sender is not None

    async def wait_ms(self, kind: Kind, mail: str) -> int:
        """Count an email to this address; 0, or how long until its mailbox may have one."""
        return await self._cooldown.attempt([(f"{kind} {_mailbox(mail)}", MAIL_RATE)])

    async def require_turn(self, kind: Kind, mail: str) -> None:
        """Count one that is going to be sent. Raises TooManyAttempts, Busy."""
        self._require_room()
        if wait_ms := await self.wait_ms(kind, mail):
            raise TooManyAttempts(wait_ms)

    def start(self, prepare: Prepare) -> None:
        """Send the email that this makes, in the background. Raises Busy."""
        self._require_room()
        self._under_way += 1
        self._background.start(self._carry_out(prepare))

    def send(self, letter: AccountMail) -> None:
        """Raises Busy."""

        async def prepared() -> AccountMail:
            return letter

        self.start(prepared)

    def _require_room(self) -> None:
        if self._under_way >= MAX_MAILS:
            raise Busy()

    async def _carry_out(self, prepare: Prepare) -> None:
        try:
            letter = await prepare()
            if letter and self._sender:
                if letter.is_sent:
                    await self._try(self._sender, letter)
                else:
                    with suppress(Failed):
                        _made(self._sender, letter)
        except (StoreUnavailable, ErrorReply) as error:
            log.warning("an email to an account was not sent, as Redis does not answer: %s", error)
        finally:
            self._under_way -= 1

    async def _try(self, sender: Sender, letter: AccountMail) -> None:
        key = f"account {secrets.token_hex(8)}"
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                await _send(sender, letter, key)
            except Failed as failed:
                is_last = failed.is_final or attempt == MAX_ATTEMPTS
                log.warning(
                    "an email to an account (%s) was not sent, and %s: %s",
                    letter.kind,
                    "has failed permanently" if is_last else "is retried",
                    failed,
                )
                self._metrics.deliveries.add("given up" if is_last else "failed")
                if is_last:
                    return
                await asyncio.sleep(FIRST_WAIT_SECONDS * 2 ** (attempt - 1))
            else:
                self._metrics.deliveries.add("delivered")
                return


def _made(sender: Sender, letter: AccountMail) -> EmailMessage:
    """Raises Failed."""
    return message_of(
        letter, server_url=sender.server_url, site_name=sender.site_name, site_url=sender.site_url
    )


async def _send(sender: Sender, letter: AccountMail, key: str) -> None:
    """Raises Failed."""
    message = _made(sender, letter)
    try:
        async with asyncio.timeout(ATTEMPT_SECONDS):
            await sender.smtp.send(message, key)
    except TimeoutError:
        raise Failed(f"no answer within {ATTEMPT_SECONDS} seconds") from None
