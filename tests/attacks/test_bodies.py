"""What somebody may try with the body of a request, before any operation sees it."""

import asyncio
import gzip
import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from footfall.errors import BadRequest, Unreadable
from footfall.http.connection import BODY_SECONDS, LINGER_SECONDS
from footfall.http.multipart import parse_multipart
from tests.conftest import Site
from tests.integration.test_fast_path import COUNT, LAST, READ, serve
from tests.support.servers import RealServer
from tests.support.serving import serving

ON = ("fake",)

PART = b'content-disposition: form-data; name="path"\r\n\r\n'
BODY = b"--B\r\n" + PART + b"/a\r\n--B--\r\n"
JSON = b'{"path":"/a"}'
# Codecs that take quadratic time, that make no text, or that read other files.
CODECS = ("punycode", "idna", "uu", "bz2", "unicode_escape", "utf-7", "utf-16", "no-such")


@pytest.mark.parametrize("codec", CODECS)
async def test_a_boundary_that_ends_its_quotes_chooses_no_codec(site: Site, codec: str) -> None:
    """Who: anybody. What: writes `"; charset=punycode; x="` into a form's boundary, so that the
    fields are decoded by a codec of their choice, for minutes. Instead: the boundary is no
    boundary, with a 400 that names it."""
    text = "é" * 100_000
    for boundary in (f'B\\"; charset={codec}; x=\\"', f'B"; charset={codec}; x="'):
        response = await site.http.post(
            "/article",
            content=BODY + text.encode(),
            headers={"content-type": f'multipart/form-data; boundary="{boundary}"'},
        )
        assert response.status_code in (200, 400)
        assert response.elapsed.total_seconds() < 1


@pytest.mark.parametrize("codec", CODECS)
async def test_nothing_in_a_form_chooses_a_codec(site: Site, codec: str) -> None:
    """Who: anybody. What: names a codec wherever a form can: charset, _charset_, name*, a part's
    Content-Type and Content-Transfer-Encoding. Instead: every part is read as UTF-8."""
    body = (
        f"--B\r\ncontent-disposition: form-data; name=_charset_\r\n\r\n{codec}\r\n"
        f"--B\r\ncontent-disposition: form-data; name=path; name*={codec}''type\r\n"
        f"content-type: text/plain; charset={codec}\r\n"
        f"content-transfer-encoding: {codec}\r\n\r\n/中文+2AA-\r\n--B--\r\n"
    ).encode()
    kind = f"multipart/form-data; charset={codec}; boundary=B; boundary*={codec}''C"
    response = await site.http.post("/article", content=body, headers={"content-type": kind})
    assert response.json() == 1
    assert await site.get("/article", path="/中文+2AA-") == 1


@pytest.mark.parametrize("codec", CODECS)
async def test_a_charset_chooses_no_codec(site: Site, codec: str) -> None:
    """Who: anybody. What: says that JSON, a form or the answer has a codec of their choice.
    Instead: all of them are UTF-8."""
    headers = {"accept-charset": codec, "accept-encoding": codec, "accept-language": codec}
    for kind, body in (
        ("application/json", '{"path":"/é"}'),
        ("text/plain", '{"path":"/é"}'),
        ("application/x-www-form-urlencoded", "path=/é"),
    ):
        response = await site.http.post(
            f"/article?lang={codec}",
            content=body.encode(),
            headers={**headers, "content-type": f"{kind}; charset={codec}"},
        )
        assert response.json() in (1, 2, 3)
        assert response.headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    ("boundary", "body"),
    [
        ("", BODY),
        (";", BODY),
        ('boundary=""', BODY),
        ("boundary=" + "x" * 71, BODY),
        ("boundary=B\x01", BODY),
        ('boundary="B "', BODY),
        ('boundary="\\\\"', BODY),
        ("boundary=é", BODY),
        ("x=" + "y" * 9_000 + "; boundary=B", BODY),
        ("boundary=C", BODY),
        ("boundary=B", b"--B"),
        ("boundary=B", BODY[:-5]),
        ("boundary=B", BODY.replace(b"form-data; name", b"form-data; nam")),
        ("boundary=B", BODY.replace(b"content-disposition", b"content-position")),
        ("boundary=B", BODY.replace(b'"path"', b'""')),
        ("boundary=B", BODY.replace(b'"path"', b'"path"; filename="x"')),
        ("boundary=B", BODY.replace(b'"path"', b'"path"; filename=""')),
        ("boundary=B", BODY.replace(b"content", b"x: y\r\n" * 9 + b"content")),
        ("boundary=B", BODY.replace(b"content", b"x: " + b"y" * 600 + b"\r\ncontent")),
        ("boundary=B", BODY.replace(b"content", b"x" * 600 + b":\r\ncontent")),
        ("boundary=B", BODY.replace(b"content", b"content\x00")),
    ],
    ids=lambda value: repr(value[:50]),
)
async def test_a_form_that_is_none_is_refused_in_words(
    site: Site, boundary: str, body: bytes
) -> None:
    """Who: anybody. What: sends a form without a boundary, without names, with files, cut off, or
    with endless headers. Instead: 400 with an explanation, and nothing is counted."""
    response = await site.http.post(
        "/article",
        content=body,
        headers={b"content-type": f"multipart/form-data; {boundary}".encode("latin-1")},
    )
    assert (response.status_code, response.json()["errno"]) == (400, 400)
    assert len(response.json()["errmsg"]) > 10
    assert await site.get("/article", path="/a") == 0


