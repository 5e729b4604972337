"""GET /api/live?path=/a: a page's views, and changes of its comments, as Server-Sent Events.

Each event's data is `{"path": "/a", "time": 7, "comments": 3}`; `comments` changes when the public
part of the page does: a new comment, a reply, or their number. Each stream keeps a connection, so
their number is limited.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from hashlib import blake2b

import orjson

from ...http.response import NO_STORE, Response
from ...limits.clients import BACKGROUND, pool_client_of
from ...model import ORDERS, Caller
from ...table.fields import PagePath, copied
from ...table.prefixes import API
from ...table.rows import Declared
from ...table.schemas import NUMBER, TEXT, AnswerSchema, object_of
from ...table.variants import WALINE
from ...table.who import ANYBODY
from ..noun import Comments
from ..rules.live import Seen
from .comments import WantedPage, common_page

operation = Declared[Comments]("comments", API)

# Roots that are looked at: as many as clients show at first.
NEWEST = 10
# When a browser comes back after a stream has ended.
_START = b"retry: 3000\n\n"
# An empty comment, so that proxies see that the connection is in use.
_STILL = b":\n\n"
# Of each event.
_DATA = {
    "type": "string",
    "contentMediaType": "application/json",
    "contentSchema": object_of(path=TEXT, time=NUMBER, comments=NUMBER),
}
EVENTS = AnswerSchema(
    object_of(data=_DATA, _optional={"event": TEXT}), type=b"text/event-stream; charset=utf-8"
)
# A reverse proxy that gathers an answer would hold back every event.
_HEADERS = (NO_STORE, (b"x-accel-buffering", b"no"))


_PATH = PagePath("path", "The page", required="path can not be blank")
PAGE = copied(str, (_PATH,), source="query")


@operation("live", "GET", "/live", PAGE, ANYBODY, EVENTS, is_endless=True)
async def live(comments: Comments, path: str, caller: Caller) -> Response:
    events = _events(comments, path, caller)
    # The first event comes before the response starts: until then an error can be returned.
    return Response(200, await anext(events), _HEADERS, type=EVENTS.type, stream=events)


async def _events(comments: Comments, path: str, caller: Caller) -> AsyncGenerator[bytes]:
    with comments.process.pools.streams.room(pool_client_of(caller)) as place:
        watched = comments.live_pages.watch(path, partial(number_of, comments), place)
        async with aclosing(watched):
            before = _START
            async for seen in watched:
                yield before + _event(path, seen) if seen else _STILL
                before = b""


async def number_of(comments: Comments, path: str, version: int) -> int:
    """A number for the first part of a page's public comments; exact in any language."""
    first = WantedPage(path, 1, NEWEST, ORDERS[0], WALINE)
    body, _ = await common_page(comments, first, version, BACKGROUND)
    return int.from_bytes(blake2b(body, digest_size=6).digest())


def _event(path: str, seen: Seen) -> bytes:
    event = {"path": path, "time": seen.views, "comments": seen.comments}
    return b"data: %b\n\n" % orjson.dumps(event)
