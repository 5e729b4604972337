"""The sum of all counters of views, which each script that changes some keeps."""

import asyncio

import pytest

from footfall.data.imports import Imports, Way
from footfall.data.store import Store
from footfall.driver.keys import GROUPS
from footfall.driver.walks import walked
from footfall.maintenance.prune import remove_named
from footfall.statistics.past_store import PageChange
from footfall.statistics.store import every_month
from tests.support.backups import report
from tests.support.past_logs import past_views

LONG = "/" + "long" * 100
PATHS = [*(f"/{n}" for n in range(40)), LONG]


@pytest.fixture
async def undated(store: Store) -> Store:
    """The same data set as a service without statistics has it."""
    undated = Store(store.redis, prefix=store.keys.prefix, buckets=store.keys.buckets)
    await undated.open()
    return undated


async def sum_of_counters(store: Store) -> int:
    found = [counts async for _, counts in walked(store.redis, store.keys.every_counts())]
    return sum(int(n) for counts in found for at, n in counts.items() if at.startswith(b"time "))


async def agreed(store: Store) -> int | None:
    """The views ever, which are all counters of views."""
    total = await store.views_ever.total()
    assert total == await sum_of_counters(store)
    return total


async def viewed(store: Store, *paths: str, times: int = 1) -> None:
    await store.counters.add([(path, "time", times) for path in paths])


async def test_a_new_data_set_knows_its_views_from_the_first_one_on(store: Store) -> None:
    assert await agreed(store) == 0
    await viewed(store, *PATHS, *PATHS)
    assert await agreed(store) == 82
    await store.counters.add([("/0", "reaction0", 7), ("/none", "time", -1)])
    assert await agreed(store) == 82


async def test_corrections_are_part_of_the_sum(store: Store) -> None:
    await viewed(store, "/a", "/b", times=5)
    await store.counters.correct("/a", "time", 40)
    await store.counters.correct("/b", "time", -9)
    assert await agreed(store) == 45


@pytest.mark.parametrize(("way", "sum"), [("max", 12), ("sum", 17), ("replace", 9)])
@pytest.mark.parametrize("is_dated", [True, False])
async def test_imported_counts_are_part_of_the_sum_once(
    store: Store, way: Way, sum: int, *, is_dated: bool
) -> None:
    moment = store.moment if is_dated else None
    imports = Imports(store.redis, store.scripts, store.keys, moment)
    await viewed(store, "/a", times=5)
    await viewed(store, "/b", times=3)
    # So many of each, and of a reaction; the last one starts.
    for name, count in (("time /a", 5), ("time /b", 0), ("reaction0 /a", 9), ("time /c", 4)):
        for _ in range(2):
            await imports.merge([(imports.place(name), name, count)], way, of=name, number=1)
    assert await agreed(store) == sum


async def test_removed_counters_are_no_part_of_it_any_more(store: Store) -> None:
    await viewed(store, "/a", "/b", LONG, times=5)
    await store.counters.add([("/a", "reaction0", 7)])
    names = ["time /a", "reaction0 /a", f"time {LONG}", "time /none"]
    for _ in range(2):
        await remove_named(store.redis, store.scripts, store.keys, store.views, names)
    assert await agreed(store) == 5


@pytest.mark.parametrize(("counts", "sum"), [(True, 12), (False, 7)])
async def test_views_of_the_past_are_part_of_it_if_counters_get_them(
    store: Store, sum: int, *, counts: bool
) -> None:
    last, this = every_month()[2], every_month()[1]
    past = past_views(store, 10**9, (last, this))
    await viewed(store, "/a", times=7)
    change = PageChange("/a", 100 * last + 3, 5, 2, {})
    for _ in range(2):
        await past.add("0 0", [change], counts=counts)
    assert await agreed(store) == sum


async def test_views_without_a_day_are_part_of_it(store: Store, undated: Store) -> None:
    await viewed(undated, *PATHS, times=3)
    await viewed(store, *PATHS)
    assert await agreed(store) == 164
    await undated.counters.add([("/0", "reaction0", 7), ("/0", "time", -1), ("/none", "time", -1)])
    assert await agreed(undated) == 163


@pytest.mark.parametrize("value", ["text", "-5", "9" * 40, ""])
async def test_a_damaged_counter_is_no_part_of_it(store: Store, value: str) -> None:
    await viewed(store, "/a", "/b")
    await store.redis.change(("HSET", store.keys.counts("time /a"), "time /a", value))
    assert [text async for text in store.views_ever.problems(repair=True)] != []
    assert await store.views_ever.total() == 1


@pytest.mark.parametrize("damage", ["HDEL", "HINCRBY", "word"])
async def test_a_wrong_sum_is_named_and_repaired(store: Store, damage: str) -> None:
    await viewed(store, "/a", times=5)
    key = store.keys.numbers_beside(store.keys.counts("time /a"))
    commands: dict[str, tuple[object, ...]] = {
        "HDEL": ("HDEL", key, "views"),
        "HINCRBY": ("HINCRBY", key, "views", 7),
        "word": ("HSET", key, "views", "many"),
    }
    await store.redis.change(commands[damage])
    wrong = {"HDEL": "-5", "HINCRBY": "+7", "word": "-5"}[damage]
    problem = f"counters: the sum of all views is wrong by {wrong}"
    assert (await report(store))[:-1] == [problem]
    assert (await report(store, repair=True))[:-1] == [f"{problem} (repaired)"]
    assert (await report(store))[:-1] == []
    assert await agreed(store) == 5


@pytest.mark.parametrize("value", ["many", "9" * 18, ""])
async def test_a_share_that_is_no_number_is_repaired_and_counts_again(
    store: Store, value: str
) -> None:
    """Whatever group it is of, also that in which a sum is corrected."""
    await viewed(store, *PATHS)
    for group in range(GROUPS):
        await store.redis.change(("HSET", store.keys.numbers(group), "views", value))
    assert (await report(store, repair=True))[-2].endswith("(repaired)")
    await viewed(store, *PATHS)
    assert await agreed(store) == 2 * len(PATHS)
    assert (await report(store))[:-1] == []


async def test_a_check_says_nothing_while_views_are_counted(store: Store) -> None:
    async def check() -> list[str]:
        return [text async for text in store.views_ever.problems(repair=True)]

    views = (viewed(store, *PATHS) for _ in range(GROUPS))
    found, *_ = await asyncio.gather(check(), *views)
    assert found == []
    await agreed(store)


async def test_a_repaired_number_of_counters_leaves_the_sum(store: Store) -> None:
    await viewed(store, "/a", times=5)
    key = store.keys.numbers_beside(store.keys.counts("time /a"))
    await store.redis.change(("HSET", key, "counts", 7))
    await store.numbers.recount(mends=True)
    assert await agreed(store) == 5
