"""The access log: a line for each request, written by a thread, so that no request waits for it.

Lines are collected for a tenth of a second and written whole: several workers may share a pipe, and
writes longer than PIPE_BUF could be interleaved. If the reader is too slow, lines are dropped and
counted, and requests are still answered. Queries are left out, since they contain emails and
tokens.
"""

import asyncio
import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Full, Queue
from select import PIPE_BUF
from time import time

import orjson

from .logs import ESCAPED, id_of, time_of

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.1
# Multiples of PIPE_BUF that may wait to be written, 8 MiB; further lines are dropped.
MAX_WAITING_PIECES = 2048
# How long a stop waits until collected lines are written.
CLOSE_SECONDS = 2.0
# In characters, of which JSON makes up to two bytes: no line is longer than PIPE_BUF.
MAX_PATH_CHARACTERS = 1024
MAX_AGENT_CHARACTERS = 256
MAX_METHOD_CHARACTERS = 16
# No backslash before a quote, so that a text can be cut anywhere.
_QUOTED = ESCAPED | {ord('"'): r"\x22", ord("\\"): r"\x5c"}


@dataclass(frozen=True, slots=True)
class RequestDetails:
    """The details of a request: "" and b"" for unknown ones."""

    address: str
    method: bytes = b""
    url: bytes = b""
    id: bytes = b""
    agent: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """`route` as metrics name it, `status` 0 if the client was gone, `size` the body's in bytes."""

    route: str
    status: int
    size: int
    seconds: float


def as_text(request: RequestDetails, answer: Answer) -> str:
    method, path, agent = (text or "-" for text in _texts(request, _QUOTED))
    return (
        f'{_address(request) or "-"} "{method} {path}" {answer.status} {answer.size} '
        f'{answer.seconds:.4f} {answer.route} {id_of(request.id) or "-"} "{agent}"'
    )


def as_timed_text(request: RequestDetails, answer: Answer) -> str:
    return f"{time_of(time())} {as_text(request, answer)}"


def as_json(request: RequestDetails, answer: Answer) -> str:
    method, path, agent = _texts(request, ESCAPED)
    fields = {
        "timestamp": time_of(time()),
        "level": "INFO",
        "logger": "footfall.access",
        "message": f"{method} {answer.status}",
        "address": _address(request),
        "method": method,
        "path": path,
        "route": answer.route,
        "status": answer.status,
        "bytes": answer.size,
        "seconds": round(answer.seconds, 4),
        "request_id": id_of(request.id),
        "user_agent": agent,
    }
    return orjson.dumps(fields).decode()


def _texts(request: RequestDetails, escaped: Mapping[int, str]) -> Iterator[str]:
    """Method, path and user agent, each with an end."""
    path = request.url.partition(b"?")[0]
    yield _text(request.method, escaped)[:MAX_METHOD_CHARACTERS]
    yield _text(path, escaped)[:MAX_PATH_CHARACTERS]
    yield _text(request.agent, escaped)[:MAX_AGENT_CHARACTERS]


def _text(value: bytes, escaped: Mapping[int, str]) -> str:
    return value.decode("latin-1").translate(escaped).encode("ascii", "backslashreplace").decode()


def _address(request: RequestDetails) -> str:
    # A proxy forwards values from clients: remove anything that looks like two fields.
    return re.sub(r"[^\w.:%-]", "?", request.address, flags=re.ASCII)


class AccessLog:
    """Writes to a file descriptor, in the `form` "json", "text", or "timed" for text with the time.

    Use it in an event loop.
    """

    def __init__(self, form: str, file: int) -> None:
        self._line = {"json": as_json, "text": as_text, "timed": as_timed_text}[form]
        self._file = file
        self._lines = list[bytes]()
        self._dropped = 0
        # What the thread is to write; empty bytes are its end.
        self._pieces = Queue[bytes](MAX_WAITING_PIECES)
        self._thread = threading.Thread(target=self._write_all, daemon=True)
        self._thread.start()

    def write(self, request: RequestDetails, answer: Answer) -> None:
        if not self._lines:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)
        self._lines.append(self._line(request, answer).encode() + b"\n")

    def close(self) -> None:
        """Write collected lines; within a limit, if the reader is slow."""
        self._flush()
        with suppress(Full):
            self._pieces.put(b"", timeout=CLOSE_SECONDS)
        self._thread.join(CLOSE_SECONDS)

    def _flush(self) -> None:
        lines, self._lines = self._lines, []
        dropped = sum(0 if self._takes(piece) else piece.count(b"\n") for piece in pieces(lines))
        self._dropped += dropped
        if self._dropped and not dropped:
            log.warning("left out of the access log, which is read too slowly: %d", self._dropped)
            self._dropped = 0

    def _takes(self, piece: bytes) -> bool:
        try:
            self._pieces.put_nowait(piece)
        except Full:
            return False
        return True

    def _write_all(self) -> None:
        is_torn = False
        while piece := self._pieces.get():
            # What could be written only in part ends with a line of its own.
            rest = b"\n" + piece if is_torn else piece
            length = len(rest)
            try:
                while rest:
                    rest = rest[os.write(self._file, rest) :]
            except OSError as error:
                lines = rest.count(b"\n")
                log.warning("the access log cannot be written: %s; lines lost: %d", error, lines)
            is_torn = 0 < len(rest) < length


def pieces(lines: Sequence[bytes]) -> Iterator[bytes]:
    """The lines together, as far as PIPE_BUF goes, so that each piece is written in one go."""
    piece = b""
    for line in lines:
        if piece and len(piece) + len(line) > PIPE_BUF:
            yield piece
            piece = b""
        piece += line
    if piece:
        yield piece
