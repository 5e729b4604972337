"""The owner's most frequent pages, made by the server: they need no script.

They are for administrators. Other viewers get the page whose script leads to a login, or to their
own comments. forms.py handles their forms.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from urllib.parse import urlencode

from starlette.types import ASGIApp, Receive, Scope, Send

from ..accounts.noun import Accounts
from ..errors import StoreUnavailable
from ..http.client import Headers, headers_of, service_url
from ..http.csrf import session_cookie
from ..http.page_words import PageWords, language_of
from ..http.params import MAX_PATH, MAX_URL, parse_query
from ..http.policy import Policy
from ..http.response import NOSNIFF, PRIVATE, Response
from ..model import PUBLIC, Viewer
from ..notifications.noun import Notifications
from ..process.process import Process
from ..site import Site
from ..table.sending import send_answer

HTML = b"text/html; charset=utf-8"
POLICY = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"same-origin"),
    NOSNIFF,
)
RULES = (*PRIVATE, *POLICY[:-1])
# Below it are our pages.
OURS = "/ui/"
# What a link may have before its query.
MAX_LINK_CHARACTERS = MAX_URL - 1024
# As in the menu of the other pages: five links, and the others under one; on a phone three.
MENU = (
    "",
    "queue",
    "statistics",
    "counters",
    "accounts",
    "bans",
    "authors",
    "moving",
    "log",
    "outbox",
    "settings",
    "state",
    "profile",
)
# Of the query: what this service has added to an address that a page of another site led to.
AGAIN = "again"


@dataclass(frozen=True, slots=True)
class Asked:
    """The viewer of a page, the language, and the query, of which `lng` is passed on."""

    site: Site
    viewer: Viewer
    words: PageWords
    query: Mapping[str, str]
    site_name: str
    # The address of the site; "" if no setting names it.
    site_url: str
    # Where this service is, as the browser sees it.
    server_url: str = ""

    def link(self, name: str, **fields: str) -> str:
        """The address of an admin page; "" if it would be longer than this service reads."""
        chosen = {**fields, **{key: self.query[key] for key in ("lng",) if key in self.query}}
        address = f"./{name}" + (f"?{urlencode(chosen, errors='replace')}" if chosen else "")
        return address if len(address) < MAX_LINK_CHARACTERS else ""

    def link_to_page(self, path: str) -> str:
        """Where the days of a page are shown; "" for one without an address."""
        return self.link("statistics", path=path) if len(path) <= MAX_PATH else ""


def asked_of(scope: Scope, headers: Headers, site: Site, values: Mapping[str, str]) -> Asked:
    """The request's values before its viewer is looked up."""
    query = query_of(scope)
    words = words_of(query, headers, site.statistics.reports.calendar.zone)
    return Asked(site, PUBLIC, words, query, values["site_name"], values["site_url"])


def words_of(query: Mapping[str, str], headers: Mapping[bytes, bytes], zone: tzinfo) -> PageWords:
    """The texts of the language that `lng` names, or else of the browser's."""
    preferred = headers.get(b"accept-language", b"").decode("latin-1")
    return PageWords(language_of(query.get("lng") or preferred), zone)


# Returns the template's name, and its values; or a finished answer, such as a file.
Make = Callable[[Asked], Awaitable[tuple[str, Mapping[str, object]] | Response]]


