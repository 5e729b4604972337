"""The demonstration page. Its script does everything through the public API; without scripts, the
server queries the same API for the comments, and sends it the form's content."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import tzinfo
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..accounts.noun import Accounts
from ..errors import BadRequest, StoreUnavailable
from ..http.body import MAX_OTHER_FIELDS_BYTES
from ..http.client import headers_of, service_url
from ..http.page_words import PageWords
from ..http.params import parse_query
from ..http.policy import Policy
from ..http.response import NO_STORE, Response
from ..markup import safe_link
from ..table.sending import send_answer
from .account_pages import is_vacant
from .files import SECURITY, send_file
from .pages import HTML, query_of, words_of
from .within import ask, nothing

# No page of a site has it, so its views are not counted as the site's.
PATH = "/.footfall-demo"
PAGE_SIZE = 10
MAX_PAGE = 1000
DIGITS = re.compile(r"[0-9]{1,4}")
API = "/api/comment"
FIELDS = ("comment", "nick", "mail", "link")
# By the status of a stored comment, what its author reads.
NOTICES = {"approved": "demo.published", "waiting": "demo.heldPlain", "spam": "demo.heldPlain"}
# Headers of the request for the page that do not apply to the request for its comments.
OF_THE_PAGE = (b"if-none-match", b"origin", b"referer", b"content-type", b"content-length")


class DemoView(NamedTuple):
    """For the page: in which language, and with which query."""

    words: PageWords
    query: Mapping[str, str]

    def link(self, **fields: object) -> str:
        """To the comments of this page, with these fields and its language."""
        language = {"lng": self.words.language} if "lng" in self.query else {}
        return f"?{urlencode({**language, **fields})}#comments-title"

    @property
    def number(self) -> int:
        """The number of the page of comments, from 1."""
        number = self.query.get("page", "")
        return min(max(int(number), 1), MAX_PAGE) if DIGITS.fullmatch(number) else 1


class Demo:
    """It as an ASGI application; `api` is that of comments."""

    def __init__(
        self,
        accounts: Accounts,
        zone: tzinfo,
        policy: Policy,
        values: Mapping[str, str],
        api: ASGIApp,
    ) -> None:
        self._accounts = accounts
        self._zone = zone
        self._policy = policy
        self._values = values
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = query_of(scope)
        request = DemoView(words_of(query, headers_of(scope["headers"]), self._zone), query)
        if scope["method"] != "POST":
            notice = NOTICES.get(query.get("stored", ""), "")
            said = {"notice": request.words.say(notice) if notice else ""}
            return await self._show(scope, send, request, said)
        status, answer, draft = await self._write(scope, receive, request.words)
        if not answer["errno"]:
            # A page of its own, so that to load it again does not write again.
            location = request.link(stored=answer["data"].get("status", "approved")).encode()
            return await send_answer(send, Response(303, b"", [(b"location", location), NO_STORE]))
        said = {"refusal": _refusal(answer), **draft}
        await self._show(scope, send, request, said, status=max(status, 400))

    async def _show(
        self,
        scope: Scope,
        send: Send,
        request: DemoView,
        said: Mapping[str, object],
        *,
        status: int = 200,
    ) -> None:
        """`said` is the content of the form and the message below it."""
        _, answer = await self._read(scope, request.number)
        # Without Redis this is unknown, and registration is impossible.
        with suppress(StoreUnavailable):
            said = {**said, "vacant": await is_vacant(self._accounts)}
        values = {
            **self._values,
            "path": PATH,
            "server_url": service_url(scope, self._policy),
            "words": request.words,
            "say": request.words.say,
            **dict.fromkeys((*FIELDS, "notice", "refusal", "vacant"), ""),
            **said,
        }
        body = await asyncio.to_thread(_filled, values, answer, request)
        await send_file(scope, send, body, HTML, b"no-cache", SECURITY, status=status)

    async def _read(self, scope: Scope, number: int) -> tuple[int, Any]:
        query = {"path": PATH, "page": number, "pageSize": PAGE_SIZE, "sortBy": "insertedAt_desc"}
        # SECURE_DOMAINS allows this service's own pages, and anyone reads them.
        own = (b"referer", service_url(scope, self._policy).encode())
        headers = [own, *(line for line in scope["headers"] if line[0] not in OF_THE_PAGE)]
        scope = {**scope, "method": "GET", "headers": headers}
        return await ask(self._api, scope, nothing, API, urlencode(query))

    async def _write(
        self, scope: Scope, receive: Receive, words: PageWords
    ) -> tuple[int, Any, Mapping[str, str]]:
        """The status and the API's message; and the input, for the form to show again."""
        came = list[bytes]()

        async def listen() -> Message:
            message = await receive()
            came.append(message.get("body", b""))
            return message

        status, answer = await ask(self._api, scope, listen, API, f"lang={words.tag}")
        return status, answer, _draft(b"".join(came))


def _draft(body: bytes) -> dict[str, str]:
    """By field; empty for anything but a form of allowed size."""
    if len(body) > MAX_OTHER_FIELDS_BYTES:
        return {}
    try:
        form = parse_query(body)
    except BadRequest:
        return {}
    return {name: str(form.get(name, "")) for name in FIELDS}


def _refusal(answer: Any) -> str:
    message = answer.get("errmsg", "")
    return ", ".join(message.values()) if isinstance(message, dict) else message


def _filled(values: Mapping[str, object], answer: Any, request: DemoView) -> bytes:
    """In a thread, since the first one loads Jinja for a tenth of a second."""
    from ..render.owner_page import filled

    listed: dict[str, object]
    if answer["errno"]:
        listed = {"comments": [], "state": request.words.say("demo.notLoaded"), "older": ""}
    else:
        data = answer["data"]
        has_more = request.number < data["totalPages"]
        listed = {
            "comments": [_thread(root, request.words) for root in data["data"]],
            "state": "" if data["data"] else request.words.say("demo.none"),
            "older": request.link(page=request.number + 1) if has_more else "",
        }
    return filled("demo.html", {**values, **listed})


def _thread(root: Any, words: PageWords) -> dict[str, object]:
    children = [_shown(child, words) for child in root.get("children", ())]
    return {**_shown(root, words), "children": children}


def _shown(comment: Any, words: PageWords) -> dict[str, object]:
    nick = comment["nick"] or words.say("demo.anonymous")
    return {
        "id": comment["objectId"],
        "nick": nick,
        "initial": nick.strip()[:1].upper(),
        "link": safe_link(comment["link"] or ""),
        "time": words.time(comment["time"]),
        "html": comment["comment"],
    }
