"""GET /api/live?path=/a: the page's views, and whether its comments have changed, as Server-Sent
Events.

Each event's data is `{"path": "/a", "time": 7, "comments": 3}`; `comments` is another number when
everybody may read something else: a newest comment, a reply to it, or how many there are. For as
long as a stream lasts it is a connection of its own, so there are only so many.
"""

import asyncio
from functools import partial
from hashlib import blake2b

import orjson
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from ...errors import Forbidden, ServiceError
from ...http.client import address_of, headers_of, is_allowed, is_own_page
from ...http.params import MAX_PATH, MAX_URL, Form, parse_query
from ...http.policy import Policy
from ...http.response import NO_STORE, SHARED, Headers
from ...model import ORDERS, Caller
from ...monitoring.health import Health
from ...owner.files import Page
from ...process.shares import Shares, queued_client_of
from ...site import Comments, Site
from ...table.dialects import WALINE
from ...table.endpoint import failure, send_answer
from ..rules.live import LivePages
from .comments import List, common_page

PATH = "/api/live"
# Streams of one address, and of all, in one worker.
MAX_CLIENT_STREAMS, MAX_STREAMS = 8, 1_000
# Roots that are looked at: as many as clients show at first.
NEWEST = 10
# When a browser comes back after a stream has ended.
_BEGIN = b"retry: 3000\n\n"
# A line that says nothing, so that proxies see that the connection is in use.
_STILL = b":\n\n"
# A reverse proxy that gathers an answer would hold back every event.
_HEADERS: Headers = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    *SHARED,
    NO_STORE,
    (b"x-accel-buffering", b"no"),
)


class Live:
    """An ASGI application."""

    def __init__(self, site: Site, policy: Policy, health: Health) -> None:
        self._site = site
        self._policy = policy
        self._shares = Shares(MAX_CLIENT_STREAMS, MAX_STREAMS)
        self._pages = LivePages(
            site.counting.counters,
            site.comments.store,
            site.process,
            partial(seen, site.comments),
            _event,
            lambda: health.is_draining,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope["headers"])
        query = parse_query(scope["query_string"][:MAX_URL])
        policy = self._policy
        try:
            if not (is_allowed(headers, policy.domains) or is_own_page(headers, policy)):
                raise Forbidden()
            form = Form(query)
            asked = form.text("path", MAX_PATH, required="path can not be blank") or ""
            form.done()
            if scope["method"] == "HEAD":
                return await _begin(send, b"", is_over=True)
            address = address_of(scope.get("client"), headers, policy.trusted_proxies)
            with self._shares.room(queued_client_of(Caller(address=address)), 1):
                await self._stream(self._site.counting.page_of(asked), receive, send)
        except ServiceError as error:
            language = str(query.get("lang", "")).lower()
            await send_answer(send, failure(scope, error, language, f"GET {PATH}"))

    async def _stream(self, path: str, receive: Receive, send: Send) -> None:
        shown = self._pages.watch(path)
        try:
            # Before an answer has begun, an error can be told.
            event = await anext(shown, None)
            # Before its client has seen anything, and may go: what comes after the whole request
            # says that it has gone, or sends nothing more.
            while (await receive()).get("more_body"):
                pass
            gone = asyncio.ensure_future(receive())
            try:
                await _begin(send, _BEGIN)
                while event is not None:
                    await _send(send, event or _STILL)
                    event = await _before(gone, asyncio.create_task(anext(shown, None)))
            finally:
                gone.cancel()
        finally:
            await shown.aclose()
        await send({"type": "http.response.body", "body": b""})


async def _before(
    gone: "asyncio.Future[Message]", coming: "asyncio.Task[bytes | None]"
) -> bytes | None:
    """What comes next; None for a client that has gone away before."""
    await asyncio.wait((gone, coming), return_when=asyncio.FIRST_COMPLETED)
    if gone.done():
        coming.cancel()
        await asyncio.wait((coming,))
        return None
    return coming.result()


async def _begin(send: Send, piece: bytes, *, is_over: bool = False) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": piece, "more_body": not is_over})


async def _send(send: Send, piece: bytes) -> None:
    await send({"type": "http.response.body", "body": piece, "more_body": True})


async def seen(comments: Comments, path: str, version: int) -> int:
    """A number of the first part of a page's comments, as everybody may read it; exact in any
    language."""
    first = List(path, 1, NEWEST, ORDERS[0], WALINE)
    body, _ = await common_page(comments, first, version)
    return int.from_bytes(blake2b(body, digest_size=6).digest())


def _event(path: str, views: int, comments: int) -> bytes:
    return b"data: %b\n\n" % orjson.dumps({"path": path, "time": views, "comments": comments})


def live_routes(site: Site, policy: Policy, health: Health) -> list[BaseRoute]:
    return [Route(PATH, Page(Live(site, policy, health), "live"))]
