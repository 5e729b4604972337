"""busuanzi's API, and soxft's: a header names the page, not the body.

busuanzi's `GET /busuanzi?jsonpCallback=f` and soxft's `GET /jsonp?callback=f` count a view of the
page in Referer, and answer a script that calls `f`. Browsers cut the Referer to another host down
to `https://blog.example/`, unless the script's element overrides it, and then every view is one of
`/`, indistinguishable from the front page. soxft's `POST /api` has the whole address in
`x-bsz-referer`; `GET` reads.

The fast path reads no headers, so these requests have `run` alone. Identities sent by clients are
ignored, since they could be invented. busuanzi answered `/?jsonpCallback=`, too: here the
demonstration page stays there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import orjson

from ..counting.clients import NO_CLIENT
from ..errors import ServiceError, StoreUnavailable, WrongMethod
from ..http.envelope import NO_ENVELOPE, Envelope
from ..http.params import RawRequest
from ..http.response import SHARED, Response
from ..model import Caller
from ..site import Site
from ..table.answers import Answered
from ..table.context import ParseContext
from ..table.fast import answered
from ..table.fields import Fields, FieldValues
from ..table.prefixes import Prefix
from ..table.rows import Row
from ..table.schemas import TEXT, AnswerSchema, object_of
from ..table.variants import WALINE, Refusals
from ..table.who import ANYBODY
from . import vercount
from .jsonp import SCRIPT, callback_field
from .vercount import FOUR, FOUR_JSON, THREE_JSON, Address, View, counted, looked_up

# Clients store it, and send it with their next view. It is the same for everybody.
IDENTITY = b"footfall"


def _page_in(header: str, request: RawRequest, context: ParseContext) -> str:
    """Raises BadRequest."""
    value = request.headers.get(header.encode(), b"").decode(errors="replace")
    field = Address(header, "", required=f"{header} can not be blank")
    values = Fields(_nothing, (field,)).read({header: value}, context)
    return str(values[header])


def _nothing(values: FieldValues, request: RawRequest, context: ParseContext) -> None:
    """Only its fields are read."""


# JSONP.


@dataclass(frozen=True, slots=True)
class Called:
    """A view, and the function that is called with its numbers."""

    page: str
    callback: str


def _callback(name: str) -> Fields[Called]:
    def made(values: FieldValues, request: RawRequest, context: ParseContext) -> Called:
        return Called(_page_in("referer", request, context), values[name])

    doc = "The function that is called with the numbers; the page is the Referer"
    field = callback_field(name, doc, required=f"{name} can not be blank")
    return Fields(made, (field,), source="query")


# With busuanzi's own version, which copies of its script know.
_BUSUANZI_JSON = THREE_JSON[:-1] + b',"version":2.4}'


async def _call(json: bytes, site: Site, parsed: Called, caller: Caller) -> Answered:
    # The function may be gone by then.
    script = b"try{%b(%b);}catch(e){}" % (parsed.callback.encode(), json)
    return await answered(
        counted(site, parsed.page, script), site.counting.clients.of_caller(caller), caller
    )


def _refused_by_script(error: ServiceError, language: str) -> Response:
    """Browsers run scripts only with status 200."""
    message = orjson.dumps(f"footfall: {error}")
    body = b"try{console.error(%b)}catch(e){}" % message
    return Response(_shown_status(error), body, type=SCRIPT)


# soxft.

ENVELOPE = Envelope(b'{"success":true,"message":"ok","data":', b"}")


def _view(values: FieldValues, request: RawRequest, context: ParseContext) -> View:
    return View(_page_in("x-bsz-referer", request, context), ENVELOPE.around(FOUR_JSON))


async def _count(site: Site, parsed: View, caller: Caller) -> Answered:
    return await answered(
        counted(site, parsed.page, parsed.json), site.counting.clients.of_caller(caller), caller
    )


async def _read(site: Site, parsed: View, caller: Caller) -> Answered:
    return await answered(looked_up(site, parsed.page, parsed.json), NO_CLIENT, caller)


def _refused(error: ServiceError, language: str) -> Response:
    body = {"success": False, "message": str(error), "data": {}}
    return Response(_shown_status(error), orjson.dumps(body))


def _shown_status(error: ServiceError) -> int:
    """Clients read the words of 200 alone; the service's own failures have their status."""
    return error.status if isinstance(error, WrongMethod) or error.status >= 500 else 200


def _told(answer: AnswerSchema) -> Mapping[int, AnswerSchema]:
    """The answer of each status."""
    return dict.fromkeys((200, StoreUnavailable.status), answer)


_ANSWER = AnswerSchema({"type": "string"}, type=SCRIPT)
JSONP = replace(
    WALINE,
    headers=SHARED,
    envelope=NO_ENVELOPE,
    refusals=Refusals(_refused_by_script, "BusuanziScriptError", _told(_ANSWER)),
)
_FAILURE = AnswerSchema(object_of(success={"const": False}, message=TEXT, data=object_of()))
SOXFT = replace(
    WALINE,
    # Authorization has an identity, not a token.
    token=lambda scope, headers, policy: "",
    headers=(
        *SHARED,
        (b"access-control-expose-headers", b"Set-Bsz-Identity"),
        (b"set-bsz-identity", IDENTITY),
    ),
    envelope=ENVELOPE,
    refusals=Refusals(_refused, "BusuanziError", _told(_FAILURE)),
)
# What all of them have in common.
_jsonp = partial(
    Row,
    noun="",
    who=ANYBODY,
    answer=_ANSWER,
    is_unsafe=True,
    prefixes=(Prefix("", JSONP, name="busuanzi"),),
)
_soxft = partial(
    Row,
    noun="",
    path="/api",
    fields=Fields(_view),
    who=ANYBODY,
    answer=FOUR,
    prefixes=(Prefix("", SOXFT, name="busuanzi"),),
)
ROWS: Sequence[Row] = (
    *vercount.ROWS,
    _jsonp(
        "busuanzi_jsonp",
        "GET",
        "/busuanzi",
        fields=_callback("jsonpCallback"),
        run=partial(_call, _BUSUANZI_JSON),
    ),
    _jsonp(
        "soxft_jsonp", "GET", "/jsonp", fields=_callback("callback"), run=partial(_call, FOUR_JSON)
    ),
    _soxft("soxft_read", "GET", run=_read),
    _soxft("soxft_count", "POST", run=_count),
    _soxft("soxft_put", "PUT", run=_count),
)
