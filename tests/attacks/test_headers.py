"""What somebody may try with the headers of a request, in the fast path and in the endpoints."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from footfall.http.client import headers_of, is_allowed
from footfall.netaddr import Proxies
from tests.conftest import Sites
from tests.integration.test_abuse import resident
from tests.integration.test_fast_path import JSON, LAST, READ, Pair, Served, pair, request, serve
from tests.support.servers import RealServer

BOTH = pytest.mark.parametrize("is_fast", [True, False])
STRANGER, OTHER = "203.0.113.9", "198.51.100.1"


@pytest.fixture
def url(servers: dict[str, RealServer]) -> str:
    return servers["valkey"].url


@pytest.fixture
async def both(url: str, own: Path) -> AsyncIterator[Pair]:
    async with pair(url, own) as both:
        yield both


def counting(*forwarded: str) -> bytes:
    """Count a view, with these lines of X-Forwarded-For."""
    lines = [f"X-Forwarded-For: {line}" for line in forwarded]
    return request("POST", "/api/article", b'{"path":"/a"}', JSON, *lines)


@BOTH
@pytest.mark.usefixtures("no_allowance")
async def test_lines_of_forwarded_addresses_are_one_list(
    url: str, own: Path, is_fast: bool
) -> None:
    """Who: somebody behind a proxy that adds a line of its own. What: sends a line of
    X-Forwarded-For before it, to be taken for somebody else. Instead: the lines are one list, and
    its last stranger's bucket pays, in the fast path and without it."""
    async with serve(url, own / "s", is_fast=is_fast, COUNTER_RATE="0.01") as served:
        for _ in range(200):
            await ask(served, counting(STRANGER))
        assert b" 429 " in await ask(served, counting(STRANGER))
        # What the proxy has added comes last, whatever came before it.
        assert b" 429 " in await ask(served, counting(OTHER, STRANGER))
        assert b" 429 " in await ask(served, counting(OTHER, "", f"{OTHER}, {STRANGER}"))
        assert b" 200 " in await ask(served, counting(STRANGER, OTHER))


@BOTH
@pytest.mark.usefixtures("no_allowance")
async def test_only_the_configured_header_names_a_visitor(
    url: str, own: Path, is_fast: bool
) -> None:
    """Who: a visitor behind a proxy that sets X-Real-IP. What: sends an X-Forwarded-For of each
    stranger in turn, to be nobody whom a limit knows. Instead: only CLIENT_ADDRESS_HEADER counts,
    in the fast path and without it, however it is spelt."""
    async with serve(
        url, own / "s", is_fast=is_fast, COUNTER_RATE="0.01", CLIENT_ADDRESS_HEADER="X-Real-IP"
    ) as served:
        for n in range(200):
            name = "x-real-ip" if n % 2 else "X-Real-IP"
            await ask(served, named(name, STRANGER, f"X-Forwarded-For: 192.0.2.{n}"))
        assert b" 429 " in await ask(served, named("X-REAL-IP", STRANGER))
        assert b" 429 " in await ask(
            served, named("X-Real-IP", STRANGER, f"Forwarded: for={OTHER}")
        )
        assert b" 200 " in await ask(served, named("X-Real-IP", OTHER))


def named(header: str, address: str, *lines: str) -> bytes:
    """Count a view, by a visitor whom a proxy names so."""
    body = b'{"path":"/a"}'
    return request("POST", "/api/article", body, JSON, f"{header}: {address}", *lines)


async def ask(served: Served, sent: bytes) -> bytes:
    """The first line of the answer."""
    return (await served.until_the_end([sent, LAST])).partition(b"\r\n")[0]


async def agreed(both: Pair, *chunks: bytes) -> bytes:
    """The answer of both, which must be the same."""
    hot, cold = await asyncio.gather(
        *(served.until_the_end(chunks) for served in (both.hot, both.cold))
    )
    assert hot == cold, chunks
    return hot


def test_several_lines_of_any_header_are_one_list() -> None:
    """Who: anybody. What: sends a header twice, so that one reader takes the first and another the
    last. Instead: both are one value, in which two tokens, two types or two origins are none that
    is known."""
    lines = [
        (b"x-forwarded-for", b"203.0.113.9"),
        (b"authorization", b"Bearer a"),
        (b"x-forwarded-for", b"198.51.100.1"),
        (b"authorization", b"Bearer b"),
        (b"origin", b"https://blog.example"),
        (b"origin", b"https://evil.example"),
    ]
    headers = headers_of(lines)
    assert Proxies().address_of(None, headers) == OTHER
    assert headers[b"authorization"] == b"Bearer a, Bearer b"
    assert not is_allowed(headers, ("blog.example", "evil.example"))


