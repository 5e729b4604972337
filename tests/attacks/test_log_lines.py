"""What somebody may try in order to fill an operator's disk with log lines."""

import socket
from pathlib import Path
from time import monotonic

import httpx
import pytest

from tests.integration.test_logs import logged
from tests.support.servers import wait_until

UPGRADE = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
FORM = (
    b"POST /article HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=B\r\n"
    b"Connection: close\r\nContent-Length: 3\r\n\r\n--X"
)


@pytest.mark.rare
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("options", [(), ("--no-fast-path",)], ids=["fast path", "endpoints"])
def test_requests_that_are_none_fill_no_log(own: Path, form: str, options: tuple[str, ...]) -> None:
    """Who: anybody. What: sends thousands of malformed requests, upgrades and forms, for each of
    which a library would log a line or two. Instead: one line a second of each kind, and one that
    says how many more there were."""
    with logged(own, *options, LOG_FORMAT=form) as served:
        url = httpx.URL(served.url)
        started = monotonic()
        for sent in (b"\0\r\n\r\n", UPGRADE, FORM):
            for _ in range(60):
                with socket.create_connection((url.host, url.port)) as connection:
                    connection.sendall(sent)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass
        wait_until(lambda: "more like this" in served.lines[-1], "the last line of the flood")
        seconds = int(monotonic() - started) + 2
        assert 2 <= len(served.lines) <= 8 * seconds
        assert any(
            " more like this: Invalid HTTP request received." in line for line in served.lines
        )
