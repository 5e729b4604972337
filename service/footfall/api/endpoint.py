"""The one adapter between HTTP and the operations: parse, run, say.

This is the only place that catches. It is raw ASGI, without Starlette's Request and Response,
because these endpoints answer every page view of a site and those objects cost more than the work.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from ..domain.service import Service
from ..errors import Forbidden, NotFound, TooLong, WrongMethod
from ..http import envelope
from ..http.body import read_body
from ..http.client import address_of, headers_of, is_allowed, is_own_page, token_of
from ..http.params import MAX_URL, RawRequest, parse_query
from ..http.policy import Policy
from ..http.response import Reply, Response, answer_of, failed, tagged_by_body
from ..model import PUBLIC, Caller
from ..telemetry.logs import SlowLog, name_request

METHODS = "GET,HEAD,PUT,POST,DELETE,PATCH"
READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Row:
    """One operation, in both layouts. `run` gives data, or what is to be said of it.

    `route` is its name in metrics.

    `type` is the value of the query's `type` that selects this row, None for any other. `is_bare`
    says that the layout without prefix sends the answer bare, in the shape that `flat` gives it.
    """

    route: str
    method: str
    path: str
    parse: Callable[[RawRequest, Service], Any]
    run: Callable[[Service, Any, Caller], Awaitable[object]]
    flat: Callable[[Any, Any], object] | None = None
    is_bare: bool = False
    type: str | None = None


def said_of(row: Row, data: Any, asked: Any, *, is_bare: bool) -> Reply:
    """An operation's answer, in the layout it was asked in; to what only reads, with a tag."""
    if isinstance(data, tuple):
        # It has said so itself.
        return data
    if is_bare and row.is_bare:
        body = envelope.bare(row.flat(data, asked) if row.flat else data)
    else:
        body = envelope.enveloped(data)
    return tagged_by_body(body) if row.method in READING else (body, b"")


class Resource:
    """All operations of one path in one layout, as an ASGI application."""

    def __init__(
        self,
        rows: Mapping[str, list[Row]],
        service: Service,
        policy: Policy,
        slow: SlowLog,
        *,
        is_bare: bool,
    ) -> None:
        self._rows = rows
        self._service = service
        self._policy = policy
        self._slow = slow
        self._is_bare = is_bare
        self._allowed = ", ".join([*rows, *(["HEAD"] if "GET" in rows else []), "OPTIONS"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        headers = headers_of(scope["headers"])
        if method == "OPTIONS":
            return await answer_options(headers, self._allowed, send)
        began = time.perf_counter()
        name_request(headers.get(b"x-request-id", b""))
        language, route = "", "other"
        try:
            if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_URL:
                raise TooLong()
            query = parse_query(scope["query_string"])
            language = str(query.get("lang", "")).lower()
            if not (
                is_allowed(headers, self._policy.domains) or is_own_page(headers, self._policy)
            ):
                raise Forbidden()
            row = self._row(method, query.get("type"))
            scope["operation"] = route = row.route
            answer = await self._answer(row, scope, receive, headers, query, language)
        except Exception as error:
            self._service.metrics.refused.add(type(error).__name__)
            answer = failed(error, language, f"{method} {scope['path']}")
        self._note(route, answer.status, began)
        await send_answer(send, answer, has_body=method != "HEAD")

    def _note(self, route: str, status: int, began: float) -> None:
        took = time.perf_counter() - began
        self._service.metrics.routes[route].took(took, status)
        if took > self._slow.seconds and not self._service.renderer.was_loading(began):
            self._slow.say(route, took, route=route, status=status)

    async def _answer(
        self,
        row: Row,
        scope: Scope,
        receive: Receive,
        headers: Mapping[bytes, bytes],
        query: Mapping[str, Any],
        language: str,
    ) -> Response:
        method = scope["method"]
        token = token_of(headers)
        viewer = await self._service.viewer_of(token) if token else PUBLIC
        address = address_of(scope.get("client"), headers, self._policy.trusted_proxies)
        body = await read_body(
            method, headers, receive, query, comment_length=self._service.rules.comment_length
        )
        id = str(query.get("id") or scope.get("path_params", {}).get("id", ""))
        id = id.removesuffix(".html")
        if id == "rss":
            # Clients link to a feed here; an answer of another kind would be worse than none.
            raise NotFound(f"url `{scope['path']}` not found.")
        asked = row.parse(RawRequest(query, body, id, self._is_bare), self._service)
        data = await row.run(self._service, asked, Caller(viewer, address, language))
        said = said_of(row, data, asked, is_bare=self._is_bare)
        return answer_of(said, headers.get(b"if-none-match", b""))

    def _row(self, method: str, type: object) -> Row:
        rows = self._rows.get("GET" if method == "HEAD" else method)
        if rows is None:
            raise WrongMethod(self._allowed)
        return next((row for row in rows if row.type == type and type), rows[0])


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """For every path that no route has."""
    if scope["type"] != "http":
        return
    if scope["method"] == "OPTIONS":
        return await answer_options(headers_of(scope["headers"]), METHODS, send)
    error = NotFound(f"url `{scope['path'][:200]}` not found.")
    await send_answer(send, failed(error, "", ""), has_body=scope["method"] != "HEAD")


async def answer_options(headers: Mapping[bytes, bytes], allowed: str, send: Send) -> None:
    """A preflight: everybody may call with any header, and need not ask again for a day."""
    extra = [
        (b"allow", allowed.encode()),
        (b"access-control-allow-methods", METHODS.encode()),
        (b"access-control-max-age", b"86400"),
    ]
    asked = headers.get(b"access-control-request-headers")
    if asked:
        extra.append((b"access-control-allow-headers", asked))
    await send_answer(send, Response(204, b"", extra), has_body=False)


async def send_answer(send: Send, answer: Response, *, has_body: bool = True) -> None:
    start: Message = {
        "type": "http.response.start",
        "status": answer.status,
        "headers": answer.headers,
    }
    await send(start)
    await send({"type": "http.response.body", "body": answer.body if has_body else b""})
