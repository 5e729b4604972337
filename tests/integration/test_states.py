"""What Footfall says in each state of Redis: the table in docs/operations.md, as it was seen here.

Every state is brought about on real servers under `footfall serve`, and ended again without anybody
sending a change. With WRITE_TABLE=1 in the environment the table is written instead of compared.
"""

import contextlib
import os
import re
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from redis import Redis

from footfall.config import Settings
from footfall.driver.cluster import slot_of_key
from footfall.driver.keys import Keys
from tests.support.clusters import RealCluster, clustered
from tests.support.servers import (
    OPERATIONS,
    PASSWORD,
    RealServer,
    free_port,
    program_of,
    running,
    wait_until,
)  # fmt: skip
from tests.support.serving import Serving, serving, started

TIMEOUT = "0.5"
HEAD = (
    "| State | Brought about by | `/livez` | `/readyz` | with `GUARD=warn` | `footfall_finding` "
    "| Reads | Changes | `/readyz` and the log say |"
)
# Of a data set.
ID = re.compile(r"\b[0-9a-f]{8}\b")
# The log's line when a state is over.
ENDS = re.compile(r" again(, after [0-9.]+ seconds)?$|has stopped refusing, after ")
# Only so many paths are tried to find one on a node of a Cluster.
PATHS = [f"/{n}" for n in range(100)]


class Served(Serving):
    """A service whose log is in a file."""

    def __init__(self, directory: Path, **environ: str) -> None:
        super().__init__(directory, **{"REDIS_TIMEOUT": TIMEOUT, **environ})
        self._log = directory / "log"

    def start(self) -> None:
        self.directory.mkdir()
        with self._log.open("ab") as log:
            self.stderr = log.fileno()
            super().start()
        self.http = httpx.Client(base_url=self.url)

    def lines(self) -> list[str]:
        """What it has logged, without time, level and name."""
        return [each.rpartition(" footfall.")[2].partition(": ")[2] for each in self._log_lines()]

    def _log_lines(self) -> list[str]:
        return self._log.read_text().splitlines()

    def read(self, path: str) -> int:
        return self.http.get("/article", params={"path": path}).status_code

    def change(self, path: str) -> int:
        return self.http.post("/article", json={"path": path}).status_code

    def ready(self) -> tuple[int, list[str]]:
        answer = self.http.get("/readyz")
        said = answer.json()
        about_redis = [each for each in said["warnings"] if "administrator" not in each]
        return answer.status_code, said["reasons"] + about_redis

    def metrics(self) -> dict[str, float]:
        lines = self.http.get("/metrics").text.splitlines()
        return {
            name: float(value)
            for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")
        }

    def findings(self) -> list[str]:
        return [
            found[1]
            for name, value in self.metrics().items()
            if value and (found := re.fullmatch(r'footfall_finding\{code="(\w+)"\}', name))
        ]

    def failures(self) -> float:
        return self.metrics()["footfall_redis_failures_total"]


@dataclass
class Scene:
    """Two services on one Redis, one of them with GUARD=warn; `paths` are what they are asked."""

    strict: Served
    lenient: Served
    server: RealServer | None = None
    replicas: list[RealServer] = field(default_factory=list)
    cluster: RealCluster | None = None
    paths: dict[str, str] = field(default_factory=lambda: {"": "/a"})
    # A finding of the check that follows within a second.
    also: str = ""

    def admin(self) -> Redis:
        assert self.server is not None
        return self.server.admin()

    def all_change(self, served: Served) -> bool:
        return {served.change(path) for path in self.paths.values()} == {200}


State = Callable[[Scene], AbstractContextManager[None]]


