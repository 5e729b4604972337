"""/metrics with several workers: whichever answers speaks for all, and for those that have died."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import httpx
import pytest

from tests.servers import wait_until
from tests.serving import Serving, serving

REQUESTS = "footfall_requests_total"
# What is counted, and may only rise.
RISING = ("_total", "_count", "_sum", "_bucket")


@pytest.fixture
def served(directory: Path) -> Iterator[Serving]:
    with serving(directory, WORKERS="2", DURABILITY="everysec") as served:
        wait_until(lambda: len(answering(served)) == 2, "both workers to answer")
        yield served


def workers(served: Serving) -> set[int]:
    assert served.process is not None
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text()
    found = set()
    for pid in children.split():
        # One that dies meanwhile is none.
        with contextlib.suppress(FileNotFoundError):
            if b"--as-worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(int(pid))
    return found


def worker_of(served: Serving, connection: HTTPConnection) -> int:
    """The worker that has taken this connection: the kernel draws one for each."""
    ends = [connection.sock.getpeername()[1], connection.sock.getsockname()[1]]
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    sockets = {
        f"socket:[{row[9]}]"
        for row in rows
        if [int(address.rpartition(":")[2], 16) for address in row[1:3]] == ends
    }
    (worker,) = (pid for pid in workers(served) if sockets & files(pid))
    return worker


def files(pid: int) -> set[str]:
    """What a process has open."""
    found = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(each))
    return found


def ask(served: Serving, method: str, target: str) -> tuple[int, bytes, int]:
    """Status, body and worker, on a connection of its own."""
    url = httpx.URL(served.url)
    connection = HTTPConnection(url.host, url.port or 80, timeout=20)
    try:
        connection.request(method, target)
        answer = connection.getresponse()
        return answer.status, answer.read(), worker_of(served, connection)
    finally:
        connection.close()


def ask_plainly(served: Serving, method: str, target: str) -> bytes:
    """The body, whoever answers."""
    url = httpx.URL(served.url)
    connection = HTTPConnection(url.host, url.port or 80, timeout=20)
    with contextlib.closing(connection):
        connection.request(method, target)
        return connection.getresponse().read()


def answering(served: Serving) -> set[int]:
    return {ask(served, "GET", "/livez")[2] for _ in range(10)}


def totals(body: bytes) -> dict[str, float]:
    """By name and labels."""
    lines = [line.rsplit(" ", 1) for line in body.decode().splitlines() if line[0] != "#"]
    return {name: float(value) for name, value in lines if name.partition("{")[0].endswith(RISING)}


def told_by_each(served: Serving) -> dict[int, dict[str, float]]:
    """What each worker says, with as many new connections as it takes."""
    told: dict[int, dict[str, float]] = {}

    def has_told() -> bool:
        _, body, worker = ask(served, "GET", "/metrics")
        told[worker] = totals(body)
        return len(told) == 2

    wait_until(has_told, "both workers to be asked for metrics")
    return told


def asked(of: dict[str, float]) -> dict[str, float]:
    return {name: number for name, number in of.items() if name.startswith(REQUESTS) and number}


def send(served: Serving, rounds: int) -> set[int]:
    """So many views, readings twice, and refusals; the workers that answered."""
    sent = [("POST", "/article?path=/a"), *[("GET", "/article?path=/a")] * 2, ("PUT", "/article")]
    return {ask(served, *each)[2] for _ in range(rounds) for each in sent}


def sent(rounds: int) -> dict[str, float]:
    return {
        f'{REQUESTS}{{route="article_change",status="200"}}': rounds,
        f'{REQUESTS}{{route="article_read",status="200"}}': 2 * rounds,
        f'{REQUESTS}{{route="other",status="405"}}': rounds,
    }


def test_each_worker_tells_the_same_totals_and_they_are_what_was_sent(served: Serving) -> None:
    assert send(served, 8) == workers(served)
    one, other = told_by_each(served).values()
    # What Redis was asked about itself is not of visitors.
    assert asked(one) == asked(other) == sent(8)
    for told in (one, other):
        assert told['footfall_request_seconds_count{route="article_read"}'] == 16
        assert told['footfall_refused_total{reason="WrongMethod"}'] == 8
        assert told["footfall_batch_requests_sum"] == 24


def test_no_total_falls_while_workers_are_killed_under_load(served: Serving) -> None:
    answered, lost = 0, 0
    is_over = threading.Event()

    def load() -> None:
        nonlocal answered, lost
        while not is_over.is_set():
            try:
                ask_plainly(served, "PUT" if answered % 2 else "GET", "/article?path=/a")
                answered += 1
            except (OSError, HTTPException):
                # It went to a worker that was killed, which may have counted it.
                lost += 1

    def scrape() -> None:
        # Who is killed meanwhile has said nothing.
        with contextlib.suppress(OSError, HTTPException):
            told = totals(ask_plainly(served, "GET", "/metrics"))
            fallen = {name: (was, told[name]) for name, was in last.items() if told[name] < was}
            assert fallen == {}
            last.update(told)

    def has_answered(more: int) -> bool:
        scrape()
        return answered >= more

    def is_replaced(victim: int) -> bool:
        scrape()
        return len(workers(served) - {victim}) == 2

    last: dict[str, float] = {}
    loading = threading.Thread(target=load)
    loading.start()
    try:
        for victim in workers(served):
            wait_until(partial(has_answered, answered + 50), "some requests")
            os.kill(victim, signal.SIGKILL)
            wait_until(partial(is_replaced, victim), "another worker")
            wait_until(lambda: len(answering(served)) == 2, "it to answer")
    finally:
        is_over.set()
        loading.join()
    one, other = map(asked, told_by_each(served).values())
    assert one == other
    assert answered <= sum(one.values()) <= answered + lost
    assert all(told >= last[name] for name, told in one.items())
