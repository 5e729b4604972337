"""Workers that hang: their parent kills them, and others take their places."""

import os
import signal
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.support.servers import wait_until
from tests.support.serving import Serving, serving
from tests.support.workers import all_answer, is_alive, workers

HANG = {"WORKERS": "3", "HANG_SECONDS": "2"}
# A worker that gets SIGUSR1 never returns to its event loop.
ENDLESS = """
import signal

def hang(*of):
    while True:
        pass

signal.signal(signal.SIGUSR1, hang)
"""


def is_later(than: float) -> bool:
    return time.monotonic() > than


def wait_for_others(served: Serving, hung: Iterable[int]) -> None:
    def are_replaced() -> bool:
        return len(workers(served)) == 3 and not workers(served) & {*hung}

    wait_until(are_replaced, "the hung workers to be replaced")
    all_answer(served, 3)
    assert not any(map(is_alive, hung))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_workers_that_stand_still_are_replaced(own: Path, number: int) -> None:
    with serving(own / "s", **HANG) as served:
        all_answer(served, 3)
        hung = sorted(workers(served))[:number]
        for pid in hung:
            os.kill(pid, signal.SIGSTOP)
        wait_for_others(served, hung)
        for _ in range(20):
            assert httpx.get(f"{served.url}/livez", timeout=60).status_code == 200
        code, output = served.end()
    assert code == 0
    assert output.count("(HANG_SECONDS): it is killed") == number


def test_a_worker_in_a_loop_without_end_is_replaced(own: Path) -> None:
    (own / "site").mkdir()
    (own / "site/sitecustomize.py").write_text(ENDLESS)
    with serving(own / "s", PYTHONPATH=f"{own}/site", **HANG) as served:
        all_answer(served, 3)
        hung = min(workers(served))
        os.kill(hung, signal.SIGUSR1)
        wait_for_others(served, [hung])


def test_nobody_is_killed_because_the_machine_was_suspended(own: Path) -> None:
    with serving(own / "s", **HANG) as served:
        all_answer(served, 3)
        assert served.process is not None
        every = [served.process.pid, *sorted(workers(served))]
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in every:
                os.kill(pid, number)
            wait_until(partial(is_later, time.monotonic() + 4), "more than HANG_SECONDS to pass")
        assert [served.process.pid, *sorted(workers(served))] == every
        assert served.stop()[0] == 0


@pytest.mark.rare
def test_a_stop_ends_though_a_worker_hangs(own: Path) -> None:
    with serving(own / "s", WORKERS="2", HANG_SECONDS="0") as served:
        all_answer(served)
        hung = min(workers(served))
        os.kill(hung, signal.SIGSTOP)
        code, output = served.end()
        assert "has not ended in time: it is killed" in output
        assert code == 0
        assert not is_alive(hung)
