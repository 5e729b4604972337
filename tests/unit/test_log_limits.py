"""In a flood of log lines, some of each kind are written, and how many more there were."""

import io
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from footfall.telemetry import logs
from footfall.telemetry.logs import MAX_LINES, LimitedHandler

# All loggers of ours and of libraries that log what strangers do.
LOGGERS = (
    "uvicorn.error",
    "asyncio",
    "websockets",
    "redis",
    "valkey",
    "python_multipart.multipart",
    "opentelemetry.exporter",
    "py.warnings",
    "footfall.http.response",
)


class Later:
    """A timer that goes off when a test decides."""

    waiting: list["Later"] = []

    def __init__(self, seconds: float, call: Callable[..., None], args: list[Any]) -> None:
        self.seconds, self.call, self.args = seconds, call, args

    def start(self) -> None:
        Later.waiting.append(self)


class Log:
    def __init__(self, now: list[float]) -> None:
        self.now = now
        self.stream = io.StringIO()
        self.handler = LimitedHandler(self.stream)
        self.handler.setFormatter(logging.Formatter(logs.TEXT))
        self.logger = logging.Logger("uvicorn.error")
        self.logger.addHandler(self.handler)

    def ring(self) -> None:
        """Let a second pass."""
        self.now[0] += 1
        waiting, Later.waiting = Later.waiting, []
        for each in waiting:
            assert each.seconds <= 1
            each.call(*each.args)

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    now = [1000.0]
    monkeypatch.setattr(logs, "monotonic", lambda: now[0])
    monkeypatch.setattr(threading, "Timer", Later)
    yield Log(now)
    Later.waiting = []


def test_a_repeated_line_is_counted(log: Log) -> None:
    for _ in range(3):
        for _ in range(500):
            log.logger.warning("Invalid HTTP request received.")
        log.ring()
    assert (
        log.lines
        == [
            "WARNING uvicorn.error: Invalid HTTP request received.",
            "WARNING uvicorn.error: 499 more like this: Invalid HTTP request received.",
        ]
        * 3
    )
    log.ring()
    assert len(log.lines) == 6


def test_lines_that_vary_are_written_some_times_before_they_are_counted(log: Log) -> None:
    for n in range(MAX_LINES + 2):
        log.logger.error("request %d", n)
    log.ring()
    assert log.lines == [
        *(f"ERROR uvicorn.error: request {n}" for n in range(MAX_LINES)),
        f"ERROR uvicorn.error: 2 more like this: request {MAX_LINES}",
    ]


def test_each_place_in_the_code_has_its_own_limit(log: Log) -> None:
    log.logger.warning("one")
    log.logger.warning("another")
    assert log.lines == ["WARNING uvicorn.error: one", "WARNING uvicorn.error: another"]


def test_a_line_that_ends_a_service_is_always_written(log: Log) -> None:
    for _ in range(20):
        log.logger.critical("gone")
    assert len(log.lines) == 20


def test_the_number_of_suppressed_lines_is_written_at_the_end_too(log: Log) -> None:
    for _ in range(3):
        log.logger.warning("a built text " + "x" * 300)
    log.handler.close()
    assert len(log.lines) == 2
    assert "2 more like this: a built text" in log.lines[1]
    assert len(log.lines[1]) < 250
    log.ring()
    assert len(log.lines) == 2


@pytest.mark.parametrize("form", ["text", "json"])
def test_every_logger_of_ours_and_of_libraries_is_limited(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, root = io.StringIO(), logging.getLogger()
    before = root.handlers[:]
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    try:
        logs.start(form)
        for name in LOGGERS:
            for _ in range(200):
                logging.getLogger(name).warning("the same")
            for n in range(200):
                logging.getLogger(name).warning("number %d", n)
        for handler in root.handlers:
            handler.close()
    finally:
        logging.captureWarnings(False)
        root.handlers = before
    lines = stream.getvalue().splitlines()
    assert len(lines) == len(LOGGERS) * (1 + 1 + MAX_LINES + 1)
    assert sum("199 more like this: the same" in line for line in lines) == len(LOGGERS)
