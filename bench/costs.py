"""What a batch costs Redis and this process, by its size; what a counter takes, by its bucket's.

The service's own store sends the batches, over several connections at once as several workers
would, and Redis says what it did: INFO's commandstats count commands and time scripts; its CPU time
has the sockets in it as well. One connection's batches alone would show Redis falling asleep and
waking up, which it does not do when it is busy, and only then does its cost matter.
"""

import asyncio
import time
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from random import Random
from typing import Any

import uvloop
from redis import Redis
from redis.exceptions import RedisError

from service.app import open_store
from service.config import Settings
from service.domain.tolls import AT_ONCE
from service.ops.mix import zipf
from service.store import Rate, Store
from service.store.cluster import SLOTS
from service.store.connect import deliver
from service.store.keys import Keys

from .machine import free_port, started
from .peers import House, redis_program, redis_server
from .scenarios import PATHS, path

SIZES = (1, 4, 16, 64, 256, 1000)
# What requests want of a batch, and which commands Redis is sent for it.
KINDS = {
    "add": ("evalsha",),
    "spend": ("evalsha",),
    "read": ("evalsha",),
    "read, by Zipf": ("evalsha",),
    "version": ("mget", "get"),
}
MASTERS = 3
CONNECTIONS = 16
SECONDS = 0.4
# A power of two, as numbers of buckets are: each gets a whole number of them.
COUNTERS = 1 << 18
GROWTH = (10_000, 100_000, 1_000_000)
# Counters a bucket, and hash-max-listpack-entries: as the private server has it, and higher.
FILLS = (
    (1, 512), (4, 512), (16, 512), (64, 512), (128, 512), (256, 512), (512, 512), (1024, 512),
    (65_536, 512), (512, 2048), (1024, 2048),
)  # fmt: skip
# Asked at once while a fill is looked at.
AT_A_TIME = 64

Tell = Callable[[str], None]
Row = dict[str, Any]
Batch = Callable[[Store, int], Coroutine[Any, Any, None]]


class Servers:
    """One server, or the masters of a Cluster, and what they have done, as one."""

    def __init__(self, url: str, sockets: Sequence[str]) -> None:
        self.url = url
        self.admins: list[Any] = [Redis(unix_socket_path=socket) for socket in sockets]

    def cpu_us(self) -> float:
        facts = (admin.info("cpu") for admin in self.admins)
        kinds = ("used_cpu_user_main_thread", "used_cpu_sys_main_thread")
        return 1e6 * sum(float(each[kind]) for each in facts for kind in kinds)

    def commands(self) -> dict[str, tuple[int, int]]:
        """(calls, µs) by command, since `forget`."""
        total: dict[str, tuple[int, int]] = {}
        for admin in self.admins:
            for name, stats in admin.info("commandstats").items():
                calls, us = total.get(name.removeprefix("cmdstat_"), (0, 0))
                total[name.removeprefix("cmdstat_")] = calls + stats["calls"], us + stats["usec"]
        return total

    def used(self) -> int:
        return sum(int(admin.info("memory")["used_memory"]) for admin in self.admins)

    def each(self, *command: object) -> None:
        for admin in self.admins:
            admin.execute_command(*command)

    def store(self, buckets: int) -> Store:
        settings = Settings.from_env(
            {"REDIS_URL": self.url, "DURABILITY": "memory", "REDIS_TIMEOUT": "30",
             "COUNTER_BUCKETS": str(max(buckets, 256))}
        )  # fmt: skip
        store = open_store(settings, self.url)
        # Fewer than a setting may be, to see buckets as full as a billion counters make them.
        store.keys.buckets, store.keys._mask = buckets, buckets - 1
        return store


@contextmanager
def one_server(house: House) -> Iterator[Servers]:
    with redis_server(house, house.room("scale")) as (_, socket):
        yield Servers(f"unix://{socket}", [socket])


