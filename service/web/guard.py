"""uvicorn's protocol class with bounds on what a stranger may send before a request is even known.

uvicorn keeps the headers of a request for as long as they go on coming. Here they may be as long as
those of the reference server, and a connection may be silent, or in the middle of its headers, only
for so long.
"""

from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ..errors import TooLong
from .answer import Answer, Headers, failed

# URL and headers together, as Node has it, and so the reference.
MAX_HEAD = 16 * 1024


class Guarded(HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Has uvicorn's parser seen only whole requests so far?
        self.is_between = True
        self._is_in_head = False
        self._has_begun = False
        self._head_bytes = 0
        self._is_refused = False
        self.is_closing_soon = False
        # By the event loop's clock: when an answer was written last, or a request began.
        self.since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._has_begun = False
        super().data_received(data)
        if self._is_in_head:
            # Headers that are not complete yet. A chunk in which they begin may also hold the end
            # of the body before, so of that only what the parser has made out counts.
            self._head_bytes += self._head_size() if self._has_begun else len(data)
            if self._head_bytes > MAX_HEAD:
                self._refuse()

    def on_message_begin(self) -> None:
        self.is_between = False
        self._is_in_head = self._has_begun = True
        self._head_bytes = 0
        self.since = self.loop.time()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        if self._head_size() > MAX_HEAD:
            self._refuse()
        elif not self._is_refused:
            super().on_headers_complete()
            if self.is_closing_soon:
                self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self.is_between = True
        if not self._is_refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        self.since = self.loop.time()
        super().on_response_complete()

    def close_soon(self) -> None:
        """Close after the next answer, which says so: then no request is on its way.

        Proxies keep connections for long, and one that is cut may have a request in it.
        """
        self.is_closing_soon = True
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.keep_alive = False

    def close_if_idle(self, since: float) -> None:
        """Close a connection that has been waiting for a request, or its headers, for that long."""
        if (self.is_between or self._is_in_head) and self.is_done and self.since < since:
            self.transport.close()

    @property
    def is_done(self) -> bool:
        """Is every request that was begun answered?"""
        return self.cycle is None or self.cycle.response_complete

    def _head_size(self) -> int:
        """Of URL and headers, as far as the parser has read them."""
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _refuse(self) -> None:
        self._is_refused = True
        if self.transport.is_closing():
            return
        if self.is_done:
            answer = failed(TooLong(), "", "")
            self.transport.write(self.plain(answer, [(b"connection", b"close")]))
        self.transport.close()

    def plain(self, answer: Answer, more: Headers = ()) -> bytes:
        """An answer as bytes, with the headers that uvicorn would send."""
        headers = [*self.server_state.default_headers, *answer.headers, *more]
        return b"%b%b\r\n%b" % (STATUS_LINE[answer.status], lines(headers), answer.body)


def lines(headers: Headers) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])
