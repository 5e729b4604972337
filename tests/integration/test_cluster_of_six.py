"""What only a Cluster of several nodes does: failovers, moving slots, reads from replicas.

Tests of other modules that only need a store run on this cluster, too (kind "cluster").
"""

import asyncio
import contextlib
import signal
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from footfall.callbacks import fulfil
from footfall.data.store import Rate, Store
from footfall.driver import cluster
from footfall.driver.batch import MAX_NODE_BATCHES_IN_FLIGHT
from footfall.driver.client import connect
from footfall.driver.cluster import SLOTS, Cluster, slot_of
from footfall.driver.commands import pack
from footfall.driver.keys import Keys
from footfall.driver.replies import ErrorReply
from footfall.errors import StoreUnavailable
from footfall.ids import IdGenerator, digest
from footfall.limits.buckets import Bucket
from footfall.model import FSYNC, MEMORY, PUBLIC, Draft, Durability
from tests.conftest import REAL
from tests.support import extent
from tests.support.backups import report
from tests.support.clusters import MASTERS, RealCluster, clustered
from tests.support.servers import program_of
from tests.support.sites import safety_of

Change = Callable[[str], Awaitable[object]]


@pytest.fixture(scope="module", params=extent.servers(REAL, __name__))
def own(request: pytest.FixtureRequest, home: Path) -> Iterator[RealCluster]:
    """A cluster that a test may damage."""
    with (
        tempfile.TemporaryDirectory(dir=home) as name,
        clustered(program_of(request.param), Path(name)) as cluster,
    ):
        yield cluster


Open = Callable[..., Awaitable[Store]]


