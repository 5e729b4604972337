"""The address of a commentator's picture, from a template an operator may set.

The template is Nunjucks in looks only: `{{ variable | filter | … }}` and nothing else, compiled at
start-up so that a slip is told then, not in every comment.
"""

import re
from collections.abc import Callable
from hashlib import md5, sha256
from urllib.parse import quote

DEFAULT_TEMPLATE = "https://seccdn.libravatar.org/avatar/{{mail|md5}}"

Avatar = Callable[[str, str, str], str]
Piece = Callable[[dict[str, str]], str]
Filter = Callable[[str], str]

VARIABLES = ("nick", "mail", "link")
_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_MARKS = ("{{", "}}", "{%", "%}", "{#", "#}")
# What may stand in an address as it is; the rest of a name is encoded, quotes above all.
_IN_ADDRESS = "/:?#[]@!$&()*+,;=%~"
# What JavaScript's encodeURIComponent leaves alone.
_IN_COMPONENT = "!~*'()"


def compile_avatar(template: str, proxy: str) -> Avatar:
    """A function of nick, mail and link; a blank template means the default one."""
    pieces = _pieces(template.strip() or DEFAULT_TEMPLATE)

    def avatar(nick: str, mail: str, link: str) -> str:
        # Mail as the picture services hash it; hands add capitals and spaces.
        known = {"nick": nick, "mail": mail.strip().lower(), "link": link}
        return proxied("".join(piece(known) for piece in pieces), proxy)

    return avatar


def proxied(address: str, proxy: str) -> str:
    return f"{proxy}?url={_component(address)}" if proxy and address else address


def _pieces(template: str) -> list[Piece]:
    """Text and placeholders in turn, as splitting by a group gives them."""
    parts = _PLACEHOLDER.split(template)
    return [_expression(part) if odd % 2 else _text(part) for odd, part in enumerate(parts)]


def _text(text: str) -> Piece:
    for mark in _MARKS:
        if mark in text:
            raise ValueError(f"avatar template: {mark!r} is not understood in {text!r}")
    return lambda known: text


def _expression(expression: str) -> Piece:
    variable, *names = (word.strip() for word in expression.split("|"))
    if variable not in VARIABLES:
        raise ValueError(f"avatar template: {variable!r} is none of {', '.join(VARIABLES)}")
    filters = [_filter(name) for name in names]
    encode = str if "urlencode" in names else _address

    def fill(known: dict[str, str]) -> str:
        value = known[variable]
        for apply in filters:
            value = apply(value)
        return encode(value)

    return fill


def _filter(name: str) -> Filter:
    if name not in FILTERS:
        raise ValueError(f"avatar template: {name!r} is none of {', '.join(FILTERS)}")
    return FILTERS[name]


def _md5(text: str) -> str:
    # The picture services' choice; nothing is kept secret by it.
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _component(text: str) -> str:
    return quote(text, safe=_IN_COMPONENT)


def _address(text: str) -> str:
    return quote(text, safe=_IN_ADDRESS)


FILTERS: dict[str, Filter] = {
    "md5": _md5,
    "sha256": _sha256,
    "lower": str.lower,
    "trim": str.strip,
    "urlencode": _component,
}
