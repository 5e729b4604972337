"""The kinds of bans, their notation, and the list that finds those of a person or a text.

| Kind | Written as | Catches |
|---|---|---|
| address, network | `192.0.2.7`, `2001:db8::/48` | requests from it; an IPv6 one is its /64 |
| mail | `eve@spam.example` | authors with this email, in any spelling |
| domain | `*@spam.example` | authors with an email of this domain |
| account | its id | its owner |
| host | `casino.example` | a text or an author that links there, or to a subdomain |
| words | `"cheap pills"`, or a pattern: `/casino\\d+/` | a text that has them, in any case |
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from urllib.parse import unquote

from ...errors import Refused
from ...hosts import host_name, source_of
from ...model import Ban
from ...netaddr import NetworkMap, network_text
from ...patterns import Patterns, finds_everything
from ...render.links import linked
from .mails import canonical, is_mail

NOT_BANNABLE = (
    'Not bannable. Name an address, network, email, *@domain, account, link host or "words".'
)
OF_EVERYBODY = "This would catch every comment"
# Of a domain or a host: a name, and a last part that is not a number.
_DOMAIN = re.compile(r"[^\s@/*]+\.(?!\d+$)[^\s@/*.]+")
_QUOTED = re.compile(r"[\"“„«](?P<words>[^\"”“»]*)[\"”“»]")
_ADDRESS = re.compile(r"(?:https?://)?(?:\*\.)?(?P<host>[^/\s@*:]+)(?::\d+)?(?:/\S*)?")
# A host in the address of a link: not the first part of a path.
_AUTHORITY = re.compile(r"\s*(?:https?:[/\\]*|[/\\]{2,})?([^/\\?#\s]{1,600})", re.IGNORECASE)
# Searching the longest comment for all of them takes 0.1 ms, and finding which match, 3 ms.
MAX_WORD_BANS = 200
MIN_WORD_CHARACTERS = 2


def value_of(text: str) -> str:
    """The ban that this text describes, in canonical form. Raises Refused for a value that can
    match nobody and no text, and for a pattern that would match everything."""
    text = text.strip()
    if network := network_text(text):
        return network
    if match := _QUOTED.fullmatch(text):
        return _words(match["words"])
    if len(text) > 2 and text.startswith("/") and text.endswith("/"):
        return _searchable(text)
    if text.startswith("*@") and _DOMAIN.fullmatch(text[2:]) and is_mail(f"x@{text[2:]}"):
        return f"*{canonical(f'x@{text[2:]}')[1:]}"
    # RFC 5322 allows a star in an email, but here it means any.
    if is_mail(text) and "*" not in text:
        return canonical(text)
    match = _ADDRESS.fullmatch(text)
    if match and _DOMAIN.fullmatch(match["host"]) and (host := _host(match["host"])):
        return host
    if set(text) & set('@/.*"'):
        raise Refused(NOT_BANNABLE)
    return text


def _host(text: str) -> str:
    """Each host has one form, as links to it are compared without `www.`."""
    while (host := host_name(text)) != text:
        text = host
    return host


def _words(text: str) -> str:
    value = f'"{" ".join(text.casefold().split())}"'
    if len(value) < 2 + MIN_WORD_CHARACTERS:
        raise Refused(OF_EVERYBODY)
    return _searchable(value)


def _searchable(value: str) -> str:
    try:
        if finds_everything(_source_of(value)):
            raise Refused(OF_EVERYBODY)
    except ValueError as error:
        raise Refused(str(error)) from None
    return value


def kind_of(value: str) -> str:
    """The kind of ban that a value in its canonical form is."""
    if value[:1] in ('"', "/"):
        return "words"
    if value.startswith("*@"):
        return "domain"
    if "@" in value:
        return "mail"
    if "/" in value:
        return "network"
    if network_text(value):
        return "address"
    return "host" if "." in value else "account"


def _source_of(value: str) -> str:
    """The pattern of a ban of words. Between letters of one script, words stand alone."""
    if value.startswith("/"):
        return value[1:-1]
    words = value[1:-1]
    pattern = r"\s+".join(map(_escaped, words.split()))
    first, last = (r"\b" if re.match(r"\w", end, re.ASCII) else "" for end in (words[0], words[-1]))
    return f"{first}{pattern}{last}"


def _escaped(word: str) -> str:
    return re.sub(r"[\\^$.|?*+()\[\]{}]", r"\\\g<0>", word)


class BanList:
    """All bans, to be searched."""

    def __init__(self, bans: Sequence[Ban] = ()) -> None:
        self.every: dict[str, Ban] = {}
        self._networks = NetworkMap[Ban]()
        self.words: dict[str, Patterns] = {}
        self._kinds = set[str]()
        for ban in bans:
            self.add(ban)

    def add(self, ban: Ban) -> None:
        self.every[ban.value] = ban
        kind = kind_of(ban.value)
        self._kinds.add(kind)
        if kind in ("address", "network"):
            self._networks[ban.value] = ban
        if kind == "words":
            # One that was written into Redis by hand catches nothing.
            with suppress(ValueError):
                self.words[ban.value] = Patterns((_source_of(ban.value),))

    @property
    def reads_texts(self) -> bool:
        """Does any ban match by text?"""
        return not self._kinds.isdisjoint(("host", "words"))

    def of(self, address: str, account: str, mail: str) -> Iterator[Ban]:
        """The bans, ended ones too, of this address, account and email; "" for none."""
        yield from self._networks.of(address)
        names = [account]
        if not self._kinds.isdisjoint(("mail", "domain")):
            name = canonical(mail)
            names += [name, f"*@{name.rpartition('@')[2]}"]
        yield from (self.every[name] for name in names if name in self.every)

    def in_text(self, texts: Sequence[str], html: str, link: str = "") -> Iterator[Ban]:
        """The bans, ended ones too, that match one of these texts, or a link in this HTML or of its
        author."""
        if "host" in self._kinds:
            names = {name for address in (link, *linked(html)) for name in _above(address)}
            yield from (self.every[name] for name in sorted(names) if name in self.every)
        if self.words:
            any_words = self._any_words
            found = [each for each in texts if any_words is None or any_words.search(each)]
            for value, words in self.words.items():
                if any(map(words.search, found)):
                    yield self.every[value]

    @cached_property
    def _any_words(self) -> Patterns | None:
        """All of them together, which takes a search as long as one; None if that is too much for
        RE2. It is made when the list is whole."""
        try:
            return Patterns(tuple(map(_source_of, self.words)))
        except ValueError:
            return None


def _above(address: str) -> Iterator[str]:
    """The host of an address, and those that it is a part of. Browsers find it after any number of
    slashes and in percent-encoding, and clients of Waline write `https://` before an author's link
    that has none."""
    match = _AUTHORITY.match(address)
    parts = source_of(f"https://{unquote(match[1])}").split(".") if match else []
    yield from (".".join(parts[at:]) for at in range(len(parts) - 1))
