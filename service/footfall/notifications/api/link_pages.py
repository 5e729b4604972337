"""Targets of the links in emails: `/unsubscribe`, and `/decide` on a comment.

Email programs and scanners open links by themselves, so GET only shows a button; POST is sent by
the button, and by email programs that unsubscribe by RFC 8058.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ...errors import StoreUnavailable, WrongMethod
from ...http.client import headers_of
from ...http.page_words import PageWords, language_of
from ...http.params import parse_query
from ...owner.files import TYPES, UI, filled, send_file
from ...table.endpoint import READING
from ...table.sending import send_failure
from ..rules.decisions import Decided, Decisions
from ..rules.recipients import Recipients

MAX_LINK_TOKEN_CHARACTERS = 1024
MAX_QUOTE_CHARACTERS = 2000
SECURITY = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; "
        b"frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A status, and the names of texts: of the message and of a button, "" for none. `quote` is a
    comment's text."""

    status: int
    text: str
    button: str = ""
    quote: str = ""


INVALID = Shown(400, "link.invalid")
LATER = Shown(503, "link.later")
UNSUBSCRIBE = Shown(200, "unsubscribe.ask", "unsubscribe.button")
UNSUBSCRIBED = Shown(200, "unsubscribe.done")
GONE = Shown(404, "decide.gone")
Show = Callable[[str], Awaitable[Shown]]


class LinkPage:
    """A page as an ASGI application; `ask` and `act` get the signed data of the link."""

    def __init__(self, route: str, ask: Show, act: Show) -> None:
        self._route = route
        self._ask = ask
        self._act = act
        self._template = (UI / "link.html").read_text()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["counted_as"] = self._route
        if scope["method"] not in (*READING, "POST"):
            return await send_failure(scope, send, WrongMethod("GET, HEAD, POST"))
        query = parse_query(scope["query_string"][: 2 * MAX_LINK_TOKEN_CHARACTERS])
        token = str(query.get("token", ""))[:MAX_LINK_TOKEN_CHARACTERS]
        try:
            shown = await (self._act if scope["method"] == "POST" else self._ask)(token)
        except StoreUnavailable:
            shown = LATER
        asked = headers_of(scope["headers"]).get(b"accept-language", b"").decode("latin-1")
        words = PageWords(language_of(asked))
        values = {
            "lang": words.tag,
            "title": words.say(f"page.{self._route}"),
            "text": words.say(shown.text),
            "quote": shown.quote[:MAX_QUOTE_CHARACTERS],
            "button": words.say(shown.button) if shown.button else "",
            "hidden": "" if shown.button else "hidden",
        }
        body = filled(self._template, values)
        await send_file(
            scope, send, body, TYPES[".html"], b"no-store", SECURITY, status=shown.status
        )


def link_routes(recipients: Recipients, decisions: Decisions) -> list[BaseRoute]:
    async def ask(token: str) -> Shown:
        return UNSUBSCRIBE

    async def unsubscribe(token: str) -> Shown:
        return UNSUBSCRIBED if await recipients.unsubscribe(token) else INVALID

    async def ask_decision(token: str) -> Shown:
        decided = await decisions.look(token)
        shown = _shown(decided)
        if decided is None or decided.is_done or not decided.comment:
            return shown
        name = f"decide.{decided.status}"
        quote = f"{decided.comment.nick or ''}: {decided.comment.source}"
        return replace(shown, text=f"{name}.ask", button=f"{name}.button", quote=quote)

    async def decide(token: str) -> Shown:
        return _shown(await decisions.decide(token))

    return [
        Route("/unsubscribe", LinkPage("unsubscribe", ask, unsubscribe)),
        Route("/decide", LinkPage("decide", ask_decision, decide)),
    ]


def _shown(decided: Decided | None) -> Shown:
    if decided is None:
        return INVALID
    return Shown(200, f"decide.{decided.status}.done") if decided.comment else GONE
