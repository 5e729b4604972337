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

from ...driver.replies import ErrorReply
from ...driver.script_calls import Rate
from ...errors import Busy, StoreUnavailable, TooManyAtOnce, TooManyAttempts
from ...limits.buckets import Bucket, TokenBuckets
from ...limits.clients import PoolClient
from ...limits.pool import Place
from ...notify.account_mail import AccountMail, Kind, message_of
from ...notify.mail import Smtp
from ...notify.notification import NotDelivered
from ...process.process import Process
from ...telemetry.metrics import Metrics
from .mailboxes import recipient_of

log = logging.getLogger(__name__)

# Emails of one kind to one address: this many at once, then one every this many seconds.
MAIL_RATE = Rate(1 / 720, 5)
# Attempts per email.
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
        process: Process,
        buckets: TokenBuckets,
        sender: Sender | None = None,
        *,
        confirms: bool = False,
    ) -> None:
        self._background = process.background
        self._buckets = buckets
        self._metrics = process.metrics
        self._pools = process.pools
        self._sender = sender
        self.confirms = confirms

    @property
    def are_sent(self) -> bool:
        return self._sender is not None

    async def wait_ms(self, kind: Kind, mail: str) -> int:
        """Count an email to this address; 0, or how long until its mailbox may have one."""
        return await self._buckets.retry_after([Bucket(f"{kind} {_mailbox(mail)}", MAIL_RATE)])

    async def require_turn(self, kind: Kind, mail: str) -> None:
        """Count one that is going to be sent. Raises TooManyAttempts."""
        if wait_ms := await self.wait_ms(kind, mail):
            raise TooManyAttempts(wait_ms)

    def start(self, prepare: Prepare, client: PoolClient) -> None:
        """Send the email that this makes, in the background. Raises TooManyAtOnce, Busy."""
        place = self._pools.mails.enter(client)
        self._background.start(self._carry_out(prepare, place))

    def send(self, letter: AccountMail, client: PoolClient) -> None:
        """Raises TooManyAtOnce, Busy."""

        async def prepared() -> AccountMail:
            return letter

        self.start(prepared, client)

    async def _carry_out(self, prepare: Prepare, place: Place) -> None:
        pool = self._pools.mails
        try:
            try:
                async with pool.turn_at(place):
                    letter = await prepare()
                    trial = self._trial_of(letter) if letter else None
                    is_over = trial is None or await trial.succeeds()
            finally:
                pool.leave(place)
            if trial and not is_over:
                await self._retry(trial, place.client)
        except (StoreUnavailable, ErrorReply) as error:
            log.warning("an email to an account was not sent, as Redis does not answer: %s", error)
        except (Busy, TooManyAtOnce):
            log.warning("an email to an account was not sent: too many wait to be")

    def _trial_of(self, letter: AccountMail) -> "_Trial | None":
        """None if it is only written, so that the service's load reveals nothing."""
        if not self._sender:
            return None
        if letter.is_sent:
            return _Trial(self._sender, letter, self._metrics)
        with suppress(NotDelivered):
            _made(self._sender, letter)
        return None

    async def _retry(self, trial: "_Trial", client: PoolClient) -> None:
        """Others do not wait for it meanwhile. Raises TooManyAtOnce, Busy."""
        is_over = False
        while not is_over:
            waiting = asyncio.Event()
            place = self._pools.retried_mails.enter(client, evict=waiting.set)
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout(FIRST_WAIT_SECONDS * 2 ** (trial.attempts - 1)):
                        await waiting.wait()
                        raise Busy()
            finally:
                self._pools.retried_mails.leave(place)
            async with self._pools.mails.turn(client):
                is_over = await trial.succeeds()


class _Trial:
    """A letter, and how often it was tried to send it."""

    def __init__(self, sender: Sender, letter: AccountMail, metrics: Metrics) -> None:
        self._sender = sender
        self._letter = letter
        self._metrics = metrics
        self._key = f"account {secrets.token_hex(8)}"
        self.attempts = 0

    async def succeeds(self) -> bool:
        """Try once; False if it is worth another attempt."""
        self.attempts += 1
        try:
            await _send(self._sender, self._letter, self._key)
        except NotDelivered as failed:
            is_last = failed.is_final or self.attempts == MAX_ATTEMPTS
            log.warning(
                "an email to an account (%s) was not sent, and %s: %s",
                self._letter.kind,
                "has failed permanently" if is_last else "is retried",
                failed,
            )
            self._metrics.deliveries.add("given up" if is_last else "failed")
            return is_last
        self._metrics.deliveries.add("delivered")
        return True


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
        raise NotDelivered(f"no answer within {ATTEMPT_SECONDS} seconds") from None