async def test_a_repeated_header_is_read_alike_with_and_without_the_fast_path(both: Pair) -> None:
    """Who: anybody. What: sends two lines of a header that changes what a request means. Instead:
    the fast path leaves it to the endpoints, which take the lines for one list."""
    other, known = 'If-None-Match: "x"', 'If-None-Match: "0"'
    for sent, status in (
        (request("GET", "/api/article?path=/a", b"", other, known), 304),
        (request("GET", "/api/article?path=/a", b"", known, other), 304),
        (request("POST", "/article", b'{"path":"/b"}', JSON, "Content-Type: text/html"), 415),
        (request("POST", "/article", b'{"path":"/b"}', "Content-Type: text/html", JSON), 415),
        (request("POST", "/article", b'{"path":"/c"}', JSON, "Content-Length: 3"), 400),
        (request("POST", "/article", b"{}", JSON, "Transfer-Encoding: chunked"), 400),
        (request("GET", "/token", b"", "Authorization: Bearer a", "Authorization: b"), 200),
    ):
        answer = await agreed(both, sent, LAST)
        assert answer.startswith(b"HTTP/1.1 %d " % status), sent


async def test_hosts_of_any_length_reach_no_pattern(url: str, own: Path) -> None:
    """Who: anybody. What: sends a Referer with a host name of thousands of letters, since an
    operator's pattern may take quadratic time. Instead: a name that is longer than names can be is
    no host, with the fast path and without it."""
    async with pair(url, own, SECURE_DOMAINS="/(a+)+b/") as both:
        for host in ("a" * 254 + "b", "a" * 14_000):
            for name in ("Referer", "Origin"):
                sent = request("GET", "/api/article?path=/a", b"", f"{name}: https://{host}/x")
                assert (await agreed(both, sent, LAST)).startswith(b"HTTP/1.1 403 ")


def chunked(*trailers: str, target: str = "/api/article", body: bytes = b'{"path":"/t"}') -> bytes:
    head = request("POST", target, b"", JSON, "Transfer-Encoding: chunked")
    lines = "".join(f"{line}\r\n" for line in trailers)
    return head + b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, lines.encode())


@pytest.mark.parametrize("server", ["", "https://count.example"])
async def test_a_page_that_says_it_is_the_services_own(make_site: Sites, server: str) -> None:
    """Who: a page of a site that SECURE_DOMAINS leaves out. What: sends its own name as
    X-Forwarded-Host, which fetch() allows and some proxies pass on, to be taken for the service's
    own page. Instead: only SERVER_URL or Host decide which page that is, and no page can set Host.
    """
    site = await make_site("127.0.0.1", SECURE_DOMAINS="blog.example", SERVER_URL=server)
    url = "/api/article?path=/a"
    names = ["x-forwarded-host", "x-forwarded-server", "x-original-host", "x-host"]
    claims = [{}, {"forwarded": "host=evil.example"}, {names[0]: "site.test, evil.example"}]
    for claim in [*claims, *({name: "evil.example"} for name in names)]:
        headers = {"origin": "https://evil.example", "referer": "https://evil.example/", **claim}
        assert (await site.http.get(url, headers=headers)).status_code == 403, claim
    own = server or "http://site.test"
    assert (await site.http.get(url, headers={"referer": f"{own}/"})).status_code == 200


@BOTH
@pytest.mark.usefixtures("no_allowance")
async def test_an_address_behind_the_body_is_not_believed(
    url: str, own: Path, is_fast: bool
) -> None:
    """Who: somebody whose changes take tokens. What: names another address, a token or a type in
    trailers, which come after the body and after the headers were read. Instead: trailers are
    ignored, and the next request on the connection is answered as usual."""
    async with serve(url, own / "s", is_fast=is_fast, COUNTER_RATE="0.01") as served:
        for _ in range(200):
            await ask(served, counting(STRANGER))
        assert b" 429 " in await ask(served, counting(STRANGER))
        for trailer in (
            f"X-Forwarded-For: {STRANGER}",
            "Content-Type: text/html",
            "Content-Encoding: gzip",
            "Authorization: Bearer x",
            "Expect: 100-continue",
            "X: y",
        ):
            stream = chunked(trailer) + READ + chunked() + LAST
            received = await served.until_the_end([stream])
            statuses = [line.split()[1] for line in received.splitlines() if b"HTTP/1.1 " in line]
            assert statuses == [b"200", b"200", b"200", b"404"], trailer


