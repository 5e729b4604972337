"""The protocol of Abacus, and of CountAPI before it: a counter is a key in a namespace.

`/hit/<ns>/<key>` counts and answers `{"value": 1}`, `/get` only reads, and both may come as JSONP,
as a picture of one pixel, or as a badge. The key `site/likes` is the counter of the path
`site/likes`, which is not a page's. :HOST: and :PATHNAME: stand for the requesting page, by its
Referer. Requests that set a counter are rejected: here that needs the command line.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NoReturn
from urllib.parse import urlsplit

from ..counters import VIEWS, counter_of
from ..counting.clients import NO_CLIENT
from ..counting.fast import CounterChange, CounterRead
from ..counting.rules import Counting
from ..errors import BadRequest, WrongMethod
from ..http.params import MAX_PATH, RawRequest
from ..http.response import Reply, Response, tagged_by_body
from ..model import Caller
from ..table.answers import Answered
from ..table.context import ParseContext
from ..table.fast import FastRequest, answered
from ..table.fields import Fields, FieldValues, Given, Text
from ..table.prefixes import Prefix
from ..table.rows import Row
from ..table.schemas import FLAG, TEXT, AnswerSchema, object_of
from ..table.who import ANYBODY
from .badges import look_fields, look_of
from .images import GIF, PIXEL, SVG, Look, badge
from .jsonp import SCRIPT, callback_field
from .refusals import NOT_FOUND, error_schema, in_json, variant_of

HOST, PATHNAME = ":HOST:", ":PATHNAME:"
LEAST_NAME, MAX_NAME = 3, 64
# What the protocols have that sets a counter, or takes it away.
SETTING = ("create", "set", "reset", "update", "delete")
INSTEAD = (
    "Counters start at their first hit and rise by one. To set them, run "
    "`footfall import FILE`, to remove them `footfall counters delete PATTERN`"
)
_NAME = re.compile(rf"[A-Za-z0-9_.-]{{{LEAST_NAME},{MAX_NAME}}}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A counter by its two names, and what its number is answered in."""

    namespace: str
    key: str
    referer: str
    callback: str = ""
    is_image: bool = False
    look: Look = Look()

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Wanted":
        referer = request.headers.get(b"referer", b"").decode("latin-1")
        is_image = values["img"] is not None
        return cls(values["ns"], values["key"], referer, values["callback"], is_image)

    @classmethod
    def as_badge(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Wanted":
        referer = request.headers.get(b"referer", b"").decode("latin-1")
        return cls(values["ns"], values["key"], referer, look=look_of(values))

    @property
    def is_of_page(self) -> bool:
        """Does the Referer name the counter?"""
        return not {self.namespace, self.key}.isdisjoint((HOST, PATHNAME))

    def path(self, page_of: Callable[[str], str]) -> str:
        """The counter's path. Raises BadRequest if the Referer should name it and does not."""
        names = self.namespace, self.key
        if not self.is_of_page:
            return "/".join(names)
        host, page = _page_of(self.referer)
        path = "/".join({HOST: host, PATHNAME: page}.get(name, name) for name in names)
        if not host or len(path) > MAX_PATH:
            field = "key" if self.key in (HOST, PATHNAME) else "ns"
            raise BadRequest({field: f"{field} need a Referer with the page's address"})
        return page_of(path)


def _page_of(referer: str) -> tuple[str, str]:
    """A page's host, "" if that is no address, and its path without the first slash."""
    try:
        page = urlsplit(referer)
        return page.hostname or "", page.path.lstrip("/")
    except ValueError:
        return "", ""


# A FastRequest for the operation.
Asking = Callable[[Counting, Wanted], FastRequest]


def hit(counting: Counting, parsed: Wanted) -> FastRequest:
    return _hit(counting, parsed, partial(_value, parsed, is_hit=True))


def get(counting: Counting, parsed: Wanted) -> FastRequest:
    return _read(counting, parsed, partial(_value, parsed))


def info(counting: Counting, parsed: Wanted) -> FastRequest:
    return _read(counting, parsed, partial(_told, parsed.path(counting.page_of)))


def hit_badge(counting: Counting, parsed: Wanted) -> FastRequest:
    return _hit(counting, parsed, lambda number: (badge(parsed.look, str(number)), b""))


def get_badge(counting: Counting, parsed: Wanted) -> FastRequest:
    return _read(counting, parsed, lambda number: tagged_by_body(badge(parsed.look, str(number))))


def _hit(counting: Counting, parsed: Wanted, answer: Callable[[int], object]) -> FastRequest:
    change = (parsed.path(counting.page_of), VIEWS, 1)
    return CounterChange(counting, [change], lambda counts: answer(counts[0]))


def _read(counting: Counting, parsed: Wanted, answer: Callable[[int], object]) -> FastRequest:
    names = [counter_of(parsed.path(counting.page_of))]
    return CounterRead(counting, names, lambda counts: answer(counts[0]))


def _fast(ask: Asking, counting: Counting, parsed: Wanted) -> FastRequest | None:
    """None where the Referer decides, which the fast path does not read."""
    return None if parsed.is_of_page else ask(counting, parsed)


async def _of_page(ask: Asking, counting: Counting, parsed: Wanted, caller: Caller) -> Answered:
    request = ask(counting, parsed)
    client = counting.clients.of_caller(caller) if request.is_change else NO_CLIENT
    return await answered(request, client, caller)


async def refuse(_: object, parsed: None, caller: Caller) -> NoReturn:
    raise WrongMethod("OPTIONS", INSTEAD)


# Answers.


def _value(parsed: Wanted, number: int, *, is_hit: bool = False) -> Reply | Response:
    """404 for a counter that was only read, and is not there."""
    if parsed.is_image:
        return Response(200, PIXEL, type=GIF)
    if not number:
        return Response(NOT_FOUND, b'{"error":"Key not found","value":null}')
    body = b'{"value":%d}' % number
    if parsed.callback:
        return Response(200, b"%b(%b);" % (parsed.callback.encode(), body), type=SCRIPT)
    # The number is a sufficient ETag of what only reads.
    return body, b"" if is_hit else b'"%d"' % number


def _told(path: str, number: int) -> Mapping[str, object]:
    """Nothing expires here, and no key of an administrator is given away."""
    return {
        "value": number or -1,
        "full_key": path,
        "is_genuine": True,
        "expires_in": -1,
        "expires_str": "never",
        "exists": bool(number),
    }


# Requests.


def _check_name(name: str) -> Callable[[str, ParseContext], str]:
    needed = f"{name} need {LEAST_NAME} to {MAX_NAME} letters, digits, _ . or -"

    def check(value: str, context: ParseContext) -> str:
        return "" if _NAME.fullmatch(value) or value in (HOST, PATHNAME) else needed

    return check


def _name(name: str, doc: str) -> Text:
    return Text(name, doc, MAX_NAME, check=_check_name(name), least=LEAST_NAME)


_NAMES = (_name("ns", "The namespace"), _name("key", "The key"))
WANTED = Fields(
    Wanted.of,
    (
        *_NAMES,
        callback_field("callback", "The function that a script calls"),
        Given("img", "If it is sent, a picture of one pixel", {"type": "string"}),
    ),
    source="query",
)
BADGE = Fields(Wanted.as_badge, (*_NAMES, *look_fields("hits")), source="query")
SETTER = Fields(lambda values, request, context: None, (), source="query")
SETTER_BEHIND = Fields(
    lambda values, request, context: None, (Text("counter", "Any", MAX_PATH),), source="query"
)


_OTHERS = (SCRIPT, GIF)
_VALUE = AnswerSchema(object_of(value={"type": "integer", "minimum": 1}), others=_OTHERS)
_INFO = AnswerSchema(
    object_of(
        value={"type": "integer", "minimum": -1},
        full_key=TEXT,
        is_genuine={"const": True},
        expires_in={"const": -1},
        expires_str={"const": "never"},
        exists=FLAG,
    ),
    others=_OTHERS,
)
_PICTURE = AnswerSchema({"type": "string", "pattern": "^<svg "}, type=SVG)
_ERROR = error_schema()
_MISSING = error_schema(value={"type": "null"})
_VARIANT = variant_of("AbacusError", in_json, _ERROR, _404=_MISSING)
READING, COUNTING = ("get", "info"), ("hit",)
_PREFIXES = {
    name: Prefix(f"/{name}", _VARIANT, name="Abacus") for name in (*COUNTING, *READING, *SETTING)
}
_PATH = "/{ns}/{key}"


def _row(verb: str, ask: Asking, answer: AnswerSchema) -> Row:
    is_badge = answer.type == SVG
    return Row(
        f"abacus_{verb}_badge" if is_badge else f"abacus_{verb}",
        "GET",
        f"{_PATH}/shield" if is_badge else _PATH,
        BADGE if is_badge else WANTED,
        ANYBODY,
        answer,
        partial(_of_page, ask),
        is_picture=is_badge,
        is_unsafe=verb in COUNTING,
        fast=partial(_fast, ask),
        prefixes=(_PREFIXES[verb],),
        noun="counting",
    )


def _refusing(command: str, method: str, path: str) -> Row:
    answer, prefixes = _ERROR._replace(status=WrongMethod.status), (_PREFIXES[command],)
    name = f"abacus_{command}_{method.lower()}" if path else f"countapi_{command}_{method.lower()}"
    fields = SETTER_BEHIND if path else SETTER
    return Row(
        name, method, path, fields, ANYBODY, answer, refuse, prefixes=prefixes, noun="counting"
    )


ROWS = (
    # Before shorter paths, in which /openapi.json would find it.
    _row("hit", hit_badge, _PICTURE),
    _row("get", get_badge, _PICTURE),
    _row("hit", hit, _VALUE),
    _row("get", get, _VALUE),
    _row("info", info, _INFO),
    # CountAPI's are a GET, those of Abacus a POST; the counter is named by the path or the query.
    *(
        _refusing(command, method, path)
        for command in SETTING
        for method in ("GET", "POST")
        for path in ("", "/{counter:path}")
    ),
)
