"""Lines of the access log: what they have, how long they get, and who waits for their reader."""

import fcntl
import os
import re
import threading
from contextlib import nullcontext
from select import PIPE_BUF
from typing import Any, cast

import orjson
import pytest

from footfall.http.policy import Policy
from footfall.table.access import LoggedRequests
from footfall.telemetry import access_log
from footfall.telemetry.access_log import (
    AccessLog,
    Answer,
    RequestDetails,
    as_json,
    as_text,
    pieces,
)

ASKED = RequestDetails("203.0.113.7", b"GET", b"/api/article?path=/a&token=t", b"id-1", b"Firefox")
ANSWERED = Answer("article_read", 200, 43, 0.00123)
HOSTILE = b'"},{"\x1b[2J\r\n\xc3\xa9\\'


def test_a_line_of_text_has_everything_but_the_query() -> None:
    assert as_text(ASKED, ANSWERED) == (
        '203.0.113.7 "GET /api/article" 200 43 0.0012 article_read id-1 "Firefox"'
    )
    assert (
        as_text(RequestDetails(""), Answer("other", 400, 0, 0))
        == '- "- -" 400 0 0.0000 other - "-"'
    )


def test_an_object_has_the_same_fields_and_those_of_every_other_line() -> None:
    fields = orjson.loads(as_json(ASKED, ANSWERED))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fields.pop("timestamp"))
    assert fields == {
        "level": "INFO",
        "logger": "footfall.access",
        "message": "GET 200",
        "address": "203.0.113.7",
        "method": "GET",
        "path": "/api/article",
        "route": "article_read",
        "status": 200,
        "bytes": 43,
        "seconds": 0.0012,
        "request_id": "id-1",
        "user_agent": "Firefox",
    }


def test_strangers_words_are_escaped_and_cannot_be_taken_for_other_fields() -> None:
    hostile = RequestDetails("1.2.3.4 - x", HOSTILE, b"/" + HOSTILE, HOSTILE, HOSTILE)
    text = as_text(hostile, ANSWERED)
    assert text.isprintable()
    assert text.isascii()
    assert text.startswith("1.2.3.4?-?x ")
    assert text.count('"') == 4
    assert '\\"' not in text
    fields = orjson.loads(as_json(hostile, ANSWERED))
    assert all(str(field).isprintable() for field in fields.values())
    assert fields["request_id"] == ""


@pytest.mark.parametrize("byte", [b"a", b'"', b"\\", b"\x00", b"\xff", b"\xc3\xa9"])
@pytest.mark.parametrize("form", [as_text, as_json])
def test_a_line_fits_into_what_a_pipe_takes_at_once(form: object, byte: bytes) -> None:
    long = byte * 20_000
    line = form(RequestDetails("a" * 45, long, long, b"a" * 128, long), ANSWERED)  # type: ignore[operator]
    assert len(line.encode()) < PIPE_BUF


def test_lines_are_written_together_and_whole() -> None:
    lines = [b"%d" % n * 100 + b"\n" for n in range(100)]
    found = list(pieces(lines))
    assert b"".join(found) == b"".join(lines)
    assert all(len(each) <= PIPE_BUF and each.endswith(b"\n") for each in found)
    assert len(found) < len(lines) / 10


async def test_a_reader_that_reads_nothing_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "MAX_WAITING_PIECES", 4)
    monkeypatch.setattr(access_log, "CLOSE_SECONDS", 0.05)
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BUF)
    log = AccessLog("text", writing)
    line = (as_text(ASKED, ANSWERED) + "\n").encode()
    number = 20 * PIPE_BUF // len(line)
    for _ in range(number):
        log.write(ASKED, ANSWERED)
    log.close()
    assert log._thread.is_alive()
    # Then it reads on, and everything that was taken is whole.
    came = list[bytes]()
    reader = threading.Thread(target=lambda: came.extend(iter(lambda: os.read(reading, 4096), b"")))
    reader.start()
    log._pieces.put(b"", timeout=60)
    log._thread.join(5)
    os.close(writing)
    reader.join(5)
    os.close(reading)
    assert set(b"".join(came).splitlines(keepends=True)) == {line}
    assert 0 < b"".join(came).count(b"\n") < number


async def test_lines_that_were_dropped_are_counted_when_lines_are_written_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    is_full = True
    log = AccessLog("text", 1)
    monkeypatch.setattr(log, "_takes", lambda piece: not is_full)
    for _ in range(3):
        log.write(ASKED, ANSWERED)
    log._flush()
    assert caplog.messages == []
    is_full = False
    log.write(ASKED, ANSWERED)
    log._flush()
    assert caplog.messages == ["left out of the access log, which is read too slowly: 3"]
    log._pieces.put(b"")


@pytest.mark.parametrize(
    ("method", "messages", "failure", "status", "size"),
    [
        ("GET", [{"status": 404}, {"body": b"ab"}, {"body": b"c"}], None, 404, 3),
        ("HEAD", [{"status": 200}, {"body": b"ab"}], None, 200, 0),
        ("GET", [], None, 0, 0),
        # Its connection is closed, but this status has been sent.
        ("GET", [{"status": 200}, {"body": b"ab"}], ZeroDivisionError(), 200, 2),
    ],
)
async def test_each_request_has_its_line_also_without_an_answer(
    method: str, messages: list[Any], failure: Exception | None, status: int, size: int
) -> None:
    written = list[tuple[RequestDetails, Answer]]()

    class Log:
        def write(self, request: RequestDetails, answer: Answer) -> None:
            written.append((request, answer))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in messages:
            # As the middleware within notes it.
            scope.setdefault("status", message.get("status"))
            await send(message)
        if failure:
            raise failure

    async def send(message: Any) -> None: ...

    headers = [(b"x-forwarded-for", b"203.0.113.7"), (b"x-request-id", b"one")]
    scope = {
        "method": method,
        "raw_path": b"/a",
        "client": ("::1", 1),
        "counted_as": "feed",
        "headers": headers,
    }
    logged = LoggedRequests(app, cast(AccessLog, Log()), Policy())
    with pytest.raises(type(failure)) if failure else nullcontext():
        await logged(scope, cast(Any, None), send)
    ((request, answer),) = written
    # No proxy is trusted here.
    assert (request.address, request.method, request.url, request.id) == (
        "::1",
        method.encode(),
        b"/a",
        b"one",
    )
    assert (answer.route, answer.status, answer.size) == ("feed", status, size)


def test_a_line_that_could_be_written_only_in_part_ends_before_the_next(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    written = bytearray()

    def write(file: int, text: bytes) -> int:
        if written == b"fir":
            written.extend(b"!")
            raise OSError(28, "No space left on device")
        part = text[:3] if not written else text
        written.extend(part)
        return len(part)

    monkeypatch.setattr(os, "write", write)
    log = AccessLog("text", 1)
    for each in (b"first\n", b"second\n", b""):
        log._pieces.put(each)
    log._thread.join(20)
    assert written == b"fir!\nsecond\n"
    assert "lines lost: 1" in caplog.text


def test_a_line_longer_than_a_piece_does_not_end_the_log() -> None:
    assert list(pieces([b"x" * PIPE_BUF + b"\n", b"y\n"]))[0].startswith(b"x")
