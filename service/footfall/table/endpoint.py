"""The adapter between HTTP and the operations: it parses, runs the operation, and answers.

Errors are caught here and in fast_cycle.py only. It is raw ASGI, because Starlette's Request and
Response cost more than the work of an operation.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from starlette.types import Receive, Scope, Send

from ..errors import ServiceError, TooLong, Unreadable, WrongMethod
from ..http.body import read_body
from ..http.client import headers_of, names_page, purpose_of, service_url
from ..http.envelope import Envelope
from ..http.params import MAX_URL, RawRequest, parse_query
from ..http.policy import Policy
from ..http.response import Headers as Lines
from ..http.response import Reply, Response, tagged_by_body
from ..model import PUBLIC, Caller, Viewer
from .answers import Answer, Streamed
from .context import Served
from .fast import answered
from .rows import READING, Row
from .sending import failure, no_such_url, send_answer
from .variants import Variant


def reply_of(row: Row, variant: Variant, data: Any) -> Reply:
    """The body in the request's variant, and an ETag if the operation only reads."""
    # It is a tuple if the operation has made the reply itself, since that was cheaper.
    if isinstance(data, tuple):
        return data
    body = row.envelope(variant).body(data)
    is_read = row.method in READING and not row.is_unsafe
    return tagged_by_body(body) if is_read else (body, b"")


def whole(row: Row, reply: Reply) -> Response:
    """With the status and the type that its answers have."""
    body, tag = reply
    return Response(row.answer.status, body, type=row.answer.type, tag=tag)


class Resource:
    """All operations of one path in one API variant, as an ASGI application; `instead` describes
    what to do instead of any other method. Without operations, the path does not exist."""

    def __init__(
        self,
        rows: Mapping[str, Sequence[Row]],
        site: Served,
        policy: Policy,
        variant: Variant,
        instead: str | None = None,
    ) -> None:
        self._rows = rows
        self._site = site
        self._policy = policy
        self._variant = variant
        self._instead = instead
        self._allowed = ", ".join([*rows, *(["HEAD"] if "GET" in rows else []), "OPTIONS"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        headers = headers_of(scope["headers"])
        if method == "OPTIONS":
            answer = self._variant.preflight(headers, self._allowed)
            return await send_answer(send, answer.under(self._variant.headers), has_body=False)
        language, row = "", None
        try:
            if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_URL:
                raise TooLong()
            query = parse_query(scope["query_string"])
            language = str(query.get("lang", "")).lower()
            row = self._row(method, scope["path"], query.get("type"))
            if not (row.admits_all or (row.is_picture and not names_page(headers))):
                self._variant.admit(scope, headers, self._policy)
            scope["operation"] = scope["counted_as"] = row.route
            answer = await self._answer(row, scope, receive, headers, query, language)
        except Exception as error:
            if isinstance(error, ServiceError) and error.limit:
                address = self._policy.proxies.address_of(scope.get("client"), headers)
                self._site.process.refusals.note(address, error.limit)
            request = f"{method} {scope['path']}"
            answer = failure(scope, error, language, request, self._variant.refusals.answer)
        common = row.headers(self._variant) if row else self._variant.headers
        has_body = method != "HEAD"
        # All else is sent whole, also to a client that will send nothing more.
        watched = receive if row and row.is_endless else None
        await send_answer(send, answer.under(common), has_body=has_body, receive=watched)

    def _caller(
        self, scope: Scope, headers: Mapping[bytes, bytes], viewer: Viewer, language: str
    ) -> Caller:
        proxies, (peer, _) = self._policy.proxies, scope.get("client") or ("", 0)
        address = proxies.address_of((peer, 0), headers)
        named, agent = headers.get(proxies.header, b""), headers.get(b"user-agent", b"")
        self._site.unknown_proxies.asked(peer, named, agent)
        return Caller(
            viewer,
            address,
            language or headers.get(b"accept-language", b"").decode("latin-1"),
            self._variant.is_sent_elsewhere(scope["method"], headers),
            agent.decode("latin-1"),
            purpose_of(headers),
            self._variant.door,
            address in proxies,
        )

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
        variant, policy = self._variant, self._policy
        token = variant.token(scope, headers, policy)
        viewer = await self._site.viewer_of(token) if token else PUBLIC
        length = self._site.context.settings.comment_length
        body = (
            pieces(receive)
            if row.is_upload
            else await read_body(method, headers, receive, query, comment_length=length)
        )
        variables = scope.get("path_params", {})
        id = str(query.get("id") or variables.get("id", "")).removesuffix(".html")
        server_url = partial(service_url, scope, policy)
        asked = RawRequest(query, variant, body, id, headers, variables, server_url)
        parsed = row.parse(asked, self._site.context, self._site.rules, viewer)
        if method == "HEAD" and row.is_unsafe:
            return Response(200, b"", type=row.answer.type, stream=_unknown())
        data = await self._run(row, parsed, self._caller(scope, headers, viewer, language))
        if isinstance(data, Response):
            return variant.respond(data, headers, ())
        if isinstance(data, Streamed):
            stream = streamed(data, row.envelope(variant))
            # Until the first piece exists, an error can be returned.
            return Response(200, await anext(stream), stream=stream)
        extra: Lines = ()
        if isinstance(data, Answer):
            data, extra = await variant.finish(data, scope, headers, policy)
        return variant.respond(whole(row, reply_of(row, variant, data)), headers, extra)

    async def _run(self, row: Row, parsed: Any, caller: Caller) -> Any:
        site = self._site
        if row.run is None or caller.viewer.account is None:
            fast = row.fast_request(site, parsed)
            if fast:
                client = site.clients.of_caller(caller) if fast.is_change else None
                return await answered(fast, client, caller)
        assert row.run is not None, f"{row.route} has nothing that answers this request"
        return await row.run(site.noun(row.noun), parsed, caller)

    def _row(self, method: str, path: str, type: object) -> Row:
        if not self._rows:
            raise no_such_url(path)
        rows = self._rows.get("GET" if method == "HEAD" else method)
        if rows is None:
            raise WrongMethod(self._allowed, self._instead)
        return next((row for row in rows if row.type == type and type), rows[0])


async def _unknown() -> AsyncGenerator[bytes]:
    """The body that a HEAD omits, if nobody has made it and knows its length."""
    yield b""


async def streamed(answer: Streamed, around: Envelope) -> AsyncGenerator[bytes]:
    before = around.before
    async with aclosing(answer.pieces) as rest:
        async for piece in rest:
            yield before + piece
            before = b""
    yield before + around.after


async def pieces(receive: Receive) -> AsyncGenerator[bytes]:
    """A body as it comes. Raises Unreadable."""
    is_over = False
    while not is_over:
        message = await receive()
        if message["type"] != "http.request":
            raise Unreadable("the client went away")
        yield message.get("body", b"")
        is_over = not message.get("more_body")
