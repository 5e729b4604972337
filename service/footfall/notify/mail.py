"""Emails by SMTP: to the site's owner, and to readers whose comments were replied to."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from email.errors import MessageError
from email.headerregistry import Address, BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP, Policy
from email.utils import formatdate
from functools import cache, partial
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeVar

from ..model import Comment
from .comment_letters import (
    News,
    OwnerLinks,
    Unsubscribing,
    digest_letter,
    owner_letter,
    reader_letter,
)
from .letter import Letter
from .mail_words import Words
from .notification import OWNER_MAIL, READER_MAIL, Dropped, Gathered, NotDelivered, Notification
from .templates import Fill

if TYPE_CHECKING:
    import aiosmtplib

# For connecting, and for each reply.
TIMEOUT_SECONDS = 20.0
# For the reply to a goodbye: the email is taken by then.
QUIT_SECONDS = 2.0
# How much of what should be an address is in error messages.
MAX_SHOWN_CHARACTERS = 100
# Reply codes that request a retry (RFC 5321, section 4.2.1).
TEMPORARY = range(400, 500)
# The size that was announced is refused (RFC 1870).
TOO_LARGE = 552

Security = Literal["tls", "starttls", "none"]
Kind = Literal["pending", "approved"]
Way = Literal["now", "digest", "never"]
T = TypeVar("T")


class Behind(Protocol):
    """Does what would hold the event loop up in a thread, when it is its turn."""

    async def __call__(self, work: Callable[[], T]) -> T: ...


class MailProvider(NamedTuple):
    """A mail server. `tls` encrypts from the start; `starttls` if the server offers it."""

    host: str
    port: int
    security: Security


# The names that SMTP_SERVICE may have, as in Waline; each provider publishes its own.
SERVICES = {
    "126": MailProvider("smtp.126.com", 465, "tls"),
    "163": MailProvider("smtp.163.com", 465, "tls"),
    "aliyun": MailProvider("smtp.aliyun.com", 465, "tls"),
    "fastmail": MailProvider("smtp.fastmail.com", 465, "tls"),
    "gandimail": MailProvider("mail.gandi.net", 587, "starttls"),
    "gmail": MailProvider("smtp.gmail.com", 465, "tls"),
    "gmx": MailProvider("mail.gmx.com", 587, "starttls"),
    "hotmail": MailProvider("smtp-mail.outlook.com", 587, "starttls"),
    "icloud": MailProvider("smtp.mail.me.com", 587, "starttls"),
    "mailgun": MailProvider("smtp.mailgun.org", 465, "tls"),
    "mailjet": MailProvider("in-v3.mailjet.com", 587, "starttls"),
    "outlook365": MailProvider("smtp.office365.com", 587, "starttls"),
    "postmark": MailProvider("smtp.postmarkapp.com", 2525, "starttls"),
    "qq": MailProvider("smtp.qq.com", 465, "tls"),
    "qqex": MailProvider("smtp.exmail.qq.com", 465, "tls"),
    "sendgrid": MailProvider("smtp.sendgrid.net", 587, "starttls"),
    "yahoo": MailProvider("smtp.mail.yahoo.com", 465, "tls"),
    "yandex": MailProvider("smtp.yandex.ru", 465, "tls"),
    "zoho": MailProvider("smtp.zoho.com", 465, "tls"),
}


@dataclass(frozen=True, slots=True)
class Smtp:
    """Sends emails, each over its own connection. `sender` is the address that they are from, and
    `helo` the name by which this service introduces itself."""

    place: MailProvider
    user: str
    password: str
    sender: Address
    helo: str

    async def send(self, message: EmailMessage, key: str, thread: str = "") -> str:
        """Returns the server's words; the `key` is the same for each attempt, and `thread` for all
        emails about a thread. Raises NotDelivered."""
        # The same for each attempt, so that email programs show an email that came twice only once.
        message["Message-ID"] = f"<{key.replace(' ', '.')}@{self.sender.domain}>"
        if thread:
            # No email has this ID: programs group those that refer to one.
            message["References"] = f"<thread.{thread}@{self.sender.domain}>"
        message["From"] = self.sender
        message["Date"] = formatdate()
        async with self._logged_in() as client:
            _, said = await client.send_message(message)
        return said

    async def greet(self) -> None:
        """Connect and log in, and send nothing. Raises NotDelivered."""
        async with self._logged_in():
            pass

    @asynccontextmanager
    async def _logged_in(self) -> "AsyncIterator[aiosmtplib.SMTP]":
        """A connection; what goes wrong with it, then or later, is NotDelivered."""
        import aiosmtplib  # loaded by the first email

        place = self.place
        # To read all the authorities that are trusted takes 10 ms and more.
        context = await asyncio.to_thread(_trusting) if place.security != "none" else None
        client = aiosmtplib.SMTP(
            hostname=place.host,
            port=place.port,
            use_tls=place.security == "tls",
            start_tls=None if place.security == "starttls" else False,
            username=self.user or None,
            password=self.password or None,
            local_hostname=self.helo,
            timeout=TIMEOUT_SECONDS,
            tls_context=context,
        )
        try:
            await client.connect()
            yield client
            with suppress(aiosmtplib.SMTPException, OSError):
                await client.quit(timeout=QUIT_SECONDS)
        except aiosmtplib.SMTPRecipientsRefused as error:
            first = error.recipients[0]
            raise NotDelivered(
                f"{first.code} {first.message}", is_final=first.code not in TEMPORARY
            ) from None
        except aiosmtplib.SMTPResponseException as error:
            # The operator can correct a wrong login or sender, so the email is retried.
            is_about_it = isinstance(error, aiosmtplib.SMTPDataError) or error.code == TOO_LARGE
            is_final = is_about_it and error.code not in TEMPORARY
            raise NotDelivered(f"{error.code} {error.message}", is_final=is_final) from None
        except (aiosmtplib.SMTPException, OSError) as error:
            raise NotDelivered(f"{type(error).__name__}: {error}") from None
        finally:
            client.close()


@cache
def _trusting() -> ssl.SSLContext:
    return ssl.create_default_context()


class _Links(UnstructuredHeader, BaseHeader):
    """A header of links or IDs, which are folded between them and never encoded (RFC 2369, section
    2), as the library does with any long word. Email programs look for them as they stand."""

    def fold(self, *, policy: Policy) -> str:
        return f"{self.name}:{policy.linesep} {self}{policy.linesep}"


_registry = HeaderRegistry()
_registry.map_to_type("list-unsubscribe", _Links)
_registry.map_to_type("references", _Links)
MAIL = SMTP.clone(header_factory=_registry)


def address_of(text: str, name: str = "") -> Address:
    """The domain in ASCII, since few servers take another. Raises ValueError for another text: the
    library raises all sorts of errors."""
    try:
        address = Address(name, addr_spec=text)
        return Address(name, address.username, ascii_domain(address.domain))
    except (ValueError, IndexError, AttributeError, MessageError):
        raise ValueError(f"{text[:MAX_SHOWN_CHARACTERS]!r} is not an email address") from None


def ascii_domain(domain: str) -> str:
    """As it is looked up: bücher.example is xn--bcher-kva.example. Raises ValueError."""
    if domain.isascii():
        return domain
    import idna  # loaded by the first such domain

    return idna.encode(domain, uts46=True).decode()


def _thread_of(about: Comment) -> str:
    return about.root or about.id


@dataclass(frozen=True, slots=True)
class Composer:
    """Composes emails about comments. An owner's templates, `subject` and `body`, replace the
    built-in ones. The longest comment takes several milliseconds, so this runs in `behind`, in the
    background."""

    words: Words
    subject: Fill | None
    body: Fill | None
    behind: Behind

    async def message(
        self, to: Sequence[str], notification: Notification, letter: Callable[[], Letter]
    ) -> EmailMessage:
        """Raises NotDelivered for a malformed address or a template that cannot be filled in."""
        return await self.behind(partial(self._message, to, notification, letter))

    def _message(
        self, to: Sequence[str], notification: Notification, letter: Callable[[], Letter]
    ) -> EmailMessage:
        message = EmailMessage(MAIL)
        try:
            message["To"] = [address_of(text) for text in to]
            subject = self.subject(notification) if self.subject else ""
            body = self.body(notification) if self.body else ""
        except ValueError as error:
            raise NotDelivered(str(error), is_final=True) from None
        letter().fill(message, subject=subject, body=body)
        return message


class Recipients(Protocol):
    """The recipients of emails (notifications/rules/recipients.py). `is_counted`: by an earlier
    attempt. Where the owner may not be mailed of a comment now, it is for the next digest."""

    async def ask(self, mail: str, about: Comment, is_counted: bool) -> Unsubscribing: ...

    async def may_mail_owner(self, id: str, *, waits: bool) -> bool: ...

    def is_same(self, one: str, other: str) -> bool: ...


# Of the comment with this id; None if this service does not know its own address.
LinksOf = Callable[[str, str], Awaitable[OwnerLinks | None]]


class OwnerMail:
    """An email to the site's owners about each comment that is not their own; `ways` sets when they
    are notified of pending and of approved ones."""

    name = OWNER_MAIL

    def __init__(
        self,
        smtp: Smtp,
        composer: Composer,
        to: Sequence[str],
        ways: Mapping[Kind, Way],
        recipients: Recipients,
        links_of: LinksOf,
    ) -> None:
        self._smtp = smtp
        self._composer = composer
        self._to = to
        self._ways = ways
        self._recipients = recipients
        self._links_of = links_of

    def wants(self, notification: Notification) -> bool:
        is_wanted = notification.is_for_owner and self._way(notification) != "never"
        return is_wanted and bool(self._recipients_of(notification))

    def _way(self, notification: Notification) -> Way:
        return self._ways["pending" if notification.status == "waiting" else "approved"]

    def _recipients_of(self, notification: Notification) -> Sequence[str]:
        author, is_same = notification.about.mail or "", self._recipients.is_same
        return [to for to in self._to if not is_same(author, to)]

    async def send(self, notification: Notification) -> None:
        waits, may_mail = self._way(notification) == "digest", self._recipients.may_mail_owner
        if notification.attempts == 0 and not await may_mail(notification.about.id, waits=waits):
            raise Gathered("it is for the next digest")
        links = await self._links_of(notification.about.id, notification.version)
        letter = partial(owner_letter, self._composer.words, notification, links)
        to = self._recipients_of(notification)
        message = await self._composer.message(to, notification, letter)
        await self._smtp.send(message, notification.key, _thread_of(notification.about))

    async def send_digest(self, news: News, key: str) -> None:
        """Raises NotDelivered."""
        message = EmailMessage(MAIL)
        message["To"] = [address_of(text) for text in self._to]
        digest_letter(self._composer.words, news).fill(message)
        await self._smtp.send(message, key)


class ReaderMail:
    """An email to the author of a comment that was replied to. `owners` get another email
    already."""

    name = READER_MAIL

    def __init__(
        self, smtp: Smtp, composer: Composer, owners: Sequence[str], recipients: Recipients
    ) -> None:
        self._smtp = smtp
        self._composer = composer
        self._owners = owners
        self._recipients = recipients

    def wants(self, notification: Notification) -> bool:
        if notification.parent is None or not notification.is_for_reader:
            return False
        to, about, is_same = notification.parent, notification.about, self._recipients.is_same
        mail = to.mail or ""
        is_own = is_same(mail, about.mail or "") or bool(to.account and to.account == about.account)
        return bool(mail) and not is_own and not any(is_same(mail, owner) for owner in self._owners)

    async def send(self, notification: Notification) -> None:
        assert notification.parent is not None
        to, about = notification.parent.mail or "", notification.about
        replies = await self._recipients.ask(to, about, notification.attempts > 0)
        if not replies.may_get:
            raise Dropped(
                "the recipient has unsubscribed or reached MAIL_RATE, or the author wrote to many"
            )
        letter = partial(reader_letter, self._composer.words, notification, replies)
        message = await self._composer.message([to], notification, letter)
        if replies.of_thread:
            # RFC 8058: email programs post to this address when their unsubscribe button is
            # pressed.
            message["List-Unsubscribe"] = f"<{replies.of_thread}>"
            message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        await self._smtp.send(message, notification.key, _thread_of(about))
