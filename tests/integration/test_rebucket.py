"""Counters are moved to other buckets while services count: nothing is lost, nothing twice."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from service.store import Moving, Store
from service.store.connect import connect
from service.store.keys import Layout
from service.store.rebucket import rebucket
from service.store.wire import Command, Done, Door
from tests.conftest import EVERYWHERE, server_of
from tests.serving import serving
from tests.snapshots import report, taken

PATHS = [f"/{n}" for n in range(2000)]
NAMES = [f"time {path}" for path in PATHS]

Another = Callable[[], Awaitable[Store]]


@pytest.fixture(params=EVERYWHERE)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
async def another(
    store: Store, kind: str, request: pytest.FixtureRequest
) -> AsyncIterator[Another]:
    """Another service on the same data set."""
    if kind == "cluster":
        url = request.getfixturevalue("cluster").url
    else:
        url = server_of(kind, request.getfixturevalue("servers")).url
    stores: list[Store] = []

    async def another() -> Store:
        stores.append(Store(connect(url, timeout=5), prefix=store.keys.prefix, buckets=16_384))
        await stores[-1].open()
        return stores[-1]

    yield another
    for each in stores:
        await each.close()


class Stop(Exception):
    pass


def stop_at(share: float) -> Callable[[float], None]:
    def tell(done: float) -> None:
        if done >= share:
            raise Stop

    return tell


def silent(done: float) -> None:
    pass


async def fill(store: Store) -> None:
    await store.counters.add([(path, "time", n + 1) for n, path in enumerate(PATHS)])


async def counts(store: Store) -> list[int]:
    return await store.counters.read(NAMES)


EXPECTED = list(range(1, len(PATHS) + 1))


async def test_every_counter_lies_in_its_new_bucket(store: Store) -> None:
    await fill(store)
    for generation, buckets in enumerate((1024, 256), 1):
        assert await rebucket(store, buckets, silent) == len(PATHS)
        assert store.keys.layout == Layout(buckets, generation)
        assert await counts(store) == EXPECTED
    lines = await report(store)
    assert lines == [f"0 pages, 0 approved comments, 0 held, {len(PATHS)} counters, 0 problems"]


async def test_a_service_that_was_there_before_follows_by_itself(
    store: Store, another: Another
) -> None:
    await fill(store)
    reader, writer = await another(), await another()
    assert await counts(reader) == EXPECTED
    for buckets in (1024, 256, 512):
        await rebucket(store, buckets, silent)
    assert await counts(reader) == EXPECTED
    assert await writer.counters.add([(path, "time", 1) for path in [*PATHS, "/new"]]) == [
        *(n + 1 for n in EXPECTED),
        1,
    ]
    assert reader.keys.layout == writer.keys.layout == Layout(512, 3)


async def test_whoever_counts_meanwhile_counts_exactly(store: Store, another: Another) -> None:
    await fill(store)
    services = [await another(), await another()]
    is_moving = True

    async def visit(service: Store, first: int) -> int:
        """Count all paths again and again; how often each was."""
        rounds = 0
        while is_moving or not rounds:
            for start in range(0, len(PATHS), 100):
                part = PATHS[start : start + 100]
                answers = await service.counters.add([(path, "time", 1) for path in part])
                assert all(answer > start for answer in answers)
            rounds += 1
        return rounds

    visiting = [asyncio.create_task(visit(each, n)) for n, each in enumerate(services)]
    for buckets in (1024, 256):
        await rebucket(store, buckets, silent)
    is_moving = False
    times = sum(await asyncio.gather(*visiting))
    assert await counts(await another()) == [count + times for count in EXPECTED]
    assert (await report(store))[-1].endswith(", 0 problems")


async def test_what_was_interrupted_goes_on_and_services_find_all_of_it(
    store: Store, another: Another
) -> None:
    await fill(store)
    with pytest.raises(Stop):
        await rebucket(store, 1024, stop_at(0.5))
    found = await another()
    assert found.keys.next == Layout(1024, 1)
    assert await counts(found) == EXPECTED
    assert await counts(store) == EXPECTED
    with pytest.raises(Moving, match="moved to 1024 buckets"):
        await rebucket(found, 512, silent)
    assert 0 < await rebucket(found, 1024, silent) < len(PATHS)
    assert await counts(await another()) == EXPECTED


async def test_a_move_that_a_failover_took_back_loses_nothing_that_was_counted_since(
    store: Store, another: Another
) -> None:
    await fill(store)
    redis, keys = store.redis.client, store.keys
    held = {key: await redis.hgetall(key) for key in keys.every_counts()}
    with pytest.raises(Stop):
        await rebucket(store, 1024, stop_at(0.5))
    service = await another()
    assert await counts(service) == EXPECTED
    new = keys.next
    assert new is not None
    for bucket in range(new.buckets):
        await redis.unlink(keys.counts_of(bucket, new))
    for key, counters in held.items():
        await redis.unlink(key)
        if counters:
            await redis.hset(key, mapping=counters)
    for _ in range(2):
        await service.counters.add([(path, "time", 1) for path in PATHS])
    await rebucket(await another(), 1024, silent)
    assert await counts(await another()) == [count + 2 for count in EXPECTED]


class Late:
    """A door to a replica that has not heard yet how counters are spread."""

    def __init__(self, door: Door, found: list[bytes | None]) -> None:
        self._door = door
        self._found = found

    def ask(self, commands: Sequence[Command], done: Done, deadline: float) -> None:
        if b"HMGET" in commands[0]:
            done([self._found])
        else:
            self._door.ask(commands, done, deadline)

    async def close(self) -> None:
        await self._door.close()


async def test_whoever_asks_replicas_learns_from_the_master_where_counters_are(
    store: Store, another: Another
) -> None:
    await fill(store)
    service = await another()
    late = Late(service.redis.door, [b"%d" % store.keys.layout.buckets, None, None])
    service.layouts._redis = replace(service.redis, door=late)
    await rebucket(store, 1024, silent)
    assert await service.counters.add([("/0", "time", 1)]) == [2]
    assert await counts(service) == [2, *EXPECTED[1:]]


async def test_what_was_interrupted_may_be_left_for_long(store: Store) -> None:
    await fill(store)
    key = store.keys.counts("/0")
    await rebucket(store, 1024, silent)
    assert await store.redis.client.pttl(key) > 1000 * 300 * 24 * 3600


async def test_two_at_once_do_it_together(store: Store, another: Another) -> None:
    await fill(store)
    moved = await asyncio.gather(
        *(rebucket(each, 1024, silent) for each in (store, await another()))
    )
    assert sum(moved) == len(PATHS)
    assert await counts(store) == EXPECTED


async def test_the_same_number_of_buckets_moves_nothing(store: Store) -> None:
    await fill(store)
    assert await rebucket(store, store.keys.layout.buckets, silent) == 0
    assert store.keys.layout.generation == 0
    assert await counts(store) == EXPECTED


async def test_what_reads_all_buckets_waits_for_the_end(store: Store, another: Another) -> None:
    await fill(store)
    with pytest.raises(Stop):
        await rebucket(store, 1024, stop_at(0.5))
    found = await another()
    with pytest.raises(Moving):
        await report(found)
    with pytest.raises(Moving):
        await taken(found)


async def test_what_reads_all_buckets_ends_when_they_are_moved_meanwhile(
    store: Store, another: Another
) -> None:
    await fill(store)
    reader = await another()
    with pytest.raises(Stop):
        await rebucket(store, 1024, stop_at(0.5))
    with pytest.raises(Moving):
        await taken(reader)


async def test_a_full_house_is_neither_opened_nor_closed(store: Store, another: Another) -> None:
    await fill(store)
    room = (await another()).room
    room._limit = room._left = len(PATHS)
    await room.count()
    with pytest.raises(Stop):
        await rebucket(store, 1024, stop_at(0.5))
    await room.count()
    assert room.is_full
    assert await room.admits(NAMES[:1])


async def test_a_bucket_that_somebody_damaged_keeps_nobody_else_waiting(store: Store) -> None:
    await fill(store)
    await store.redis.client.set(store.keys.counts("/bad"), "text")
    bad, good = await asyncio.gather(
        store.counters.add([("/bad", "time", 1)]),
        store.counters.add([("/0", "time", 1)]),
        return_exceptions=True,
    )
    assert isinstance(bad, Exception)
    assert "WRONGTYPE" in str(bad)
    assert good == [2]


async def test_a_path_that_begins_while_its_bucket_is_read_is_moved_too(
    store: Store, another: Another, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(store)
    writer, ask = await another(), type(store.redis).ask
    begun: list[str] = []

    async def ask_and_begin(redis: object, *questions: tuple[object, ...]) -> list[object]:
        replies = await ask(store.redis, *questions)
        if questions[0][0] == "HKEYS" and len(begun) < 50:
            begun.append(f"/begun/{len(begun)}")
            await writer.counters.add([(begun[-1], "time", 7)])
        return replies

    monkeypatch.setattr(type(store.redis), "ask", ask_and_begin)
    await rebucket(store, 1024, silent)
    monkeypatch.undo()
    assert len(begun) == 50
    assert await store.counters.read([f"time {path}" for path in begun]) == [7] * 50
    assert await counts(store) == EXPECTED


def test_the_command_moves_them_under_a_running_service(own: Path) -> None:
    paths = ",".join(PATHS[:50])
    with serving(own / "it", COUNTER_BUCKETS="256") as served:
        changes = [{"path": path} for path in PATHS[:50]]
        httpx.post(f"{served.url}/api/article", json=changes).raise_for_status()
        moved = (0, "moved 50 counters from 256 buckets to 1,024\n")
        assert served.ask("rebucket", "1024") == moved
        already = (0, "counters lie in 1,024 buckets already\n")
        assert served.ask("rebucket", "1024") == already
        code, output = served.ask("rebucket", "1000")
        assert code == 2
        assert "must be a power of two, from 256 to 1048576" in output
        assert httpx.get(f"{served.url}/article", params={"path": paths}).json() == [1] * 50
        served.stop()
        served.start()
        assert httpx.get(f"{served.url}/article", params={"path": paths}).json() == [1] * 50