def row(scene: Scene, name: str, how: str, state: State) -> str:
    """A row of the table; fails if the end of the state is not noticed."""
    strict, lenient = scene.strict, scene.lenient
    logged, failures = len(strict.lines()), strict.failures()
    wait_until(lambda: lenient.ready() == (200, []), "both services to be ready")
    with state(scene):
        # Nobody has asked before: what is known is known by these changes.
        changes = {where: strict.change(path) for where, path in scene.paths.items()}
        assert strict.findings(), f"{name}: no finding"
        wait_until(lambda: scene.also in ["", *strict.findings()], f"{scene.also} to be found")
        found, says = strict.findings(), strict.ready()
        reads = {where: strict.read(path) for where, path in scene.paths.items()}
        for path in scene.paths.values():
            lenient.change(path)
        wait_until(lambda: scene.also in ["", *lenient.findings()], f"{scene.also} to be found")
        warned, alive = lenient.ready(), strict.http.get("/livez").status_code
        assert says[1] and says[1][:1] == warned[1][:1], (name, says, warned)
        what = says[1][0].partition(": ")[0]
        if "other_data" not in found:
            assert strict.failures() > failures, f"{name}: no failure was counted"
    wait_until(lambda: not strict.findings(), f"the end of {name} to be noticed")
    if scene.cluster is not None:
        # A node that was frozen refuses everything once more, until it has heard of the others.
        wait_until(lambda: scene.all_change(strict), "the node to serve its slots")
    assert scene.all_change(strict), name
    assert strict.ready() == (200, []), name
    new = strict.lines()[logged:]
    # The log names the node; and a server that is loading does not answer.
    begins = "does not answer" if scene.cluster or "loading" in found else what
    assert any(begins in line for line in new), (name, new)
    assert any(ENDS.search(line) for line in new), (name, new)
    cells = (
        name, how, alive, says[0], warned[0], ", ".join(f"`{code}`" for code in found),
        _both(reads), _both(changes), ID.sub("…", "; ".join(says[1])),
    )  # fmt: skip
    return _row(*cells)


def _both(statuses: dict[str, int]) -> str:
    return ", ".join(f"{status} {where}".strip() for where, status in statuses.items())


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(each).replace('|', '/') for each in cells)} |"


# The states of a single server.


@contextmanager
def killed(scene: Scene) -> Iterator[None]:
    assert scene.server is not None
    scene.server.kill()
    yield
    scene.server.start()


@contextmanager
def frozen(scene: Scene) -> Iterator[None]:
    assert scene.server is not None
    scene.server.signal(signal.SIGSTOP)
    yield
    scene.server.signal(signal.SIGCONT)


@contextmanager
def loading(scene: Scene) -> Iterator[None]:
    server = scene.server
    assert server is not None
    with scene.admin() as admin:
        admin.execute_command("EVAL", "for i=1,20000 do redis.call('SET','other:'..i,i) end", 0)
        admin.bgrewriteaof()
        wait_until(lambda: not admin.info("persistence")["aof_rewrite_in_progress"], "the file")
    server.stop()
    before, server.options = server.options, (
        *server.options, "--key-load-delay", "1000",
        "--loading-process-events-interval-bytes", "1024",
    )  # fmt: skip
    starting = threading.Thread(target=server.start)
    starting.start()
    with scene.admin() as admin:
        wait_until(lambda: is_loading(admin), "Redis to load its data")
        yield
        admin.config_set("key-load-delay", 0)
    starting.join()
    server.options = before


def is_loading(admin: Redis) -> bool:
    with contextlib.suppress(Exception):
        return bool(admin.info("persistence")["loading"])
    return False


def configured(setting: str, value: object, usual: object) -> State:
    @contextmanager
    def state(scene: Scene) -> Iterator[None]:
        with scene.admin() as admin:
            admin.config_set(setting, value)
            yield
            admin.config_set(setting, usual)

    return state


@contextmanager
def demoted(scene: Scene) -> Iterator[None]:
    with scene.admin() as admin:
        admin.replicaof("127.0.0.1", "1")
        yield
        admin.replicaof("NO", "ONE")


@contextmanager
def disk_full(scene: Scene) -> Iterator[None]:
    assert scene.server is not None and scene.server.process is not None
    pid, server = scene.server.process.pid, scene.server
    written = max(server.home.glob("appendonlydir/*.incr.aof")).stat().st_size
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (written, resource.RLIM_INFINITY))
    with scene.admin() as admin:
        admin.set("other", 1)
        wait_until(
            lambda: admin.info("persistence")["aof_last_write_status"] == "err", "a full disk"
        )
    yield
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)


@contextmanager
def password_changed(scene: Scene) -> Iterator[None]:
    with scene.admin() as admin:
        admin.execute_command("ACL", "SETUSER", "footfall", "resetpass", ">another")
        admin.execute_command("CLIENT", "KILL", "USER", "footfall")
        yield
        admin.execute_command("ACL", "SETUSER", "footfall", "resetpass", f">{PASSWORD}")


@contextmanager
def right_taken(scene: Scene) -> Iterator[None]:
    with scene.admin() as admin:
        admin.execute_command("ACL", "SETUSER", "footfall", "-evalsha")
        yield
        admin.execute_command("ACL", "SETUSER", "footfall", "+evalsha")
        admin.acl_log_reset()


@contextmanager
def busy(scene: Scene) -> Iterator[None]:
    def loop() -> None:
        with scene.admin() as admin, contextlib.suppress(Exception):
            admin.eval("while true do end", 0)

    with scene.admin() as admin:
        admin.config_set("busy-reply-threshold", 1)
        looping = threading.Thread(target=loop)
        looping.start()
        wait_until(lambda: not scene.server or not scene.server.answers(), "Redis to be busy")
        yield
        admin.script_kill()
        looping.join()


