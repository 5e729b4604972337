"""Lines of access logs become rows, whatever strangers have written into them."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footfall.transfer import access_log
from footfall.transfer.access_log import (
    MAX_ADDRESS_CHARACTERS,
    MAX_LINE_BYTES,
    NO_AGENT,
    NO_JSON,
    NO_LINE,
    NO_REQUEST,
    NO_TIME,
    TOO_LONG,
    LogRow,
    in_order,
    log_source,
    read,
)
from footfall.transfer.source import CHUNK_BYTES, Damaged, Source

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
LINE = (
    '192.0.2.7 - ann [23/Nov/2026:16:17:45 +0100] "GET /posts/a/?utm=1 HTTP/1.1" 200 5120 '
    f'"https://example.com/?q=b" "{AGENT}"'
)
AT = 1_795_447_065_000
ROW = LogRow(AT, "192.0.2.7", "GET", "/posts/a/", 200, "https://example.com/?q=b", AGENT.encode())
CADDY: dict[str, Any] = {
    "level": "info",
    "ts": AT / 1000,
    "logger": "http.log.access.log0",
    "msg": "handled request",
    "request": {
        "remote_ip": "10.0.0.1",
        "client_ip": "192.0.2.7",
        "method": "GET",
        "host": "example.org",
        "uri": "/posts/a/?utm=1",
        "headers": {"User-Agent": [AGENT], "Referer": ["https://example.com/?q=b"]},
    },
    "duration": 0.0009,
    "size": 5120,
    "status": 200,
    "resp_headers": {"Content-Type": ["text/html; charset=utf-8"]},
}
BY_CADDY = ROW._replace(type="text/html; charset=utf-8", host="example.org")

BARE = {"client_ip": "", "remote_ip": "192.0.2.7", "method": "GET", "uri": "/posts/a/"}


def rows(content: str | bytes, path: Path) -> list[tuple[int, LogRow | str]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read(log_source(Source(path))))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "access.log"


def caddy(**changed: Any) -> str:
    return json.dumps(CADDY | changed)


def requested(**changed: Any) -> str:
    return caddy(request={**CADDY["request"], **changed})


def test_the_time_is_what_the_line_says() -> None:
    assert datetime.fromtimestamp(AT / 1000, UTC).isoformat() == "2026-11-23T15:17:45+00:00"


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (LINE, ROW),
        (LINE + ' "203.0.113.9" 0.123 -', ROW),
        (LINE + "\r", ROW),
        ("example.org:443 " + LINE, ROW._replace(host="example.org:443")),
        (LINE.replace("192.0.2.7", "2001:db8::1"), ROW._replace(address="2001:db8::1")),
        ("cafe.de:80 " + LINE, ROW._replace(host="cafe.de:80")),
        (LINE.replace("192.0.2.7", "host.example.net"), ROW._replace(address="host.example.net")),
        (LINE.replace(" ann ", " Ann Smith "), ROW),
        (LINE.replace(" ann ", r" [] \x22[ "), ROW),
        (LINE.replace(" ann ", " [01/Jan/2000:00:00:00 +0000] "), ROW),
        (LINE.replace("https://example.com/?q=b", "-"), ROW._replace(referer="")),
        (LINE.replace(AGENT, "-"), ROW._replace(user_agent=b"")),
        (LINE.replace(AGENT, ""), ROW._replace(user_agent=b"")),
        (LINE.replace(AGENT, r"a \"b\" \\ \x22"), ROW._replace(user_agent=rb'a "b" \ "')),
        (LINE.replace(AGENT, r"\xe4\xbd\xa0 \t\n"), ROW._replace(user_agent=b"\xe4\xbd\xa0 \t\n")),
        (LINE.replace("/posts/a/", "/caf%C3%A9"), ROW._replace(path="/café")),
        (LINE.replace("/posts/a/", r"/caf\xc3\xa9"), ROW._replace(path="/café")),
        (LINE.replace("/posts/a/?utm=1", "/?p=12"), ROW._replace(path="/?p=12")),
        (LINE.replace("/posts/a/", "https://example.org/b"), ROW._replace(path="/b")),
        (LINE.replace("/posts/a/?utm=1", "//b.example/b"), ROW._replace(path="//b.example/b")),
        (LINE.replace(" HTTP/1.1", ""), ROW),
        (LINE.replace("GET /posts/a/?utm=1", "OPTIONS *"), ROW._replace(method="OPTIONS", path="")),
        (LINE.replace("GET /posts/a/?utm=1 HTTP/1.1", "-"), ROW._replace(method="", path="")),
        (
            LINE.replace("GET /posts/a/?utm=1 HTTP/1.1", r"\x16\x03"),
            ROW._replace(method="", path=""),
        ),
        (LINE.replace("200 5120", "304 -"), ROW._replace(status=304)),
        (LINE.replace("+0100", "+0000"), ROW._replace(at=AT + 3_600_000)),
        (LINE.replace("+0100", "-0330"), ROW._replace(at=AT + 16_200_000)),
        (LINE.replace(":45 ", ":60 "), ROW._replace(at=AT + 15_000)),
        (caddy(), BY_CADDY),
        (caddy(resp_headers={}, ts=AT), BY_CADDY._replace(type="")),
        (caddy(resp_headers=None, ts="2026-11-23T16:17:45+01:00"), BY_CADDY._replace(type="")),
        (caddy(resp_headers=[], request=BARE), ROW._replace(referer="", user_agent=b"")),
    ],
)
def test_a_line_becomes_a_row(line: str, row: LogRow, path: Path) -> None:
    assert rows(line, path) == [(1, row)]


def test_an_older_caddy_writes_the_address_with_its_port(path: Path) -> None:
    request = {**CADDY["request"], "client_ip": None, "remote_ip": None}
    for written, address in (("192.0.2.7:55", "192.0.2.7"), ("[2001:db8::1]:55", "2001:db8::1")):
        line = caddy(request={**request, "remote_addr": written})
        ((_, row),) = rows(line, path)
        assert isinstance(row, LogRow)
        assert row.address == address


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", NO_LINE),
        ("\0" * 1000, NO_LINE),
        (LINE.replace('"', ""), NO_LINE),
        (LINE.replace("[", ""), NO_LINE),
        (LINE[:60], NO_LINE),
        (LINE.replace(" 200 ", " OK "), NO_LINE),
        (LINE.partition(' "https')[0], NO_AGENT),
        (LINE.partition(' "https')[0] + "\r", NO_AGENT),
        (LINE[:-1], NO_LINE),
        (LINE.replace("23/Nov/2026", "23/Nov/-026"), NO_TIME),
        (LINE.replace("23/Nov/2026", "23/Nov/9999"), NO_TIME),
        (LINE.replace("23/Nov/2026", "23/Nov/0000"), NO_TIME),
        (LINE.replace("23/Nov/2026", "23/Nov/1969"), NO_TIME),
        (LINE.replace("23/Nov/2026", "01/Jan/0001"), NO_TIME),
        (LINE.replace("23/Nov/2026", "31/Nov/2026"), NO_TIME),
        (LINE.replace("23/Nov/2026", "23/Foo/2026"), NO_TIME),
        (LINE.replace("16:17", "25:17"), NO_TIME),
        (LINE.replace("+0100", "+9900"), NO_TIME),
        (LINE.replace("+0100", "+01:00"), NO_TIME),
        (LINE.replace("/posts/a/", "/" + "a" * MAX_LINE_BYTES), TOO_LONG),
        ("x" * 1_000_000, TOO_LONG),
        ('"' * 1_000_000, TOO_LONG),
        ("{", NO_JSON),
        (caddy()[:-1], NO_JSON),
        ('{"a":' * 5_000, NO_JSON),
        ("{}", NO_REQUEST),
        (caddy(request="GET /"), NO_REQUEST),
        (caddy(status="200"), NO_REQUEST),
        (caddy(status=True), NO_REQUEST),
        (caddy(ts=None), NO_TIME),
        (caddy(ts=True), NO_TIME),
        (caddy(ts=-1.5), NO_TIME),
        (caddy(ts=10**18), NO_TIME),
        (caddy(ts=1e308), NO_TIME),
        (caddy(ts="9" * 60_000), NO_TIME),
        (caddy(ts="9" * 99), NO_TIME),
        (caddy(ts={"$date": AT}), NO_TIME),
        (caddy(ts="9999-12-31T23:59:59-23:00"), NO_TIME),
    ],
)
def test_a_line_that_cannot_be_read_is_told_and_the_next_is_read(
    line: str, why: str, path: Path
) -> None:
    assert rows(f"{LINE}\n{line}\n\n{LINE}", path) == [(1, ROW), (2, why), (4, ROW)]


def test_what_strangers_send_may_be_no_text(path: Path) -> None:
    sent = LINE.encode().replace(b"Mozilla", b"\xff\xfe\0\r").replace(b"?q=b", b"\xe4\xbd")
    ((_, row),) = rows(sent, path)
    assert isinstance(row, LogRow)
    assert row.user_agent.startswith(b"\xef\xbf\xbd\xef\xbf\xbd\0\r/5.0")
    assert row.referer == "https://example.com/\ufffd"


def test_an_address_is_short(path: Path) -> None:
    name = "a" * 200 + ".example"
    lines = LINE.replace("192.0.2.7", name), requested(client_ip=name)
    for line in lines:
        ((_, row),) = rows(line, path)
        assert isinstance(row, LogRow)
        assert row.address == name[:MAX_ADDRESS_CHARACTERS]


@given(st.data())
def test_no_change_of_a_line_stops_the_reading(data: st.DataObject) -> None:
    line = bytearray(data.draw(st.sampled_from([LINE, caddy()])).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(line)))
        end = data.draw(st.integers(start, min(len(line), start + 40)))
        line[start:end] = data.draw(st.binary(max_size=20) | st.sampled_from(PIECES))
    assert isinstance(access_log._row(bytes(line)), LogRow | str)


PIECES = (b"-1", b"9999", b"1e400", b"null", b"[]", b"{}", b'"', b"\\", b"\\x", b"\\u0000", b"://[")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from(["ts", "status", "request", "resp_headers", *CADDY["request"]]),
)
def test_any_value_in_a_line_of_json_is_read_or_told(value: Any, name: str) -> None:
    line = requested(**{name: value}) if name in CADDY["request"] else caddy(**{name: value})
    assert isinstance(access_log._row(line.encode()), LogRow | str)


def test_a_quote_that_never_ends_takes_no_longer_than_its_line(path: Path) -> None:
    """Lines as long as they may be, each of which could be read in very many ways."""
    hostile = [
        LINE[:46] + "\\a" * (MAX_LINE_BYTES // 2 - 50),
        LINE[:46] + '" ' * (MAX_LINE_BYTES // 2 - 50),
        "a b " + " " * (MAX_LINE_BYTES - 10),
        "1.2.3.4 " * (MAX_LINE_BYTES // 8),
        "a b " + "[" * 300 + "a] " * 300,
    ]
    path.write_text("\n".join(hostile * 50))
    # It takes 0.1 s, and minutes where every way is tried.
    found = [row for _, row in read(log_source(Source(path)))]
    assert found == [NO_LINE] * 250


def test_a_compressed_file_is_read_like_any_other(path: Path) -> None:
    many = "\n".join([LINE] * (2 * CHUNK_BYTES // len(LINE)))
    assert rows(gzip.compress(many.encode()), path) == rows(many, path)


def test_a_file_that_was_cut_off_is_named(path: Path) -> None:
    packed = gzip.compress("\n".join([LINE] * 10).encode())
    with pytest.raises(Damaged, match=r"access\.log: it was cut off"):
        rows(packed[:-10], path)


def test_the_files_of_a_log_are_read_from_the_oldest_and_each_once(tmp_path: Path) -> None:
    days = {"access.log": 23, "access.log.1": 22, "access.log.2.gz": 21}
    for name, day in days.items():
        content = ("nonsense\n" + LINE.replace("23/Nov", f"{day}/Nov")).encode()
        packed = gzip.compress(content) if name.endswith("gz") else content
        (tmp_path / name).write_bytes(packed)
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "link.log").symlink_to(tmp_path / "access.log")
    names = ["empty.log", "access.log", "access.log.1", "link.log", "access.log.2.gz"]
    found = in_order(log_source(Source(tmp_path / name)) for name in names)
    assert [each.path.name for each in found] == [
        "access.log.2.gz",
        "access.log.1",
        "link.log",
        "empty.log",
    ]
