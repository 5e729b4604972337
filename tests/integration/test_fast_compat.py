"""Other counters' protocols have the fast path, and answer there as by their endpoints."""

import base64
import re
from itertools import product
from pathlib import Path

import pytest

from tests.support.servers import RealServer

from .test_fast_path import JSON, LAST, pair, request, serve
from .test_fast_path import no_asgi as no_asgi

SPOKEN = {"COMPAT": "leancloud,open-kounter"}
COUNTER = "/1.1/classes/Counter"
ID = base64.urlsafe_b64encode("/你".encode()).decode().rstrip("=")
INCREMENT = b'{"time":{"__op":"Increment","amount":1}}'
PUT = b'{"requests":[{"method":"PUT","path":"%s/%s","body":%s},{}]}' % (
    COUNTER.encode(),
    ID.encode(),
    INCREMENT,
)
WHERE = "where=%7B%22url%22%3A%22/%E4%BD%A0%22%7D"


@pytest.fixture
def url(servers: dict[str, RealServer]) -> str:
    return servers["valkey"].url


async def test_both_paths_answer_it_alike(url: str, home: Path) -> None:
    async with pair(url, home, SECURE_DOMAINS="blog.example", **SPOKEN) as both:
        for method, target, header, origin in product(
            ("GET", "HEAD", "PUT", "OPTIONS"),
            (
                f"{COUNTER}?{WHERE}",
                f"{COUNTER}?{WHERE}&limit=0&count=1",
                f"/{COUNTER}?{WHERE}",
                f"//{COUNTER}?{WHERE}",
                f"{COUNTER}?where=%7B",
                f"{COUNTER}/",
                f"{COUNTER}/{ID}/x",
                f"{COUNTER}/{ID}",
                "/1.1/users",
                "/1.1/batch",
                "/api/counter?target=%E4%BD%A0",
                "/api/counter",
                "/api/counter/",
            ),
            ("Accept: */*", "If-None-Match: *", "Connection: close", JSON),
            ("Origin: https://blog.example", "Origin: https://evil.example"),
        ):
            await both.agree([request(method, target, b"", header, origin), LAST])


@pytest.mark.parametrize(
    "body",
    [
        b'{"action":"inc","target":"/\xff"}',
        b'{"action":"inc","target":"/\\ud83d"}',
        b'{"action":"batch_inc","requests":[{"target":"/a"},{"target":"/%61"}]}',
        b'{"action":"batch_inc","requests":[7]}',
        b'{"action":"drop","target":"/a"}',
        b'{"target":"/a"}',
        b'{"url":"/a","time":2}',
        b"[]",
        b"{",
    ],
)
async def test_both_paths_read_the_same_out_of_a_body(url: str, home: Path, body: bytes) -> None:
    async with pair(url, home, **SPOKEN) as both:
        for target, type in product((COUNTER, "/api/counter"), (JSON, "Content-Type: text/plain")):
            await both.agree([request("POST", target, body, type), LAST])


async def test_where_an_application_is_named_headers_decide_for_each_request(
    url: str, home: Path
) -> None:
    """Nothing that one client may do is kept for another."""
    named = {"LEANCLOUD_APP_ID": "footfall", "LEANCLOUD_APP_KEY": "key"}
    right, wrong = ("X-LC-Id: footfall", "X-LC-Key: key"), ("X-LC-Id: footfall", "X-LC-Key: no")
    async with serve(url, home / "named", is_fast=True, **SPOKEN, **named) as served:
        asked = [right, wrong, (), right, wrong]
        sent = b"".join(request("GET", f"{COUNTER}?{WHERE}", b"", *each) for each in asked)
        answer = await served.until_the_end([sent + LAST])
    assert re.findall(rb"HTTP/1.1 (\d+)", answer)[: len(asked)] == [
        b"200",
        b"401",
        b"401",
        b"200",
        b"401",
    ]
