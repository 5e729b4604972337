"""What a batch costs Redis on one node and on three, and what a counter takes in buckets of each
size: the tables of docs/scaling.md.

    python -m bench.scale [--noisy]

The service's own store sends the batches over several connections, as several workers would: with
one, Redis would fall asleep and wake up, which a busy Redis does not do. Redis reports its costs:
its main thread's CPU time includes its sockets. What HTTP costs a worker is taken from the bench's
results. A row that other processes disturbed is measured again, and if it stays so nothing is
written; --noisy keeps it, and the document notes it.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import uvloop
from redis import Redis

from footfall.callbacks import fulfil
from footfall.config import Settings
from footfall.counting.clients import Bot, CountingClient, Person
from footfall.data.store import Store
from footfall.driver.cluster import SLOTS
from footfall.driver.commands import pack_word
from footfall.loadtest.workload import zipf
from footfall.statistics.moments import Moments
from footfall.stores import open_process, open_store
from tests.support.servers import wait_until

from . import machine
from .machine import Cores, Watch, free_port, pin_self, started
from .measure import TRIES, wait_for_calm
from .peers import ROOT, Environment, commit, redis_program, redis_server
from .results import DIRECTORY, OURS, Results, lines
from .scenarios import PATHS, path
from .stats import NOISE, is_noisy

FILE = DIRECTORY / "scale.json"
DOCUMENT = ROOT / "docs" / "scaling.md"
SIZES = (1, 4, 16, 64, 256)
# Kinds of requests -> STATISTICS, and what they are called.
KINDS = {
    "add": ("visitors", "a view by somebody known"),
    "add, new": ("visitors", "a view by somebody new"),
    "add, bot": ("visitors", "a view by a bot"),
    "add, off": ("off", "a view with `STATISTICS=off`"),
    "read": ("off", "a read"),
}
# The requests in a batch of a busy node.
BUSY = 64
MASTERS = 3
CONNECTIONS = 16
SECONDS = 0.4
BUCKETS = 16_384
# A power of two, like numbers of buckets, so that each bucket gets a whole number of them.
COUNTERS = 1 << 18
# Counters a bucket, hash-max-listpack-entries (its default, and higher), and STATISTICS.
FILLS = (
    (1, 512, "off"),
    (16, 512, "off"),
    (256, 512, "off"),
    (512, 512, "off"),
    (1024, 512, "off"),
    (1024, 2048, "off"),
    (256, 512, "visitors"),
)
# Counters in one batch while they are filled in, and while a fill is measured.
FILLED_AT_A_TIME, AT_A_TIME = 1024, 64
# GB to rent for one of data: room for a copy while a file is rewritten, and a replica.
RENT = 4
# The bench's rows of what one worker does.
WORK = {
    "inc-browser": "counting a view",
    "read1-browser": "reading a count",
    "page": "a cached page of comments",
    "page-cold": "a page that is not cached",
}

Row = dict[str, Any]
Batch = Callable[[Store, int], Awaitable[None]]


# Servers.


class Servers:
    """One server, or the masters of a Cluster, whose figures are added up."""

    def __init__(self, url: str, sockets: Sequence[str]) -> None:
        self._url = url
        self.admins: list[Any] = [Redis(unix_socket_path=socket) for socket in sockets]

    def cpu_us(self) -> float:
        facts = (admin.info("cpu") for admin in self.admins)
        kinds = ("used_cpu_user_main_thread", "used_cpu_sys_main_thread")
        return 1e6 * sum(float(fact[kind]) for fact in facts for kind in kinds)

    def used(self) -> int:
        return sum(int(admin.info("memory")["used_memory"]) for admin in self.admins)

    def each(self, *command: object) -> None:
        for admin in self.admins:
            admin.execute_command(*command)

    def store(self, buckets: int, statistics: str) -> Store:
        environ = {"REDIS_URL": self._url, "DURABILITY": "memory", "REDIS_TIMEOUT": "30"}
        settings = Settings.from_env({**environ, "STATISTICS": statistics})
        store = open_store(settings, open_process(settings, self._url))
        # Fewer than the setting allows, so that they fill up sooner.
        store.keys.buckets = buckets
        return store


@contextmanager
def one_server(environment: Environment) -> Iterator[Servers]:
    """Over TCP, like a server that several workers' machines share."""
    port = free_port()
    with redis_server(environment, environment.directory("scale"), port=port) as (_, socket):
        yield Servers(f"redis://127.0.0.1:{port}", [socket])