async def test_a_form_of_thousands_of_parts_is_refused(site: Site) -> None:
    """Who: anybody. What: sends a form of thousands of parts, each of which costs an object.
    Instead: after the thousandth it is refused with an explanation."""
    part = b"--B\r\n" + PART + b"x\r\n"
    for body in (part * 1001, part * 3000 + b"--B--"):
        response = await site.http.post(
            "/article", content=body, headers={"content-type": "multipart/form-data; boundary=B"}
        )
        assert response.json() == {
            "errno": 1001,
            "errmsg": {"form": "form should be at most 1000 fields"},
        }


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.binary(max_size=80) | st.just(b"B") | st.sampled_from([b"-", b"--", b"\r\n", b'"', b"'"]),
    st.lists(
        st.binary(max_size=30)
        | st.sampled_from(
            [b"--B", b"\r\n", b"--B\r\n", b"\r\n--B\r\n", b"\r\n--B--", PART, b":", b"--", b"\r"]
        ),
        max_size=12,
    ).map(b"".join),
)
@example(b"B", BODY)
@example(b'B"; charset=punycode; x="', BODY)
def test_no_form_breaks_the_parser(boundary: bytes, body: bytes) -> None:
    """Who: anybody. What: sends any bytes as a form, with any bytes as its boundary. Instead: it is
    read, or refused by one of two errors, each of which has an explanation."""
    try:
        fields = parse_multipart(b'multipart/form-data; boundary="' + boundary + b'"', body)
    except (Unreadable, BadRequest) as error:
        assert str(error)
    else:
        assert all(isinstance(value, str | list) for value in fields.values())


@pytest.mark.parametrize(
    ("headers", "body", "status", "words"),
    [
        ({"content-type": "application/json"}, b"\xef\xbb\xbf" + JSON, 200, ""),
        ({}, JSON, 200, ""),
        ({"content-type": "text/plain"}, JSON, 200, ""),
        ({"content-type": "application/json"}, JSON.decode().encode("utf-16"), 400, "UTF-8"),
        ({"content-type": "application/json"}, JSON.decode().encode("utf-16-le"), 400, "UTF-8"),
        ({"content-type": "application/json"}, JSON.decode().encode("utf-16-be"), 400, "UTF-8"),
        ({"content-type": "application/json"}, JSON.decode().encode("utf-32"), 400, "UTF-8"),
        ({"content-type": "application/json; charset=utf-16"}, JSON, 200, ""),
        ({"content-type": "application/x-www-form-urlencoded"}, JSON, 400, "application/json"),
        ({"content-type": "application/octet-stream"}, JSON, 415, "application/json"),
        ({"content-type": "application/xml"}, b"<path>/a</path>", 415, "application/json"),
        ({"content-type": "*/*"}, JSON, 415, "application/json"),
        *(
            (
                {"content-type": "application/json", "content-encoding": coding},
                body,
                415,
                "Content-Encoding",
            )
            for coding, body in (
                ("gzip", gzip.compress(JSON, mtime=0)),
                ("deflate", JSON),
                ("br", JSON),
                ("gzip", gzip.compress(b"x" * 10**7, mtime=0)),
                ("identity, gzip", JSON),
            )
        ),
        ({"content-type": "application/json", "content-encoding": "identity"}, JSON, 200, ""),
        ({"content-type": "application/json"}, b"{", 400, "Incorrect parameter format"),
    ],
    ids=lambda value: repr(value)[:60],
)
async def test_a_body_is_read_or_it_is_said_what_to_send(
    site: Site, headers: dict[str, str], body: bytes, status: int, words: str
) -> None:
    """Who: somebody who writes a client. What: sends JSON under another name, in another encoding,
    with a byte order mark, or compressed. Instead: it counts, or the answer says what to send; it
    is never taken for a body without fields."""
    for path in ("/api/article", "/article"):
        response = await site.http.post(path, content=body, headers=headers)
        assert response.status_code == status
        if status != 200:
            assert words in response.json()["errmsg"]
    assert await site.get("/article", path="/a") == (2 if status == 200 else 0)
    comment = {"comment": "hello", "url": "/p"}
    if status == 200:
        stored = await site.http.post("/api/comment", json=comment, headers=headers)
        assert stored.json()["errno"] == 0


