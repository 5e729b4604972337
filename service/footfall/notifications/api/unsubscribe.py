"""/unsubscribe: what the links below emails lead to.

Email programs and scanners open links by themselves, so GET only shows a button; POST is what a
press of it sends, and what email programs send by RFC 8058.
"""

import html

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ...errors import StoreUnavailable, WrongMethod
from ...http.params import parse_query
from ...owner.files import TYPES, UI, send_file
from ...table.endpoint import READING
from ...table.sending import send_failure
from ..rules.recipients import Recipients

MAX_LINK_TOKEN_CHARACTERS = 1024
SECURITY = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; "
        b"frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
)
ASK = "Do you want no more of these mails?"
DONE = "You get no more of these mails."
NOT_OURS = "This link is not whole. Take it as it is in the mail."
LATER = "That did not work just now. Please try again in a minute."


class Unsubscribe:
    """The page as an ASGI application."""

    def __init__(self, recipients: Recipients) -> None:
        self._recipients = recipients
        self._template = (UI / "unsubscribe.html").read_text()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["counted_as"] = "unsubscribe"
        if scope["method"] not in (*READING, "POST"):
            return await send_failure(scope, send, WrongMethod("GET, HEAD, POST"))
        query = parse_query(scope["query_string"][: 2 * MAX_LINK_TOKEN_CHARACTERS])
        token = str(query.get("token", ""))[:MAX_LINK_TOKEN_CHARACTERS]
        status, text = 200, ASK
        if scope["method"] == "POST":
            try:
                is_ours = await self._recipients.unsubscribe(token)
                status, text = (200, DONE) if is_ours else (400, NOT_OURS)
            except StoreUnavailable:
                status, text = 503, LATER
        body = self._template.replace("{{text}}", html.escape(text))
        body = body.replace("{{hidden}}", "" if text == ASK else "hidden")
        await send_file(
            scope, send, body.encode(), TYPES[".html"], b"no-store", SECURITY, status=status
        )


def unsubscribe_routes(recipients: Recipients) -> list[BaseRoute]:
    return [Route("/unsubscribe", Unsubscribe(recipients))]