@contextmanager
def other_data(scene: Scene) -> Iterator[None]:
    key = "ff:{site}:format"
    with scene.admin() as admin:
        admin.rename(key, "kept")
        admin.hset(key, mapping={"born": "other", "buckets": "256"})
        admin.execute_command("CLIENT", "KILL", "USER", "footfall")
        yield
        admin.rename("kept", key)


@contextmanager
def emptied(scene: Scene) -> Iterator[None]:
    key = "ff:{site}:format"
    with scene.admin() as admin:
        kept = admin.dump(key)
        assert isinstance(kept, bytes)
        admin.flushall()
        admin.execute_command("CLIENT", "KILL", "USER", "footfall")
        yield
        # As if the old server were back.
        admin.restore(key, 0, kept)


@contextmanager
def few_descriptors(scene: Scene) -> Iterator[None]:
    """No descriptor is left to a service whose connections to Redis are closed."""
    served = (scene.strict, scene.lenient)
    pids = [each.process.pid for each in served if each.process is not None]
    usual = [resource.prlimit(pid, resource.RLIMIT_NOFILE) for pid in pids]
    for pid, (_, most) in zip(pids, usual, strict=True):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (8, most))
    with scene.admin() as admin:
        admin.execute_command("CLIENT", "KILL", "USER", "footfall")
    yield
    for pid, limits in zip(pids, usual, strict=True):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)


@contextmanager
def replicas_gone(scene: Scene) -> Iterator[None]:
    for each in scene.replicas:
        each.kill()
    yield
    for each in scene.replicas:
        each.start()


def node_away(path: str, *, takes_site: bool) -> State:
    """Freeze the master that has this path's counter, and its replica."""

    @contextmanager
    def state(scene: Scene) -> Iterator[None]:
        cluster = scene.cluster
        assert cluster is not None
        master = cluster.master_of(slots(cluster, [path])[path])
        assert (master == home_of(cluster)) == takes_site
        both = (cluster.nodes[master], cluster.nodes[cluster.replica_of(master)])
        for each in both:
            each.signal(signal.SIGSTOP)
        if not takes_site:
            # It keeps no service from starting either.
            with serving(scene.strict.directory / "late", REDIS_URL=cluster.url) as late:
                assert httpx.get(f"{late.url}/readyz").status_code == 200
        yield
        for each in both:
            each.signal(signal.SIGCONT)

    return state


def home_of(cluster: RealCluster) -> int:
    return cluster.master_of(slot_of_key(b"ff:{site}:format"))


def slots(cluster: RealCluster, paths: list[str]) -> dict[str, int]:
    keys = Keys("ff", Settings().counter_buckets)
    seed = cluster.ask(home_of(cluster), "HGET", keys.site("format"), "seed")
    keys.seed = bytes.fromhex(seed.decode())
    return {path: slot_of_key(keys.counts(f"time {path}").encode()) for path in paths}


# The rows, by the servers that they share.

SINGLE: list[tuple[str, str, State]] = [
    ("away", "`kill -9`", killed),
    ("full", "`maxmemory` is reached", configured("maxmemory", 1, 0)),
    ("read-only", "`REPLICAOF` another", demoted),
    ("too few replicas for itself", "`min-replicas-to-write 1`",
     configured("min-replicas-to-write", 1, 0)),
    ("disk full", "its append-only file cannot grow", disk_full),
    ("wrong password", "another one in Redis, and connections closed", password_changed),
    ("right taken", "`ACL SETUSER … -evalsha`", right_taken),
    ("busy", "somebody's endless script", busy),
    ("few file descriptors", "none is left to connect with", few_descriptors),
    ("another data set", "another id in `ff:{site}:format`, and connections closed", other_data),
    ("empty", "`FLUSHALL`, and connections closed", emptied),
]  # fmt: skip
FROZEN: list[tuple[str, str, State]] = [("frozen", "`SIGSTOP`", frozen)]
LOADING: list[tuple[str, str, State]] = [("loading", "restarted with much data", loading)]
REPLICATED: list[tuple[str, str, State]] = [
    ("no replica left", "`DURABILITY=replica:2`, and both are killed", replicas_gone)
]


class Tolerant(RealServer):
    """A server to which a full disk is an error of write(), and not its end."""

    def command(self) -> list[str]:
        return ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh", *super().command()]


