"""Vercount's requests have the fast path, and are answered there as by its endpoints; those of
busuanzi and soxft, which a header decides, are left to the endpoints."""

from itertools import product
from pathlib import Path

import pytest

from tests.support.servers import RealServer

from .test_fast_path import JSON, LAST, pair, request, serve
from .test_fast_path import no_asgi as no_asgi

BODY = b'{"url":"https://blog.example/a/%E4%BD%A0/?b#c","isNewUv":true}'
TEXT = "Content-Type: text/plain;charset=UTF-8"
COUNTS = [request("POST", path, BODY, TEXT) for path in ("/log", "/api/v1/log", "/api/v2/log")]
READ = request("GET", "/api/v2/log?url=https%3A%2F%2Fblog.example%2Fa%2F")


@pytest.fixture
def url(servers: dict[str, RealServer]) -> str:
    return servers["valkey"].url


@pytest.mark.usefixtures("no_asgi")
@pytest.mark.parametrize("sent", [*COUNTS, READ])
async def test_vercounts_requests_take_the_fast_path(url: str, home: Path, sent: bytes) -> None:
    async with serve(url, home / "vercount", is_fast=True, COMPAT="busuanzi") as served:
        assert await served.statuses(sent) == [b"200 OK"] * 5


async def test_both_paths_answer_alike(url: str, home: Path) -> None:
    async with pair(url, home, COMPAT="busuanzi", SECURE_DOMAINS="blog.example") as both:
        for method, target, header, origin in product(
            ("GET", "HEAD", "POST", "PUT", "OPTIONS"),
            (
                "/log?url=https://blog.example/a/",
                "/api/v2/log?url=https://blog.example/a/",
                "/api/v2/log?url=/a/",
                "/api/v2/log",
                "/api/v2/log/",
                "/api?url=https://blog.example/a/",
                "/busuanzi?jsonpCallback=f",
                "/jsonp?callback=f()",
            ),
            ("Accept: */*", "If-None-Match: *", "Content-Length: 0", JSON),
            ("Referer: https://blog.example/a/", "Referer: https://evil.example/"),
        ):
            await both.agree([request(method, target, b"", header, origin), LAST])
        for body in (BODY, b"{", b"[]", b'{"url":7}', b'{"url":"ftp://x"}', b"\xff"):
            for path in ("/log", "/api/v2/log"):
                known = "Referer: https://blog.example/a/"
                await both.agree([request("POST", path, body, TEXT, known), LAST])
