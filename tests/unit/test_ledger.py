"""Which answers the ledger takes for wrong, and which time for an outage."""

from collections.abc import Callable

import pytest

from footfall.loadtest.ledger import Ledger
from footfall.loadtest.load import Outages


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(["/a", "/b"])


def raise_to(ledger: Ledger, *counts: int, path: str = "/a") -> None:
    floors = [ledger.sends(path, is_increment=True) for _ in counts]
    for count, floor in zip(counts, floors, strict=True):
        ledger.raised(path, count, floor)


def test_answers_may_come_in_any_order(ledger: Ledger) -> None:
    raise_to(ledger, 3, 1, 2)
    raise_to(ledger, 4)
    assert (ledger.wrong, ledger.accepted) == (0, {"/a": 4, "/b": 0})


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (lambda each: raise_to(each, 1, 1), "/a got the count 1 twice"),
        (lambda each: raise_to(each, 1, 3), "/a got the count 3 with 2 increments"),
        (lambda each: raise_to(each, 0), "/a got the count 0 with 1 increment"),
        (lambda each: each.read("/a", 1, 0), "/a read as 1 after 0 was known and 0 were sent"),
    ],
    ids=["twice", "beyond", "nothing", "read"],
)
def test_an_impossible_count_is_wrong(
    ledger: Ledger, lie: Callable[[Ledger], None], words: str
) -> None:
    lie(ledger)
    assert (ledger.wrong, ledger.wrongs) == (1, [words])


def test_an_answer_below_what_was_known_when_it_was_asked_for_is_wrong(ledger: Ledger) -> None:
    early = ledger.sends("/a", is_increment=True)
    raise_to(ledger, 3, 2)
    late = ledger.sends("/a", is_increment=False)
    ledger.raised("/a", 1, early)
    assert ledger.wrong == 0
    ledger.read("/a", 2, late)
    assert ledger.wrongs == ["/a read as 2 after 3 was known and 3 were sent"]


def test_a_count_that_a_read_saw_may_be_taken_back_until_it_was_accepted(ledger: Ledger) -> None:
    raise_to(ledger, 1)
    floor = ledger.sends("/a", is_increment=True)
    ledger.read("/a", 2, ledger.sends("/a", is_increment=False))
    ledger.unknown["/a"] += 1
    ledger.read("/a", 1, ledger.sends("/a", is_increment=False))
    raise_to(ledger, 2)
    ledger.read_back([2, 0])
    ledger.close()
    assert (floor, ledger.wrong, ledger.verdicts["/a"].is_exact) == (1, 0, True)


def test_a_gap_below_what_was_known_is_wrong_too(ledger: Ledger) -> None:
    floor = ledger.sends("/a", is_increment=True)
    raise_to(ledger, 3, 4)
    ledger.raised("/a", 1, floor)
    raise_to(ledger, 2)
    assert ledger.wrongs == [
        "/a got the count 4 with 3 increments",
        "/a was raised to 2 after 3 was known",
    ]


def test_a_surplus_on_another_path_does_not_hide_a_loss(ledger: Ledger) -> None:
    raise_to(ledger, 1, 2)
    raise_to(ledger, 1, 2, path="/b")
    ledger.read_back([1, 3])
    assert ledger.total.is_exact
    assert [str(verdict) for verdict in ledger.verdicts.values()] == [
        "LOST 1 (accepted 2, counted 1)",
        "COUNTED TWICE 1 (accepted 2, counted 3)",
    ]


def test_only_the_first_wrong_answers_are_told_in_full(ledger: Ledger) -> None:
    for _ in range(1000):
        ledger.read("/a", 1, 0)
    assert (ledger.wrong, len(ledger.wrongs)) == (1000, 10)


def test_an_outage_lasts_from_the_first_waiting_request_to_the_next_good_response() -> None:
    outages = Outages()
    outages.started(0)
    outages.ended(1, is_good=True)
    # A time in which nobody asks is not an outage.
    outages.started(10)
    outages.ended(10.5, is_good=False)
    assert outages.quiet(11) == 1
    outages.started(12)
    outages.ended(13, is_good=True)
    assert (outages.longest, outages.quiet(20)) == (3, 0)


def test_a_request_that_still_waits_keeps_its_outage_when_another_is_answered() -> None:
    outages = Outages()
    outages.started(0)
    outages.started(0)
    outages.ended(1, is_good=True)
    assert outages.quiet(5) == 4
