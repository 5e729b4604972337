"""/metrics with several workers: whichever answers reports for all, also for dead ones."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from functools import partial
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.support.servers import wait_until
from tests.support.serving import Serving, serving
from tests.support.workers import all_answer, ask, ask_plainly, workers

REQUESTS = "footfall_requests_total"
# Routes by which these tests look at the service.
LOOKS = ('{route="health"', '{route="metrics"')
# Metrics that are counted, and may only rise.
RISING = ("_total", "_count", "_sum", "_bucket")


@pytest.fixture
def served(directory: Path, data_set: dict[str, str]) -> Iterator[Serving]:
    with serving(directory, WORKERS="2", **data_set) as served:
        all_answer(served)
        yield served


def totals(body: bytes) -> dict[str, float]:
    """The totals of all workers by name and labels."""
    return {
        name: value
        for name, value in values(body).items()
        if name.partition("{")[0].endswith(RISING) and not name.startswith("process_")
    }


def values(body: bytes) -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in body.decode().splitlines() if line[0] != "#"]
    return {name: float(value) for name, value in lines}


def processes(served: Serving, metric: str) -> dict[str, float]:
    """The value of each worker's process."""
    told = values(ask_plainly(served, "GET", "/metrics"))
    return {name: value for name, value in told.items() if name.startswith(metric)}


def told_by_each(served: Serving) -> dict[int, dict[str, float]]:
    """The answers of all workers, over as many new connections as that takes."""
    told: dict[int, dict[str, float]] = {}

    def has_told() -> bool:
        _, body, worker = ask(served, "GET", "/metrics")
        told[worker] = totals(body)
        return len(told) == 2

    wait_until(has_told, "both workers to be asked for metrics")
    return told


def asked(of: dict[str, float]) -> dict[str, float]:
    """The requests that were sent to be counted."""
    found = {name: number for name, number in of.items() if name.startswith(REQUESTS) and number}
    return {name: n for name, n in found.items() if not name[len(REQUESTS) :].startswith(LOOKS)}


def send(served: Serving, rounds: int) -> set[int]:
    """Send so many views, two readings and refusals; returns the workers that answered."""
    sent = [("POST", "/article?path=/a"), *[("GET", "/article?path=/a")] * 2, ("PUT", "/article")]
    return {ask(served, *each)[2] for _ in range(rounds) for each in sent}


def sent(rounds: int) -> dict[str, float]:
    return {
        f'{REQUESTS}{{route="article_change",status="200"}}': rounds,
        f'{REQUESTS}{{route="article_read",status="200"}}': 2 * rounds,
        f'{REQUESTS}{{route="other",status="405"}}': rounds,
    }


@pytest.mark.rare
def test_each_worker_tells_the_same_totals_and_they_are_what_was_sent(served: Serving) -> None:
    assert send(served, 8) == workers(served)
    one, other = told_by_each(served).values()
    # What the service asked Redis about itself is not caused by visitors.
    assert asked(one) == asked(other) == sent(8)
    for told in (one, other):
        assert told['footfall_request_seconds_count{route="article_read"}'] == 16
        assert told['footfall_refused_total{reason="WrongMethod"}'] == 8
        assert told["footfall_batch_requests_sum"] == 24


@pytest.mark.rare
def test_the_process_of_each_worker_is_told_and_a_new_one_in_place_of_a_dead_one(
    served: Serving,
) -> None:
    names = {f'process_start_time_seconds{{worker="{n}"}}' for n in (0, 1)}
    assert processes(served, "process_start_time_seconds").keys() == names
    for metric in ("process_cpu_seconds_total", "process_open_fds", "process_max_fds"):
        assert all(processes(served, metric).values())
    memory = processes(served, "process_resident_memory_bytes")
    assert all(10e6 < each < 1e9 for each in memory.values())
    (first, _) = sorted(workers(served))
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: len(workers(served) - {first}) == 2, "another worker")
    all_answer(served)
    # A process that is no more would tell nothing.
    assert processes(served, "process_start_time_seconds").keys() == names
    assert processes(served, "footfall_worker_restarts_total") == {
        "footfall_worker_restarts_total": 1
    }


@pytest.mark.rare
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
        # A worker that is killed meanwhile has given no answer.
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
            all_answer(served)
    finally:
        is_over.set()
        loading.join()
    one, other = map(asked, told_by_each(served).values())
    assert one == other
    # Each of the two may have been killed between an answer and its count.
    assert answered - 2 <= sum(one.values()) <= answered + lost
    assert all(told >= last[name] for name, told in one.items())
