"""How answers are sent through ASGI: failures, preflights, streams that end with their client."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from starlette.types import Message, Receive, Scope, Send

from ..errors import NotFound
from ..http import cors
from ..http.client import headers_of
from ..http.response import Refuse, Response, failed, refused


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """404 for a path that no route has; an ASGI application."""
    if scope["type"] != "http":
        return
    if scope["method"] == "OPTIONS":
        return await answer_options(headers_of(scope["headers"]), cors.METHODS, send)
    await send_failure(scope, send, no_such_url(scope["path"]))


def no_such_url(path: str) -> NotFound:
    return NotFound(f"url `{path[:200]}` not found.")


def failure(
    scope: Scope, error: Exception, language: str, request: str, refuse: Refuse = refused
) -> Response:
    """The answer to a failure, which middleware.py counts by the error's name."""
    scope["refused"] = type(error).__name__
    return failed(error, language, request, refuse)


async def send_failure(scope: Scope, send: Send, error: Exception) -> None:
    answer = failure(scope, error, "", f"{scope['method']} {scope['path']}")
    await send_answer(send, answer, has_body=scope["method"] != "HEAD")


async def answer_options(headers: Mapping[bytes, bytes], allowed: str, send: Send) -> None:
    await send_answer(send, cors.permitted(headers, allowed), has_body=False)


async def send_answer(
    send: Send, answer: Response, *, has_body: bool = True, receive: Receive | None = None
) -> None:
    """With `receive`, a stream ends when its client disconnects or stops sending: `receive` reports
    that after the whole request."""
    start: Message = {
        "type": "http.response.start",
        "status": answer.status,
        "headers": answer.headers,
    }
    await send(start)
    if answer.stream:
        # Closed even without a client.
        async with aclosing(answer.stream) as rest:
            if has_body:
                await _send_pieces(send, answer.body, rest, receive)
        return await send({"type": "http.response.body", "body": b""})
    await send({"type": "http.response.body", "body": answer.body if has_body else b""})


async def _send_pieces(
    send: Send, piece: bytes | None, rest: AsyncGenerator[bytes], receive: Receive | None
) -> None:
    gone: asyncio.Future[object] = asyncio.ensure_future(
        receive() if receive else asyncio.Event().wait()
    )
    try:
        while piece is not None:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            coming = asyncio.ensure_future(anext(rest, None))
            await asyncio.wait((gone, coming), return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                coming.cancel()
                await asyncio.wait((coming,))
                return
            piece = coming.result()
    finally:
        gone.cancel()
