"""What a fault happens to: real services on a real Redis, with a relay on one of the hops if
wanted.

A `Deployment` describes it, a `Scene` is it, running. Services keep their port when they are
restarted, and have data on disk before a change is acknowledged.
"""

import contextlib
import os
import resource
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from footfall.driver.cluster import slot_of_key
from footfall.driver.keys import Keys

from ..support.clusters import RealCluster, clustered
from ..support.sentinels import Group, group
from ..support.servers import RealServer, free_port, programs, running
from ..support.serving import BUCKETS, Serving, serving
from ..support.workers import workers
from .relay import Address, Relay
from .told import AuthoredComment
from .visitor import Visit, visiting

# Paths that are counted under load.
COUNTED = "/counted/{}"
DURABLE = ("--port", "0", "--appendfsync", "always")


@dataclass(frozen=True)
class Deployment:
    """`relay` is between the service and Redis, or between the clients and the services."""

    redis: Literal["private", "external", "sentinels", "cluster"] = "private"
    durability: str = ""
    options: tuple[str, ...] = ()
    services: int = 1
    workers: int = 1
    relay: Literal["", "redis", "clients"] = ""
    # Ignores SIGXFSZ, so that a full disk is an error of write() and not the end of the process.
    bears_full_disk: bool = False
    has_own_clock: bool = False
    reads_from_replicas: bool = False
    # A web server is told of each comment, by a worker in a process of its own.
    tells: bool = False
    # So many people decide about the same comments.
    moderators: int = 0


