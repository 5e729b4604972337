"""Comments of articles: list, count, post.

Their API variant decides how comments are dated, the shape of a single article's count, and whether
a reply's text mentions its parent's author.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, cast

from orjson import Fragment

from ...accounts.api.captcha_fields import captcha_fields, captcha_token
from ...counting.clients import CountingClient
from ...errors import Refused
from ...http.params import (
    MAX_ID,
    MAX_LINK,
    MAX_MAIL,
    MAX_PAGE,
    MAX_PAGE_SIZE,
    MAX_UA,
    Form,
    RawRequest,
)
from ...http.response import Reply, tagged_by_body
from ...limits.answer_cache import AnswerCache, CachedAnswer
from ...limits.clients import PoolClient, pool_client_of
from ...markup import is_blank, is_safe_url, safe_link
from ...model import ORDERS, PUBLIC, Caller, Draft, Order, Page, Viewer
from ...process.renderer import NO_TEXT
from ...render.view import View
from ...table import schemas
from ...table.answers import JsonObject
from ...table.context import ParseContext
from ...table.fast import Answering, Done, FastRequest, Making
from ...table.fields import (
    COMMENT_LENGTH,
    Choice,
    Fields,
    FieldValues,
    Integer,
    PagePath,
    Paths,
    Shapes,
    Text,
)
from ...table.names import Name
from ...table.rows import Declared
from ...table.variants import Variant, content
from ...table.who import ANYBODY, COMMENTER
from ..noun import Comments
from ..rules import comments as domain

operation = Declared[Comments]("comments")

# Waline answers a blank url with these words, and clients show them.
NO_URL = "url need an URL under your options"


class WantedPage(NamedTuple):
    """A page of roots; or the root `rid` alone, with `size` of its replies after `after`."""

    path: str
    page: int
    size: int
    order: Order
    variant: Variant
    rid: str = ""
    after: str = ""

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "WantedPage":
        page, order, rid = values["page"], cast(Order, values["sortBy"]), values["rid"]
        if rid:
            # Replies have one order only, and are read on by `after`: pages would shift with each
            # new reply.
            page, order = 1, ORDERS[0]
        size = values["pageSize"]
        return cls(values["path"], page, size, order, request.variant, rid, values["after"])


def _check_list(form: Form, values: FieldValues) -> None:
    if values["after"] and not values["rid"]:
        form.wrong("after", "after need a rid")


LIST = Fields(
    WantedPage.of,
    (
        PagePath("path", "The page", required="path can not be blank"),
        Integer("page", "Which part of the roots", 1, MAX_PAGE),
        Integer("pageSize", "Roots in a part, or replies with `rid`", 10, MAX_PAGE_SIZE),
        Choice("sortBy", "The order of the roots", ORDERS[0], ORDERS),
        Text("rid", "A root, which is then shown alone", MAX_ID),
        Text("after", "The reply of that root after which to continue", MAX_ID),
    ),
    source="query",
    check=_check_list,
)


def page(comments: Comments, parsed: WantedPage) -> FastRequest | None:
    """A page as the public sees it. None with LEVELS, which change with other pages."""
    if comments.display.levels:
        return None

    def answer(version: list[int]) -> Reply | Making:
        if not version:
            return partial(first_page, comments, parsed)
        (number,) = version
        return kept_page(comments.page_cache, parsed, number) or partial(
            common_page, comments, parsed, number
        )

    return _PageRequest(comments, parsed, answer)


@operation(
    "comment_page", "GET", "/comment", LIST, ANYBODY, schemas.PAGE, envelope=content, fast=page
)
async def list_(comments: Comments, parsed: WantedPage, caller: Caller) -> JsonObject:
    """A page as this viewer sees it."""
    async with comments.process.pools.pages.turn(pool_client_of(caller)):
        return (await _listing(comments, parsed, caller.viewer))[1]


class _PageRequest(FastRequest):
    __slots__ = ("_comments", "_parsed")

    def __init__(self, comments: Comments, parsed: WantedPage, answer: Answering) -> None:
        super().__init__(answer)
        self._comments = comments
        self._parsed = parsed

    def send(self, client: CountingClient, done: Done) -> None:
        if self._comments.page_cache.has(self._parsed):
            self._comments.store.fetch_version(self._parsed.path, done)
        else:
            # Then the version need not be read first.
            done([])


async def common_page(
    comments: Comments, parsed: WantedPage, version: int, client: PoolClient
) -> Reply:
    """A page as the public sees it, at least as new as this version of its article."""
    make, pool = partial(joined, comments, parsed), comments.process.pools.pages
    finished = await comments.page_cache.find_or_make(parsed, (version,), make, pool, client)
    return finished.body, finished.tag


async def first_page(comments: Comments, parsed: WantedPage, client: PoolClient) -> Reply:
    """A page as the public sees it when none is cached: its version need not be read first."""
    make, pool = partial(joined, comments, parsed), comments.process.pools.pages
    finished = await comments.page_cache.make_first(parsed, make, pool, client)
    return finished.body, finished.tag


async def joined(comments: Comments, parsed: WantedPage) -> CachedAnswer:
    """A page as the public sees it. Its ETag covers its content: the version would reveal that an
    unpublished comment was posted."""
    versions, data = await _listing(comments, parsed, PUBLIC)
    body = parsed.variant.content_envelope.body(data)
    return CachedAnswer((versions.version,), *tagged_by_body(body))


def kept_page(cache: AnswerCache, parsed: WantedPage, version: int) -> Reply | None:
    """A page as the public sees it if it is cached at this version, else None."""
    cached = cache.find(parsed, (version,))
    return cached and (cached.body, cached.tag)


async def _listing(
    comments: Comments, parsed: WantedPage, viewer: Viewer
) -> tuple[Page, dict[str, object]]:
    page, live = await domain.page(
        comments,
        parsed.path,
        number=parsed.page,
        size=parsed.size,
        order=parsed.order,
        viewer=viewer,
        root=parsed.rid,
        after=parsed.after,
    )
    view = View(viewer, comments.display, parsed.variant.date)
    return page, {
        "page": parsed.page,
        "totalPages": -(-page.roots_total // parsed.size),
        "pageSize": parsed.size,
        "count": page.count,
        "data": Fragment(view.threads(page.threads, live)),
    }


@dataclass(frozen=True, slots=True)
class Count:
    """`paths` is None for the whole site."""

    paths: Sequence[str] | None
    variant: Variant

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Count":
        return cls(next(iter(values.values()), None), request.variant)


def _named(request: RawRequest) -> str:
    """The parameter that names the pages, of those that the variant knows."""
    names: Sequence[str] = request.variant.article_names
    name = next((key for key in names if request.query.get(key) is not None), names[0])
    return name if request.query.get(name) else ""


_PAGES = "The pages, between commas or by one parameter each; the whole site without"
COUNT = Shapes(
    (
        Fields(
            Count.of,
            (Paths("url", _PAGES),),
            source="query",
            when=lambda request: _named(request) == "url",
        ),
        Fields(
            Count.of,
            (Paths("path", "The same, only without prefix"),),
            source="query",
            when=lambda request: _named(request) == "path",
        ),
        Fields(Count.of, source="query"),
    )
)


def fast_count(comments: Comments, parsed: Count) -> FastRequest:
    return FastRequest(lambda numbers: lambda client: count(comments, parsed, Caller()))


@operation(
    "comment_count",
    "GET",
    "/comment",
    COUNT,
    ANYBODY,
    schemas.COUNT,
    envelope=content,
    type="count",
    fast=fast_count,
)
async def count(comments: Comments, parsed: Count, caller: Caller) -> int | Fragment | list[int]:
    if parsed.paths is None:
        return await comments.index.total(caller.viewer)
    counts = await comments.store.counts(parsed.paths, caller.viewer)
    if len(counts) == 1:
        return Fragment(parsed.variant.single(b"%d" % counts[0]))
    return counts


def _check_text(text: str, context: ParseContext) -> str:
    return NO_TEXT if is_blank(text) else ""


COMMENT_TEXT = Text("comment", "The text, in Markdown", COMMENT_LENGTH, check=_check_text)
NEEDED_TEXT = replace(COMMENT_TEXT, required=NO_TEXT)


def _post(values: FieldValues, request: RawRequest, context: ParseContext) -> "Post":
    if not is_safe_url(values["url"]):
        # Widgets of recent comments write the path into their pages as a link.
        raise Refused("Comments cannot be stored for a page with this address")
    # The root follows from the comment that is replied to, so `rid` is only a fallback.
    parent, at, text = values["pid"] or values["rid"], values["at"], values["comment"]
    if parent and at:
        text = request.variant.mention(at, parent) + text
    draft = Draft(
        text=text,
        path=values["url"],
        nick=values["nick"],
        mail=values["mail"],
        link=None if values["link"] is None else safe_link(values["link"]),
        ua=values["ua"],
        parent=parent,
        captcha=captcha_token(values, context.settings),
    )
    return Post(draft, request.variant)


DRAFT = Fields(
    _post,
    (
        NEEDED_TEXT,
        PagePath("url", "The page", required=NO_URL),
        Name("nick", "The author's name", default=None),
        Text("mail", "The author's mail", MAX_MAIL, None),
        Text("link", "The author's website", MAX_LINK, None),
        Text("ua", "What the author's browser calls itself", MAX_UA, None),
        Text("pid", "The comment that is replied to", MAX_ID),
        Text("rid", "The root, where there is no `pid`", MAX_ID),
        Name("at", "Whom a reply without prefix mentions", default=None),
        *captcha_fields(),
    ),
    is_readers=True,
)


@dataclass(frozen=True, slots=True)
class Post:
    draft: Draft
    variant: Variant


@operation("comment_post", "POST", "/comment", DRAFT, COMMENTER, schemas.COMMENT)
async def post(comments: Comments, parsed: Post, caller: Caller) -> JsonObject:
    stored, live = await domain.publish(comments, parsed.draft, caller)
    return View(caller.viewer, comments.display, parsed.variant.date).posted(stored, live)
