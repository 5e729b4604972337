"""The one adapter between HTTP and the operations: parse, run, say.

It is the only place that catches. It is raw ASGI, without Starlette's Request and Response, because
these endpoints answer every page view of a site and those two objects cost more than the work.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from ..domain.service import Service
from ..errors import Forbidden, NotFound, ServiceError, TooLong, WrongMethod
from ..model import PUBLIC, Caller
from . import dialects
from .body import read_body
from .caller import address_of, is_allowed, token_of
from .parse import MAX_URL, Asked, parse_query
from .policy import Policy

log = logging.getLogger(__name__)

# The release of the reference server whose API this is; people quote it in support questions.
API_VERSION = b"1.39.3"
METHODS = "GET,HEAD,PUT,POST,DELETE,PATCH"

COMMON = (
    (b"content-type", b"application/json; charset=utf-8"),
    (b"access-control-allow-origin", b"*"),
    (b"vary", b"Origin"),
    (b"x-waline-version", API_VERSION),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One operation, in both layouts.

    `type` is the value of the query's `type` that selects this row, None for any other. `is_bare`
    says that the layout without prefix sends the answer bare, in the shape that `flat` gives it.
    """

    method: str
    path: str
    parse: Callable[[Asked, Service], Any]
    run: Callable[[Service, Any, Caller], Awaitable[object]]
    flat: Callable[[Any, Any], object] | None = None
    is_bare: bool = False
    type: str | None = None


class Resource:
    """All operations of one path in one layout, as an ASGI application."""

    def __init__(
        self, rows: Mapping[str, list[Row]], service: Service, policy: Policy, *, is_bare: bool
    ) -> None:
        self._rows = rows
        self._service = service
        self._policy = policy
        self._is_bare = is_bare
        self._allowed = ", ".join([*rows, *(["HEAD"] if "GET" in rows else []), "OPTIONS"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        headers = dict(scope["headers"])
        if method == "OPTIONS":
            return await answer_options(headers, self._allowed, send)
        language = ""
        try:
            if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_URL:
                raise TooLong()
            query = parse_query(scope["query_string"])
            language = str(query.get("lang", "")).lower()
            body = await self._answer(scope, receive, headers, query, language)
        except ServiceError as error:
            status, extra, body = _failure(error, language)
        except Exception:
            log.exception("%s %s", method, scope["path"])
            status, extra, body = _failure(ServiceError(), language)
        else:
            status, extra = 200, []
            if method in ("GET", "HEAD"):
                status, extra, body = _conditional(headers, body)
        await send_answer(send, status, body, extra, has_body=method != "HEAD")

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,
        headers: Mapping[bytes, bytes],
        query: Mapping[str, Any],
        language: str,
    ) -> bytes:
        if not is_allowed(headers, self._policy.domains):
            raise Forbidden()
        row = self._row(scope["method"], query.get("type"))
        token = token_of(headers)
        viewer = await self._service.viewer_of(token) if token else PUBLIC
        address = address_of(scope.get("client"), headers, self._policy.trusted_proxies)
        body = await read_body(scope["method"], headers, receive, query, row.path)
        id = str(query.get("id") or scope.get("path_params", {}).get("id", ""))
        asked = row.parse(Asked(query, body, id, self._is_bare), self._service)
        data = await row.run(self._service, asked, Caller(viewer, address, language))
        if not (self._is_bare and row.is_bare):
            return dialects.enveloped(data)
        return dialects.bare(row.flat(data, asked) if row.flat else data)

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
        return await answer_options(dict(scope["headers"]), METHODS, send)
    error = NotFound(f"url `{scope['path'][:200]}` not found.")
    status, extra, body = _failure(error, "")
    await send_answer(send, status, body, extra, has_body=scope["method"] != "HEAD")


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
    await send_answer(send, 204, b"", extra, has_body=False)


async def send_answer(
    send: Send,
    status: int,
    body: bytes,
    extra: list[tuple[bytes, bytes]],
    *,
    has_body: bool = True,
) -> None:
    # A 204 and a 304 have no length; a HEAD has the length of what it leaves out.
    length = [] if status in (204, 304) else [(b"content-length", b"%d" % len(body))]
    start: Message = {
        "type": "http.response.start",
        "status": status,
        "headers": [*COMMON, *length, *extra],
    }
    await send(start)
    await send({"type": "http.response.body", "body": body if has_body else b""})


def _failure(error: ServiceError, language: str) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    extra = [(name.encode(), value.encode()) for name, value in error.headers.items()]
    return error.status, extra, dialects.failed(error, language)


def _conditional(
    headers: Mapping[bytes, bytes], body: bytes
) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """200 with an ETag, or 304 if the client has just this body."""
    tag = b'"' + blake2b(body, digest_size=8).hexdigest().encode() + b'"'
    extra = [(b"etag", tag), (b"cache-control", b"no-cache")]
    known = headers.get(b"if-none-match", b"")
    if known and any(each.strip().removeprefix(b"W/") in (tag, b"*") for each in known.split(b",")):
        return 304, extra, b""
    return 200, extra, body
