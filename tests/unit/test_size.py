"""What is stored, as the banner says it, and what the quota knows of it."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from footfall.counting.quota import CounterNumbers, CounterQuota, CounterTotals
from footfall.data.size import Kind, Size
from footfall.statistics.visits import Visits

NONE = Kind(0, 0)


@pytest.mark.parametrize(
    ("counters", "comments", "words"),
    [
        (NONE, NONE, "nothing yet"),
        (Kind(3, 101.4), NONE, "3 counters, about 101 bytes each"),
        (Kind(3, 0), NONE, "3 counters"),
        (NONE, Kind(2, 1812.5), "2 comments, about 1,812 bytes each"),
        (
            Kind(1_204_331, 46.2),
            Kind(3_127, 812),
            "1,204,331 counters, about 46 bytes each; 3,127 comments, about 812 bytes each",
        ),
    ],
)
def test_the_banner_is_as_exact_as_what_is_known(
    counters: Kind, comments: Kind, words: str
) -> None:
    assert str(Size(counters, comments)) == words


class SlowNumbers:
    """Numbers of counters; who asks for them waits for `is_known`."""

    visitor_bytes = 0

    def __init__(self) -> None:
        self.is_known = asyncio.Event()

    async def total(self) -> CounterTotals:
        await self.is_known.wait()
        return CounterTotals({"counts": 90}, self.visitor_bytes)


async def test_what_started_before_two_readings_at_once_is_not_taken_off_twice() -> None:
    numbers, unused = SlowNumbers(), cast(Any, None)
    quota = CounterQuota(unused, unused, cast(CounterNumbers, numbers), 100)
    quota.started([f"time /{n}" for n in range(90)])
    readings = [asyncio.create_task(quota.read()) for _ in range(2)]
    await asyncio.sleep(0)
    numbers.is_known.set()
    await asyncio.gather(*readings)
    quota.started([f"time /{n}" for n in range(9)])
    assert not quota.is_full
    quota.started(["time /new"])
    assert quota.is_full


async def test_with_statistics_a_counter_takes_seven_units() -> None:
    numbers, unused = SlowNumbers(), cast(Any, None)
    numbers.is_known.set()
    visits = cast(Visits, SimpleNamespace())
    quota = CounterQuota(unused, unused, cast(CounterNumbers, numbers), 700, visits)
    await quota.read()
    assert quota.used == 0.9
    quota.started([f"time /{n}" for n in range(9)])
    assert not quota.is_full
    quota.started(["time /new"])
    assert quota.is_full


async def test_visitors_take_of_the_limit_and_have_a_tenth_of_it_in_any_case() -> None:
    numbers, unused, visits = SlowNumbers(), cast(Any, None), SimpleNamespace()
    numbers.is_known.set()
    for limit, number, used, are_full in (
        (2_000, 0, 0.315, False),
        (2_000, 137_000, 1, False),
        (2_000, 138_000, 1.005, True),
        # The counters alone take more than there is.
        (500, 4_900, 1.358, False),
        (500, 5_100, 1.362, True),
    ):
        numbers.visitor_bytes = number
        quota = CounterQuota(
            unused, unused, cast(CounterNumbers, numbers), limit, cast(Visits, visits)
        )
        await quota.read()
        assert (quota.used, visits.are_full) == (used, are_full), (limit, number)
        assert quota.is_full == (used >= 1)
        assert ("90 counters and the visitors of today take" in quota.warning) == (number > 0)
        assert quota.is_reserved == (used > 0.9)


async def test_the_owner_hears_of_the_limit_long_before_it_is_reached() -> None:
    numbers, unused = SlowNumbers(), cast(Any, None)
    numbers.is_known.set()
    for limit, says in ((200, ""), (110, "82%"), (90, "100%"), (60, "150%")):
        quota = CounterQuota(unused, unused, cast(CounterNumbers, numbers), limit)
        assert quota.warning == ""
        await quota.read()
        assert says in quota.warning
        assert bool(quota.warning) is bool(says)
        assert ("are refused:" in quota.warning) is (limit <= 90)
