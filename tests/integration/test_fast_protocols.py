"""Another counter's protocol has the fast path, and answers there as by its endpoints."""

from itertools import product
from pathlib import Path

import pytest

from footfall.api import routes
from tests.support import hits
from tests.support.servers import RealServer

from .test_fast_path import JSON, LAST, pair, request, serve
from .test_fast_path import no_asgi as no_asgi

COUNT = request("GET", "/hits/count?page=/a")
VALUE = request("GET", "/hits/value/a/b%20c.json?x=y")
BADGE = request("GET", "/hits/badge/%E4%BD%A0.svg")
BEACON = request("POST", "/hit?page=/a")
STRANGER = "X-Forwarded-For: 203.0.113.9"


@pytest.fixture
def url(servers: dict[str, RealServer]) -> str:
    return servers["valkey"].url


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "TABLE", hits.TABLE)


@pytest.mark.usefixtures("no_asgi")
@pytest.mark.parametrize("sent", [COUNT, VALUE, BADGE, BEACON])
async def test_its_requests_take_the_fast_path(url: str, home: Path, sent: bytes) -> None:
    async with serve(url, home / "protocol", is_fast=True) as served:
        assert await served.statuses(sent) == [b"200 OK"] * 5


async def test_both_paths_answer_it_alike(url: str, home: Path) -> None:
    async with pair(url, home, SECURE_DOMAINS="blog.example") as both:
        for method, target, header, origin in product(
            ("GET", "HEAD", "POST", "OPTIONS"),
            (
                "/hits/count?page=/a",
                "/hits/count?page=%zz&page=/b",
                "/hits/count",
                "/hits/count/",
                "/hits/badge/a.svg",
                "/hits/badge.svg?page=/a",
                "/hits/value/a.json?lang=zh-CN",
                "/hits/value/a",
                "/hit?page=/a",
                "/hit",
            ),
            ("Accept: */*", "If-None-Match: *", "Connection: close", "Content-Length: 0", JSON),
            ("Origin: https://blog.example", "Origin: https://evil.example"),
        ):
            await both.agree([request(method, target, b"", header, origin), LAST])


@pytest.mark.rare
async def test_both_paths_read_the_same_page_out_of_a_path(url: str, home: Path) -> None:
    async with pair(url, home) as both:
        between = [bytes([each]) for each in range(256) if each not in b"\r\n"]
        between += [b"%%%02x" % each for each in range(256)]
        between += [b"%", b"%zz", b"%2", b"%E4%BD%A0", b"//", b"/../", b".svg", b"+", b";x=y"]
        for each in between:
            sent = b"GET /hits/badge/a%bb.svg HTTP/1.1\r\nHost: x\r\n\r\n" % each
            await both.agree([sent, LAST])
        for head in ("//hits", "/hits/", "/%68its", "http://x/hits", "/HITS"):
            await both.agree([request("GET", f"{head}/badge/a.svg"), LAST])


async def test_both_paths_refuse_in_its_words(url: str, home: Path) -> None:
    async with pair(url, home, COUNTER_RATE="0.01") as both:
        many = request("GET", "/hits/count?page=/a", b"", STRANGER) * 90
        for served in (both.hot, both.cold):
            answers = [await served.until_the_end([many + LAST]) for _ in range(3)]
            told, _, last = answers[-1].rpartition(b"HTTP/1.1 404 ")
            refused = told.count(b"HTTP/1.1 429 ")
            assert refused > 0
            assert told.count(b'\r\n\r\n{"error":"Too Many Requests"}') == refused
            assert told.count(b"\r\ncache-control: no-store\r\n") == 90
            assert (b"x-waline-version" in told, b"x-waline-version" in last) == (False, True)