@contextmanager
def services(home: Path, url: str, **settings: str) -> Iterator[tuple[Served, Served]]:
    with ExitStack() as stack:
        both = [
            # A busy machine's replicas are late to confirm what a start writes.
            Served(home / guard, REDIS_URL=url, GUARD=guard, REDIS_WAIT="20", **settings)
            for guard in ("refuse", "warn")
        ]
        for each in both:
            stack.enter_context(started(each))
            stack.enter_context(each.http)
        yield both[0], both[1]


def of_single(home: Path, rows: list[tuple[str, str, State]], **settings: str) -> list[str]:
    server = Tolerant(program_of("valkey"), home / "r")
    server.start()
    try:
        with services(home, server.url, **settings) as both:
            scene = Scene(*both, server)
            return [row(scene, *each) for each in rows]
    finally:
        server.stop()


def of_replicated(home: Path, rows: list[tuple[str, str, State]]) -> list[str]:
    port = free_port()
    with ExitStack() as stack:

        def start(name: str, *options: str) -> RealServer:
            words = ("--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0", *options)
            return stack.enter_context(running(program_of("valkey"), home / name, *words))

        master = start("m", "--port", str(port))
        follow = ("--port", "0", "--replicaof", "127.0.0.1", str(port))
        replicas = [start(name, *follow) for name in ("r1", "r2")]
        with master.admin() as admin:
            wait_until(lambda: admin.info("replication")["connected_slaves"] == 2, "replicas")
        with services(home, master.url, DURABILITY="replica:2") as both:
            scene = Scene(*both, master, replicas, also="alone")
            found = [row(scene, *each) for each in rows]
        # If all were told to stop, they would wait for each other.
        for each in (master, *replicas):
            each.kill()
        return found


def of_cluster(home: Path) -> list[str]:
    with clustered(program_of("valkey"), home / "c") as cluster:
        with services(home, cluster.url) as both:
            by_path = slots(cluster, PATHS)
            site = home_of(cluster)
            there = next(p for p in PATHS if cluster.master_of(by_path[p]) == site)
            other = next(p for p in PATHS if cluster.master_of(by_path[p]) != site)
            found = []
            for name, gone, rest in (
                ("a Cluster's node away", other, there),
                ("the one with the site's slot away", there, other),
            ):
                paths = {"for it": gone, "for others": rest}
                scene = Scene(*both, cluster=cluster, paths=paths)
                state = node_away(gone, takes_site=gone == there)
                found.append(row(scene, name, "`SIGSTOP`, and of its replica", state))
        kind = ("a Cluster, without `?cluster=true`", cluster.url.partition("?")[0])
        found.append(unstarted(home, *kind))
        return found


def unstarted(home: Path, name: str, url: str) -> str:
    """The row of a Redis that a service does not start with, whatever GUARD says."""
    first = re.sub(r",[^/?]*", "", url)
    says = set()
    for guard in ("refuse", "warn"):
        code, output = Serving(home / "x", REDIS_URL=first, GUARD=guard, REDIS_WAIT="60").ask(
            "serve"
        )
        assert code == 1, output
        says.add(output.splitlines()[-1])
    assert len(says) == 1, says
    (line,) = says
    return _row(name, "the start", *["–"] * 6, line.removeprefix("Error: ") + " (exit status 1)")


def of_no_cluster(home: Path) -> list[str]:
    options = ("--port", str(port := free_port()), "--bind", "127.0.0.1")
    with running(program_of("valkey"), home / "r", *options) as server:
        url = f"redis://{server.entry}@127.0.0.1:{port}?cluster=true"
        return [unstarted(home, "no Cluster, with `?cluster=true`", url)]


def test_the_table_of_states_is_what_was_seen(own: Path) -> None:
    with ThreadPoolExecutor() as pool:
        parts = [
            pool.submit(of_single, own / "1", SINGLE),
            pool.submit(of_single, own / "2", FROZEN),
            # On a busy machine a server that loads is slow to say so.
            pool.submit(of_single, own / "3", LOADING, REDIS_TIMEOUT="5"),
            pool.submit(of_replicated, own / "4", REPLICATED),
            pool.submit(of_cluster, own / "5"),
            pool.submit(of_no_cluster, own / "6"),
        ]
    seen = [line for part in parts for line in part.result()]
    stored = OPERATIONS.read_text()
    table = re.search(rf"{re.escape(HEAD)}\n(\|[-|]*\|\n)((?:\|.*\n)*)", stored)
    assert table, "docs/operations.md has no table of states"
    if os.environ.get("WRITE_TABLE"):
        rows = "".join(f"{line}\n" for line in seen)
        OPERATIONS.write_text(stored[: table.start(2)] + rows + stored[table.end(2) :])
    else:
        assert table[2].splitlines() == seen
