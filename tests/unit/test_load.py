"""The parts of the load generator: how it reads responses, and what it reports."""

import asyncio
import socket
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from footfall.driver.keys import MAX_PACKED_BYTES
from footfall.loadtest import exchange
from footfall.loadtest.exchange import MARK, Address, Connection, Response, numbered, request
from footfall.loadtest.ledger import Ledger, Verdict
from footfall.loadtest.load import Histogram, Load, Row, rank
from footfall.loadtest.measurement import BENCH_PATHS, BenchPlan, Cleanup, Report
from footfall.loadtest.target import ID_BYTES, NAMESPACE, Target, counts_in
from footfall.loadtest.workload import zipf

HERE = Address("http", "127.0.0.1", 1)


def responses_of(send: Callable[[asyncio.StreamWriter], Any], n: int = 1) -> list[Response]:
    """What a connection gets for n requests from a server that sends this for each."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(n):
            await reader.readuntil(b"\r\n\r\n")
            await send(writer)
        writer.close()

    async def exchanged() -> list[Response]:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            connection = Connection(Address("http", *server.sockets[0].getsockname()))
            message = b"GET / HTTP/1.1\r\n\r\n"
            return [await connection.ask(message) for _ in range(n)]

    return asyncio.run(exchanged())


def sending(*pieces: bytes) -> Callable[[asyncio.StreamWriter], Any]:
    async def send(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            # So that the other end of the connection, in the same loop, gets them one by one.
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    return send


def answer(body: bytes = b"", status: int = 200) -> Response:
    return Response(status, [], body)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8360", Address("http", "127.0.0.1", 8360)),
        ("https://count.example/base/", Address("https", "count.example", 443, "/base")),
        ("http://[::1]:8360", Address("http", "::1", 8360)),
        ("https://zähler.example", Address("https", "xn--zhler-gra.example", 443)),
        ("http://count.example/ä", Address("http", "count.example", 80, "/%C3%A4")),
    ],
)
def test_an_address_may_be_given_as_people_type_it(url: str, expected: Address) -> None:
    assert Address.parse(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "count.example",
        "127.0.0.1:8360",
        "ftp://count.example",
        "http://",
        "http://a:port",
        "http://[::1",
        "http://a/?b",
        "http://a/#b",
        "http://a..b",
        "http://u:p@a",
        "http://a\n",
    ],
)
def test_an_address_that_is_none_is_refused_in_words(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Address.parse(url)


def test_a_host_is_written_as_browsers_write_it() -> None:
    urls = "http://[::1]:8360", "https://a:443", "http://a:443", "http://[::1]"
    assert [Address.parse(url).host for url in urls] == ["[::1]:8360", "a", "a:443", "[::1]"]


def test_a_request_has_its_length() -> None:
    made = request("POST", "/a", "h", [("X", "1")], b'{"n":' + MARK + b"}")
    head, _, body = numbered(made, 7).partition(b"\r\n\r\n")
    assert body == b'{"n":0000000007}'
    assert b"\r\nContent-Length: 16" in head
    assert head.startswith(b"POST /a HTTP/1.1\r\nHost: h\r\n")


LENGTH = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
)


UNTIL_CLOSED = b"HTTP/1.0 200 OK\r\n\r\nhello"


@pytest.mark.parametrize(
    "sent", [LENGTH, CHUNKED, UNTIL_CLOSED, b"HTTP/1.1 103 A\r\n\r\n" + LENGTH]
)
def test_a_response_is_whole_wherever_it_was_divided(sent: bytes) -> None:
    for at in range(1, len(sent)):
        (received,) = responses_of(sending(sent[:at], sent[at:]))
        assert (received.status, received.body) == (200, b"hello")


def test_a_connection_that_ends_late_does_not_end_its_successor() -> None:
    async def is_open_again(address: Address) -> bool:
        connection = Connection(address)
        await connection.open()
        await connection.open()
        connection.connection_lost(None)
        is_open = connection.is_open
        connection.close()
        return is_open

    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert asyncio.run(is_open_again(Address("http", *listener.getsockname())))


def test_a_connection_is_used_again() -> None:
    assert [each.body for each in responses_of(sending(CHUNKED), 2)] == [b"hello", b"hello"]


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (LENGTH[:-1], "closed before the response"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000, "more than 0 MiB"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + bytes(1 << 17), "more than 0 MiB"),
    ],
    ids=["incomplete", "other protocol", "headers", "body"],
)
def test_a_bad_response_is_an_error(
    monkeypatch: pytest.MonkeyPatch, sent: bytes, text: str
) -> None:
    monkeypatch.setattr(exchange, "MAX_RESPONSE_BYTES", 1 << 16)
    with pytest.raises(OSError, match=text):
        responses_of(sending(sent))


@pytest.mark.parametrize(
    ("status", "body", "refusal"),
    [
        (200, b'{"errno":0,"errmsg":"","data":[]}', ""),
        (200, b"7", ""),
        (304, b"", ""),
        (200, b'{"data":"\\"errno\\":1"}', ""),
        (200, b'{"errno": 1000, "errmsg":"Slow down"}', "HTTP 200: Slow down"),
        (200, b'{"errno":1001,"errmsg":{"path":"no path"}}', "HTTP 200: no path"),
        (429, b"<html>", "HTTP 429: Too Many Requests"),
        (403, b'{"errno":403,"errmsg":"Not \x1b[31m you"}', "HTTP 403: Forbidden"),
        (403, b'{"errno":403,"errmsg":"Not \\u001b[31m you"}', "HTTP 403: Not ?[31m you"),
        (799, b"[" * 100_000, "HTTP 799"),
    ],
    ids=str,
)
def test_a_refusal_is_told_in_the_servers_words(status: int, body: bytes, refusal: str) -> None:
    said = answer(body, status)
    assert said.is_accepted == (not refusal)
    if refusal:
        assert said.refusal == refusal


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        (b'{"errno":0,"data":[{"time":3},{"time":null}]}', [3, 0]),
        (b'{"errno":0,"data":{"time":3}}', [3]),
        (b"[3,4]", [3, 4]),
        (b"3", [3]),
        (b'{"errno":0,"data":"3"}', None),
        (b"[true]", None),
        (b'{"data":[{}]}', None),
        (b"<html>", None),
    ],
)
def test_counts_are_read_in_every_variant(body: bytes, counts: list[int] | None) -> None:
    assert counts_in(answer(body)) == counts


def test_a_histogram_agrees_with_the_sorted_values_to_three_digits() -> None:
    random = Random(1)
    values = [int(random.lognormvariate(7, 1.5)) for _ in range(10_000)]
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    for share in (0.5, 0.99, 0.999):
        expected = sorted(values)[rank(len(values), share)]
        assert histogram.at(share) == pytest.approx(expected, rel=0.005)
    assert (histogram.n, histogram.greatest) == (10_000, max(values))


@pytest.mark.parametrize(
    ("counted", "is_exact", "word"),
    [(99, False, "LOST 1"), (100, True, "exact"), (104, True, "exact"), (105, False, "TWICE 1")],
)
def test_a_verdict_allows_for_increments_in_flight(counted: int, is_exact: bool, word: str) -> None:
    verdict = Verdict(accepted=100, counted=counted, unknown=4)
    assert (verdict.is_exact, word in str(verdict)) == (is_exact, True)


def test_a_run_that_is_stopped_before_it_starts_has_no_figures() -> None:
    load = Load(Row("a row"), iter(()), HERE, Ledger(()), connections=2, retry_for=1)
    load.stop()
    row = load.run(600)
    assert (row.sent, row.reached, row.busy) == (0, 0.0, 0.0)


def report_of(row: Row, accepted: int = 1) -> Report:
    target = Target(HERE, "/api", "1.39.3", "1.0")
    ledger = Ledger(["/x/0000"])
    ledger.sends("/x/0000", is_increment=True)
    if accepted:
        ledger.raised("/x/0000", 1, 0)
    ledger.read_back([accepted])
    return Report(target, "/x/", BenchPlan(1, 64), ledger, [row])


@pytest.mark.parametrize(("busy", "is_marked"), [(0.9, False), (0.91, True)])
def test_a_row_that_shows_the_generators_limit_is_marked(busy: float, is_marked: bool) -> None:
    lines = list(report_of(Row("a row", busy=busy)).lines())
    assert lines[1].endswith("generator-bound") == is_marked
    assert any("shows that limit" in line for line in lines) == is_marked


def test_a_request_that_was_due_and_could_not_be_sent_is_an_error() -> None:
    report = report_of(Row("a row", planned=100, sent=90, accepted=90))
    assert report.code == 1
    assert "a row: 10 not sent in time, more than the server can send" in report.lines()


@pytest.mark.parametrize(
    ("accepted", "is_interrupted", "code"), [(1, False, 0), (0, False, 1), (1, True, 130)]
)
def test_a_measurement_succeeds_if_it_counted_something_and_was_not_interrupted(
    accepted: int, is_interrupted: bool, code: int
) -> None:
    report = report_of(Row("a row", planned=1, sent=1, accepted=1), accepted)
    report.is_interrupted = is_interrupted
    assert report.code == code


@pytest.mark.parametrize(("is_as_asked", "code"), [(True, 0), (False, 1)])
def test_a_measurement_fails_if_its_counters_could_not_be_removed(
    is_as_asked: bool, code: int
) -> None:
    report = report_of(Row("a row", planned=1, sent=1, accepted=1))
    report.cleanup = Cleanup("Left behind: a counter", is_as_asked)
    assert (report.code, report.as_json()["counters"]) == (code, "Left behind: a counter")
    assert "Left behind: a counter" in report.lines()


def test_names_of_counters_are_short_enough_for_packed_hashes() -> None:
    name = f"time {NAMESPACE % ('0' * 2 * ID_BYTES)}{BENCH_PATHS:04d}"
    assert len(name) <= MAX_PACKED_BYTES


def test_zipf_prefers_the_first() -> None:
    ranks = zipf(Random(1), 100)
    drawn = [next(ranks) for _ in range(10_000)]
    # 1 of 5.19, which is the sum of the first hundred reciprocals.
    assert drawn.count(0) / len(drawn) == pytest.approx(1 / 5.19, rel=0.1)
    assert set(drawn) <= set(range(100))