@contextmanager
def masters(house: House) -> Iterator[Servers]:
    """A Cluster on loopback, without replicas: slots in as many ranges of equal length."""
    with ExitStack() as stack:
        rooms, ports = [house.room("master") for _ in range(MASTERS)], []
        for room in rooms:
            ports.append(free_port())
            command = [
                redis_program(), "--port", str(ports[-1]), "--bind", "127.0.0.1",
                "--unixsocket", "s", "--cluster-enabled", "yes",
                "--cluster-port", str(free_port()), "--save", "", "--appendonly", "yes",
                "--appendfsync", "everysec",
            ]  # fmt: skip
            stack.enter_context(started(command, directory=room, cores=house.cores.load))
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        servers = Servers(f"redis://{hosts}?cluster=true", [str(room / "s") for room in rooms])
        for i, (admin, port) in enumerate(zip(servers.admins, ports, strict=True)):
            _wait_until(admin.ping)
            first, last = SLOTS * i // MASTERS, SLOTS * (i + 1) // MASTERS - 1
            admin.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
            admin.execute_command("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            bus = int(admin.config_get("cluster-port")["cluster-port"])
            servers.admins[0].execute_command("CLUSTER", "MEET", "127.0.0.1", port, bus)
        _wait_until(lambda: all(map(_is_whole, servers.admins)))
        yield servers


def _is_whole(admin: Any) -> bool:
    facts = admin.execute_command("CLUSTER INFO")
    return bool(facts["cluster_state"] == "ok" and int(facts["cluster_known_nodes"]) == MASTERS)


def _wait_until(is_done: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if is_done():
                return
        except RedisError:
            pass
        time.sleep(0.01)
    raise RuntimeError("a server of the Cluster did not come in time")


# Batches.


def of_batches(servers: Servers, tell: Tell) -> list[Row]:
    """A row for each kind and size: one batch's commands and µs."""
    return uvloop.run(_of_batches(servers, tell))


async def _of_batches(servers: Servers, tell: Tell) -> list[Row]:
    # One data set, a connection each.
    stores = [servers.store(16_384) for _ in range(CONNECTIONS)]
    await stores[0].open()
    rows = []
    for kind, sent in KINDS.items():
        tell(f"{kind}, nodes: {len(servers.admins)}")
        for size in SIZES:
            batch = partial(_batch, kind=kind, names=_names(kind))
            batches, us = await _play(servers, stores, batch, size)
            done = servers.commands()
            of = [done[name] for name in sent if name in done]
            # What a script runs is counted as well, but it is no command that was sent.
            run = sum(calls for calls, _ in done.values()) - done.get("config|resetstat", (0, 0))[0]
            if kind == "spend":
                of = of[:1]
            rows.append(
                {
                    "kind": kind, "size": size, "nodes": len(servers.admins),
                    "sent": sum(calls for calls, _ in of) / batches,
                    "run": run / batches, "script_us": sum(us for _, us in of) / batches,
                    "redis_us": us[0] / batches, "own_us": us[1] / batches,
                }
            )  # fmt: skip
    for store in stores:
        await store.close()
    return [{k: round(v, 3) if isinstance(v, float) else v for k, v in r.items()} for r in rows]


async def _play(
    servers: Servers, stores: Sequence[Store], batch: Batch, size: int
) -> tuple[int, tuple[float, float]]:
    """(batches, µs of Redis and of ourselves); each store sends the next when one has arrived."""
    numbers, end = count(), 0.0

    async def work(store: Store) -> None:
        while time.perf_counter() < end:
            await batch(store, size)
            next(numbers)

    for seconds in (SECONDS / 4, SECONDS):
        servers.each("CONFIG", "RESETSTAT")
        numbers, end = count(), time.perf_counter() + seconds
        redis, own = servers.cpu_us(), time.process_time()
        await asyncio.gather(*map(work, stores))
        us = servers.cpu_us() - redis, 1e6 * (time.process_time() - own)
    return next(numbers), us


def _names(kind: str) -> Iterator[str]:
    """Paths, one after the other or as visitors of a site would ask."""
    ranks = zipf(Random(kind), PATHS) if kind in ("add", "read, by Zipf") else _round()
    return map(path, ranks)


def _round() -> Iterator[int]:
    while True:
        yield from range(PATHS)


_RATE = Rate(100, max(AT_ONCE, 1000))


async def _batch(store: Store, size: int, *, kind: str, names: Iterator[str]) -> None:
    """So many requests in one turn of the event loop, which makes them one batch."""
    loop = asyncio.get_running_loop()
    waiting: list[asyncio.Future[list[int]]] = [loop.create_future() for _ in range(size)]
    for each in waiting:
        name, done = next(names), deliver(each)
        match kind:
            case "add":
                store.changes.add([(f"time {name}", 1)], done)
            case "spend":
                store.gate.spend(name, 1, _RATE, done)
            case "version":
                store.comments.ask_versions(name, done)
            case _:
                store.batch.read([f"time {name}"], done)
    for each in waiting:
        await each


# Memory.


def of_memory(servers: Servers, tell: Tell) -> dict[str, list[Row]]:
    """`growth`: in 16,384 buckets; `fills`: by how many share a bucket, and what one then costs."""
    grown = []
    for counters in GROWTH:
        tell(f"{counters:,} counters")
        grown.append({"counters": counters, **uvloop.run(_fill(servers, 16_384, counters, 512))})
    fills = []
    for fill, most in FILLS:
        tell(f"{fill:,} counters a bucket")
        found = uvloop.run(_fill(servers, COUNTERS // fill, COUNTERS, most))
        fills.append({"fill": fill, "limit": most, **found})
    return {"growth": grown, "fills": fills}


async def _fill(servers: Servers, buckets: int, counters: int, most: int) -> Row:
    servers.each("FLUSHALL", "SYNC")
    servers.each("CONFIG", "SET", "hash-max-listpack-entries", most)
    servers.each("CONFIG", "SET", "hash-max-listpack-value", 512)
    store, before = servers.store(buckets), servers.used()
    await store.scripts.load()
    for at in range(0, counters, 1000):
        changes = [("time", n) for n in range(at, min(at + 1000, counters))]
        await store.counters.add([(path(n), kind, 1) for kind, n in changes])
    found = {"bytes": round((servers.used() - before) / counters, 1)}
    random = Random("fills")
    for kind in ("add", "read"):
        names = (path(random.randrange(counters)) for _ in count())
        batch = partial(_batch, kind=kind, names=names)
        batches, (redis, _) = await _play(servers, [store], batch, AT_A_TIME)
        found[f"{kind}_us"] = round(redis / batches / AT_A_TIME, 3)
    if buckets >= 256:
        # What every worker asks once a minute.
        redis = servers.cpu_us()
        await store.room.count()
        found["count_us"] = round((servers.cpu_us() - redis) / buckets, 3)
    await store.close()
    return found


def bytes_a_bucket() -> float:
    """What a worker keeps of each bucket that it has met: its name."""
    keys = Keys("ff", 1 << 20)
    tracemalloc.start()
    try:
        for n in range(COUNTERS):
            keys.counts(path(n))
        return round(tracemalloc.get_traced_memory()[0] / len(keys._counts), 1)
    finally:
        tracemalloc.stop()
