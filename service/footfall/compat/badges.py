"""Badges that count the views of the document that shows them, such as a README.

`/badge/<page>.svg` is this service's own, and counts the page's one counter. Three others have the
original addresses: hits.sh's, Hits of seeyoufarm.com, and komarev's for a profile at GitHub, which
counts requests of GitHub's proxy only. Documents that are not pages of the site are counted by a
name of their own, such as `github.com/user/repository`. An error is a badge, too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..counters import VIEWS, counter_of
from ..counting.fast import CounterChange, CounterRead
from ..counting.rules import Counting
from ..errors import ServiceError
from ..http.params import MAX_PATH, RawRequest
from ..http.response import SHARED, Reply, Response, tagged_by_body
from ..model import Caller
from ..table.answers import Answered
from ..table.context import ParseContext
from ..table.fast import FastRequest, answered
from ..table.fields import Choice, Field, Fields, FieldValues, Integer, Text
from ..table.prefixes import Prefix
from ..table.rows import Row
from ..table.schemas import AnswerSchema
from ..table.who import ANYBODY
from .images import INVISIBLE, STYLES, SVG, Look, badge
from .refusals import status_of, variant_of

MAX_LABEL = 64
MAX_BASE = 1_000_000_000_000
# Texts of errors on a badge.
MAX_WORDS = 200
CAMO = "github-camo"
YES, NO = "true", "false"
UNITS = (("B", 1_000_000_000), ("M", 1_000_000), ("K", 1000))
_COLOR = re.compile("#?[0-9A-Za-z]{3,20}")
# The longest name of an account at GitHub has 39.
_USER = re.compile("[0-9A-Za-z-]{1,39}")


# How a badge looks.


def _check_color(name: str, value: str, context: ParseContext) -> str:
    return "" if _COLOR.fullmatch(value) else f"{name} need 3 to 20 letters and digits"


def _color(name: str, doc: str) -> Text:
    return Text(name, doc, 21, check=partial(_check_color, name))


def _label(name: str, default: str) -> Text:
    return Text(name, "What stands on the left", MAX_LABEL, default=default)


def _flag(name: str, doc: str, default: str = NO) -> Choice:
    return Choice(name, doc, default, (YES, NO))


def look_fields(label: str, *styles: str) -> tuple[Field, ...]:
    """With this default label, and these styles in addition to the usual ones."""
    return (
        _label("label", label),
        _color("color", "Of the number's half: a name, or digits as in 4c1"),
        _color("labelColor", "Of the label's half"),
        Choice("style", "The style", "flat", (*STYLES, *styles)),
    )


def look_of(values: FieldValues) -> Look:
    return _look(values["label"], values["color"], values["labelColor"], values["style"])


def _look(label: str, color: str, label_color: str, style: str) -> Look:
    usual = Look(label, style=style)
    return Look(label, color or usual.color, label_color or usual.label_color, style)


def shortened(number: int) -> str:
    """12345 as 12.3K: never more than it is."""
    for unit, size in UNITS:
        if number >= size:
            whole, tenth = divmod(number * 10 // size, 10)
            return f"{whole}.{tenth}{unit}" if tenth else f"{whole}{unit}"
    return str(number)


# The number that is counted, and shown.


@dataclass(frozen=True, slots=True)
class Badge:
    """`base` is added to the number that is shown."""

    page: str
    look: Look
    base: int = 0
    is_short: bool = False
    is_view: bool = True

    @classmethod
    def own(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Badge":
        page = context.page_of(f"/{values['page'].lstrip('/')}")
        is_short, is_view = values["abbreviated"] == YES, values["count"] == YES
        return cls(page, look_of(values), values["base"], is_short, is_view)

    @classmethod
    def of_hits(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Badge":
        page = context.page_of(f"{values['name']}.{values['domain']}/{values['page']}")
        return cls(page, look_of(values), values["extraCount"])

    @classmethod
    def of_seeyoufarm(
        cls, values: FieldValues, request: RawRequest, context: ParseContext
    ) -> "Badge":
        style = "flat-square" if values["edge_flat"] == YES else "flat"
        look = _look(values["title"], values["count_bg"], values["title_bg"], style)
        return cls(context.page_of(values["url"]), look)

    @classmethod
    def of_profile(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Badge":
        is_short = values["abbreviated"] == YES
        return cls(f"ghpvc/{values['username']}", look_of(values), values["base"], is_short)

    def drawn(self, counts: Sequence[int]) -> bytes:
        number = counts[0] + self.base
        return badge(self.look, shortened(number) if self.is_short else str(number))


def count(counting: Counting, parsed: Badge) -> FastRequest:
    """With is_view False it only reads. Either way the answer is not cached."""

    def answer(counts: Sequence[int]) -> Reply:
        return parsed.drawn(counts), b""

    if not parsed.is_view:
        return CounterRead(counting, [counter_of(parsed.page)], answer)
    return CounterChange(counting, [(parsed.page, VIEWS, 1)], answer)


def show(counting: Counting, parsed: Badge) -> FastRequest:
    names = [counter_of(parsed.page)]
    return CounterRead(counting, names, lambda counts: tagged_by_body(parsed.drawn(counts)))


async def count_for_github(counting: Counting, parsed: Badge, caller: Caller) -> Answered:
    """A view of a profile is a request of GitHub's proxy for its badge; others may request it as
    well."""
    asked = replace(parsed, is_view=caller.agent.startswith(CAMO))
    return await answered(count(counting, asked), counting.clients.of_caller(caller), caller)


def _check_user(value: str, context: ParseContext) -> str:
    return "" if _USER.fullmatch(value) else "username need 1 to 39 letters, digits and hyphens"


_NUMBER = (
    Integer("base", "What is added to the number that is shown", 0, MAX_BASE),
    _flag("abbreviated", "12.3K in place of 12345"),
)
_PAGE = Text("page", "The page", MAX_PATH)
OWN = Fields(
    Badge.own,
    (_PAGE, *look_fields("views"), *_NUMBER, _flag("count", "Whether this is a view", YES)),
    source="query",
)
HITS = Fields(
    Badge.of_hits,
    (
        Text("name", "The host, before its last dot", MAX_PATH),
        Text("domain", "The host, behind its last dot", MAX_PATH),
        _PAGE,
        *look_fields("hits"),
        Integer("extraCount", "What is added to the number that is shown", 0, MAX_BASE),
    ),
    source="query",
)
SEEYOUFARM = Fields(
    Badge.of_seeyoufarm,
    (
        Text("url", "The page's address", MAX_PATH, required="url can not be blank"),
        _label("title", "hits"),
        _color("title_bg", "Of the title's half"),
        _color("count_bg", "Of the number's half"),
        _flag("edge_flat", "Whether its corners are square"),
    ),
    source="query",
)
PROFILE = Fields(
    Badge.of_profile,
    (
        Text(
            "username",
            "The account at GitHub",
            39,
            required="username can not be blank",
            check=_check_user,
        ),
        *look_fields("Profile views", INVISIBLE),
        *_NUMBER,
    ),
    source="query",
)


def _refused(error: ServiceError, language: str) -> Response:
    """Who wrote an address with a mistake sees in the picture what that is."""
    text = badge(Look("error", color="critical"), str(error)[:MAX_WORDS])
    return Response(status_of(error), text, type=SVG)


_PICTURE = AnswerSchema({"type": "string", "pattern": "^<svg "}, type=SVG)
_HEADERS = (*SHARED, (b"cross-origin-resource-policy", b"cross-origin"))
BADGES = (Prefix("", variant_of("Badge", _refused, _PICTURE, _HEADERS), name="Badges"),)
_row = partial(
    Row,
    noun="counting",
    method="GET",
    who=ANYBODY,
    answer=_PICTURE,
    is_picture=True,
    prefixes=BADGES,
)
_counting: Mapping[str, Any] = {"is_unsafe": True, "fast": count}
ROWS = (
    _row("badge", path="/badge/{page:path}.svg", fields=OWN, **_counting),
    _row("badge_incr", path="/api/count/incr/badge.svg", fields=SEEYOUFARM, **_counting),
    _row("badge_keep", path="/api/count/keep/badge.svg", fields=SEEYOUFARM, fast=show),
    # The fast path reads no user agent.
    _row("badge_ghpvc", path="/ghpvc/", fields=PROFILE, is_unsafe=True, run=count_for_github),
    # After all others, since it matches any host.
    _row("badge_hits", path="/{name}.{domain}/{page:path}.svg", fields=HITS, **_counting),
)
