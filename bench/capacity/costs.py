"""What a batch costs Redis and this process, by its size; what a counter takes, by the size of its
bucket.

The service's own store sends the batches, over several connections at once as several workers
would. Redis reports its costs: INFO's commandstats count commands, and its CPU time includes its
sockets. The batches of one connection would show Redis falling asleep and waking up, which a busy
Redis does not do, and only a busy one's cost matters. A row that other processes disturbed is
measured again; if all attempts were disturbed the calmest is kept, with a note of how much.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count, cycle
from random import Random
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from footfall.app import open_process, open_store
from footfall.callbacks import fulfil
from footfall.config import Settings
from footfall.counting.limits import MIN_BURST_CHANGES
from footfall.counting.packed import PackedChange
from footfall.driver.cluster import SLOTS
from footfall.driver.reads import PackedRead
from footfall.loadtest.workload import zipf
from footfall.store import Rate, Store

from ..machine import Cores, Watch, free_port, started
from ..measure import TRIES, wait_for_calm
from ..peers import Environment, redis_program, redis_server
from ..scenarios import PATHS, path
from ..stats import is_noisy

SIZES = (1, 4, 16, 64, 256)
# What requests want of a batch.
KINDS = ("add", "spend", "read", "read, by Zipf", "version")
# Commands that touch what is stored, most of them run by scripts.
RUN = ("hincrby", "hexists", "hget", "get", "set", "mget")
MASTERS = 3
CONNECTIONS = 16
SECONDS = 0.4
# A power of two, like numbers of buckets, so that each bucket gets a whole number of them.
COUNTERS = 1 << 18
# What batches and a million counters are measured in.
BUCKETS = 16_384
MILLION = 1_000_000
# Counters a bucket, and hash-max-listpack-entries: its default, and higher.
FILLS = (
    (1, 512),
    (4, 512),
    (16, 512),
    (64, 512),
    (128, 512),
    (256, 512),
    (512, 512),
    (1024, 512),
    (65_536, 512),
    (512, 2048),
    (1024, 2048),
)
# Counters in one batch while a fill is measured.
AT_A_TIME = 64

Row = dict[str, Any]
Batch = Callable[[Store, int], Awaitable[None]]


class Servers:
    """One server, or the masters of a Cluster, whose figures are added up."""

    def __init__(self, url: str, sockets: Sequence[str]) -> None:
        self._url = url
        self.admins: list[Any] = [Redis(unix_socket_path=socket) for socket in sockets]

    def cpu_us(self) -> float:
        facts = (admin.info("cpu") for admin in self.admins)
        kinds = ("used_cpu_user_main_thread", "used_cpu_sys_main_thread")
        return 1e6 * sum(float(each[kind]) for each in facts for kind in kinds)

    def calls(self) -> Counter[str]:
        """Calls by command, since the statistics were reset."""
        total = Counter[str]()
        for admin in self.admins:
            for name, stats in admin.info("commandstats").items():
                total[name.removeprefix("cmdstat_")] += stats["calls"]
        return total

    def used(self) -> int:
        return sum(int(admin.info("memory")["used_memory"]) for admin in self.admins)

    def each(self, *command: object) -> None:
        for admin in self.admins:
            admin.execute_command(*command)

    def store(self, buckets: int) -> Store:
        settings = Settings.from_env(
            {"REDIS_URL": self._url, "DURABILITY": "memory", "REDIS_TIMEOUT": "30"}
        )
        store = open_store(settings, open_process(settings, self._url))
        # Fewer than the setting allows, for buckets as full as those of a billion counters.
        store.keys.buckets = buckets
        return store


class Rows:
    """Measures the rows of a table."""

    def __init__(self, cores: Cores) -> None:
        self._cores = cores

    async def row(self, what: Row, measure: Callable[[], Awaitable[Row]]) -> Row:
        """A row measured while no other process was at work, else the calmest, with what others
        used."""
        rows: list[Row] = []
        for _ in range(TRIES):
            wait_for_calm(self._cores)
            watch = Watch(self._cores)
            found = await measure()
            rows.append({**what, **found, "foreign": watch.foreign()})
            if not is_noisy(rows[-1]["foreign"]):
                break
        best = min(rows, key=lambda row: row["foreign"])
        return {k: round(v, 3) if isinstance(v, float) else v for k, v in best.items()}


@contextmanager
def one_server(environment: Environment) -> Iterator[Servers]:
    """Over TCP, like a server that several workers' machines share."""
    port = free_port()
    with redis_server(environment, environment.directory("scale"), port=port) as (_, socket):
        yield Servers(f"redis://127.0.0.1:{port}", [socket])


