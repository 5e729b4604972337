"""Requests of other counters' protocols take the fast path, unless a header decides, and get the
same response as from their endpoints."""

import base64
import re
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from footfall import routes
from tests.support import hits
from tests.support.servers import RealServer

from .test_fast_path import JSON, LAST, Pair, pair, request, serve
from .test_fast_path import no_asgi as no_asgi

TEXT = "Content-Type: text/plain;charset=UTF-8"
STRANGER = "X-Forwarded-For: 203.0.113.9"
COUNTER = "/1.1/classes/Counter"
ID = base64.urlsafe_b64encode("/你".encode()).decode().rstrip("=")
INCREMENT = b'{"time":{"__op":"Increment","amount":1}}'
BATCH = b'{"requests":[{"method":"PUT","path":"%s/%s","body":%s},{}]}'
PUT = BATCH % (COUNTER.encode(), ID.encode(), INCREMENT)
WHERE = "where=%7B%22url%22%3A%22/%E4%BD%A0%22%7D"
VIEW = b'{"url":"https://blog.example/a/%E4%BD%A0/?b#c","isNewUv":true}'


@dataclass(frozen=True)
class Protocols:
    """`compat` is the setting, "" for the protocol of these tests (tests/support/hits.py).

    `fast` takes the fast path; `others` are refused, or decided by headers; `bodies` may be odd,
    and are sent to `posts`. `often` has words of the refusal of too many requests, `heads` the
    paths of a page, %b.
    """

    compat: str
    fast: Sequence[bytes]
    others: Sequence[str]
    posts: Sequence[str] = ()
    bodies: Sequence[bytes] = ()
    often: Sequence[tuple[str, bytes]] = ()
    heads: Sequence[bytes] = ()

    def both(self, url: str, home: Path, **environ: str) -> AbstractAsyncContextManager[Pair]:
        return pair(url, home, **({"COMPAT": self.compat} if self.compat else {}), **environ)


ALL = (
    Protocols(
        "",
        [
            request("GET", "/hits/count?page=/a"),
            request("GET", "/hits/value/a/b%20c.json?x=y"),
            request("GET", "/hits/badge/%E4%BD%A0.svg"),
            request("POST", "/hit?page=/a"),
        ],
        [
            *("/hits/count?page=/a", "/hits/count?page=%zz&page=/b", "/hits/count", "/hits/count/"),
            *("/hits/badge/a.svg", "/hits/badge.svg?page=/a", "/hits/value/a.json?lang=zh-CN"),
            *("/hits/value/a", "/hit?page=/a", "/hit", "//hits/badge/a.svg", "/%68its/badge/a.svg"),
            *("http://x/hits/badge/a.svg", "/HITS/badge/a.svg"),
        ],
        often=[("/hits/count?page=/a", b'\r\n\r\n{"error":"Too Many Requests"}')],
        heads=[b"/hits/badge/a%bb.svg"],
    ),
    Protocols(
        "leancloud,open-kounter",
        [
            request("GET", f"{COUNTER}?{WHERE}"),
            request("GET", f"/{COUNTER}?{WHERE}&count=1"),
            request("PUT", f"{COUNTER}/{ID}", INCREMENT, JSON),
            request("POST", COUNTER, b'{"url":"/a","time":1}', JSON),
            request("POST", "/1.1/batch", PUT, JSON),
            request("GET", "/api/counter?target=site-pv"),
            request("POST", "/api/counter", b'{"action":"inc","target":"/a"}', JSON),
        ],
        [
            *(f"{COUNTER}?{WHERE}&limit=0&count=1", f"//{COUNTER}?{WHERE}", f"{COUNTER}?where=%7B"),
            *(f"{COUNTER}/", f"{COUNTER}/{ID}/x", f"{COUNTER}/{ID}", "/1.1/users", "/1.1/batch"),
            *("/api/counter?target=%E4%BD%A0", "/api/counter", "/api/counter/"),
        ],
        [COUNTER, "/api/counter"],
        [
            *(b'{"action":"inc","target":"/\xff"}', b'{"action":"inc","target":"/\\ud83d"}'),
            b'{"action":"batch_inc","requests":[{"target":"/a"},{"target":"/%61"}]}',
            *(b'{"action":"batch_inc","requests":[7]}', b'{"action":"drop","target":"/a"}'),
            *(b'{"target":"/a"}', b'{"url":"/a","time":2}', b"[]", b"{"),
        ],
    ),
    Protocols(
        "busuanzi",
        [
            *(request("POST", path, VIEW, TEXT) for path in ("/log", "/api/v1/log", "/api/v2/log")),
            request("GET", "/api/v2/log?url=https%3A%2F%2Fblog.example%2Fa%2F"),
        ],
        [
            *("/log?url=https://blog.example/a/", "/api/v2/log?url=https://blog.example/a/"),
            *("/api/v2/log?url=/a/", "/api/v2/log", "/api/v2/log/"),
            *(
                "/api?url=https://blog.example/a/",
                "/busuanzi?jsonpCallback=f",
                "/jsonp?callback=f()",
            ),
        ],
        ["/log", "/api/v2/log"],
        [VIEW, b"{", b"[]", b'{"url":7}', b'{"url":"ftp://x"}', b"\xff"],
    ),
    Protocols(
        "goatcounter,abacus,badges",
        [
            request("POST", "/count?p=/a&b=153"),
            *(
                request("GET", target)
                for target in (
                    *("/count?p=/a&r=https%3A%2F%2Fnews.example%2F&rnd=1x", "/count?p=/a&e=true"),
                    *("/counter//a/b%20c.json", "/counter/%2Fa.svg"),
                    *("/hit/site/key", "/hit/site/key?callback=f", "/hit/site/key?img"),
                    *("/hit/site/key/shield", "/get/site/none", "/info/site/key"),
                    *("/badge/%E4%BD%A0.svg?label=%3Cb%3E", "/badge/a.svg?count=false"),
                    *(f"/api/count/{do}/badge.svg?url=/a" for do in ("incr", "keep")),
                    "/git.example/user/repository.svg",
                )
            ),
        ],
        [
            *("/counter/TOTAL.json", "/counter/a.json?start=week", "/counter/a.json?end=x"),
            *("/hit/:HOST:/:PATHNAME:", "/hit/site/:PATHNAME:/shield", "/ghpvc/?username=bob"),
            *("/count", "/count?p=/a&b=7", "/hit/a/b", "/hit/site/key?callback=1", "/hit/site"),
            *("/set/site/key?value=1", "/badge/a.svg?color=%22", "/user/repository.svg"),
            "/api/count/incr/badge.svg",
        ],
        often=[
            ("/count?p=/a", b"x-goatcounter: Too Many Requests"),
            ("/hit/site/key", b'{"error":"Too Many Requests"}'),
            ("/badge/a.svg", b"<title>error: Too Many Requests</title>"),
        ],
        heads=[
            *(b"/badge/a%bb.svg", b"/git.example/a%bb.svg", b"/counter/a%bb.json"),
            b"/hit/site/a%bb",
        ],
    ),
)
every = pytest.mark.parametrize("protocols", ALL, ids=lambda each: each.compat or "hits")


