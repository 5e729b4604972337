"""Targets of the links in emails: `/unsubscribe`, and `/decide` on a comment.

Email programs and scanners open links by themselves, so GET only shows a button; POST is sent by
the button, and by email programs that unsubscribe by RFC 8058.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import partial

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ..errors import StoreUnavailable, WrongMethod
from ..http.client import headers_of
from ..http.page_words import PageWords, language_of
from ..http.params import parse_query
from ..notifications.rules.decisions import Decision, Decisions
from ..notifications.rules.recipients import Recipients
from ..table.rows import READING
from ..table.sending import send_failure
from .files import TYPES, UI, filled, send_file

MAX_LINK_TOKEN_CHARACTERS = 2048
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
    """A status, and the names of texts: of the message, of a button, and of links; "" for none.
    `note` says who has changed the comment, and when; `quote` is its text; the button sends
    `token`."""

    status: int
    text: str
    button: str = ""
    quote: str = ""
    note: str = ""
    nick: str = ""
    at_ms: int = 0
    token: str = ""
    page_url: str = ""
    queue_url: str = ""


INVALID = Shown(400, "link.invalid")
LATER = Shown(503, "link.later")
UNSUBSCRIBE = Shown(200, "unsubscribe.ask", "unsubscribe.button")
UNSUBSCRIBED = Shown(200, "unsubscribe.done")
Show = Callable[[str], Awaitable[Shown]]


class LinkPage:
    """A page as an ASGI application; `ask` and `act` get the signed data of the link."""

    def __init__(self, route: str, ask: Show, act: Show, site_name: str, zone: tzinfo) -> None:
        self._route = route
        self._ask = ask
        self._act = act
        self._site_name = site_name
        self._zone = zone
        self._template = (UI / "link.html").read_text(encoding="utf-8")

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
        words = PageWords(language_of(asked), self._zone)
        body = filled(self._template, self._values(words, shown, token))
        await send_file(
            scope, send, body, TYPES[".html"], b"no-store", SECURITY, status=shown.status
        )

    def _values(self, words: PageWords, shown: Shown, token: str) -> Mapping[str, str]:
        when = words.time(shown.at_ms)
        texts = {
            "note": words.say(shown.note, nick=shown.nick, when=when) if shown.note else "",
            "quote": shown.quote,
            "button": words.say(shown.button) if shown.button else "",
            "page_url": shown.page_url,
            "queue_url": shown.queue_url,
        }
        return {
            "lang": words.tag,
            "title": words.say(f"page.{self._route}", site=self._site_name),
            "text": words.say(shown.text),
            "token": shown.token or token,
            "to_page": words.say("decide.page"),
            "to_queue": words.say("decide.queue"),
            **texts,
            **{f"no_{name}": "" if text else "hidden" for name, text in texts.items()},
        }


def link_routes(
    recipients: Recipients, decisions: Decisions, site_name: str, zone: tzinfo
) -> list[BaseRoute]:
    async def ask(token: str) -> Shown:
        return UNSUBSCRIBE

    async def unsubscribe(token: str) -> Shown:
        return UNSUBSCRIBED if await recipients.unsubscribe(token) else INVALID

    async def ask_decision(token: str) -> Shown:
        return _shown(await decisions.look(token))

    async def decide(token: str) -> Shown:
        return _shown(await decisions.decide(token))

    pages = partial(LinkPage, site_name=site_name, zone=zone)
    return [
        Route("/unsubscribe", pages("unsubscribe", ask, unsubscribe)),
        Route("/decide", pages("decide", ask_decision, decide)),
    ]


def _shown(decision: Decision | None) -> Shown:
    if decision is None:
        return INVALID
    if decision.comment is None:
        return Shown(404, "decide.gone", queue_url=decision.queue_url)
    shown = Shown(
        200,
        f"decide.{decision.deed}.{'done' if decision.is_done else 'ask'}",
        quote=f"{decision.comment.nick or ''}: {decision.comment.source}",
        page_url=decision.page_url,
        queue_url=decision.queue_url,
    )
    if decision.undo:
        return replace(shown, button="decide.undo", token=decision.undo)
    note = _note(decision)
    if note and decision.last:
        last = decision.last
        shown = replace(shown, note=note, nick=last.nick, at_ms=last.at_ms)
    if decision.is_done:
        return shown
    return replace(shown, button=f"decide.{decision.deed}.button", token=decision.token)


def _note(decision: Decision) -> str:
    """What has happened to the comment since the email, "" for nothing."""
    last = decision.last
    if last is None:
        return ""
    if last.by == "author":
        return "decide.edited" if decision.has_changed else ""
    by = "nick" if last.nick else last.by
    return f"decide.was.{decision.status}.{by}" if by in ("nick", "filter") else ""