@contextmanager
def masters(environment: Environment, number: int = MASTERS) -> Iterator[Servers]:
    """A Cluster on loopback, without replicas; slots are divided into ranges of equal length."""
    with ExitStack() as stack:
        folders, ports = [environment.directory("master") for _ in range(number)], []
        for folder in folders:
            ports.append(free_port())
            command = [
                redis_program(),
                "--port",
                str(ports[-1]),
                "--bind",
                "127.0.0.1",
                "--unixsocket",
                "s",
                "--cluster-enabled",
                "yes",
                "--cluster-port",
                str(free_port()),
                "--save",
                "",
                "--appendonly",
                "yes",
                "--appendfsync",
                "everysec",
            ]
            stack.enter_context(started(command, directory=folder, cores=environment.cores.load))
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        sockets = [str(folder / "s") for folder in folders]
        servers = Servers(f"redis://{hosts}?cluster=true", sockets)
        for i, (admin, port) in enumerate(zip(servers.admins, ports, strict=True)):
            _wait_until(admin.ping)
            first, last = SLOTS * i // number, SLOTS * (i + 1) // number - 1
            admin.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
            admin.execute_command("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            bus = int(admin.config_get("cluster-port")["cluster-port"])
            servers.admins[0].execute_command("CLUSTER", "MEET", "127.0.0.1", port, bus)
        _wait_until(lambda: all(_is_whole(admin, number) for admin in servers.admins))
        yield servers


def _is_whole(admin: Any, masters: int) -> bool:
    facts = admin.execute_command("CLUSTER INFO")
    return bool(facts["cluster_state"] == "ok" and int(facts["cluster_known_nodes"]) == masters)


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


async def of_batches(servers: Servers, rows: Rows) -> list[Row]:
    """A row for each kind and size of batch: its commands, and its costs."""
    # One data set, with a connection for each worker.
    stores = [servers.store(BUCKETS) for _ in range(CONNECTIONS)]
    await stores[0].create()
    found = []
    for kind in KINDS:
        for size in SIZES:
            what = {"kind": kind, "size": size, "nodes": len(servers.admins)}
            found.append(await rows.row(what, partial(of_batch, servers, stores, kind, size)))
    for store in stores:
        await store.redis.close()
    return found


async def of_batch(servers: Servers, stores: Sequence[Store], kind: str, size: int) -> Row:
    batch = partial(_batch, kind=kind, names=_names(kind))
    batches, redis_us, own_us = await _play(servers, stores, batch, size)
    calls = servers.calls()
    # A script for tokens reads and writes them.
    sent = calls["evalsha"] or calls["mget"] + calls["get"] + calls["hget"]
    return {
        "sent": sent / batches,
        "run": sum(calls[name] for name in RUN) / batches,
        "redis_us": redis_us / batches,
        "own_us": own_us / batches,
    }


async def _play(
    servers: Servers, stores: Sequence[Store], batch: Batch, size: int
) -> tuple[int, float, float]:
    """(batches, µs of Redis, µs of this process); each store sends the next batch after the last
    reply."""
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
        redis_us, own_us = servers.cpu_us() - redis, 1e6 * (time.process_time() - own)
    return next(numbers), redis_us, own_us


def _names(kind: str) -> Iterator[str]:
    """Paths, one after the other or as visitors of a site would ask for them."""
    ranks = zipf(Random(kind), PATHS) if kind in ("add", "read, by Zipf") else cycle(range(PATHS))
    return map(path, ranks)


_RATE = Rate(100, max(MIN_BURST_CHANGES, 1000))


async def _batch(store: Store, size: int, *, kind: str, names: Iterator[str]) -> None:
    """Send so many requests in one turn of the event loop, which makes them one batch."""
    loop = asyncio.get_running_loop()
    waiting: list[asyncio.Future[list[int]]] = [loop.create_future() for _ in range(size)]
    for each in waiting:
        name, done = next(names), fulfil(each)
        match kind:
            case "add":
                store.counters.send(_rise(store, name), done)
            case "spend":
                store.cooldown.take_tokens(name, 1, _RATE, done)
            case "version":
                store.comments.fetch_version(name, done)
            case _:
                store.counters.fetch(_reading(store, name), done)
    for each in waiting:
        await each


# A service prepares a request once, and what several of a batch ask alike is asked once.
_rises: dict[tuple[bytes, str], PackedChange] = {}
_readings: dict[tuple[bytes, str], PackedRead] = {}


def _rise(store: Store, name: str) -> PackedChange:
    known = store.keys.seed, name
    if known not in _rises:
        _rises[known] = store.counters.change([(name, "time", 1)])
    return _rises[known]


def _reading(store: Store, name: str) -> PackedRead:
    known = store.keys.seed, name
    if known not in _readings:
        _readings[known] = store.counters.reading([f"time {name}"])
    return _readings[known]


# Memory.


async def of_a_million(servers: Servers, rows: Rows) -> list[Row]:
    """Bytes of a counter among a million, which the document also works out from the fills."""

    async def measure() -> Row:
        store, size = await _filled(servers, BUCKETS, MILLION, 512)
        await store.redis.close()
        return {"bytes": size}

    return [await rows.row({"counters": MILLION}, measure)]


async def of_fills(servers: Servers, rows: Rows) -> list[Row]:
    """What a counter takes and costs, by how many share a bucket."""
    return [
        await rows.row({"fill": fill, "limit": limit}, partial(_of_fill, servers, fill, limit))
        for fill, limit in FILLS
    ]


async def _of_fill(servers: Servers, fill: int, limit: int) -> Row:
    store, size = await _filled(servers, COUNTERS // fill, COUNTERS, limit)
    found: Row = {"bytes": size}
    random = Random("fills")
    for kind in ("add", "read"):
        names = (path(random.randrange(COUNTERS)) for _ in count())
        batch = partial(_batch, kind=kind, names=names)
        batches, redis_us, _ = await _play(servers, [store], batch, AT_A_TIME)
        found[f"{kind}_us"] = redis_us / batches / AT_A_TIME
    await store.redis.close()
    return found


async def _filled(servers: Servers, buckets: int, counters: int, limit: int) -> tuple[Store, float]:
    """A store with so many counters, and the bytes that each takes."""
    servers.each("FLUSHALL", "SYNC")
    servers.each("CONFIG", "SET", "hash-max-listpack-entries", limit)
    store, before = servers.store(buckets), servers.used()
    await store.scripts.load()
    for at in range(0, counters, 1000):
        numbers = range(at, min(at + 1000, counters))
        await store.counters.add([(path(n), "time", 1) for n in numbers])
    return store, (servers.used() - before) / counters
