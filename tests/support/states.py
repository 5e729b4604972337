"""States that a Redis may be in, for services on it; and what these say then."""

import contextlib
import re
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from footfall.driver.cluster import slot_of_key
from footfall.driver.keys import Keys

from .clusters import RealCluster
from .servers import PASSWORD, RealServer, wait_until
from .serving import BUCKETS, Serving, serving, started

REDIS_TIMEOUT = "0.5"
FINDING = re.compile(r'footfall_finding\{code="(?!memory_low)(\w+)"\}')


class Tolerant(RealServer):
    """A server to which a full disk is an error of write(), and not its end."""

    def command(self) -> list[str]:
        return ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh", *super().command()]


class Served(Serving):
    """A service whose log is in a file."""

    def __init__(self, directory: Path, **environ: str) -> None:
        super().__init__(directory, **{"REDIS_TIMEOUT": REDIS_TIMEOUT, **environ})
        self._log = directory / "log"

    def start(self) -> None:
        self.directory.mkdir()
        with self._log.open("ab") as log:
            self.stderr = log.fileno()
            try:
                super().start()
            except AssertionError as error:
                # Its standard output does not say why.
                raise AssertionError(self._log.read_text()) from error
        self.http = httpx.Client(base_url=self.url, timeout=60)

    def lines(self) -> list[str]:
        """What it has logged, without time, level and name."""
        return [
            log_line.rpartition(" footfall.")[2].partition(": ")[2]
            for log_line in self._log_lines()
        ]

    def _log_lines(self) -> list[str]:
        return self._log.read_text().splitlines()

    def read(self, path: str) -> int:
        return self.http.get("/article", params={"path": path}).status_code

    def change(self, path: str) -> int:
        return self.http.post("/article", json={"path": path}).status_code

    def ready(self) -> tuple[int, list[str]]:
        answer = self.http.get("/readyz")
        said = answer.json()
        # That memory runs low is true before it is full, and found by the next check.
        others = re.compile("administrator|% of its memory")
        about_redis = [each for each in said["warnings"] if not others.search(each)]
        return answer.status_code, said["reasons"] + about_redis

    def metrics(self) -> dict[str, float]:
        lines = self.http.get("/metrics").text.splitlines()
        return {
            name: float(value)
            for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")
        }

    def findings(self) -> list[str]:
        return [
            match[1]
            for name, value in self.metrics().items()
            if value and (match := FINDING.fullmatch(name))
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
    # Does the service accept connections?
    accepts: bool = True

    @property
    def redis(self) -> RealServer:
        assert self.server is not None
        return self.server

    def admin(self) -> Redis:
        return self.redis.admin()

    def all_change(self, served: Served) -> bool:
        return {served.change(path) for path in self.paths.values()} == {200}


State = Callable[[Scene], AbstractContextManager[None]]


@contextmanager
def services(home: Path, url: str, **settings: str) -> Iterator[tuple[Served, Served]]:
    with ExitStack() as stack:
        both = [
            # A busy machine's replicas are late to confirm what a start writes.
            Served(
                home / guard,
                REDIS_URL=url,
                GUARD=guard,
                REDIS_WAIT="20",
                STATISTICS_PUBLIC="all",
                **settings,
            )
            for guard in ("refuse", "warn")
        ]
        for each in both:
            stack.enter_context(started(each))
            stack.enter_context(each.http)
        yield both[0], both[1]


# The states: each is brought about, and ended after the block.


@contextmanager
def killed(scene: Scene) -> Iterator[None]:
    scene.redis.kill()
    yield
    scene.redis.start()


@contextmanager
def frozen(scene: Scene) -> Iterator[None]:
    scene.redis.signal(signal.SIGSTOP)
    yield
    scene.redis.signal(signal.SIGCONT)


@contextmanager
def loading(scene: Scene) -> Iterator[None]:
    server = scene.redis
    with scene.admin() as admin:
        admin.execute_command("EVAL", "for i=1,20000 do redis.call('SET','other:'..i,i) end", 0)
        admin.bgrewriteaof()
        wait_until(lambda: not admin.info("persistence")["aof_rewrite_in_progress"], "the file")
    server.stop()
    # Half a millisecond for each key, and the server answers every few keys.
    server.options = (
        "--port",
        "0",
        "--key-load-delay",
        "500",
        "--loading-process-events-interval-bytes",
        "1024",
    )
    starting = threading.Thread(target=server.start)
    starting.start()
    # One attempt: redis-py would wait longer and longer for a server that is not there.
    once = Retry(NoBackoff(), 0)
    with Redis(unix_socket_path=str(server.socket), retry=once) as admin:
        wait_until(lambda: is_loading(admin), "Redis to load its data")
        yield
        admin.config_set("key-load-delay", 0)
    starting.join()


def is_loading(admin: Redis) -> bool:
    with contextlib.suppress(RedisError):
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
def demoted(scene: Scene | RealServer) -> Iterator[None]:
    with scene.admin() as admin:
        admin.replicaof("127.0.0.1", "1")
        yield
        admin.replicaof("NO", "ONE")


@contextmanager
def disk_full(scene: Scene) -> Iterator[None]:
    assert scene.redis.process is not None
    pid = scene.redis.process.pid
    written = max(scene.redis.home.glob("appendonlydir/*.incr.aof")).stat().st_size
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
    scene.also = "rights"
    with scene.admin() as admin:
        admin.execute_command("ACL", "SETUSER", "footfall", "-evalsha")
        yield
        scene.also = ""
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
        wait_until(lambda: not scene.redis.answers(), "Redis to be busy")
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
    scene.accepts = False
    yield
    scene.accepts = True
    for pid, limits in zip(pids, usual, strict=True):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)


@contextmanager
def replicas_gone(scene: Scene) -> Iterator[None]:
    for replica in scene.replicas:
        replica.kill()
    yield
    for replica in scene.replicas:
        replica.start()


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
            environ = {name: scene.strict.environ[name] for name in ("REDIS_URL", "REDIS_TIMEOUT")}
            with serving(scene.strict.directory / "late", **environ) as late:
                assert httpx.get(f"{late.url}/readyz").status_code == 200
        yield
        for each in both:
            each.signal(signal.SIGCONT)

    return state


def node_full(path: str) -> State:
    """Fill the memory of the master that has this path's counter."""

    @contextmanager
    def state(scene: Scene) -> Iterator[None]:
        assert scene.cluster is not None
        master = scene.cluster.master_of(slots(scene.cluster, [path])[path])
        with scene.cluster.nodes[master].admin() as admin:
            admin.config_set("maxmemory", 1)
            yield
            admin.config_set("maxmemory", 0)

    return state


def home_of(cluster: RealCluster) -> int:
    return cluster.master_of(slot_of_key(b"ff:{site}:format"))


def slots(cluster: RealCluster, paths: list[str]) -> dict[str, int]:
    keys = Keys("ff", BUCKETS)
    seed = cluster.ask(home_of(cluster), "HGET", keys.site("format"), "seed")
    keys.seed = bytes.fromhex(seed.decode())
    return {path: slot_of_key(keys.counts(f"time {path}").encode()) for path in paths}
