"""Whatever is sent, its answer is counted: once, under a route, with its status."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from footfall.http.connection import BODY_SECONDS
from footfall.http.protocol import MAX_HEAD_BYTES
from tests.support.servers import RealServer

from .test_fast_path import COUNT, Served, serve

SENT = {
    "counts": ("GET", "/article?path=/a", "article_read 200"),
    "a like": ("POST", "/article?path=/a", "article_change 200"),
    "comments": ("GET", "/comment?path=/a", "comment_page 200"),
    "comments without their body": ("HEAD", "/api/comment?path=/a", "comment_page 200"),
    "a refused operation": ("GET", "/api/comment?type=list", "comment_queue 401"),
    "a missing field": ("POST", "/api/comment", "comment_post 200"),
    "a redirect": ("GET", "/api/oauth?code=1&state=2", "oauth 302"),
    "no operation": ("PATCH", "/api/article", "other 405"),
    "no path": ("GET", "/nowhere", "other 404"),
    "no path, to be changed": ("DELETE", "/nowhere/at/all", "other 404"),
    "a preflight": ("OPTIONS", "/api/comment", "preflight 204"),
    "a preflight of a page": ("OPTIONS", "/count.js", "preflight 204"),
    "a preflight of nothing": ("OPTIONS", "/nowhere", "preflight 204"),
    "the demonstration": ("GET", "/", "page 200"),
    "its older address": ("GET", "/api/", "page 307"),
    "the folder of pages": ("GET", "/ui", "page 307"),
    "a page": ("GET", "/ui/login", "page 200"),
    "a page of a log-in": ("GET", "/ui/confirm", "page 200"),
    "a page, to be changed": ("POST", "/ui/login", "page 405"),
    "the script": ("GET", "/count.js", "static 200"),
    "a file of pages": ("HEAD", "/ui/static/demo.css", "static 200"),
    "a feed": ("GET", "/api/comment/rss", "feed 200"),
    "a feed of nobody": ("GET", "/comment/rss?user_id=x", "feed 404"),
    "the way out of mails": ("GET", "/unsubscribe", "unsubscribe 200"),
    "a bad way out of mails": ("POST", "/unsubscribe", "unsubscribe 400"),
    "no way out of mails": ("PUT", "/unsubscribe", "unsubscribe 405"),
    "a probe": ("GET", "/livez", "health 200"),
    "a probe of Redis": ("HEAD", "/readyz", "health 200"),
    "the version": ("GET", "/version", "health 200"),
    "metrics": ("GET", "/metrics", "metrics 200"),
    "metrics, to be changed": ("POST", "/metrics", "metrics 405"),
}
# What is not a whole request of HTTP.
BROKEN = {
    "nonsense": (b"EHLO example.com\r\n\r\n", "400"),
    "no Host": (b"GET / HTTP/1.1\r\n\r\n", "400"),
    "long headers": (
        b"GET / HTTP/1.1\r\nHost: x\r\nX: %b\r\n\r\n" % (b"x" * MAX_HEAD_BYTES),
        "431",
    ),
    "no address": (b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n", "400"),
}


def request(method: str, target: str, *headers: str) -> bytes:
    """As a browser sends it that opens a page."""
    lines = [f"{method} {target} HTTP/1.1", "Host: x", "Connection: close", "Accept: text/html"]
    return "\r\n".join([*lines, *headers, "", ""]).encode()


def counted(served: Served) -> Counter[tuple[str, str]]:
    routes = served.metrics.routes.values()
    return Counter(
        {(route.name, status): int(n) for route in routes for status, n in route.by_status()}
    )


async def counted_for(served: Served, *chunks: bytes) -> Sequence[str]:
    """What is counted for these bytes, such as ["article_read 200"]; it fails for no answer."""
    before = counted(served)
    assert await served.until_the_end(chunks)
    more = counted(served) - before
    return [f"{route} {status}" for route, status in more.elements()]


@pytest.fixture(params=["fast path", "endpoints"])
async def served(
    request: pytest.FixtureRequest, servers: Mapping[str, RealServer], own: Path
) -> AsyncIterator[Served]:
    async with serve(
        servers["valkey"].url,
        own / "s",
        is_fast=request.param == "fast path",
        SERVER_URL="http://x",
        OAUTH_URL="http://127.0.0.1:9",
        MAX_CONNECTIONS="2",
    ) as served:
        yield served


async def test_every_answer_is_counted_under_its_route(served: Served) -> None:
    for what, (method, target, expected) in SENT.items():
        assert await counted_for(served, request(method, target)) == [expected], what
    known = request("GET", "/comment?path=/a", "If-None-Match: *")
    assert await counted_for(served, known) == ["comment_page 304"]
    for what, (sent, status) in BROKEN.items():
        assert await counted_for(served, sent) == [f"other {status}"], what
    assert counted(served).total() == len(SENT) + 1 + len(BROKEN)


async def test_who_is_too_slow_or_one_too_many_is_counted(served: Served) -> None:
    slow = asyncio.create_task(counted_for(served, COUNT[:-5]))
    await served.read_all()
    (connection,) = served.state.connections
    connection.close_if_late(connection.since + BODY_SECONDS + 1, idle_seconds=5)
    assert await slow in (["other 408"], ["article_change 408"])
    kept = [await asyncio.open_unix_connection(str(served.path)) for _ in range(2)]
    await served.read_all()
    assert await counted_for(served) == ["other 503"]
    for _, writer in kept:
        writer.close()
