"""GET comment/rss: comments as a feed.

The newest comments of the site, of an article (`path`), or replies to an account (`user_id`); as
RSS, or by `format` as Atom or JSON Feed. Unlike in Waline, an email address selects nothing: anyone
who knows one could see who replies to it.

SECURE_DOMAINS does not apply: feed readers send no referring page, so it would reject all of them.
The content of feeds is public.
"""

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import urlencode

import orjson

from ...errors import NotFound
from ...http.params import MAX_PATH, Form, RawRequest
from ...http.response import Response
from ...limits.answer_cache import CachedAnswer
from ...limits.clients import PoolClient, pool_client_of
from ...model import PUBLIC, Caller, Lookups, StoredComment
from ...render.feed import FORMATS, Feed, item
from ...render.page_address import page_address
from ...render.view import DisplayOptions, View
from ...table.context import ParseContext
from ...table.fields import Choice, Fields, FieldValues, Integer, PagePath, Text
from ...table.prefixes import API, BARE_API
from ...table.rows import Declared
from ...table.schemas import TEXT, AnswerSchema
from ...table.who import ANYBODY
from ..noun import Comments
from ..rules import feeds

operation = Declared[Comments]("comments", API, BARE_API)

DEFAULT_ITEMS = 20
MAX_ITEMS = 50
DAY_MS = 86_400_000


class FeedRequest(NamedTuple):
    """The `number` newest comments; `path` and `account` are "" for any.

    `base` is the address of all feeds, `site_url` that of the pages that they lead to.
    """

    number: int
    path: str
    account: str
    format: str
    base: str
    site_name: str
    site_url: str

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "FeedRequest":
        server = request.server_url().rstrip("/")
        return cls(
            values["count"],
            values["path"],
            values["user_id"],
            values["format"],
            f"{server}/api/comment/rss",
            context.settings.title,
            context.settings.site_url or server,
        )

    @property
    def url(self) -> str:
        """This feed's canonical address."""
        chosen = {"path": self.path, "user_id": self.account, "format": self.format}
        query = {name: value for name, value in chosen.items() if value and value != "rss"}
        if self.number != DEFAULT_ITEMS:
            query["count"] = str(self.number)
        return f"{self.base}?{urlencode(query)}" if query else self.base

    @property
    def title(self) -> str:
        if self.account:
            return f"{self.site_name}: replies"
        return f"{self.site_name}: comments" + (f" on {self.path[:100]}" if self.path else "")


def _refuse_email(request: RawRequest) -> None:
    form = Form(request.query)
    if request.query.get("email"):
        form.wrong("email", "email selects no feed: take path or user_id")
    form.done()


def _check(form: Form, values: FieldValues) -> None:
    if values["path"] and values["user_id"]:
        form.wrong("user_id", "user_id and path select two feeds: take one")


FIELDS = Fields(
    FeedRequest.of,
    (
        Integer("count", "How many comments", DEFAULT_ITEMS, MAX_ITEMS),
        PagePath("path", "Those of this page, with replies"),
        Text("user_id", "Those that reply to this account", MAX_PATH),
        Choice("format", "The format", "rss", tuple(FORMATS)),
    ),
    source="query",
    before=_refuse_email,
    check=_check,
)


_RSS, *_OTHERS = (type for type, _ in FORMATS.values())
FEED_ANSWER = AnswerSchema(TEXT, type=_RSS, others=_OTHERS)


@operation("feed", "GET", "/comment/rss", FIELDS, ANYBODY, FEED_ANSWER, admits_all=True)
async def feed(comments: Comments, wanted: FeedRequest, caller: Caller) -> Response:
    """Raises NotFound for an unknown account; TooManyAtOnce, Unavailable."""
    made = await _made(comments, wanted, pool_client_of(caller))
    type, _ = FORMATS[wanted.format]
    return Response(200, made.body, type=type, tag=made.tag)


async def _made(comments: Comments, wanted: FeedRequest, client: PoolClient) -> CachedAnswer:
    if wanted.account and not await comments.accounts.store.by_ids({wanted.account}):
        raise NotFound("user_id: there is no such account")
    ids = await feeds.candidates(comments.recent, wanted.number, wanted.path, wanted.account)
    versions = await comments.recent.versions(ids)
    # At midnight UTC, so that all workers write the same date into an empty feed.
    today_ms = comments.process.clock() // DAY_MS * DAY_MS
    made_of = ids, versions, today_ms
    if cached := comments.page_cache.find(wanted, made_of):
        return cached
    make = partial(_make, comments, wanted, ids, today_ms, client)
    # Apart from pages of comments, which do not wait for feeds.
    pool = comments.process.pools.feeds
    return await comments.page_cache.find_or_make(wanted, made_of, make, pool, client)


async def _make(
    comments: Comments, wanted: FeedRequest, ids: tuple[str, ...], today_ms: int, client: PoolClient
) -> CachedAnswer:
    made_of, read, live = await feeds.read(comments, ids, wanted.number, wanted.account)
    work = partial(_written, comments.display, wanted, read, live, today_ms)
    body = await comments.process.renderer.run(work, client)
    tag = b'"%b"' % blake2b(body, digest_size=8).hexdigest().encode()
    return CachedAnswer((ids, made_of, today_ms), body, tag)


def _written(
    display: DisplayOptions,
    wanted: FeedRequest,
    comments: Sequence[StoredComment],
    live: Lookups,
    today_ms: int,
) -> bytes:
    shown = View(PUBLIC, display).elsewhere(comments, live)
    items = [item(orjson.loads(json), wanted.site_url) for json in shown]
    _, write = FORMATS[wanted.format]
    home = page_address(wanted.path, wanted.site_url)
    return write(Feed(wanted.title, wanted.url, home, items, today_ms))
