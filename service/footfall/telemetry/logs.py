"""Logs: lines of text, or a JSON object a line, with the request's id.

Failures, slow requests and warnings for the operator are logged. Strangers can cause most of them,
so lines from one place in the code are limited to a number a second. Requests are logged one by one
only with ACCESS_LOG (access_log.py); otherwise a proxy may do that, and /metrics counts them.
"""

import contextlib
import contextvars
import logging
import math
import os
import re
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from time import monotonic
from typing import TextIO

# The X-Request-Id of the request that is being answered; "" if it has none.
request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")

# The length of the windows for which lines are limited.
WINDOW_SECONDS = 1.0
# Lines in a window from one line of code, and the same if its text has no arguments: then a second
# line would add nothing.
MAX_LINES = 20
MAX_EQUAL_LINES = 1
# How much of the first suppressed message is quoted in the line that counts them.
MAX_EXAMPLE_CHARACTERS = 200
TEXT = "%(levelname)s %(name)s: %(message)s"
# Messages may contain strangers' paths, which must not start a new line or control a terminal.
ESCAPED = {n: repr(chr(n))[1:-1] for n in (*range(32), *range(127, 160), 0x2028, 0x2029)}


class _Line(logging.Formatter):
    """Formats each record as one line, also with a traceback."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return time_of(record.created)

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).translate(ESCAPED)


class _Window:
    """Counts the lines that are logged in a window of time, and those that are suppressed."""

    def __init__(self) -> None:
        self.until = -math.inf
        self._logged = self._suppressed = 0

    def allows(self, now: float, most: int) -> bool:
        if now >= self.until:
            self.until, self._logged = now + WINDOW_SECONDS, 0
        if self._logged < most:
            self._logged += 1
            return True
        self._suppressed += 1
        return False

    def take_suppressed(self) -> int:
        """How many lines were suppressed since the last call."""
        suppressed, self._suppressed = self._suppressed, 0
        return suppressed


class LimitedHandler(logging.StreamHandler[TextIO]):
    """Limits lines from each place in the code, then logs how many more there were."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        # One window for each place that logs, and the first record that it has suppressed.
        self._windows: dict[tuple[str, str, int], _Window] = {}
        self._suppressed: dict[_Window, logging.LogRecord] = {}

    def emit(self, record: logging.LogRecord) -> None:
        place = (record.name, record.pathname, record.lineno)
        window = self._windows.setdefault(place, _Window())
        most = MAX_LINES if record.args or record.exc_info else MAX_EQUAL_LINES
        now = monotonic()
        if record.levelno >= logging.CRITICAL or window.allows(now, most):
            super().emit(record)
        elif window not in self._suppressed:
            self._suppressed[window] = record
            timer = threading.Timer(window.until - now, self._emit_count, [window])
            timer.daemon = True
            timer.start()

    def _emit_count(self, window: _Window) -> None:
        """Log how many lines were suppressed."""
        with self.lock or contextlib.nullcontext():
            if example := self._suppressed.pop(window, None):
                fields = {name: getattr(example, name) for name in ("name", "levelno", "levelname")}
                more = window.take_suppressed()
                text = example.getMessage()[:MAX_EXAMPLE_CHARACTERS]
                fields |= {"msg": "%d more like this: %s", "args": (more, text), "more": more}
                super().emit(logging.makeLogRecord(fields))

    def close(self) -> None:
        for window in list(self._suppressed):
            self._emit_count(window)
        super().close()


# The banner of a service, on the standard output.
_banner = logging.getLogger("footfall.said")


def start(form: str, level: str = "warning") -> None:
    """Log in this form, "text" or "json", from now on, from this level up.

    Libraries log warnings and errors only: their other lines contain addresses with secrets.
    """
    handler = LimitedHandler(sys.stderr)
    handler.addFilter(_add_request_id)
    banner = logging.StreamHandler(sys.stdout)
    if form == "json":
        handler.setFormatter(_as_json())
        banner.setFormatter(_as_json())
    else:
        handler.setFormatter(_Line(TEXT if is_journal(sys.stderr) else f"%(asctime)s {TEXT}"))
    least = logging.getLevelNamesMapping()[level.upper()]
    logging.basicConfig(handlers=[handler], level=max(least, logging.WARNING), force=True)
    logging.getLogger("footfall").setLevel(least)
    logging.captureWarnings(True)
    # What cannot be written is lost, without a traceback for each line.
    logging.raiseExceptions = False
    _banner.handlers, _banner.propagate = [banner], False
    _banner.setLevel(logging.INFO)
    threading.excepthook = _thread_failed


def time_of(seconds: float) -> str:
    """A moment, in seconds since 1970, as ISO 8601 writes it, in UTC and to the millisecond."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def is_journal(stream: TextIO) -> bool:
    """Does journald read this stream? It records the time of each line itself."""
    try:
        there = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{there.st_dev}:{there.st_ino}"


def _as_json() -> logging.Formatter:
    # Imported here, because most do not need it.
    from pythonjsonlogger.orjson import OrjsonFormatter

    class Json(OrjsonFormatter):
        def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
            return time_of(record.created)

    return Json(
        ["asctime", "levelname", "name", "message"],
        rename_fields={"asctime": "timestamp", "levelname": "level", "name": "logger"},
    )


def announce(title: str, **facts: str) -> None:
    """Print a title and a line for each fact to the standard output, or a JSON object."""
    formatter = _banner.handlers[0].formatter if _banner.handlers else None
    if formatter:
        text = "; ".join(f"{name} {fact}" for name, fact in facts.items())
        _banner.info(
            f"{title} ({text})" if text else title, extra={k.lower(): v for k, v in facts.items()}
        )
    else:
        _banner.info("\n".join([title, *(f"  {name:6} {fact}" for name, fact in facts.items())]))


def _thread_failed(failure: threading.ExceptHookArgs) -> None:
    what = (failure.exc_type, failure.exc_value or failure.exc_type(), failure.exc_traceback)
    logging.getLogger(__name__).error("a thread failed", exc_info=what)


def name_request(id: bytes) -> contextvars.Token[str]:
    """Log this request's lines with the id that its proxy sent, if that has the form of one.

    Otherwise the id is reset: the context may still have that of the connection's last request.
    """
    return request_id.set(id_of(id))


def id_of(id: bytes) -> str:
    """An X-Request-Id, "" if it does not have the form of one."""
    text = id.decode("latin-1")
    return text if re.fullmatch(r"[\w.:/+=-]{1,128}", text, re.ASCII) else ""


@contextlib.contextmanager
def named_request(id: bytes) -> Iterator[None]:
    """Name the request of a block, where many requests are answered in one context."""
    token = name_request(id)
    try:
        yield
    finally:
        request_id.reset(token)


class SlowLog:
    """Logs what took longer than `seconds`, 0 for nothing: one line a second at most."""

    def __init__(self, log: logging.Logger, seconds: float) -> None:
        self.seconds = seconds or math.inf
        self._log = log
        self._window = _Window()

    def write(self, what: str, took: float, **more: object) -> None:
        """`took` is in seconds; `more` are fields of the JSON object."""
        # Checked before a record is made, which would be slow.
        if not self._window.allows(monotonic(), 1):
            return
        took_ms, suppressed = round(took * 1000), self._window.take_suppressed()
        also = f"; {suppressed} more were slow" if suppressed else ""
        self._log.warning("%s took %d ms%s", what, took_ms, also, extra={"took_ms": took_ms} | more)


def _add_request_id(record: logging.LogRecord) -> bool:
    if id := request_id.get():
        record.request_id = id
    return True
