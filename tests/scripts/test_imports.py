"""lua/counters/import.lua: counts from elsewhere; sums are added once."""

import pytest

from footfall.counters import MAX_COUNT
from footfall.data.imports import Imports, Merged, Way
from footfall.data.store import Store
from footfall.errors import StoreUnavailable


@pytest.fixture
def counters(store: Store) -> Imports:
    return Imports(store.redis, store.scripts, store.keys)


def of_one_group(counters: Imports, number: int) -> list[str]:
    """Names of counters that may be in one batch, in different hashes."""
    names, group = list[str](), counters.group(counters.place("time /0"))
    for n in range(number * 2000):
        name = f"time /{n}"
        if counters.group(counters.place(name)) == group:
            names.append(name)
    return names[:number]


def merged(counters: Imports, **counts: int) -> list[Merged]:
    return [(counters.place(name), name, count) for name, count in counts.items()]


@pytest.mark.parametrize(
    ("way", "after", "changed"), [("max", [9, 5], 1), ("sum", [12, 9], 2), ("replace", [9, 4], 2)]
)
async def test_each_way_merges_two_counts(
    store: Store, counters: Imports, way: Way, after: list[int], changed: int
) -> None:
    first, second = of_one_group(counters, 2)
    await store.counters.add([(first[5:], "time", 1)] * 3 + [(second[5:], "time", 1)] * 5)
    batch = merged(counters, **{first: 9, second: 4})
    assert await counters.merge(batch, way, of="x", number=1) == changed
    assert await store.counters.read([first, second]) == after
    # A repetition changes nothing.
    assert await counters.merge(batch, way, of="x", number=1) == 0
    assert await store.counters.read([first, second]) == after


async def test_batches_of_a_sum_come_in_order_and_once(store: Store, counters: Imports) -> None:
    (name,) = of_one_group(counters, 1)
    batch = merged(counters, **{name: 2})
    # If the second batch counted now, the first would be taken for a repetition.
    with pytest.raises(StoreUnavailable):
        await counters.merge(batch, "sum", of="x", number=2)
    for number in (1, 2, 2, 1):
        await counters.merge(batch, "sum", of="x", number=number)
    assert await store.counters.read([name]) == [4]
    await counters.merge(batch, "sum", of="another", number=1)
    assert await store.counters.read([name]) == [6]
    # The note of the import expires.
    ((ttl),) = await store.redis.ask_masters(("PTTL", store.keys.imported(batch[0][0], "x")))
    assert 0 < ttl <= 30 * 24 * 3600 * 1000


async def test_no_sum_exceeds_the_largest_count(store: Store, counters: Imports) -> None:
    (name,) = of_one_group(counters, 1)
    for number in (1, 2):
        await counters.merge(merged(counters, **{name: MAX_COUNT}), "sum", of="x", number=number)
    assert await store.counters.read([name]) == [MAX_COUNT]