class OwnerPage:
    """Such a page as an ASGI application. `shell` answers viewers who are not administrators."""

    def __init__(
        self,
        name: str,
        make: Make,
        site: Site,
        policy: Policy,
        values: Mapping[str, str],
        shell: ASGIApp,
    ) -> None:
        self._name = name
        self._make = make
        self._site = site
        self._policy = policy
        self._values = values
        self._shell = shell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope["headers"])
        asked = asked_of(scope, headers, self._site, self._values)
        try:
            viewer = await viewer_of(scope, headers, self._site.accounts, self._policy)
            # A token in the address is taken out of it there.
            if not viewer.is_administrator or "token" in asked.query:
                return await self._leave(scope, receive, send, asked)
            made = await self._make(
                replace(asked, viewer=viewer, server_url=service_url(scope, self._policy))
            )
            if isinstance(made, Response):
                answer = made
            else:
                template, values = made
                answer = await page(template, {**frame_of(asked, self._name, MENU), **values})
        except StoreUnavailable as error:
            scope["refused"] = type(error).__name__
            answer = await away(asked, self._name)
        await send_answer(send, answer, has_body=scope["method"] != "HEAD")

    async def _leave(self, scope: Scope, receive: Receive, send: Send, asked: Asked) -> None:
        """Redirect to the shell; after a link on another site, first once more to this page.

        Browsers omit the cookie then (SameSite), although the viewer may be logged in.
        """
        site = headers_of(scope["headers"]).get(b"sec-fetch-site")
        is_led = site in (b"cross-site", b"same-site")
        if not is_led or AGAIN in asked.query or "token" in asked.query:
            return await self._shell(scope, receive, send)
        query = urlencode({**asked.query, AGAIN: "1"}, errors="replace")
        answer = await page("again.html", {"address": f"./{self._name}?{query}"})
        await send_answer(send, answer, has_body=scope["method"] != "HEAD")


async def away(asked: Asked, name: str) -> Response:
    """While Redis does not answer, the viewer is unknown: there is no menu."""
    return await page("away.html", frame_of(asked, name, ()), status=503)


class NoPage:
    """An ASGI application for unknown paths: a page for people who look for one of ours, and
    `other` for all other clients."""

    def __init__(self, site: Site, values: Mapping[str, str], other: ASGIApp) -> None:
        self._site = site
        self._values = values
        self._other = other

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_sought_by_a_person(scope):
            return await self._other(scope, receive, send)
        asked = asked_of(scope, headers_of(scope["headers"]), self._site, self._values)
        # Links are relative to the folder, which may be further up.
        up = "../" * scope["path"].removeprefix(OURS).count("/")
        answer = await page("nowhere.html", {**frame_of(asked, "", (), up=up)}, status=404)
        await send_answer(send, answer, has_body=scope["method"] != "HEAD")


def _is_sought_by_a_person(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return False
    path: str = scope["path"]
    is_ours = path.startswith(OURS) and not path.startswith((f"{OURS}api/", f"{OURS}static/"))
    return is_ours and b"text/html" in headers_of(scope["headers"]).get(b"accept", b"")


async def page(template: str, values: Mapping[str, object], *, status: int = 200) -> Response:
    return Response(status, await filled_page(template, values), common=RULES, type=HTML)


async def filled_page(template: str, values: Mapping[str, object]) -> bytes:
    return await asyncio.to_thread(_filled, template, values)


def _filled(template: str, values: Mapping[str, object]) -> bytes:
    """In a thread, since the first one loads Jinja for a tenth of a second."""
    from ..render.owner_page import filled

    return filled(template, values)


def frame_of(asked: Asked, here: str, menu: Sequence[str], *, up: str = "") -> dict[str, object]:
    """What all of these pages have; `here` is the page's name, and `up` leads to the folder."""
    return {
        "up": up,
        "site_name": asked.site_name,
        "words": asked.words,
        "say": asked.words.say,
        "number": asked.words.number,
        "link": asked.link,
        "menu": menu,
        "marked": _marked(asked.site.notifications, asked.site.process) if menu else (),
        "here": here,
    }


def _marked(notifications: Notifications, process: Process) -> list[str]:
    """Pages that report problems known to this process."""
    reading = notifications.outbox.reading
    failed = ["outbox"] if reading and reading.undelivered else []
    return failed + (["state"] if process.safety.problems else [])


def query_of(scope: Scope) -> dict[str, str]:
    """The query's fields that were sent once. A query that is too long is ignored."""
    raw: bytes = scope["query_string"]
    if len(raw) > MAX_URL or raw.count(b"&") > 50:
        return {}
    return {name: value for name, value in parse_query(raw).items() if isinstance(value, str)}


async def viewer_of(scope: Scope, headers: Headers, accounts: Accounts, policy: Policy) -> Viewer:
    """Raises StoreUnavailable."""
    token = session_cookie(headers, scope, policy)
    return await accounts.viewer_of(token) if token else PUBLIC