MEGABYTE = b"x" * 1024 * 1024
TOO_LARGE = b'{"errno":400,"errmsg":"the body is too large"}'


READ_LAST = b"GET /api/article?path=/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def head(*headers: str) -> bytes:
    lines = ["POST /api/comment HTTP/1.1", "Host: x", "Content-Type: application/json", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


@pytest.fixture(scope="module", params=["fast path", "endpoints"])
def address(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """The address of a real service."""
    options = () if request.param == "fast path" else ("--no-fast-path",)
    with tempfile.TemporaryDirectory(prefix="ff") as home, serving(Path(home), *options) as served:
        url = urlsplit(served.url)
        yield str(url.hostname), int(url.port or 0)


def talk(address: tuple[str, int], *sent: bytes) -> bytes:
    """All answers to a client that reads nothing before it has sent everything."""
    with socket.create_connection(address, timeout=60) as connection:
        for piece in sent:
            connection.sendall(piece)
        received = b""
        while piece := connection.recv(65536):
            received += piece
        return received


@pytest.mark.parametrize(
    "sent",
    [
        [head(f"Content-Length: {3 * len(MEGABYTE)}"), *[MEGABYTE] * 3],
        [head(f"Content-Length: {12 * len(MEGABYTE)}", "Connection: close"), *[MEGABYTE] * 12],
        [
            head("Transfer-Encoding: chunked"),
            *[b"100000\r\n" + MEGABYTE + b"\r\n"] * 4,
            b"0\r\n\r\n",
        ],
    ],
    ids=["with its length", "and the last", "chunked"],
)
def test_a_body_that_is_too_large_is_answered(address: tuple[str, int], sent: list[bytes]) -> None:
    """Who: somebody who pastes a picture. What: sends megabytes, and reads nothing before the last
    of them. Instead: they read why it is refused, and then the end of the connection, and no reset.
    """
    received = talk(address, *sent)
    assert received.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"\r\nconnection: close\r\n" in received
    assert received.endswith(TOO_LARGE)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ((b"--B\r\n" + PART + b"x\r\n") * 1001 + b"--B--", "form should be at most 1000 fields"),
        (b"--B\r\ncontent-disposition: " + b"x" * 200_000, "the multipart form is broken"),
        (b"--B\r\n" + PART + b"x" * 200_000, "the multipart form ends before its last boundary"),
        (b"--B\r\n" + PART + b"x" * 900_000 + b"\r\n--B--", "the form is too large"),
        (BODY.replace(b"--B", b"--C"), "the multipart form is broken"),
        (BODY[:-6], "the multipart form ends before its last boundary"),
        (
            b"--B\r\n" + PART.replace(b'"path"', b'"path"; filename="x"') + b"x" * 200_000,
            "files are not accepted",
        ),
    ],
    ids=[
        "many parts",
        "a header without end",
        "a part without end",
        "a large part",
        "another boundary",
        "no last boundary",
        "a file",
    ],
)
def test_a_form_beyond_a_bound_is_answered(
    address: tuple[str, int], form: bytes, words: str
) -> None:
    """Who: anybody. What: sends a form of too many or too large parts, of a header or a part
    without end, with another boundary than it announced, or with a file that would be kept on the
    disk. Instead: the answer says why it is refused, and nothing is counted."""
    kind = b"multipart/form-data; boundary=B"
    to_count = head(f"Content-Length: {len(form)}").replace(b"comment", b"article")
    received = talk(address, to_count.replace(b"application/json", kind), form, READ_LAST)
    assert words.encode() in received
    assert received.count(b"HTTP/1.1 ") == 2
    assert received.endswith(b'"data":[{"time":0}]}')