@dataclass
class Scene:
    """`seconds` is how long a fault lasts that needs a duration; it is longer than `timeout`,
    Redis's."""

    directory: Path
    seconds: float
    timeout: float
    services: list[Serving] = field(default_factory=list)
    redis: RealServer | None = None
    # If Redis is several servers, these are they.
    sentinels: Group | None = None
    cluster: RealCluster | None = None
    relay: Relay | None = None
    told: AuthoredComment | None = None
    # Of clients of other nodes: before the fault, and during it.
    visits: list[tuple[Visit, Visit]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address for clients."""
        if self.relay is not None and self.relay.port:
            return f"http://127.0.0.1:{self.relay.port}"
        return self.services[0].url

    @property
    def service(self) -> Serving:
        return self.services[0]

    @property
    def external(self) -> RealServer:
        assert self.redis is not None
        return self.redis

    @property
    def group(self) -> Group:
        assert self.sentinels is not None
        return self.sentinels

    @property
    def nodes(self) -> RealCluster:
        assert self.cluster is not None
        return self.cluster

    @property
    def listener(self) -> AuthoredComment:
        assert self.told is not None
        return self.told

    @property
    def hop(self) -> Relay:
        assert self.relay is not None
        return self.relay

    @property
    def socket(self) -> Path:
        """The socket of Redis itself, without the relay."""
        return self.redis.socket if self.redis else self.service.directory / "data/redis.sock"

    @contextlib.contextmanager
    def client(self) -> Iterator[Redis]:
        # One attempt: redis-py would wait longer and longer for a server that is not there.
        once = Retry(NoBackoff(), 0)
        with Redis(unix_socket_path=str(self.socket), retry=once) as client:
            yield client

    @property
    def redis_pid(self) -> int:
        with self.client() as client:
            pid: int = client.info("server")["process_id"]
        return pid

    def kill_service(self, number: int = 0) -> None:
        """Kill it with its workers and its private Redis, which end with it."""
        self.services[number].stop(signal.SIGKILL)

    def worker_pid(self) -> int:
        return min(workers(self.service))

    def set_clock(self, number: int, offset: int) -> None:
        """Set a service's wall clock so many seconds wrong."""
        file = _offset_file(self.services[number].directory)
        (file.parent / "next").write_text(str(offset))
        (file.parent / "next").replace(file)

    @contextlib.contextmanager
    def visited_beside(self, master: int) -> Iterator[None]:
        """Around a fault of this node or its replica, which others' clients should not notice."""
        paths = self._paths_beside(master)
        with visiting(self.url, paths) as before:
            time.sleep(self.seconds)
        with visiting(self.url, paths) as meanwhile:
            yield
        self.visits.append((before, meanwhile))

    def _paths_beside(self, master: int) -> list[str]:
        paths = [f"/visited/{n}" for n in range(30)]
        return [path for path in paths if self.nodes.master_of(self._slot(path)) != master]

    @cached_property
    def keys(self) -> Keys:
        """The names of a Cluster's keys, with its data set's seed."""
        nodes, keys = self.nodes, Keys("ff", BUCKETS)
        home = nodes.master_of(slot_of_key(keys.site("format").encode()))
        keys.seed = bytes.fromhex(nodes.ask(home, "HGET", keys.site("format"), "seed").decode())
        return keys

    def _slot(self, path: str) -> int:
        return slot_of_key(self.keys.counts(f"time {path}").encode())

    @property
    def counting_slot(self) -> int:
        """The slot of all counters under load, on a Cluster."""
        return self._slot(COUNTED.format(0))

    def counted(self, number: int) -> list[str]:
        """So many paths to count under load. On a Cluster all their counters are in one slot, so
        that a fault of one node is a fault for all of them."""
        paths = map(COUNTED.format, count())
        if self.cluster is None:
            return list(islice(paths, number))
        slot = self.counting_slot
        return list(islice((path for path in paths if self._slot(path) == slot), number))

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        """Let nothing be appended to Redis's file, by this process or one that replaces it."""
        pids = [self.redis_pid]
        if self.redis is None and self.service.process is not None:
            pids.append(self.service.process.pid)
        log = next(self.socket.parent.glob("appendonlydir/*.incr.aof"))
        limit_files(pids, log.stat().st_size + 1000)
        try:
            yield
        finally:
            # A server that is down will be started without the limit.
            with contextlib.suppress(RedisError):
                pids.append(self.redis_pid)
            limit_files(pids, resource.RLIM_INFINITY)


def limit_files(pids: list[int], size: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class SkewedServing(Serving):
    module = "tests.chaos.skewed"


@contextlib.contextmanager
def staged(
    deployment: Deployment, directory: Path, *, seconds: float, timeout: float
) -> Iterator[Scene]:
    scene = Scene(directory, seconds, timeout)
    with contextlib.ExitStack() as stack:
        environ = {
            "REDIS_TIMEOUT": str(timeout),
            "DURABILITY": deployment.durability,
            "READ_FROM_REPLICAS": str(deployment.reads_from_replicas).lower(),
        }
        program = _program(deployment, directory)
        if deployment.redis == "external":
            home = directory / "r"
            options = deployment.options or DURABLE
            scene.redis = stack.enter_context(running(program, home, *options))
            environ["REDIS_URL"] = scene.redis.url
            if deployment.options:
                # A server of another kind than the service would ask for.
                environ["GUARD"] = "warn"
        elif deployment.redis == "sentinels":
            scene.sentinels = stack.enter_context(group(program, directory / "r"))
            environ["REDIS_URL"] = scene.sentinels.url
        elif deployment.redis == "cluster":
            scene.cluster = stack.enter_context(clustered(program, directory / "r"))
            environ["REDIS_URL"] = scene.cluster.url
        else:
            environ["REDIS_SERVER"] = program
        if deployment.relay == "redis":
            scene.relay = Relay([scene.external.socket])
            stack.enter_context(scene.relay.listening(directory / "relay"))
            environ["REDIS_URL"] = f"unix://{directory / 'relay'}"
        if deployment.tells:
            scene.told = AuthoredComment(directory, free_port())
            stack.enter_context(scene.told.listening())
            environ |= {"WEBHOOK": scene.told.url, "OUTBOX_WORKER": "false"}
        for number in range(deployment.services):
            scene.services.append(
                stack.enter_context(_served(deployment, directory / str(number), environ))
            )
        if scene.told is not None:
            scene.told.start_worker(scene.service)
        if deployment.relay == "clients":
            scene.relay = Relay([_address(service.url) for service in scene.services])
            stack.enter_context(scene.relay.listening())
        yield scene


@contextlib.contextmanager
def _served(deployment: Deployment, home: Path, environ: dict[str, str]) -> Iterator[Serving]:
    options = ("--workers", str(deployment.workers)) if deployment.workers > 1 else ()
    own = {"PORT": str(free_port()), **environ}
    if not deployment.has_own_clock:
        with serving(home, *options, **own) as served:
            yield served
        return
    home.mkdir()
    _offset_file(home).write_text("0")
    served = SkewedServing(home, *options, CLOCK_OFFSET_FILE=str(_offset_file(home)), **own)
    served.start()
    try:
        yield served
    finally:
        served.stop()


def _offset_file(home: Path) -> Path:
    return home / "offset"


def _address(url: str) -> Address:
    parts = urlsplit(url)
    assert parts.hostname
    assert parts.port
    return parts.hostname, parts.port


def _program(deployment: Deployment, directory: Path) -> str:
    """The Valkey of the package for a private server; Debian's Redis for one's own."""
    found = programs()
    program = found["valkey"]
    if deployment.redis != "private":
        program = found.get("redis", program)
    if not deployment.bears_full_disk:
        return program
    script = directory / "server"
    script.write_text(f"#!/bin/sh\ntrap '' XFSZ\nexec '{program}' \"$@\"\n")
    os.chmod(script, 0o700)
    return str(script)