@pytest.fixture
def url(servers: dict[str, RealServer]) -> str:
    return servers["valkey"].url


@pytest.fixture(autouse=True)
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    of_test = getattr(request.node, "callspec", None)
    if of_test and not of_test.params["protocols"].compat:
        monkeypatch.setattr(routes, "TABLE", hits.TABLE)


@every
@pytest.mark.usefixtures("no_asgi")
async def test_its_requests_take_the_fast_path(url: str, home: Path, protocols: Protocols) -> None:
    compat = {"COMPAT": protocols.compat} if protocols.compat else {}
    async with serve(url, home / "counters", is_fast=True, **compat) as served:
        for sent in protocols.fast:
            found = {status[:1] for status in await served.statuses(sent)}
            # What is not there yet is a 404.
            assert found <= {b"2", b"4"}, sent


@every
async def test_both_paths_answer_alike(url: str, home: Path, protocols: Protocols) -> None:
    targets = [each.split(b" ", 2)[1].decode() for each in protocols.fast] + [*protocols.others]
    async with protocols.both(url, home, SECURE_DOMAINS="blog.example") as both:
        for method, target, header, origin in product(
            ("GET", "HEAD", "POST", "PUT", "OPTIONS"),
            targets,
            ("If-None-Match: *", JSON),
            ("Referer: https://blog.example/post/a", "Origin: https://evil.example"),
        ):
            await both.agree([request(method, target, b"", header, origin), LAST])
        for body, target, type in product(protocols.bodies, protocols.posts, (JSON, TEXT)):
            known = "Referer: https://blog.example/a/"
            await both.agree([request("POST", target, body, type, known), LAST])


@pytest.mark.rare
@every
async def test_both_paths_read_the_same_page_out_of_a_path(
    url: str, home: Path, protocols: Protocols
) -> None:
    between = [bytes([each]) for each in range(256) if each not in b"\r\n"]
    between += [b"%%%02x" % each for each in range(256)]
    between += [b"%", b"%zz", b"%2", b"%E4%BD%A0", b"%25E4%25BD%25A0", b"//", b"/../", b".svg"]
    async with protocols.both(url, home) as both:
        for each, head in product(between, protocols.heads):
            sent = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % head.replace(b"%b", each)
            await both.agree([sent, LAST])


@every
async def test_both_paths_refuse_in_their_words(url: str, home: Path, protocols: Protocols) -> None:
    async with protocols.both(url, home, COUNTER_RATE="0.01") as both:
        for target, words in protocols.often:
            many = request("GET", target, b"", STRANGER) * 90
            for served in (both.hot, both.cold):
                told = [await served.until_the_end([many + LAST]) for _ in range(3)][-1]
                refused = told.count(b"HTTP/1.1 429 ")
                assert refused > 0
                assert told.count(words) == refused
                assert told.count(b"\r\ncache-control: no-store\r\n") >= 90


async def test_where_an_application_is_named_headers_decide_for_each_request(
    url: str, home: Path
) -> None:
    """Nothing that one client may do is kept for another."""
    named = {"LEANCLOUD_APP_ID": "footfall", "LEANCLOUD_APP_KEY": "key", "COMPAT": "leancloud"}
    right, wrong = ("X-LC-Id: footfall", "X-LC-Key: key"), ("X-LC-Id: footfall", "X-LC-Key: no")
    async with serve(url, home / "named", is_fast=True, **named) as served:
        asked = [right, wrong, (), right, wrong]
        sent = b"".join(request("GET", f"{COUNTER}?{WHERE}", b"", *each) for each in asked)
        answer = await served.until_the_end([sent + LAST])
    statuses = re.findall(rb"HTTP/1.1 (\d+)", answer)[: len(asked)]
    assert statuses == [b"200", b"401", b"401", b"200", b"401"]