def test_a_form_larger_than_it_announced_is_cut_there(address: tuple[str, int]) -> None:
    """Who: anybody. What: announces fewer bytes of a form than it has. Instead: it ends there, and
    the rest is not a request."""
    kind = b"multipart/form-data; boundary=B"
    to_count = head(f"Content-Length: {len(BODY) - 6}").replace(b"application/json", kind)
    first, second = talk(address, to_count, BODY).split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"400 ")
    assert b"ends before its last boundary" in first
    assert second.startswith(b"400 ")
    assert b"connection: close" in second.lower()


def test_a_body_without_end_is_cut_off(address: tuple[str, int]) -> None:
    """Who: anybody. What: goes on sending after the answer. Instead: it is dropped, and after 16 MB
    the connection, too."""

    def go_on(connection: socket.socket) -> None:
        for _ in range(200):
            connection.sendall(b"100000\r\n" + MEGABYTE + b"\r\n")

    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        with pytest.raises(ConnectionError):
            go_on(connection)


def test_who_waits_for_leave_to_send_is_not_left_waiting(address: tuple[str, int]) -> None:
    """Who: somebody whose client asks before it sends. What: announces a body with Expect:
    100-continue. Instead: 100 is sent once if the body is read; if not, the answer comes without it
    and ends the connection, since nobody knows what would come next."""
    fields = b'{"comment":"hello","url":"/expect"}'
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(head(f"Content-Length: {len(fields)}", "Expect: 100-continue"))
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(fields)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
    for sent in (
        head(f"Content-Length: {2 * len(MEGABYTE)}", "Expect: 100-continue"),
        head("Content-Length: 9", "Expect: 100-continue").replace(b"comment", b"nowhere"),
    ):
        with socket.create_connection(address, timeout=60) as connection:
            connection.sendall(sent)
            received = b""
            while piece := connection.recv(65536):
                received += piece
            assert received.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 404 "))
            assert b"\r\nconnection: close\r\n" in received


async def test_who_sends_too_slowly_is_told(servers: Mapping[str, RealServer], own: Path) -> None:
    """Who: anybody. What: sends a body byte by byte, to keep a request open. Instead: after twenty
    seconds it is answered with 408, the connection ends, and nothing is counted."""
    for is_fast in (True, False):
        async with serve(servers["valkey"].url, own / f"{is_fast}", is_fast=is_fast) as served:
            reader, writer = await asyncio.open_unix_connection(str(served.path))
            writer.write(READ + COUNT[:-5])
            await reader.readuntil(b"]}")
            (connection,) = served.state.connections
            connection.close_if_late(connection.since + BODY_SECONDS - 1, idle_seconds=5)
            writer.write(COUNT[-5:-3])
            connection.close_if_late(connection.since + BODY_SECONDS + 1, idle_seconds=5)
            received = await asyncio.wait_for(reader.read(), 10)
            assert received.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
            assert received.endswith(b'{"errno":408,"errmsg":"Request Timeout"}')
            # A client that stays after that is disconnected, too.
            connection.close_if_late(monotonic() + LINGER_SECONDS + 1, idle_seconds=5)
            await served.wait_for_nobody()
            writer.close()
            received = await served.until_the_end([READ, LAST])
            assert b'"data":[{"time":0,"reaction0":0}' in received


def test_bodies_in_the_smallest_chunks_are_read(address: tuple[str, int]) -> None:
    """Who: an unusual client. What: sends each byte of a comment as a chunk. Instead: that is
    allowed."""
    fields = b'{"comment":"in small pieces","url":"/chunks"}'
    chunks = b"".join(b"1;x=y\r\n%c\r\n" % byte for byte in fields)
    first = head("Transfer-Encoding: chunked", "Connection: close")
    received = talk(address, first, chunks, b"0\r\n\r\n")
    assert b'"orig":"in small pieces"' in received