@BOTH
@pytest.mark.parametrize(
    "trailer",
    [b"X: y\r\n" * 10_000, b"X: " + b"y" * 65_533, b"y" * 65_536, b"X: " + b"y\r\n y" * 13_000],
    ids=["many", "a long value", "a long name", "a folded value"],
)
async def test_trailers_fill_no_memory(url: str, own: Path, is_fast: bool, trailer: bytes) -> None:
    """Who: anybody. What: sends megabytes of trailers, each of which would be an object. Instead:
    their bytes are counted, beyond 16 kB the request is refused, and further ones are not kept."""
    async with serve(url, own / "s", is_fast=is_fast) as served:
        reader, writer = await asyncio.open_unix_connection(str(served.path))
        writer.write(chunked()[:-2])
        before = resident()
        for _ in range(200):
            writer.write(trailer)
            await writer.drain()
        received = await asyncio.wait_for(reader.read(), 10)
        assert received.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
        assert received.count(b"HTTP/1.1 ") == 1
        assert b"\r\nconnection: close\r\n" in received
        assert resident() - before < 8 * 1024 * 1024
        writer.close()
        await served.wait_for_nobody()
        assert b" 200 " in await ask(served, READ)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\0\r\n\r\n",
        b"GET /\x7f HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"BREW\r\n",
        b"GET http:// HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 4000,
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        request("POST", "/article", b"", JSON, "Transfer-Encoding: chunked") + b"x\r\n",
    ],
    ids=lambda garbage: repr(garbage[:30]),
)
async def test_a_refusal_waits_for_its_turn(both: Pair, garbage: bytes) -> None:
    """Who: somebody who shares a connection with others, as behind a proxy. What: sends bytes that
    are no request after a request whose answer is still to come, so that the refusal is taken for
    that answer. Instead: answers leave in the order of their requests, and the refusal is the last.
    """
    page = request("GET", "/comment?type=recent")
    answer = await agreed(both, page + page + garbage)
    statuses = [line.split()[1] for line in answer.splitlines() if b"HTTP/1.1 " in line]
    assert statuses[:2] == [b"200", b"200"]
    assert statuses[2:] in ([b"400"], [b"431"])
    assert answer.count(b"\r\nconnection: close\r\n") == 1


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["Host:"],
        ["Host: x", "Host: x"],
        ["Host: x", "host: evil.example"],
        ["Host: x y"],
        ["Host: x/y"],
        ["Host: a@x"],
        ["Host: x:port"],
        ["Host: [::1"],
        ["Host: x, y"],
        ["Host: \xe9.example"],
        ["Host: x\\y"],
        ["X: y", "X: y", "HOST: x", "HOST: x"],
    ],
    ids=str,
)
async def test_a_request_that_does_not_say_for_which_host_it_is(
    both: Pair, lines: list[str]
) -> None:
    """Who: somebody behind a proxy or a cache. What: sends no Host, two, or none that is a name, so
    that the two programs take the request for two services. Instead: HTTP/1.1 with anything but one
    host is a 400, after the answers to earlier requests, and nothing more of it is read."""
    for target in ("/api/article?path=/a", "/ui/login", "/nowhere"):
        head = "\r\n".join([f"GET {target} HTTP/1.1", *lines]).encode("latin-1") + b"\r\n\r\n"
        answer = await agreed(both, READ + head + READ)
        # Each body ends where the next status line starts.
        statuses = [each.split()[0] for each in answer.split(b"HTTP/1.1 ") if each[:3].isdigit()]
        assert statuses == [b"200", b"400"]
        assert b'"errmsg":"Host: HTTP/1.1 needs exactly one line of it' in answer


async def test_hosts_as_browsers_and_old_clients_send_them(both: Pair) -> None:
    """Who: nobody with bad intentions: browsers, proxies with names of their own, and clients of
    HTTP/1.0. What: ask in every way in which a host may be written, on one connection. Instead:
    each is answered, and none refused."""
    for host in ("x", "X.example:8360", "127.0.0.1:80", "[::1]:8360", "comments_1", "a-b.", "x:"):
        head = f"GET /api/article?path=/a HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        answer = await agreed(both, READ + head + READ + LAST)
        assert answer.count(b"HTTP/1.1 200 OK\r\n") == 3, host
    old = b"GET /api/article?path=/a HTTP/1.0\r\n"
    for head in (old + b"\r\n", old + b"X: y\r\nX: y\r\n\r\n"):
        assert (await agreed(both, head)).startswith(b"HTTP/1.1 200 OK\r\n")
