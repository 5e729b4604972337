"""Mails about an account, in the language of the request for them: their words are in words/.

Strangers can have them sent to anybody, so of a stranger's words there is only a name, in which no
email program finds an address to make a link of.
"""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from functools import cache
from pathlib import Path
from typing import Any, Literal

import orjson

from .mail import address_of
from .notification import Failed

WORDS = Path(__file__).parent / "words"
LANGUAGES = ("en", "de", "zh")
# More of a name would be room for a message.
MAX_NAME_CHARACTERS = 40

Kind = Literal["register", "reset", "mail", "moved"]


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail to one address. `language` is one, or a list, as browsers name them; `link` is behind
    the address of this service. If it is not `is_sent`, it is only made."""

    kind: Kind
    to: str
    language: str
    link: str = ""
    nick: str = ""
    is_sent: bool = True


def message_of(letter: Letter, *, server_url: str, site_name: str, site_url: str) -> EmailMessage:
    """Raises Failed for a malformed address."""
    language = language_of(letter.language)
    link = letter.link and with_language(f"{server_url}{letter.link}", language)
    values = {
        "site": site_name,
        "url": site_url or server_url,
        "link": link,
        "nick": plain(letter.nick),
    }
    texts = _words(language)[letter.kind]
    lines = [line.format_map(values) for line in texts["lines"]]
    message = EmailMessage()
    try:
        message["To"] = address_of(letter.to)
    except ValueError as error:
        raise Failed(str(error), is_final=True) from None
    message["Subject"] = " ".join(texts["subject"].format_map(values).split())
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n\n".join(lines) + "\n")
    links = (link, values["url"])
    message.add_alternative("\n".join(_paragraph(line, line in links) for line in lines), "html")
    return message


def language_of(asked: str) -> str:
    """The first of these languages that there are words in; browsers name what they like first."""
    names = (language.strip().lower().partition("-")[0] for language in re.split("[,;]", asked))
    return next((name for name in names if name in LANGUAGES), LANGUAGES[0])


def with_language(address: str, language: str) -> str:
    """The address of a page of ours, in this language."""
    page, sign, token = address.partition("#")
    return f"{page}?lng={language}{sign}{token}"


def plain(nick: str) -> str:
    """A name without what addresses have: dots, slashes, colons, signs."""
    return " ".join(re.sub(r"[^\w' -]|_", " ", nick).split())[:MAX_NAME_CHARACTERS]


def _paragraph(line: str, is_link: bool) -> str:
    text = html.escape(line)
    return f'<p><a href="{text}">{text}</a></p>' if is_link else f"<p>{text}</p>"


@cache
def _words(language: str) -> Mapping[str, Any]:
    texts: Mapping[str, Any] = orjson.loads((WORDS / f"{language}.json").read_bytes())
    return texts
