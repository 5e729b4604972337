"""How many connections the limit of open files leaves room for, and that nobody runs out unseen."""

import errno
import os
import resource

import pytest

from footfall.server import descriptors
from footfall.server.descriptors import Shortage
from footfall.telemetry.metrics import Metrics


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The soft and the hard limit of this process, which tests set."""
    found = {"soft": 1024, "hard": 4096}

    def set_limits(resource_: int, both: tuple[int, int]) -> None:
        found["soft"], found["hard"] = both

    monkeypatch.setattr(resource, "getrlimit", lambda _: (found["soft"], found["hard"]))
    monkeypatch.setattr(resource, "setrlimit", set_limits)
    return found


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "room"),
    [
        (1024, 4096, 4096, 4032),
        (4096, 4096, 4096, 4032),
        (1024, resource.RLIM_INFINITY, descriptors.MOST, descriptors.MOST - 64),
        (resource.RLIM_INFINITY,) * 2 + (resource.RLIM_INFINITY, descriptors.MOST - 64),
        (60, 60, 60, 30),
    ],
)
def test_the_soft_limit_is_raised_and_leaves_some_for_others(
    limits: dict[str, int], soft: int, hard: int, raised: int, room: int
) -> None:
    limits |= {"soft": soft, "hard": hard}
    assert descriptors.room() == room
    assert limits == {"soft": raised, "hard": hard}


def test_a_limit_that_cannot_be_raised_is_said_if_it_is_too_low(
    limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert list(descriptors.advice(960)) == []
    (line,) = descriptors.advice(961)
    assert line.startswith(
        "`ulimit -n` is 1024, too low for MAX_CONNECTIONS=961: a worker takes 960 connections"
    )


def test_a_shortage_is_counted_each_time_and_logged_once_a_minute(
    limits: dict[str, int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Metrics()
    shortage, limited = Shortage(metrics, 4031), Shortage(metrics, 4032)
    metrics.turned_away.add()
    shortage.look()
    assert metrics.descriptors_exhausted.total == 0, "MAX_CONNECTIONS alone refused them"
    for _ in range(2):
        limited.look()
    assert metrics.descriptors_exhausted.total == 1
    caplog.clear()

    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", refuse)
    for _ in range(3):
        shortage.look()
    assert metrics.descriptors_exhausted.total == 4
    (line,) = caplog.messages
    assert "(Too many open files): `ulimit -n` is 4096, and a worker takes 4031" in line
