"""The bench's peer `least` can be a measure only while it sends what the service sends."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bench.machine import Cores
from bench.peer import Peer
from bench.peers import Environment, footfall, least
from bench.scenarios import Increment, Read

Answer = tuple[int, list[tuple[str, str]], bytes]


@pytest.fixture(scope="module")
def environment(home: Path) -> Environment:
    return Environment(home, Cores.choose(), "none")


@pytest.fixture(scope="module")
def peer(environment: Environment) -> Iterator[Peer]:
    with least(environment) as peer:
        yield peer


def answer(peer: Peer, asked: tuple[str, str, bytes], **headers: str) -> Answer:
    method, target, body = asked
    if body:
        headers["Content-Type"] = "application/json"
    with closing(http.client.HTTPConnection(peer.host, timeout=60)) as connection:
        connection.request(method, target, body or None, headers)
        found = connection.getresponse()
        # The date may differ by a second.
        lines = [line for line in found.getheaders() if line[0] != "date"]
        return found.status, lines, found.read()


@pytest.mark.rare
def test_the_least_answers_byte_for_byte_as_the_service(
    environment: Environment, peer: Peer
) -> None:
    def visit(peer: Peer) -> list[Answer]:
        raised, read = peer.ask(Increment("/ä")), peer.ask(Read(("/ä",)))
        return [
            answer(peer, read),
            answer(peer, raised),
            answer(peer, raised, **{"X-Forwarded-For": "192.0.2.1"}),
            answer(peer, read),
            answer(peer, read, **{"If-None-Match": '"2"'}),
        ]

    with footfall(environment) as service:
        ours = visit(service)
    assert visit(peer) == ours
    assert [status for status, _, _ in ours] == [200, 200, 200, 200, 304]


def test_the_least_lets_no_count_fall_below_zero(peer: Peer) -> None:
    method, target, body = peer.ask(Increment("/a"))
    for action in (b"inc", b"desc", b"desc"):
        _, _, count = answer(peer, (method, target, body.replace(b"inc", action)))
    assert json.loads(count)["data"] == [{"time": 0}]


def test_visitors_who_leave_before_their_answer_take_nothing_from_the_others(peer: Peer) -> None:
    address = urlsplit(peer.url)
    (asked,) = peer.templates([Read(("/a",))], "plain")
    for _ in range(100):
        with socket.create_connection((str(address.hostname), address.port or 0)) as connection:
            connection.sendall(asked)
    status, _, _ = answer(peer, peer.ask(Read(("/a",))))
    assert status == 200


def test_the_sum_of_the_counts_of_the_least_is_what_was_counted(peer: Peer) -> None:
    before = peer.views([])
    for n in range(5):
        peer.post(Increment(f"/{n % 3}"), n)
    assert peer.views([]) == before + 5
