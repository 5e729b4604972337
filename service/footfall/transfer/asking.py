"""Requests JSON from another server, at the pace that it demands."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import httpx2
import orjson
import tenacity

from .download import CannotFetch

# A thousand comments of Valine's longest texts, and more.
MAX_ANSWER_BYTES = 128 << 20
TIMEOUT_SECONDS = 30.0
TRIES = 8
FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS = 1.0, 60.0
OK = httpx2.codes.OK
# Statuses after which the same request is resent: rate limits and temporary failures.
_PASSING = frozenset({429, 500, 502, 503, 504})

Wait = Callable[[float], None]
SLEEP: Wait = tenacity.nap.sleep


class _Passing(CannotFetch):
    """It may be retried."""


class Asking:
    """While it is entered, it has a connection; `wait` waits between attempts."""

    def __init__(
        self, server: str, headers: Mapping[str, str] | None = None, wait: Wait = SLEEP
    ) -> None:
        self.server = server.rstrip("/")
        self._client = httpx2.Client(timeout=TIMEOUT_SECONDS, headers=headers)
        self._retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Passing),
            wait=tenacity.wait_exponential_jitter(FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS),
            stop=tenacity.stop_after_attempt(TRIES),
            sleep=wait,
            reraise=True,
        )

    def __enter__(self) -> Self:
        self._client.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.__exit__(kind, error, trace)

    def get(self, path: str, params: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        """The status, and the object that came with it. Raises CannotFetch."""
        reply: tuple[int, dict[str, Any]] = self._retrying(self._once, path, params)
        return reply

    def _once(self, path: str, params: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        try:
            with self._client.stream("GET", self.server + path, params=dict(params)) as answer:
                body = self._body(answer)
                status = answer.status_code
        except httpx2.TransportError as error:
            raise _Passing(f"{self.server} could not be asked: {error}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise CannotFetch(f"{self.server} could not be asked: {error}") from None
        if status in _PASSING:
            raise _Passing(f"{self.server} answered {status}")
        try:
            told = orjson.loads(body)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            raise CannotFetch(f"{self.server} answered {status} without a JSON object")
        return status, told

    def _body(self, answer: httpx2.Response) -> bytes:
        pieces, size = [], 0
        for piece in answer.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            if size > MAX_ANSWER_BYTES:
                raise CannotFetch(f"{self.server} sends more than {MAX_ANSWER_BYTES:,} bytes")
        return b"".join(pieces)
