"""What is logged: lines for people, or a JSON object a line for machines, with the request's id.

There is no line for each request: a proxy writes that, and /metrics counts them. What is logged is
what went wrong, what was slow, and what an operator should know; and since strangers can make most
things go wrong, so many lines a second, whoever logs.
"""

import contextlib
import contextvars
import logging
import math
import re
import sys
import threading
from collections.abc import Iterator
from time import monotonic
from typing import TextIO

# Of the request that is being answered, as its proxy calls it; empty where there is none.
request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")

# When one thing is slow, everything is; one line so often says so.
QUIET_SECONDS = 1.0
# In that time, from one line of code: enough for each of several findings or failures. A text that
# never varies says nothing the second time.
MOST_LINES = 20
MOST_EQUAL_LINES = 1
# Of what is repeated where the others are counted.
LONGEST_EXAMPLE = 200
TEXT = "%(levelname)s %(name)s: %(message)s"
# A stranger's path may be in a message: it begins no line and commands no terminal.
ESCAPED = {n: repr(chr(n))[1:-1] for n in (*range(32), *range(127, 160), 0x2028, 0x2029)}


class _Line(logging.Formatter):
    """One line a record, whatever is in it, a traceback too."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).translate(ESCAPED)


class _Second:
    """What is said in a second and what is not."""

    def __init__(self) -> None:
        self.until = -math.inf
        self._said = self._unsaid = 0

    def admits(self, now: float, most: int) -> bool:
        if now >= self.until:
            self.until, self._said = now + QUIET_SECONDS, 0
        if self._said < most:
            self._said += 1
            return True
        self._unsaid += 1
        return False

    def take_unsaid(self) -> int:
        """How many were not said since this was asked last."""
        unsaid, self._unsaid = self._unsaid, 0
        return unsaid


class Bounded(logging.StreamHandler[TextIO]):
    """So many lines a second from each place in the code, then one that says how many more."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        # As many as there are places that log; of each, the first record that was not said.
        self._seconds: dict[tuple[str, str, int], _Second] = {}
        self._unsaid: dict[_Second, logging.LogRecord] = {}

    def emit(self, record: logging.LogRecord) -> None:
        place = (record.name, record.pathname, record.lineno)
        second = self._seconds.setdefault(place, _Second())
        most = MOST_LINES if record.args or record.exc_info else MOST_EQUAL_LINES
        now = monotonic()
        if record.levelno >= logging.CRITICAL or second.admits(now, most):
            super().emit(record)
        elif second not in self._unsaid:
            self._unsaid[second] = record
            telling = threading.Timer(second.until - now, self._tell, [second])
            telling.daemon = True
            telling.start()

    def _tell(self, second: _Second) -> None:
        """Say how many lines were left out."""
        with self.lock or contextlib.nullcontext():
            if example := self._unsaid.pop(second, None):
                fields = {name: getattr(example, name) for name in ("name", "levelno", "levelname")}
                more, text = second.take_unsaid(), example.getMessage()[:LONGEST_EXAMPLE]
                fields |= {"msg": "%d more like this: %s", "args": (more, text), "more": more}
                super().emit(logging.makeLogRecord(fields))

    def close(self) -> None:
        for second in list(self._unsaid):
            self._tell(second)
        super().close()


# What a service says of itself, on the standard output.
_said = logging.getLogger("footfall.said")


def begin(form: str) -> None:
    """Log in this form, "text" or "json", from now on."""
    handler = Bounded(sys.stderr)
    handler.addFilter(_named)
    saying = logging.StreamHandler(sys.stdout)
    if form == "json":
        handler.setFormatter(_as_json())
        saying.setFormatter(_as_json())
    else:
        handler.setFormatter(_Line(TEXT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(True)
    _said.handlers, _said.propagate = [saying], False
    _said.setLevel(logging.INFO)
    threading.excepthook = _thread_failed


def _as_json() -> logging.Formatter:
    # Here, since few need it.
    from pythonjsonlogger.orjson import OrjsonFormatter

    return OrjsonFormatter(
        ["timestamp", "levelname", "name", "message"],
        rename_fields={"levelname": "level", "name": "logger"},
        timestamp=True,
    )


def say(title: str, **facts: str) -> None:
    """Tell whoever started the service: a title and a line for each fact, or an object."""
    formatter = _said.handlers[0].formatter if _said.handlers else None
    if formatter:
        told = "; ".join(f"{name} {fact}" for name, fact in facts.items())
        _said.info(
            f"{title} ({told})" if told else title, extra={k.lower(): v for k, v in facts.items()}
        )
    else:
        _said.info("\n".join([title, *(f"  {name:6} {fact}" for name, fact in facts.items())]))


def _thread_failed(failure: threading.ExceptHookArgs) -> None:
    what = (failure.exc_type, failure.exc_value or failure.exc_type(), failure.exc_traceback)
    logging.getLogger(__name__).error("a thread failed", exc_info=what)


def name_request(id: bytes) -> contextvars.Token[str]:
    """Take over the id that a proxy gave a request, if it looks like one.

    Otherwise it has none, not even that of the request before, whose task may have begun this one.
    """
    text = id.decode("latin-1")
    return request_id.set(text if re.fullmatch(r"[\w.:/+=-]{1,128}", text, re.ASCII) else "")


@contextlib.contextmanager
def named_request(id: bytes) -> Iterator[None]:
    """Where many requests are answered in one context."""
    token = name_request(id)
    try:
        yield
    finally:
        request_id.reset(token)


class SlowLog:
    """Lines about what took longer than `seconds`, 0 for none: not more than one a second."""

    def __init__(self, log: logging.Logger, seconds: float) -> None:
        self.seconds = seconds or math.inf
        self._log = log
        self._second = _Second()

    def write(self, what: str, took: float, **more: object) -> None:
        # Before a record is made, which is slow itself.
        if not self._second.admits(monotonic(), 1):
            return
        took_ms, unsaid = round(took * 1000), self._second.take_unsaid()
        also = f"; {unsaid} more were slow" if unsaid else ""
        self._log.warning("%s took %d ms%s", what, took_ms, also, extra={"took_ms": took_ms} | more)


def _named(record: logging.LogRecord) -> bool:
    if id := request_id.get():
        record.request_id = id
    return True
