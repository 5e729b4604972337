"""A service with few file descriptors reports it, rejects what it cannot serve, and continues."""

import re
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.servers import wait_until
from tests.support.serving import Serving, started

MOST, CONNECTIONS = 32, 40


class Few(Serving):
    module = "tests.support.few_descriptors"


def status_of(client: socket.socket) -> bytes:
    client.sendall(b"GET /article?path=/a HTTP/1.1\r\nhost: localhost\r\n\r\n")
    return client.recv(4096)[9:12]


def exhausted(url: str) -> float:
    (found,) = re.findall(
        r"^footfall_descriptors_exhausted_total (.*)$", httpx.get(f"{url}/metrics").text, re.M
    )
    return float(found)


@pytest.mark.rare
def test_a_service_with_few_descriptors_says_so_refuses_clients_and_recovers(own: Path) -> None:
    with started(Few(own, FEW_DESCRIPTORS="64", MAX_CONNECTIONS="1000")) as served:
        assert "`ulimit -n` is 64, too low for MAX_CONNECTIONS=1000: a worker takes 32" in (
            served.output
        )
        assert exhausted(served.url) == 0
        address = urlsplit(served.url)
        with ExitStack() as stack:
            clients = [
                stack.enter_context(socket.create_connection((address.hostname, address.port)))
                for _ in range(CONNECTIONS)
            ]
            statuses = [status_of(client) for client in clients]
            assert statuses == [b"200"] * MOST + [b"503"] * (CONNECTIONS - MOST)
        wait_until(lambda: exhausted(served.url) > 0, "the shortage to be counted")
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
        _, output = served.end()
    assert output.count("no file descriptor is left for a client: `ulimit -n` is 64, and a") == 1
