"""Comments of articles: list, count, post, like, moderate.

The layout without prefix differs in little: its comments carry `insertedAt`, a count of one article
is a number, and a reply mentions whom it replies to in its text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

from orjson import Fragment

from ..domain import comments
from ..domain.moderation import require_administrator
from ..domain.page_cache import Finished
from ..domain.service import Service
from ..errors import Refused
from ..http import envelope
from ..http.params import (
    MAX_LINK,
    MAX_MAIL,
    MAX_NICK,
    MAX_PAGE,
    MAX_PAGE_SIZE,
    MAX_PATH,
    MAX_UA,
    Form,
    RawRequest,
    Values,
)
from ..http.response import Reply
from ..markup import is_safe_url, safe_nick
from ..model import ORDERS, PUBLIC, STATUSES, Caller, Draft, Order, Page, Status, Viewer
from ..render.view import View

# Longer than any id of ours; a longer one is not looked for.
MAX_ID = 64


class List(NamedTuple):
    """A page of roots; or the root `rid` alone, with `size` of its replies behind `after`."""

    path: str
    page: int
    size: int
    order: Order
    is_dated: bool
    rid: str = ""
    after: str = ""

    @classmethod
    def parse(cls, asked: RawRequest, service: Service) -> "List":
        form = Form(asked.query)
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
            # Replies have one order, and no pages that new ones would move.
            page, order = 1, ORDERS[0]
        return cls(path or "", page, size, cast(Order, order), asked.is_bare, rid, after)


async def list_(service: Service, asked: List, caller: Caller) -> object:
    if not is_common(service, caller.viewer):
        async with service.page_cache.turns:
            return (await _listing(service, asked, caller.viewer))[1]
    if not service.page_cache.has(asked):
        return await first_page(service, asked)
    return await common_page(service, asked, *await service.comments.versions(asked.path))


async def common_page(service: Service, asked: List, page: int, accounts: int) -> Reply:
    """A page as everybody sees it, of these versions of its article and the accounts, or later."""
    make = partial(joined, service, asked)
    finished = await service.page_cache.find_or_make(asked, (page, accounts), make)
    return finished.body, finished.tag


async def first_page(service: Service, asked: List) -> Reply:
    """The same where the service has no such page: its versions need not be asked for first."""
    finished = await service.page_cache.make_first(asked, partial(joined, service, asked))
    return finished.body, finished.tag


async def joined(service: Service, asked: List) -> Finished:
    """A page as everybody sees it, tagged with its versions, which say what is in it, and with the
    salt, which says of which data set and in which look."""
    found, data = await _listing(service, asked, PUBLIC)
    body = envelope.bare(data) if asked.is_dated else envelope.enveloped(data)
    versions = found.version, found.accounts
    return Finished(versions, body, b'"%d-%d-%b"' % (*versions, service.salt()))


def kept_page(service: Service, asked: List, page: int, accounts: int) -> Reply | None:
    """The same, if it is there already."""
    found = service.page_cache.find(asked, (page, accounts))
    return found and (found.body, found.tag)


def is_common(service: Service, viewer: Viewer) -> bool:
    """Is a page the same for everybody until it changes? Levels change with other pages."""
    return viewer.account is None and not service.display.levels


async def _listing(service: Service, asked: List, viewer: Viewer) -> tuple[Page, dict[str, object]]:
    page, live = await comments.page(
        service,
        asked.path,
        number=asked.page,
        size=asked.size,
        order=asked.order,
        viewer=viewer,
        root=asked.rid,
        after=asked.after,
    )
    view = View(viewer, service.display, asked.is_dated)
    return page, {
        "page": asked.page,
        "totalPages": -(-page.roots_total // asked.size),
        "pageSize": asked.size,
        "count": page.count,
        "data": Fragment(view.threads(page.threads, live)),
    }


@dataclass(frozen=True, slots=True)
class Count:
    """`paths` is None for the whole site."""

    paths: Sequence[str] | None

    @classmethod
    def parse(cls, asked: RawRequest, service: Service) -> "Count":
        # Clients of the layout without prefix send `url`, its description says `path`.
        name = "path" if asked.is_bare and asked.query.get("url") is None else "url"
        if not asked.query.get(name):
            return cls(None)
        form = Form(asked.query)
        paths = form.paths(name)
        form.done()
        return cls(paths)


async def count(service: Service, asked: Count, caller: Caller) -> object:
    if asked.paths is None:
        return await service.site_index.total(caller.viewer)
    return await service.comments.counts(asked.paths, caller.viewer)


def flat_count(data: Any, asked: Count) -> object:
    return data[0] if isinstance(data, list) and len(data) == 1 else data


def parse_draft(asked: RawRequest, service: Service) -> Draft:
    form = Form(asked.fields, is_readers=True)
    limit = service.rules.comment_length
    text = form.text("comment", limit, required="comment can not be blank")
    # The reference says this of a blank url; clients show it as it is.
    path = form.text("url", MAX_PATH, required="url need an URL under your options")
    nick = form.text("nick", MAX_NICK)
    draft = Draft(
        text=text or "",
        path=path or "",
        nick=nick and safe_nick(nick),
        mail=form.text("mail", MAX_MAIL),
        link=form.text("link", MAX_LINK),
        ua=form.text("ua", MAX_UA),
        # The page knows the root of every comment: what matters is which one is replied to.
        parent=form.text("pid", MAX_ID) or form.text("rid", MAX_ID) or "",
        at=form.text("at", MAX_NICK),
        is_mentioning=asked.is_bare,
    )
    form.done()
    if not is_safe_url(draft.path):
        # Widgets of recent comments would write it into their pages.
        raise Refused("Comments can not be kept for a page with this address")
    return draft


async def post(service: Service, draft: Draft, caller: Caller) -> object:
    showing = await comments.publish(service, draft, caller)
    return View(caller.viewer, service.display, draft.is_mentioning).posted(showing)


@dataclass(frozen=True, slots=True)
class Edit:
    """A like from anybody, or else what only an administrator may change, not looked at yet."""

    id: str
    like: bool | None
    fields: Values

    @classmethod
    def parse(cls, asked: RawRequest, service: Service) -> "Edit":
        fields = asked.fields
        like = fields.get("like") if fields.keys() == {"like"} else None
        return cls(asked.id, like if isinstance(like, bool) else None, fields)


async def edit(service: Service, asked: Edit, caller: Caller) -> object:
    """The changed comment, or "" when there is none with that id."""
    if asked.like is not None:
        showing = await comments.like(service, asked.id, 1 if asked.like else -1, caller)
    else:
        # Before the fields are looked at: a stranger is told to log in, not what is wrong.
        require_administrator(caller.viewer)
        status, is_pinned = _decision(asked.fields)
        showing = await comments.moderate(
            service, asked.id, caller.viewer, status=status, is_pinned=is_pinned
        )
    if showing is None:
        return ""
    return Fragment(*View(caller.viewer, service.display, is_dated=False).elsewhere(showing))


def _decision(fields: Values) -> tuple[Status | None, bool | None]:
    """What to do with a comment's status and pin; None for what was not sent."""
    if fields.keys() - {"status", "sticky"}:
        # Clients of the second and third generation let an administrator try.
        raise Refused("The words of a comment can not be changed")
    form = Form(fields)
    status = form.choice("status", "", STATUSES)
    sticky = fields.get("sticky")
    if sticky not in (None, 0, 1):
        form.wrong("sticky", "sticky need true or false")
    form.done()
    return cast(Status, status) if status else None, None if sticky is None else bool(sticky)
