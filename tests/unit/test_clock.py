"""Which time a process has, when its machine's clock is set, and when it is another one than
Redis's."""

import time

import pytest

from footfall.driver.clock import Clock

NOW = 1_800_000_000
HOUR, DAY = 3_600, 86_400


class Machine:
    """Its clocks, in seconds."""

    wall = steady = 0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    machine.wall, machine.steady = NOW, 5
    monkeypatch.setattr(time, "time_ns", lambda: machine.wall * 10**9)
    monkeypatch.setattr(time, "clock_gettime_ns", lambda _: machine.steady * 10**9)
    return machine


def test_before_redis_has_told_its_time_there_is_only_the_machines(machine: Machine) -> None:
    clock = Clock()
    machine.wall += DAY
    assert clock() == (NOW + DAY) * 1000
    assert not clock.was_set


@pytest.mark.parametrize("seconds", [-50, 0, 50])
def test_a_clock_that_is_nearly_right_is_used(machine: Machine, seconds: int) -> None:
    clock = Clock()
    clock.compare([NOW + seconds])
    assert clock() == NOW * 1000


@pytest.mark.parametrize("seconds", [-3 * DAY, -70, 70, HOUR])
def test_a_clock_that_differs_from_that_of_redis_is_not(machine: Machine, seconds: int) -> None:
    clock = Clock()
    clock.compare([NOW + seconds])
    assert clock() // 1000 == NOW + seconds
    # An owner who leaves it like that has no Redis that is asked each second.
    assert not clock.was_set


@pytest.mark.parametrize("seconds", [3 * DAY, -2 * HOUR])
def test_a_clock_that_is_set_is_not_believed_until_redis_has_the_same_time(
    machine: Machine, seconds: int
) -> None:
    clock = Clock()
    clock.compare([NOW])
    machine.wall += seconds + 10
    machine.steady += 10
    assert clock() // 1000 == NOW + 10
    assert clock.was_set
    clock.compare([NOW + seconds + 10])
    assert clock() == (NOW + seconds + 10) * 1000
    assert not clock.was_set


def test_of_several_servers_one_may_be_wrong(machine: Machine) -> None:
    clock = Clock()
    clock.compare([NOW + DAY, NOW + 1, NOW - 1])
    assert clock() == NOW * 1000
    clock.compare([])
    assert clock() == NOW * 1000