@pytest.fixture
async def open_store(own: RealCluster, request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    stores: list[Store] = []

    async def open_(
        durability: Durability = MEMORY, *, asks_replicas: bool = False, seconds: float = 1.0
    ) -> Store:
        redis = connect(own.url, seconds, durability, asks_replicas=asks_replicas)
        prefix = f"c{abs(hash(request.node.name)) % 10**6}"
        store = Store(redis, prefix=prefix, buckets=1024)
        safety_of(store, durability)
        stores.append(store)
        await store.create()
        return store

    yield open_
    for store in stores:
        await store.redis.close()


class Trickle:
    """Counts paths of all slots, one after the other, for as long as it is told to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_over = False
        self.accepted = Counter[str]()
        self.unknown = Counter[str]()
        self.task = asyncio.create_task(self._go())

    async def _go(self) -> None:
        number = 0
        while not self._is_over:
            number += 1
            path = f"/{number % 50}"
            try:
                await self._store.counters.add([(path, "time", 1)])
                self.accepted[path] += 1
            except StoreUnavailable:
                self.unknown[path] += 1
                await asyncio.sleep(0.01)

    async def goes_well(self, times: int = 100) -> None:
        """Wait until so many in a row were accepted."""
        async with asyncio.timeout(60):
            while True:
                before, failed = self.accepted.total(), self.unknown.total()
                while self.accepted.total() < before + times and self.unknown.total() == failed:
                    await asyncio.sleep(0.001)
                if self.unknown.total() == failed:
                    return

    async def end(self) -> None:
        """Stop; every path's count is at least what was accepted, and at most that and what is
        unknown."""
        self._is_over = True
        await self.task
        paths = [f"/{n}" for n in range(50)]
        counts = await self._store.counters.read([f"time {path}" for path in paths])
        for path, count in zip(paths, counts, strict=True):
            most = self.accepted[path] + self.unknown[path]
            assert self.accepted[path] <= count <= most, path


async def whole(cluster: RealCluster) -> None:
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(cluster.is_whole):
            await asyncio.sleep(0.02)


def test_a_slot_is_found_as_redis_finds_it(own: RealCluster) -> None:
    keys = Keys("ff", 65536)
    for key in (
        keys.counts("time /a"),
        keys.page("abc", "bodies"),
        keys.site("recent"),
        "{}x",
        "a{b",
    ):
        expected = own.ask(0, "CLUSTER", "KEYSLOT", key)
        assert slot_of(pack("GET", key)) == slot_of(pack("MEMORY", "USAGE", key)) == expected
        assert slot_of(pack("EVALSHA", "0" * 40, 2, key, "other", "x")) == expected
        assert slot_of(pack("EVAL", "return 1\nend", 1, key)) == expected


def test_counters_and_pages_are_spread_over_the_masters() -> None:
    keys = Keys("ff", 65536)
    for name in ("counts", "page"):
        masters = Counter(
            slot_of(
                pack(
                    "GET",
                    keys.counts(f"time /{n}")
                    if name == "counts"
                    else keys.page(f"{n:016x}", "path"),
                )
            )
            * MASTERS
            // SLOTS
            for n in range(3000)
        )
        assert min(masters.values()) > 700, name


async def test_a_master_is_killed_and_its_replica_takes_over(
    own: RealCluster, open_store: Open
) -> None:
    store = await open_store(Durability("replica", 1))
    trickle = Trickle(store)
    await trickle.goes_well()
    victim = own.masters()[0]
    await asyncio.to_thread(own.nodes[victim].kill)
    await whole(own)
    # Alone, the new master cannot give this guarantee; paths of the others are counted.
    async with asyncio.timeout(60):
        accepted = trickle.accepted.total()
        while trickle.accepted.total() < accepted + 20:
            await asyncio.sleep(0.001)
    assert trickle.unknown.total() > 0
    await asyncio.to_thread(own.nodes[victim].start)
    await whole(own)
    await trickle.goes_well()
    await trickle.end()
    assert (await report(store))[:-1] == []


async def test_a_failover_by_hand_loses_nothing(own: RealCluster, open_store: Open) -> None:
    store = await open_store()
    trickle = Trickle(store)
    await trickle.goes_well()
    replica = next(i for i in range(2 * MASTERS) if i not in own.masters())
    own.ask(replica, "CLUSTER", "FAILOVER")
    async with asyncio.timeout(60):
        while replica not in await asyncio.to_thread(own.masters):
            await asyncio.sleep(0.01)
    await trickle.goes_well()
    await trickle.end()


async def test_a_slot_moves_under_load(own: RealCluster, open_store: Open) -> None:
    store = await open_store()
    trickle = Trickle(store)
    await trickle.goes_well()
    slot = slot_of(pack("GET", store.keys.counts("time /7")))
    await asyncio.to_thread(own.move, slot)
    await trickle.goes_well()
    await trickle.end()
    assert trickle.unknown.total() == 0, "nobody notices"


async def test_reads_go_to_replicas_and_changes_to_masters(
    own: RealCluster, open_store: Open
) -> None:
    writer = await open_store(Durability("replica", 1))
    # A replica that was unreachable is not asked for a moment, and the reader may ask any node who
    # is one.
    async with asyncio.timeout(60):
        while not all_know_replicas(own):
            await asyncio.sleep(0.05)
    reader = await open_store(asks_replicas=True)
    for n in range(30):
        assert await reader.counters.add([(f"/r{n}", "time", 1)]) == [1]
    # A replica has acknowledged it, so readers of replicas see it.
    await writer.counters.add([("/w", "time", 1)])
    before = {i: reads_of(own, i) for i in range(2 * MASTERS)}
    assert await reader.counters.read(["time /w"]) == [1]
    for _ in range(10):
        await reader.counters.read([f"time /r{n}" for n in range(30)])
    masters = own.masters()
    grown = {i: reads_of(own, i) - before[i] for i in before}
    assert sum(grown[i] for i in grown if i not in masters) >= 30
    assert sum(grown[i] for i in masters) == 0


def all_know_replicas(cluster: RealCluster) -> bool:
    """Does each node know a replica for each range of slots?"""
    maps = [cluster.ask(i, "CLUSTER", "SLOTS") for i in range(2 * MASTERS)]
    return all(len(nodes) == 2 for ranges in maps for _, _, *nodes in ranges)


def reads_of(cluster: RealCluster, node: int) -> int:
    return calls_of(cluster, node, "hget")


async def test_without_its_replicas_reads_go_to_the_masters(
    own: RealCluster, open_store: Open
) -> None:
    reader = await open_store(asks_replicas=True)
    await reader.counters.add([("/x", "time", 1)])
    replicas = [i for i in range(2 * MASTERS) if i not in own.masters()]
    for i in replicas:
        await asyncio.to_thread(own.nodes[i].kill)
    assert await reader.counters.read(["time /x"]) == [1]
    for i in replicas:
        await asyncio.to_thread(own.nodes[i].start)
    await whole(own)


def node_of(own: RealCluster, store: Store, key: str) -> int:
    """The node that this store asks for a key."""
    assert isinstance(store.redis.sender, Cluster)
    name = store.redis.sender.node_of(slot_of(pack("GET", key)))
    return own.ports.index(int(name.rpartition(":")[2]))


async def replica_of(own: RealCluster, store: Store, path: str) -> int:
    """The replica that is asked for a path's counters; earlier tests may have stopped others."""
    await whole(own)
    masters = own.masters()
    async with asyncio.timeout(60):
        while (node := node_of(own, store, store.keys.counts(f"time {path}"))) in masters:
            await safety_of(store).check()
            await asyncio.sleep(0.05)
    return node


async def turns() -> None:
    """Let the event loop turn, so that a batch that is forming may leave."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_frozen_master_delays_only_requests_for_its_slots(
    own: RealCluster, open_store: Open
) -> None:
    # Longer than all of this takes, so requests for the frozen node wait to the end.
    store = await open_store(seconds=60)
    keys = store.keys
    paths = [f"/{n}" for n in range(60)]
    for path in paths:
        await store.counters.add([(path, "time", 1)])
        await store.comments.version(path)
    at = {path: node_of(own, store, keys.counts(f"time {path}")) for path in paths}
    page_at = {path: node_of(own, store, keys.page(digest(path), "version")) for path in paths}
    frozen = own.masters()[0]
    cold = [path for path in paths if at[path] == frozen]
    warm = [path for path in paths if at[path] != frozen]
    own.nodes[frozen].signal(signal.SIGSTOP)
    try:
        stuck: list[asyncio.Task[object]] = []
        for path in cold[: 2 * MAX_NODE_BATCHES_IN_FLIGHT]:
            stuck.append(asyncio.create_task(store.counters.add([(path, "time", 1)])))
            await turns()
        stuck.append(
            asyncio.create_task(store.counters.read([f"time {cold[0]}", f"time {warm[0]}"]))
        )
        stuck += [
            asyncio.create_task(store.comments.version(path))
            for path in paths
            if page_at[path] == frozen
        ]
        await turns()
        assert store.batch.waiting > 0, "more than may be under way"
        assert len({at[path] for path in warm}) == MASTERS - 1
        for path in warm:
            assert await store.counters.add([(path, "time", 1)]) == [2]
        # Requests for several nodes at once.
        assert await store.counters.read([f"time {path}" for path in warm]) == [2] * len(warm)
        for path in paths:
            if page_at[path] != frozen:
                assert await store.comments.version(path) == 0
        assert not any(each.done() for each in stuck)
    finally:
        own.nodes[frozen].signal(signal.SIGCONT)
    # The frozen master answers its own requests, or says that it is a replica by now.
    await asyncio.gather(*stuck, return_exceptions=True)
    await whole(own)


async def test_a_frozen_replica_gets_a_share_of_the_time_and_is_then_left_alone(
    own: RealCluster, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = await open_store(asks_replicas=True, seconds=2.0)
    await reader.counters.add([("/x", "time", 7)])
    replica = await replica_of(own, reader, "/x")
    async with asyncio.timeout(60):
        while await reader.counters.read(["time /x"]) != [7]:
            await asyncio.sleep(0.01)
    # This key must not be read while a node is frozen.
    masters = own.masters()
    monkeypatch.setattr(cluster, "AVOID_SECONDS", 3600)
    before = reads_of(own, replica)
    own.nodes[replica].signal(signal.SIGSTOP)
    try:
        for _ in range(20):
            assert await reader.counters.read(["time /x"]) == [7]
        assert node_of(own, reader, reader.keys.counts("time /x")) in masters
    finally:
        own.nodes[replica].signal(signal.SIGCONT)
    await whole(own)
    assert reads_of(own, replica) <= before + 1, "only the first was sent there"


async def test_a_frozen_master_is_told_apart_from_those_that_answer(
    own: RealCluster, open_store: Open
) -> None:
    store = await open_store()
    assert Counter(await safety_of(store).roles(0.5)) == {"master": 3}
    frozen = own.nodes[own.masters()[0]]
    frozen.signal(signal.SIGSTOP)
    try:
        assert Counter(await safety_of(store).roles(0.25)) == {"master": 2, "away": 1}
    finally:
        frozen.signal(signal.SIGCONT)
    await whole(own)


async def test_a_replica_that_is_back_is_asked_again(
    own: RealCluster, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "AVOID_SECONDS", 0)
    reader = await open_store(asks_replicas=True, seconds=2.0)
    assert await reader.counters.read(["time /x"]) == [0]
    replica = await replica_of(own, reader, "/x")
    own.nodes[replica].signal(signal.SIGSTOP)
    assert await reader.counters.read(["time /x"]) == [0]
    own.nodes[replica].signal(signal.SIGCONT)
    before = reads_of(own, replica)
    async with asyncio.timeout(60):
        while reads_of(own, replica) < before + 10:
            # Each refresh of the topology finds the replicas that there are.
            await safety_of(reader).check()
            assert await reader.counters.read(["time /x"]) == [0]


async def test_a_damaged_version_on_a_cluster_fails_only_for_its_readers(
    own: RealCluster, open_store: Open
) -> None:
    store = await open_store()
    key = store.keys.page(digest("/bad"), "version")
    own.ask(node_of(own, store, key), "RPUSH", key, "no number")
    found = await asyncio.gather(
        *(store.comments.version(path) for path in ("/bad", "/a", "/b", "/c")),
        return_exceptions=True,
    )
    assert isinstance(found[0], ErrorReply)
    assert found[1:] == [0] * 3


async def test_all_nodes_of_a_cluster_are_checked(own: RealCluster, open_store: Open) -> None:
    store = await open_store(Durability("everysec"))
    await safety_of(store).check()
    assert safety_of(store).problems == {}
    node = own.masters()[-1]
    own.ask(node, "CONFIG", "SET", "appendonly", "no")
    await safety_of(store).check()
    assert list(safety_of(store).problems) == ["no_file"]
    own.ask(node, "CONFIG", "SET", "appendonly", "yes")
    own.ask(node, "SCRIPT", "FLUSH")
    assert set((await safety_of(store).probe.answers()).values()) == {True}
    assert all(own.ask(node, "SCRIPT", "EXISTS", *store.scripts.digests))


async def test_a_cluster_is_checked_before_its_data_set_is_known(own: RealCluster) -> None:
    store = Store(connect(own.url, timeout=1.0), prefix="unknown", buckets=256)
    await safety_of(store).check()
    assert safety_of(store).problems == {}
    assert await safety_of(store).trouble() == ""
    await store.redis.close()


async def test_a_cluster_whose_data_is_gone_is_not_counted_on(
    own: RealCluster, open_store: Open
) -> None:
    store = await open_store()
    assert await store.counters.add([("/a", "time", 1)]) == [1]
    key = store.keys.site("format")
    await store.redis.client.delete(key)
    assert "lost its data" in await safety_of(store).trouble()
    for path in ("/a", "/b", "/c", "/d"):
        with pytest.raises(StoreUnavailable):
            await store.counters.add([(path, "time", 1)])
    store.redis.data_set_ids.expect(key, {})
    store.redis.data_set_ids.problem = ""
    assert await store.counters.read(["time /a", "time /b"]) == [1, 0]


async def test_each_node_is_asked_whether_it_flushes_by_itself(
    own: RealCluster, open_store: Open
) -> None:
    plain = await open_store()
    home = own.owner(slot_of(pack("GET", plain.keys.site("format"))))
    own.ask(home, "CONFIG", "SET", "appendfsync", "always")
    release = own.ask(home, "INFO", "server")["redis_version"]
    can_wait = [int(part) for part in release.split(".")[:2]] >= [7, 2]
    store = await open_store(FSYNC)

    def calls(name: str) -> dict[int, int]:
        return {i: calls_of(own, i, name) for i in own.masters()}

    changed, waited, acknowledged = calls("evalsha"), calls("waitaof"), 0
    for n in range(30):
        with contextlib.suppress(StoreUnavailable):
            await store.counters.add([(f"/{n}", "time", 1)])
            acknowledged += 1
    changes = {i: number - changed[i] for i, number in calls("evalsha").items()}
    waits = {i: number - waited[i] for i, number in calls("waitaof").items()}
    assert all(changes.values())
    assert sum(changes.values()) == 30
    if can_wait:
        assert (acknowledged, waits) == (30, {**changes, home: 0})
    else:
        # Nodes that cannot be asked acknowledge nothing.
        assert acknowledged == changes[home]
    own.ask(home, "CONFIG", "SET", "appendfsync", "everysec")


async def test_tokens_are_taken_on_masters_and_do_not_wait_for_replicas(
    own: RealCluster, open_store: Open
) -> None:
    store = await open_store(Durability("replica", 1), asks_replicas=True, seconds=60)
    masters = own.masters()
    replicas = [i for i in range(2 * MASTERS) if i not in masters]

    def calls(nodes: list[int], name: str) -> int:
        return sum(calls_of(own, i, name) for i in nodes)

    read, waited = calls(replicas, "evalsha"), calls(masters, "wait")
    loop = asyncio.get_running_loop()
    futures: list[asyncio.Future[list[int]]] = []
    for n in range(20):
        futures.append(loop.create_future())
        store.buckets.take([Bucket(f"address {n}", Rate(1, 1))], 1, fulfil(futures[-1]))
    assert await asyncio.gather(*futures) == [[0]] * 20
    assert (calls(replicas, "evalsha"), calls(masters, "wait")) == (read, waited)


async def test_a_script_for_a_node_that_is_away_raises(own: RealCluster, open_store: Open) -> None:
    store = await open_store()
    await store.site.total(PUBLIC)
    await store.redis.close()
    with pytest.raises(StoreUnavailable):
        await store.comments.page("/p", first=0, size=1, order="insertedAt_desc", viewer=PUBLIC)


async def test_the_check_before_a_comment_reads_from_masters(
    own: RealCluster, open_store: Open
) -> None:
    store = await open_store(asks_replicas=True)
    replicas = [i for i in range(2 * MASTERS) if i not in own.masters()]

    def lookups() -> int:
        return sum(calls_of(own, i, "hget") for i in replicas)

    before = lookups()
    for n in range(20):
        assert (await store.comments.before(Draft("words", f"/p{n}"))).root is None
        assert await store.comments.by_ids([IdGenerator().new(1, f"/p{n}")]) == []
    assert lookups() == before


def calls_of(cluster: RealCluster, node: int, name: str) -> int:
    stats = cluster.ask(node, "INFO", "commandstats")
    return int(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"])


async def test_nodes_that_say_no_host_are_at_the_one_that_was_asked(
    own: RealCluster, open_store: Open
) -> None:
    with own.saying("unknown-endpoint"):
        store = await open_store()
        changes = [(f"/{n}", "time", 1) for n in range(50)]
        assert await store.counters.add(changes) == [1] * 50
        assert all("None" not in name for name in store.redis.names())


async def test_a_map_without_hosts_takes_the_place_of_none_that_worked(
    own: RealCluster, open_store: Open
) -> None:
    store = await open_store()
    changes = [(f"/{n}", "time", 1) for n in range(50)]
    assert await store.counters.add(changes) == [1] * 50
    with own.saying("hostname"):
        with pytest.raises(StoreUnavailable) as found:
            await store.redis.masters()
        assert "cluster-announce-hostname" in str(found.value.__cause__)
        assert await store.counters.add(changes) == [2] * 50
        with pytest.raises(StoreUnavailable) as found:
            await open_store()
        assert "cluster-announce-hostname" in str(found.value.__cause__)
    await store.redis.masters()
    assert await store.counters.add(changes) == [3] * 50
