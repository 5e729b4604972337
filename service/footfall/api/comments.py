"""Comments of articles: list, count, post.

Their dialect says how comments are dated, how the count of one article looks, and how the text of a
reply mentions the comment that it answers.
"""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, cast

from orjson import Fragment

from ..domain import comments
from ..domain.page_cache import Finished
from ..domain.rules import require_log_in
from ..domain.site import Site
from ..errors import Refused
from ..http.params import (
    MAX_CAPTCHA,
    MAX_ID,
    MAX_LINK,
    MAX_MAIL,
    MAX_NICK,
    MAX_PAGE,
    MAX_PAGE_SIZE,
    MAX_PATH,
    MAX_UA,
    Form,
    RawRequest,
)
from ..http.response import Reply
from ..markup import is_safe_url, safe_nick
from ..model import ORDERS, PUBLIC, Caller, Draft, Order, Page, Viewer
from ..render.view import View
from .dialects import Dialect
from .fast import Done, FastRequest


class List(NamedTuple):
    """A page of roots; or the root `rid` alone, with `size` of its replies behind `after`."""

    path: str
    page: int
    size: int
    order: Order
    dialect: Dialect
    rid: str = ""
    after: str = ""

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "List":
        form = Form(request.query)
        path = form.text("path", MAX_PATH, required="path can not be blank")
        page = form.integer("page", 1, MAX_PAGE)
        size = form.integer("pageSize", 10, MAX_PAGE_SIZE)
        order = form.choice("sortBy", ORDERS[0], ORDERS)
        rid = form.text("rid", MAX_ID) or ""
        after = form.text("after", MAX_ID) or ""
        if after and not rid:
            form.wrong("after", "after need a rid")
        form.done()
        if rid:
            # Replies have one order only, and are read on by `after`: pages would shift with each
            # new reply.
            page, order = 1, ORDERS[0]
        return cls(path or "", page, size, cast(Order, order), request.dialect, rid, after)


async def list_(site: Site, parsed: List, caller: Caller) -> object:
    """A page as this viewer sees it."""
    async with site.page_cache.turn():
        return (await _listing(site, parsed, caller.viewer))[1]


def page(site: Site, parsed: List) -> FastRequest | None:
    """A page as the public sees it. None with LEVELS, which change with other pages."""
    if site.display.levels:
        return None

    def send(client_key: str, done: Done) -> None:
        if site.page_cache.has(parsed):
            site.comments.fetch_version(parsed.path, done)
        else:
            # Then the version need not be read first.
            done([])

    def answer(version: list[int]) -> Reply | Coroutine[None, None, Reply]:
        if not version:
            return first_page(site, parsed)
        return kept_page(site, parsed, *version) or common_page(site, parsed, *version)

    return FastRequest(answer, send)


async def common_page(site: Site, parsed: List, version: int) -> Reply:
    """A page as the public sees it, at least as new as this version of its article."""
    make = partial(joined, site, parsed)
    finished = await site.page_cache.find_or_make(parsed, (version,), make)
    return finished.body, finished.tag


async def first_page(site: Site, parsed: List) -> Reply:
    """The same when no such page is cached: then its version need not be read first."""
    finished = await site.page_cache.make_first(parsed, partial(joined, site, parsed))
    return finished.body, finished.tag


async def joined(site: Site, parsed: List) -> Finished:
    """A page as the public sees it. Its ETag names the version that it was made of, and the salt,
    which differs for each data set and each set of display options."""
    found, data = await _listing(site, parsed, PUBLIC)
    body = parsed.dialect.content_envelope.body(data)
    return Finished((found.version,), body, b'"%d-%b"' % (found.version, site.salt()))


def kept_page(site: Site, parsed: List, version: int) -> Reply | None:
    """The same if it is cached at this version, else None."""
    found = site.page_cache.find(parsed, (version,))
    return found and (found.body, found.tag)


async def _listing(site: Site, parsed: List, viewer: Viewer) -> tuple[Page, dict[str, object]]:
    page, live = await comments.page(
        site,
        parsed.path,
        number=parsed.page,
        size=parsed.size,
        order=parsed.order,
        viewer=viewer,
        root=parsed.rid,
        after=parsed.after,
    )
    view = View(viewer, site.display, parsed.dialect.date)
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
    dialect: Dialect

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "Count":
        names: Sequence[str] = request.dialect.article_names
        name = next((each for each in names if request.query.get(each) is not None), names[0])
        if not request.query.get(name):
            return cls(None, request.dialect)
        form = Form(request.query)
        paths = form.paths(name)
        form.done()
        return cls(paths, request.dialect)


def fast_count(site: Site, parsed: Count) -> FastRequest:
    return FastRequest(lambda numbers: count(site, parsed, Caller(PUBLIC, "", "")))


async def count(site: Site, parsed: Count, caller: Caller) -> object:
    if parsed.paths is None:
        return await site.site_index.total(caller.viewer)
    counts = await site.comments.counts(parsed.paths, caller.viewer)
    if len(counts) == 1:
        return Fragment(parsed.dialect.single(b"%d" % counts[0]))
    return counts


def captcha_token(form: Form, site: Site) -> str:
    field = site.captcha.field
    return (field and form.text(field, MAX_CAPTCHA)) or ""


def parse_draft(request: RawRequest, site: Site) -> Draft:
    form = Form(request.fields, is_readers=True)
    limit = site.rules.comment_length
    text = form.text("comment", limit, required="comment can not be blank")
    # The reference server answers a blank url with these words, and clients show them.
    path = form.text("url", MAX_PATH, required="url need an URL under your options")
    nick = form.text("nick", MAX_NICK)
    draft = Draft(
        text=text or "",
        path=path or "",
        nick=nick and safe_nick(nick),
        mail=form.text("mail", MAX_MAIL),
        link=form.text("link", MAX_LINK),
        ua=form.text("ua", MAX_UA),
        # The root follows from the comment that is replied to, so `rid` is only a fallback.
        parent=form.text("pid", MAX_ID) or form.text("rid", MAX_ID) or "",
        at=form.text("at", MAX_NICK),
        captcha=captcha_token(form, site),
    )
    form.done()
    if not is_safe_url(draft.path):
        # Widgets of recent comments write the path into their pages as a link.
        raise Refused("Comments can not be kept for a page with this address")
    if draft.parent and draft.at:
        mention = request.dialect.mention(draft.at, draft.parent)
        draft = replace(draft, text=mention + draft.text)
    return draft


@dataclass(frozen=True, slots=True)
class Post:
    draft: Draft
    dialect: Dialect

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "Post":
        return cls(parse_draft(request, site), request.dialect)


def admit(site: Site, viewer: Viewer) -> None:
    """Raises Unauthorized under LOGIN=force."""
    require_log_in(viewer, site.account_rules)


async def post(site: Site, parsed: Post, caller: Caller) -> object:
    showing = await comments.publish(site, parsed.draft, caller)
    return View(caller.viewer, site.display, parsed.dialect.date).posted(showing)