@contextmanager
def masters(environment: Environment) -> Iterator[Servers]:
    """A Cluster on loopback, without replicas; slots are divided into ranges of equal length."""
    with ExitStack() as stack:
        folders = [environment.directory("master") for _ in range(MASTERS)]
        ports = [free_port() for _ in folders]
        for folder, port in zip(folders, ports, strict=True):
            options = f"--port {port} --bind 127.0.0.1 --unixsocket s --appendonly yes"
            options += f" --cluster-enabled yes --cluster-port {free_port()}"
            command = [redis_program(), *options.split(), "--save", ""]
            stack.enter_context(started(command, directory=folder, cores=environment.cores.load))
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        sockets = [str(folder / "s") for folder in folders]
        servers = Servers(f"redis://{hosts}?cluster=true", sockets)
        for i, (admin, port) in enumerate(zip(servers.admins, ports, strict=True)):
            wait_until(Path(sockets[i]).exists, "a master to start")
            first, last = SLOTS * i // MASTERS, SLOTS * (i + 1) // MASTERS - 1
            admin.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
            admin.execute_command("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            bus = int(admin.config_get("cluster-port")["cluster-port"])
            servers.admins[0].execute_command("CLUSTER", "MEET", "127.0.0.1", port, bus)
        wait_until(lambda: all(map(_is_whole, servers.admins)), "the Cluster to be whole")
        yield servers


def _is_whole(admin: Any) -> bool:
    facts = admin.execute_command("CLUSTER INFO")
    return bool(facts["cluster_state"] == "ok" and int(facts["cluster_known_nodes"]) == MASTERS)


# Measurements.


async def _calm(cores: Cores, what: Row, measure: Callable[[], Awaitable[Row]]) -> Row:
    """A row measured while no other process was at work, else the calmest, with what others
    used."""
    rows: list[Row] = []
    for _ in range(TRIES):
        wait_for_calm(cores)
        watch = Watch(cores)
        measured = await measure()
        rows.append({**what, **measured, "foreign": watch.foreign()})
        if not is_noisy(rows[-1]["foreign"]):
            break
    best = min(rows, key=lambda row: row["foreign"])
    return {k: round(v, 3) if isinstance(v, float) else v for k, v in best.items()}


async def _of_batches(servers: Servers, cores: Cores) -> list[Row]:
    """Redis's µs a request, for each kind and size of batch."""
    rows = []
    for kind, (statistics, _) in KINDS.items():
        servers.each("FLUSHALL", "SYNC")
        # One data set, with a connection for each worker.
        stores = [servers.store(BUCKETS, statistics) for _ in range(CONNECTIONS)]
        await stores[0].create()
        await _fill(stores[0], PATHS)
        for store in stores if kind.startswith("add") else ():
            await _prepare(store, kind)
        for size in SIZES:
            what = {"kind": kind, "size": size, "nodes": len(servers.admins)}
            names = map(path, zipf(Random(kind), PATHS))
            measure = partial(_play, servers, stores, kind, names, size)
            rows.append(await _calm(cores, what, measure))
        for store in stores:
            await store.redis.close()
    return rows


async def _play(
    servers: Servers, stores: Sequence[Store], kind: str, names: Iterator[str], size: int
) -> Row:
    """Each store sends the next batch after the last reply."""
    numbers, end = count(), 0.0

    async def work(store: Store) -> None:
        while time.perf_counter() < end:
            await _batch(store, kind, names, size)
            next(numbers)

    for seconds in (SECONDS / 4, SECONDS):
        numbers, end = count(), time.perf_counter() + seconds
        before = servers.cpu_us()
        await asyncio.gather(*map(work, stores))
        redis_us = servers.cpu_us() - before
    return {"redis_us": redis_us / next(numbers) / size}


async def _prepare(store: Store, kind: str) -> None:
    """View each page once: on a busy site, nearly no view is the first of its hour."""
    if isinstance(store.moment, Moments) and store.moment.salts is not None:
        await store.moment.salts.keep_up(store.site_views)
    for at in range(0, PATHS, FILLED_AT_A_TIME):
        names = map(path, range(at, min(at + FILLED_AT_A_TIME, PATHS)))
        await _batch(store, kind, names, min(FILLED_AT_A_TIME, PATHS - at))
    # As if it had placed all of them in the lists of the day only just.
    for page in store.packed.pages.values():
        page.left = sys.maxsize


_numbers = count()
_BOT, _READER = Bot("", pack_word("seo")), Person("", "192.0.2.1", b"")


def _client(kind: str) -> CountingClient:
    if kind == "add, new":
        return Person("", f"reader {next(_numbers)}", b"")
    return _BOT if kind == "add, bot" else _READER


async def _batch(store: Store, kind: str, names: Iterator[str], size: int) -> None:
    """Send so many requests in one turn of the event loop, which makes them one batch."""
    loop = asyncio.get_running_loop()
    waiting: list[asyncio.Future[list[int]]] = [loop.create_future() for _ in range(size)]
    for each in waiting:
        name, done = next(names), fulfil(each)
        if kind.startswith("add"):
            change = store.counters.change([(name, "time", 1)])
            store.counters.send(change, done, _client(kind))
        else:
            store.counters.fetch(store.counters.reading([f"time {name}"]), done)
    for each in waiting:
        await each


async def _fill(store: Store, counters: int) -> None:
    for at in range(0, counters, FILLED_AT_A_TIME):
        numbers = range(at, min(at + FILLED_AT_A_TIME, counters))
        await store.counters.add([(path(n), "time", 1) for n in numbers])


async def _of_fill(servers: Servers, fill: int, limit: int, statistics: str) -> Row:
    """Bytes of a counter, and Redis's µs of an increment, when so many share a bucket."""
    servers.each("FLUSHALL", "SYNC")
    servers.each("CONFIG", "SET", "hash-max-listpack-entries", limit)
    store, before = servers.store(COUNTERS // fill, statistics), servers.used()
    await store.scripts.load()
    await _fill(store, COUNTERS)
    size = (servers.used() - before) / COUNTERS
    random = Random("fills")
    names = (path(random.randrange(COUNTERS)) for _ in count())
    played = await _play(servers, [store], "add", names, AT_A_TIME)
    await store.redis.close()
    return {"bytes": size, **played}


async def measure() -> Row:
    with tempfile.TemporaryDirectory(prefix="ffb") as name:
        environment, here = Environment(Path(name), Cores.choose(), "everysec"), machine.describe()
        cores = environment.cores
        pin_self(cores.server)
        with one_server(environment) as servers:
            batches = await _of_batches(servers, cores)
            fills = [
                await _calm(
                    cores,
                    dict(zip(("fill", "limit", "statistics"), fill, strict=True)),
                    partial(_of_fill, servers, *fill),
                )
                for fill in FILLS
            ]
        with masters(environment) as servers:
            batches += await _of_batches(servers, cores)
    results = {"when": date.today().isoformat(), "commit": commit(), "machine": here}
    results["redis"] = machine.version_of_redis()
    return {**results, "batches": batches, "fills": fills}


# Tables.


def _table(*columns: str) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _a_second(us: float) -> str:
    """How many a second, if each takes so many µs."""
    return f"{float(f'{1e6 / us:.2g}'):,.0f}"


def _workers(results: Row) -> Iterator[str]:
    main, levels = (Results.read(DIRECTORY / f"{name}.json") for name in ("main", "levels"))
    yield from _table("One worker, one core", "CPU µs", "requests/s")
    stored = [(what, main, name) for name, what in WORK.items()]
    for what, rows, name in (*stored, ("writing a comment", levels, "submit")):
        spread = rows.spread(name, OURS, "server_us")
        assert spread is not None
        yield _row(what, f"{spread.median:.0f}", _a_second(spread.median))
    yield _row("memory, after all of the bench", f"{_resident(main):.0f} MB", "")


def _resident(main: Results) -> float:
    return main.memory["MB resident, footfall, at the end"]


def _batches(results: Row) -> Iterator[str]:
    us = {(row["kind"], row["size"], row["nodes"]): row["redis_us"] for row in results["batches"]}
    yield from _table("Redis µs a request, by requests in a batch", *map(str, SIZES))
    for nodes, where in ((1, "one node"), (MASTERS, "three nodes")):
        for kind, (_, what) in KINDS.items():
            cells = (f"{us[kind, size, nodes]:.1f}" for size in SIZES)
            yield _row(f"{what}, {where}", *cells)


def _carried(results: Row) -> Iterator[str]:
    """What the µs of large batches come to."""
    yield from _table(f"One core of Redis, {BUSY} requests a batch", "requests/s")
    for row in results["batches"]:
        if (row["size"], row["nodes"]) == (BUSY, 1):
            yield _row(KINDS[row["kind"]][1], _a_second(row["redis_us"]))


def _fills(results: Row) -> Iterator[str]:
    yield from _table(
        "Counters a bucket",
        "`hash-max-listpack-entries`",
        "`STATISTICS`",
        "Bytes a counter",
        "Increment µs",
    )
    for row in results["fills"]:
        us, statistics = f"{row['redis_us']:.1f}", f"`{row['statistics']}`"
        yield _row(f"{row['fill']:,}", row["limit"], statistics, f"{row['bytes']:.0f}", us)


def _wanted(results: Row) -> Iterator[str]:
    """How many buckets keep so many counters compact."""
    yield from _table(
        "Counters",
        "`COUNTER_BUCKETS` for at most 256 in one",
        "GB to rent",
        "with `STATISTICS=off`",
    )
    size = {row["statistics"]: row["bytes"] for row in results["fills"] if row["fill"] == 256}
    for counters in (1_000_000, 10_000_000, 100_000_000, 250_000_000):
        buckets = max(65_536, 1 << (counters // 256 - 1).bit_length())
        gb = (f"{RENT * counters * size[name] / 1e9:.1f}" for name in ("visitors", "off"))
        yield _row(f"{counters:,}", f"{buckets:,}", *gb)


def _comments(results: Row) -> Iterator[str]:
    yield from _table("Comments of one article", "Bytes each, with indexes")
    for name, value in Results.read(DIRECTORY / "parts.json").memory.items():
        if name.startswith("bytes per comment, "):
            number = name.removeprefix("bytes per comment, ").removesuffix(" of one article")
            yield _row(number, f"{value:,.0f}")


def _measured(results: Row) -> Iterator[str]:
    here, noisy = results["machine"], [each for each in _foreign(results) if is_noisy(each)]
    yield from _table("Measured", "")
    yield _row("on", f"{here['cpu']}, {here['cores']} cores, Python {here['python']}, Linux")
    yield _row("Redis", results["redis"])
    yield _row("when", f"{results['when']}, {results['commit']}")
    yield _row(f"rows in which others used more than {NOISE:.0%} of the cores", len(noisy))


TABLES: dict[str, Callable[[Row], Iterator[str]]] = {
    "workers": _workers,
    "batches": _batches,
    "carried": _carried,
    "fills": _fills,
    "wanted": _wanted,
    "comments": _comments,
    "measured": _measured,
}


def filled(document: str, results: Row) -> str:
    """The document with these results in its tables, each below a comment with its name."""

    def fresh(match: re.Match[str]) -> str:
        return match[1] + "".join(f"{line}\n" for line in TABLES[match[2]](results))

    return re.sub(r"(<!-- (\w+) -->\n\n)(?:\|.*\n)*", fresh, document)


def _foreign(results: Row) -> list[float]:
    return [row["foreign"] for row in (*results["batches"], *results["fills"])]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.scale")
    parser.add_argument("--noisy", action="store_true", help="keep what others disturbed")
    options = parser.parse_args(words)
    results = uvloop.run(measure())
    if is_noisy(worst := max(_foreign(results))) and not options.noisy:
        print(
            f"Others used up to {worst:.0%} of these cores: nothing is written; measure again, or "
            "keep it with --noisy",
            file=sys.stderr,
        )
        return 1
    FILE.write_text(lines(results) + "\n")
    DOCUMENT.write_text(filled(DOCUMENT.read_text(), json.loads(FILE.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
