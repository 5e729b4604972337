"""What a worker grants to addresses before it takes their tokens in Redis."""

import pytest

from footfall.driver.script_calls import CountsCallback, Rate
from footfall.errors import StoreUnavailable
from footfall.limits import allowance as allowances
from footfall.limits.allowance import ALLOWANCE_TOKENS, Allowance
from footfall.netaddr import HOMES_IN_A_NETWORK

ANN, BOB = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("footfall.limits.allowance.time.monotonic", lambda: now[0])
    return now


@pytest.fixture
def allowance(clock: list[float]) -> Allowance:
    return Allowance(Rate(100, 1000))


def owed(allowance: Allowance, answer: list[int] | Exception | None) -> int:
    """What is to be taken in Redis, which answers this, or nothing yet."""
    asked, told = list[int](), list[list[int] | Exception]()

    def take(tokens: int, taken: CountsCallback) -> None:
        asked.append(tokens)
        if answer is not None:
            taken(answer)

    allowance.settle(ANN, take, told.append)
    assert told == ([] if answer is None else [answer])
    return asked[0]


def test_each_client_has_an_allowance_and_pays_for_it_once_it_is_used_up(
    allowance: Allowance,
) -> None:
    assert all(allowance.covers(ANN, 1) for _ in range(ALLOWANCE_TOKENS))
    assert not allowance.covers(ANN, 1)
    assert allowance.covers(BOB, ALLOWANCE_TOKENS)
    assert owed(allowance, [0]) == ALLOWANCE_TOKENS
    assert allowance.covers(ANN, ALLOWANCE_TOKENS)


def test_clients_of_one_48_have_some_allowances_together(allowance: Allowance) -> None:
    used = sum(allowance.covers(f"2001:db8:5:{n:x}::/64", ALLOWANCE_TOKENS) for n in range(500))
    assert 0 < used <= HOMES_IN_A_NETWORK
    # Another network meets one of those slots by chance, as one in four thousand does; not each.
    others = [f"2001:db8:{n:x}:1::/64" for n in range(6, 16)]
    assert any(allowance.covers(other, ALLOWANCE_TOKENS) for other in others)


def test_tokens_that_are_being_taken_are_not_taken_twice(allowance: Allowance) -> None:
    allowance.covers(ANN, 15)
    assert not allowance.covers(ANN, 6)
    assert owed(allowance, None) == 15
    # Meanwhile other changes pay only for themselves, however few they are.
    assert not allowance.covers(ANN, 1)
    assert owed(allowance, [0]) == 0


@pytest.mark.parametrize("answer", [[700], StoreUnavailable()])
def test_a_client_that_is_refused_owes_as_much_as_before(
    allowance: Allowance, answer: list[int] | Exception
) -> None:
    allowance.covers(ANN, ALLOWANCE_TOKENS)
    assert owed(allowance, answer) == ALLOWANCE_TOKENS
    assert not allowance.covers(ANN, 1)
    assert owed(allowance, [0]) == ALLOWANCE_TOKENS


def test_a_change_larger_than_the_allowance_uses_none_of_it(allowance: Allowance) -> None:
    assert not allowance.covers(ANN, ALLOWANCE_TOKENS + 1)
    assert owed(allowance, [0]) == 0


@pytest.mark.parametrize(("a_second", "seconds"), [(100, 10), (20, 10), (1, 200), (0.1, 2000)])
def test_an_allowance_starts_anew_when_ten_times_as_much_could_have_come_back(
    clock: list[float], a_second: float, seconds: float
) -> None:
    allowance = Allowance(Rate(a_second, 200))
    allowance.covers(ANN, ALLOWANCE_TOKENS)
    clock[0] += seconds
    assert not allowance.covers(ANN, 1)
    clock[0] += 0.1
    assert allowance.covers(ANN, 1)


def test_clients_in_one_slot_share_an_allowance_and_memory_is_bounded(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    monkeypatch.setattr(allowances, "ALLOWANCE_SLOTS", 8)
    allowance = Allowance(Rate(100, 1000))
    covered = sum(allowance.covers(f"192.0.2.{n}", 1) for n in range(250))
    assert covered <= 8 * ALLOWANCE_TOKENS
    assert len(allowance._spent) == 8
