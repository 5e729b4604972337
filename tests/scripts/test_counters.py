import asyncio
from functools import partial

import pytest

from footfall.callbacks import awaited
from footfall.counters import MAX_COUNT
from footfall.counting.store import Counters
from footfall.data.store import Store


async def test_changes_are_made_and_answered_in_order(store: Store) -> None:
    changes = [("/a", "time", 1), ("/b", "time", 1), ("/a", "time", 1), ("/a", "reaction0", 1)]
    assert await store.counters.add(changes) == [1, 1, 2, 1]
    assert await store.counters.read(Counters.names(["/a", "/b", "/c"], ["time", "reaction0"])) == [
        2,
        1,
        1,
        0,
        0,
        0,
    ]


async def test_no_counter_falls_below_zero(store: Store) -> None:
    await store.counters.add([("/a", "reaction0", 1)])
    assert await store.counters.add([("/a", "reaction0", -1)] * 2) == [0, 0]
    assert await store.counters.add([("/a", "reaction0", 1)]) == [1]


@pytest.mark.parametrize("visitors", [1, 3])
async def test_a_counter_stops_at_the_largest_number_that_clients_know(
    store: Store, visitors: int
) -> None:
    key = store.keys.counts("time /a")
    await store.redis.change(("HSET", key, "time /a", MAX_COUNT - 2))
    rise = partial(store.counters.send, store.counters.change([("/a", "time", 1)]))
    for _ in range(4):
        last = await asyncio.gather(*(awaited(rise) for _ in range(visitors)))
    (stored,) = await store.counters.read(["time /a"])
    assert MAX_COUNT - visitors < stored <= MAX_COUNT
    assert last[-1] == [stored]


@pytest.mark.parametrize("damaged", [-2, -3, -9])
async def test_a_count_that_was_damaged_and_is_below_zero_starts_anew(
    store: Store, damaged: int
) -> None:
    key = store.keys.counts("time /a")
    await store.redis.change(("HSET", key, "time /a", damaged))
    rise = partial(store.counters.send, store.counters.change([("/a", "time", 1)]))
    assert await asyncio.gather(*(awaited(rise) for _ in range(3))) == [[1], [2], [3]]
    assert await store.counters.read(["time /a"]) == [3]


async def test_a_counter_that_never_rose_takes_no_memory(store: Store) -> None:
    assert await store.counters.add([("/a", "reaction0", -1)]) == [0]
    assert (await store.redis.client.hscan(store.keys.counts("time /a"), count=10_000))[1] == {}


async def test_paths_of_every_kind_are_told_apart(store: Store) -> None:
    paths = ["/a", "/a/", " /a ", "/A", "", "/中文/😀", "/o'q\"\\z%", "/a}{b", "x" * 2048, "/a\0"]
    await store.counters.add(
        [(path, "time", 1) for path in paths for _ in range(len(path) % 3 + 1)]
    )
    assert await store.counters.read(Counters.names(paths, ["time"])) == [
        len(path) % 3 + 1 for path in paths
    ]


async def test_a_damaged_bucket_fails_only_for_its_own_counters(store: Store) -> None:
    await store.counters.add([("/good", "time", 1)])
    keys = {f"/bad/{n}": store.keys.counts(f"time /bad/{n}") for n in range(99)}
    sound = {store.keys.counts(f"time {path}") for path in ("/good", "/new")}
    other, other_key = next(item for item in keys.items() if item[1] not in sound)
    await store.redis.client.set(other_key, "text")
    bad, good = await asyncio.gather(
        store.counters.add([(other, "time", 1)]),
        store.counters.add([("/good", "time", 1)]),
        return_exceptions=True,
    )
    assert isinstance(bad, Exception)
    assert "WRONGTYPE" in str(bad)
    assert good == [2]
    bad, good, new = await asyncio.gather(
        store.counters.read([f"time {other}"]),
        store.counters.read(["time /good"]),
        store.counters.read(["time /new"]),
        return_exceptions=True,
    )
    assert "WRONGTYPE" in str(bad)
    assert (good, new) == ([2], [0])
