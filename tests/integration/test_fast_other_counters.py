"""GoatCounter, Abacus and badges take the fast path, unless a header decides, and answer there as
by their endpoints."""

from itertools import product
from pathlib import Path

import pytest

from tests.support.servers import RealServer

from .test_fast_path import JSON, LAST, pair, request, serve
from .test_fast_path import no_asgi as no_asgi

SPOKEN = {"COMPAT": "goatcounter,abacus,badges"}
STRANGER = "X-Forwarded-For: 203.0.113.9"
FAST = (
    ("GET", "/count?p=/a&r=https%3A%2F%2Fnews.example%2F&rnd=1x"),
    ("POST", "/count?p=/a&b=153"),
    ("GET", "/count?p=/a&e=true"),
    ("GET", "/counter//a/b%20c.json"),
    ("GET", "/counter/%2Fa.svg"),
    ("GET", "/counter/a.png"),
    ("GET", "/hit/site/key"),
    ("GET", "/hit/site/key?callback=f"),
    ("GET", "/hit/site/key?img"),
    ("GET", "/hit/site/key/shield"),
    ("GET", "/get/site/none"),
    ("GET", "/info/site/key"),
    ("GET", "/badge/%E4%BD%A0.svg?label=%3Cb%3E"),
    ("GET", "/badge/a.svg?count=false"),
    ("GET", "/api/count/incr/badge.svg?url=/a"),
    ("GET", "/api/count/keep/badge.svg?url=/a"),
    ("GET", "/git.example/user/repository.svg"),
)
# By headers, by what takes several round trips, and by what is refused.
SLOW = (
    ("GET", "/counter/TOTAL.json"),
    ("GET", "/counter/a.json?start=week"),
    ("GET", "/hit/:HOST:/:PATHNAME:"),
    ("GET", "/hit/site/:PATHNAME:/shield"),
    ("GET", "/ghpvc/?username=bob"),
    ("GET", "/count"),
    ("POST", "/count?p=/a&b=7"),
    ("GET", "/counter/a.json?end=x"),
    ("GET", "/hit/a/b"),
    ("GET", "/hit/site/key?callback=1"),
    ("GET", "/hit/site"),
    ("POST", "/set/site/key?value=1"),
    ("GET", "/badge/a.svg?color=%22"),
    ("GET", "/user/repository.svg"),
    ("GET", "/api/count/incr/badge.svg"),
)


@pytest.fixture
def url(servers: dict[str, RealServer]) -> str:
    return servers["valkey"].url


@pytest.mark.usefixtures("no_asgi")
@pytest.mark.parametrize(("method", "target"), FAST, ids=str)
async def test_its_requests_take_the_fast_path(
    url: str, home: Path, method: str, target: str
) -> None:
    sent = request(method, target)
    async with serve(url, home / "counters", is_fast=True, **SPOKEN) as served:
        assert len(await served.statuses(sent)) == 5


async def test_both_paths_answer_alike(url: str, home: Path) -> None:
    async with pair(url, home, SECURE_DOMAINS="blog.example", **SPOKEN) as both:
        for (method, target), header, origin in product(
            (*FAST, *SLOW),
            ("Accept: */*", "If-None-Match: *", "Connection: close", "Content-Length: 0", JSON),
            ("Referer: https://blog.example/post/a", "Origin: https://evil.example"),
        ):
            for other in (method, "HEAD", "OPTIONS"):
                await both.agree([request(other, target, b"", header, origin), LAST])


@pytest.mark.rare
async def test_both_paths_read_the_same_page_out_of_a_path(url: str, home: Path) -> None:
    async with pair(url, home, **SPOKEN) as both:
        between = [bytes([each]) for each in range(256) if each not in b"\r\n"]
        between += [b"%%%02x" % each for each in range(256)]
        between += [b"%", b"%zz", b"%E4%BD%A0", b"%25E4%25BD%25A0", b"//", b"/../", b".svg", b"+"]
        heads = (b"/badge/a%bb.svg", b"/git.example/a%bb.svg", b"/counter/a%bb.json")
        for each, head in product(between, (*heads, b"/hit/site/a%bb")):
            sent = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % head.replace(b"%b", each, 1)
            await both.agree([sent, LAST])


async def test_both_paths_refuse_in_their_words(url: str, home: Path) -> None:
    async with pair(url, home, COUNTER_RATE="0.01", **SPOKEN) as both:
        for target, word in (
            ("/count?p=/a", b"x-goatcounter: Too Many Requests"),
            ("/hit/site/key", b'{"error":"Too Many Requests"}'),
            ("/badge/a.svg", b"<title>error: Too Many Requests</title>"),
        ):
            many = request("GET", target, b"", STRANGER) * 90
            for served in (both.hot, both.cold):
                answers = [await served.until_the_end([many + LAST]) for _ in range(3)]
                refused = answers[-1].count(b"HTTP/1.1 429 ")
                assert refused > 0
                assert answers[-1].count(word) == refused
