"""GET comment/rss: comments as a feed, for readers of feeds.

The newest of the site, of an article (`path`), or those that reply to an account (`user_id`); as
RSS, or by `format` as Atom or JSON Feed. A mail address selects nothing, unlike at the reference
server: anyone who knows one could read on who answers to it.

SECURE_DOMAINS does not hold here: programs that read feeds name no page that they come from, so it
would turn all of them away. What feeds show is public.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import urlencode

import orjson
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ...errors import NotFound, ServiceError
from ...http.client import address_of, headers_of, server_address
from ...http.params import MAX_PATH, MAX_URL, Form, Values, parse_query
from ...http.policy import Policy
from ...http.response import answer_of
from ...model import PUBLIC, Caller, Lookups, StoredComment
from ...owner.files import Page
from ...process.fair_queue import FairQueue
from ...process.shares import QueuedClient, Shares, queued_client_of
from ...render.feed import FORMATS, Feed, item
from ...render.page_address import page_address
from ...render.view import View
from ...site import Site
from ...table.endpoint import failure, send_answer
from ..rules import feeds
from ..rules.page_cache import CachedAnswer

DEFAULT_ITEMS = 20
MAX_ITEMS = 50
DAY_MS = 86_400_000
# Feeds that are not cached and wait to be made: those of one client, and all.
MAX_CLIENT_FEEDS = 4
MAX_WAITING_FEEDS = 64


class FeedRequest(NamedTuple):
    """The `number` newest comments; `path` and `account` are "" for any.

    `base` is the address of all feeds.
    """

    number: int
    path: str
    account: str
    format: str
    base: str

    @property
    def url(self) -> str:
        """This feed's, the same however it was asked for."""
        chosen = {"path": self.path, "user_id": self.account, "format": self.format}
        query = {name: value for name, value in chosen.items() if value and value != "rss"}
        if self.number != DEFAULT_ITEMS:
            query["count"] = str(self.number)
        return f"{self.base}?{urlencode(query)}" if query else self.base


def parse(query: Values, base: str, page_of: Callable[[str], str]) -> FeedRequest:
    """Raises BadRequest."""
    form = Form(query)
    count = form.integer("count", DEFAULT_ITEMS, MAX_ITEMS)
    path = page_of(form.text("path", MAX_PATH) or "")
    account = form.text("user_id", MAX_PATH) or ""
    format = form.choice("format", "rss", FORMATS)
    if query.get("email"):
        form.wrong("email", "email selects no feed: take path or user_id")
    if path and account:
        form.wrong("user_id", "user_id and path select two feeds: take one")
    form.done()
    return FeedRequest(count, path, account, format, base)


class Feeds:
    """The feeds as an ASGI application."""

    def __init__(self, site: Site, policy: Policy, values: Mapping[str, str]) -> None:
        self._site = site
        self._policy = policy
        self._name = values["site_name"]
        self._site_url = values["site_url"]
        # Feeds are made one at a time, apart from pages of comments: those do not wait for feeds.
        self._queue = FairQueue()
        self._shares = Shares(MAX_CLIENT_FEEDS, MAX_WAITING_FEEDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope["headers"])
        query = parse_query(scope["query_string"][:MAX_URL])
        try:
            base = (self._policy.server_url or server_address(scope, self._policy)).rstrip("/")
            wanted = parse(query, f"{base}/api/comment/rss", self._site.counting.page_of)
            address = address_of(scope.get("client"), headers, self._policy.trusted_proxies)
            finished = await self._finished(wanted, queued_client_of(Caller(address=address)))
            reply = finished.body, finished.tag
            type, _ = FORMATS[wanted.format]
            answer = answer_of(reply, headers.get(b"if-none-match", b""))
            answer = replace(answer, common=_COMMON, type=type)
        except ServiceError as error:
            answer = failure(scope, error, str(query.get("lang", "")).lower(), "")
        await send_answer(send, answer, has_body=scope["method"] != "HEAD")

    async def _finished(self, wanted: FeedRequest, client: QueuedClient) -> CachedAnswer:
        """Raises NotFound for what is no account; TooManyAtOnce, Unavailable."""
        site = self._site
        if wanted.account and not await site.accounts.store.by_ids({wanted.account}):
            raise NotFound("user_id: there is no such account")
        ids = await feeds.candidates(
            site.comments.recent, wanted.number, wanted.path, wanted.account
        )
        versions = await site.comments.recent.versions(ids)
        # At midnight UTC, so that all workers write the same date into an empty feed.
        today_ms = site.process.clock() // DAY_MS * DAY_MS
        made_of = ids, versions, today_ms
        found = site.comments.page_cache.find(wanted, made_of)
        if found:
            return found
        make = partial(self._make, wanted, ids, today_ms, client)
        # A client that waits for it uses its own share, also if another one began it.
        with self._shares.room(client, 1):
            turn = self._queue.turn(client.turn)
            return await site.comments.page_cache.find_or_make(wanted, made_of, make, turn)

    async def _make(
        self, wanted: FeedRequest, ids: tuple[str, ...], today_ms: int, client: QueuedClient
    ) -> CachedAnswer:
        site = self._site
        made_of, comments, live = await feeds.read(
            site.comments, ids, wanted.number, wanted.account
        )
        work = partial(self._written, wanted, comments, live, today_ms)
        body = await site.process.renderer.run(work, client)
        tag = b'"%b"' % blake2b(body, digest_size=8).hexdigest().encode()
        return CachedAnswer((ids, made_of, today_ms), body, tag)

    def _written(
        self, wanted: FeedRequest, comments: Sequence[StoredComment], live: Lookups, today_ms: int
    ) -> bytes:
        view = View(PUBLIC, self._site.comments.display)
        url = self._site_url or wanted.base.removesuffix("/api/comment/rss")
        items = [item(orjson.loads(each), url) for each in view.elsewhere(comments, live)]
        _, write = FORMATS[wanted.format]
        home = page_address(wanted.path, url)
        return write(Feed(self._title(wanted), wanted.url, home, items, today_ms))

    def _title(self, wanted: FeedRequest) -> str:
        if wanted.account:
            return f"{self._name}: replies"
        return f"{self._name}: comments" + (f" on {wanted.path[:100]}" if wanted.path else "")


_COMMON = (
    (b"x-content-type-options", b"nosniff"),
    (b"access-control-allow-origin", b"*"),
    # Feeds show HTML of strangers; no browser that opens one runs anything of it.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; sandbox"),
)


def feed_routes(site: Site, policy: Policy, values: Mapping[str, str]) -> list[BaseRoute]:
    app = Page(Feeds(site, policy, values), "feed")
    return [Route(f"{prefix}/comment/rss", app) for prefix in ("", "/api")]
