"""Emails about an account, in the language of the request for them: their texts are in words/.

Strangers can have them sent to anyone, so they contain nothing of a stranger's but a name, in which
no email program finds an address to turn into a link.
"""

import re
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Literal

from .letter import Letter, Link
from .mail import address_of
from .mail_words import Words, language_of
from .notification import NotDelivered

# A longer name could carry a message.
MAX_NAME_CHARACTERS = 40

Kind = Literal["register", "reset", "mail", "moved", "invite"]


@dataclass(frozen=True, slots=True)
class AccountMail:
    """An email to one address. `language` is one, or a list, as browsers name them; `link` is
    after the address of this service. If it is not `is_sent`, it is only made."""

    kind: Kind
    to: str
    language: str
    link: str = ""
    nick: str = ""
    is_sent: bool = True


def message_of(
    mail: AccountMail, *, server_url: str, site_name: str, site_url: str
) -> EmailMessage:
    """Raises NotDelivered for a malformed address."""
    words = Words(language_of(mail.language))
    values = {"site": site_name, "nick": plain(mail.nick)}
    message, home = EmailMessage(), site_url or server_url
    try:
        message["To"] = address_of(mail.to)
    except ValueError as error:
        raise NotDelivered(str(error), is_final=True) from None
    link = mail.link and with_language(f"{server_url}{mail.link}", words.language)
    foot = words.say("account.foot", **values)
    Letter(
        words.language,
        words.say(f"{mail.kind}.subject", **values),
        site_name,
        [
            words.say(f"{mail.kind}.{number}", **values)
            for number in (1, 2, 3)
            if number < 3 or link
        ],
        Link(words.say(f"{mail.kind}.button"), link) if link else None,
        foot=[foot, Link(site_name, home)] if home else [foot],
    ).fill(message)
    return message


def with_language(address: str, language: str) -> str:
    """The address of a page of ours, in this language."""
    page, sign, token = address.partition("#")
    return f"{page}?lng={language}{sign}{token}"


def plain(nick: str) -> str:
    """A name without what addresses have: dots, slashes, colons, signs."""
    return " ".join(re.sub(r"[^\w' -]|_", " ", nick).split())[:MAX_NAME_CHARACTERS]
