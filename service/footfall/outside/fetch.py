"""The HTTP client for other servers, bounded in time and in bytes; its callers take turns.

It is loaded with the first request: a process that only counts does not need its megabytes.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, NamedTuple

import httpx2

from ..errors import ProviderUnavailable

# Limits of time and size for a whole answer: a login needs some kilobytes.
ANSWER_SECONDS = 5.0
MAX_ANSWER_BYTES = 256 * 1024
# How a client is made. Services of Waline's kind know their callers by this name.
OPTIONS: Mapping[str, Any] = {
    "follow_redirects": False,
    "headers": {"user-agent": "@waline", "accept-encoding": "identity"},
}


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_ANSWER_BYTES
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise httpx2.ReadError(f"more than {MAX_ANSWER_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Limits the size of an answer. A compressed one is rejected, since it may expand to a large
    one."""

    def __init__(self) -> None:
        super().__init__(verify=_trusted())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.ReadError("compressed, though that was not asked for")
        response.stream = _Bounded(response.stream)
        return response


@cache
def _trusted() -> ssl.SSLContext:
    # Made once, since reading all certificates takes as long as a login.
    return httpx2.create_ssl_context()


@asynccontextmanager
async def asking() -> AsyncIterator[None]:
    """Surrounds every request to another server. Raises ProviderUnavailable."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            yield
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ssl.SSLError) as error:
        raise ProviderUnavailable() from error


class Said(NamedTuple):
    """An answer: its HTTP status, and its JSON; None if that is invalid or no success."""

    status: int
    json: Any


async def get(url: str, params: Mapping[str, str] | None = None) -> Said:
    """What is at this address. Raises ProviderUnavailable."""
    async with asking(), httpx2.AsyncClient(transport=BoundedTransport(), **OPTIONS) as client:
        answer = await client.get(url, params=params)
        return Said(answer.status_code, json_of(answer))


async def post_form(url: str, fields: Mapping[str, str]) -> Said:
    """The answer to a form. Raises ProviderUnavailable."""
    async with asking(), httpx2.AsyncClient(transport=BoundedTransport(), **OPTIONS) as client:
        answer = await client.post(url, data=fields)
        return Said(answer.status_code, json_of(answer))


def json_of(response: httpx2.Response) -> Any:
    """None for an answer that is not JSON or no success."""
    try:
        return response.json() if response.is_success else None
    except (ValueError, RecursionError):
        return None
