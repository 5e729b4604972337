"""How many counters there are: kept by the scripts that start and remove them, and made again by
lua/counters/recount.lua."""

import asyncio
import os
from collections.abc import Sequence

import pytest

from footfall.counting.quota import CounterQuota, CounterTotals
from footfall.data.imports import Imports, Way
from footfall.data.store import Store
from footfall.driver.keys import WEIGHTS, weight
from footfall.maintenance.prune import MatchingCounters, remove
from tests.support.backups import report

LONG = "/" + "long" * 100


async def agreed(store: Store) -> CounterTotals:
    """How many counters there are, by the numbers that are kept and by the hashes' lengths."""
    kept = await store.numbers.total()
    assert kept == await store.numbers.recount(mends=False)
    return kept


async def test_the_numbers_rise_with_each_counter_that_starts(store: Store) -> None:
    assert await agreed(store) == await store.numbers.total()
    paths = [*(f"/{n}" for n in range(40)), LONG, "/" + "x" * 90]
    # The same one twice in a batch starts once.
    await store.counters.add([(path, "time", 1) for path in (*paths, *paths)])
    await store.counters.add([(path, "time", 1) for path in paths])
    await store.counters.add([("/0", "reaction0", 1), ("/1", "reaction1", 7)])
    await store.counters.add([("/none", "reaction0", -1), ("/none", "time", 0)])
    counted = await agreed(store)
    assert counted.number == 44
    assert counted.weight == 42 + weight(f"time {LONG}") + weight("time /" + "x" * 90)


async def test_a_count_that_comes_down_to_zero_is_no_counter_any_more(store: Store) -> None:
    up, down = ("/a", "reaction0", 1), ("/a", "reaction0", -1)
    await store.counters.add([up, ("/b", "time", 3)])
    assert await store.counters.add([down, down, up, down]) == [0, 0, 1, 0]
    key = store.keys.counts("reaction0 /a")
    assert await store.redis.ask_masters(("HEXISTS", key, "reaction0 /a")) == [0]
    assert (await agreed(store)).number == 1
    assert await store.counters.add([up]) == [1]
    assert await store.counters.add([("/b", "time", -9)]) == [0]
    assert (await agreed(store)).number == 1


async def test_the_numbers_are_right_whoever_counts_at_the_same_time(store: Store) -> None:
    other = Store(store.redis, prefix=store.keys.prefix, buckets=256)
    await other.open()
    up = [(f"/{n}", "reaction0", 1) for n in range(30)]
    down = [(path, type, -1) for path, type, _ in up]
    changes = [
        each.counters.add(part)
        for each in (store, other) * 4
        for part in (up[:20], down[5:], up[10:])
    ]
    await asyncio.gather(*changes, store.numbers.recount(mends=True), other.numbers.recount_one())
    await agreed(store)


@pytest.mark.parametrize("way", ["max", "sum", "replace"])
async def test_an_import_starts_counters_and_may_end_them(store: Store, way: Way) -> None:
    imports = Imports(store.redis, store.scripts, store.keys)
    await store.counters.add([("/a", "time", 5)])
    for number, name, count in ((1, "time /a", 0), (2, "time /a", 3), (3, "time /a", 3)):
        await imports.merge([(imports.place(name), name, count)], way, of="x", number=number)
    name = f"time {LONG}"
    await imports.merge([(imports.place(name), name, 7)], way, of="y", number=1)
    await imports.merge([(imports.place("time /b"), "time /b", 0)], way, of="z", number=1)
    assert (await agreed(store)).number == 2
    if way == "replace":
        await imports.merge([(imports.place(name), name, 0)], way, of="y", number=2)
        assert (await agreed(store)).number == 1


async def test_what_an_operator_removes_is_no_longer_counted(store: Store) -> None:
    await store.counters.add([("/a", "time", 5), (LONG, "time", 1), ("/b", "time", 2)])
    for name, count in ((f"time {LONG}", b"1"), ("time /a", b"5"), ("time /b", b"7")):
        found = {name.encode(): count}
        await remove(
            store.scripts, store.views, MatchingCounters(store.keys.counts(name), found, 1)
        )
    # Of the last one another count was read.
    assert (await agreed(store)).number == 1


async def test_workers_that_have_read_the_numbers_keep_to_the_limit_together(store: Store) -> None:
    """Until one reads them, as it does every minute, it knows of no new counters but its own."""
    other = Store(store.redis, prefix=store.keys.prefix, buckets=256)
    await other.open()
    for each in (store, other):
        each.quota = CounterQuota(each.redis, each.keys, each.numbers, 100)
    refused = 0
    for n in range(20):
        each = (store, other)[n % 2]
        await each.quota.read()
        paths = [f"/{n}/{i}" for i in range(10)]
        if await each.quota.allows([f"time {path}" for path in paths]):
            await each.counters.add([(path, "time", 1) for path in paths])
        else:
            refused += 1
    assert (refused, await agreed(store)) == (10, await store.numbers.total())
    assert (await store.numbers.total()).weight == 100
    assert await store.quota.allows(["time /0/0", "time /1/9"])
    assert not await other.quota.allows(["time /0/0", "time /new"])


async def stored(store: Store, names: Sequence[str], count: int) -> None:
    await store.redis.change(*(("HSET", store.keys.counts(name), name, count) for name in names))


async def test_an_old_zero_that_falls_is_removed(store: Store) -> None:
    await stored(store, ["reaction0 /a"], 0)
    await store.numbers.recount(mends=True)
    assert await store.counters.add([("/a", "reaction0", -1)]) == [0]
    assert (await agreed(store)).number == 0


async def test_a_recount_that_was_interrupted_starts_over(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stored(store, [f"time /{n}" for n in range(500)], 1)
    with monkeypatch.context() as patch:
        patch.setattr("footfall.driver.groups.GROUPS", 100)
        await store.numbers.recount(mends=True)
    await store.counters.add([(f"/more/{n}", "time", 1) for n in range(500)])
    await store.numbers.recount(mends=True)
    assert (await agreed(store)).number == 1000


@pytest.mark.parametrize("damage", ["DEL", "HSET", "SET", "word"])
async def test_a_wrong_number_is_named_and_repaired_and_stops_no_counter(
    store: Store, damage: str
) -> None:
    path = f"/{os.urandom(4).hex()}"
    await store.counters.add([(path, "time", 1)])
    assert (await report(store))[:-1] == []
    key = store.keys.numbers_beside(store.keys.counts(f"time {path}"))
    commands: dict[str, list[tuple[object, ...]]] = {
        "DEL": [("DEL", key)],
        "HSET": [("HSET", key, "counts", 7)],
        "SET": [("DEL", key), ("SET", key, "text")],
        "word": [("HSET", key, "counts", "many")],
    }
    await store.redis.change(*commands[damage])
    assert await store.counters.add([(path, "time", 1), (path, "reaction0", 1)]) == [2, 1]
    problems = (await report(store))[:-1]
    wrong = {"DEL": "1", "HSET": "8", "SET": "?", "word": "many"}[damage]
    assert f"counters: {key} has {wrong} for counts instead of 2" in problems
    # Of text that is not a hash, all kinds are wrong, and the sum of views; without a key also.
    assert len(problems) == {"DEL": 2, "SET": len(WEIGHTS) + 1}.get(damage, 1)
    assert (await report(store, repair=True))[:-1] == [
        f"{problem} (repaired)" for problem in problems
    ]
    assert (await report(store))[:-1] == []
    assert (await agreed(store)).number == 2
