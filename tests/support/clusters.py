"""A real Redis Cluster on loopback: three masters, each with a replica."""

import contextlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from footfall.driver.cluster import SLOTS

from .servers import RealServer, free_port, running, wait_until

MASTERS = 3
# How long a node may be silent before the others treat it as failed.
TIMEOUT_MS = 1000


class RealCluster:
    """`nodes` are the first masters, then a replica for each."""

    def __init__(self, nodes: list[RealServer], ports: list[int]) -> None:
        self.nodes = nodes
        self.ports = ports
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.url = f"redis://{nodes[0].entry}@{hosts}?cluster=true"

    def ask(self, node: int, *command: object) -> Any:
        with self.nodes[node].admin() as admin:
            return admin.execute_command(*command)

    @contextlib.contextmanager
    def saying(self, what: str) -> Iterator[None]:
        """During the block the nodes name this of their hosts: ip, hostname or unknown-endpoint."""
        try:
            self._name(what)
            yield
        finally:
            self._name("ip")

    def _name(self, what: str) -> None:
        for node in range(len(self.nodes)):
            self.ask(node, "CONFIG", "SET", "cluster-preferred-endpoint-type", what)

    def is_whole(self) -> bool:
        """Do all running nodes report that every slot is served and replicas are connected?"""
        alive = [i for i, node in enumerate(self.nodes) if node.answers()]
        return all(self._has_all_slots(i) and self._is_in_step(i) for i in alive)

    def _has_all_slots(self, node: int) -> bool:
        facts = self.ask(node, "CLUSTER INFO")
        return bool(facts["cluster_state"] == "ok" and int(facts["cluster_slots_ok"]) == SLOTS)

    def _is_in_step(self, node: int) -> bool:
        facts = self.ask(node, "INFO", "replication")
        return bool(facts["role"] == "master" or facts["master_link_status"] == "up")

    def masters(self) -> list[int]:
        """Which nodes are masters now."""
        alive = [i for i, node in enumerate(self.nodes) if node.answers()]
        return [i for i in alive if self.ask(i, "INFO", "replication")["role"] == "master"]

    def id_of(self, node: int) -> str:
        id: bytes = self.ask(node, "CLUSTER", "MYID")
        return id.decode() if isinstance(id, bytes) else id

    def owner(self, slot: int) -> int:
        """The master that has the keys of a slot."""
        keys = {i: self.ask(i, "CLUSTER", "COUNTKEYSINSLOT", slot) for i in self.masters()}
        return max(keys, key=lambda i: int(keys[i]))

    def master_of(self, slot: int) -> int:
        """The node that a slot is assigned to, which may have no keys in it."""
        ranges = self.ask(self.masters()[0], "CLUSTER", "SLOTS")
        (port,) = [node[1] for first, last, node, *_ in ranges if first <= slot <= last]
        return self.ports.index(port)

    def replica_of(self, master: int) -> int:
        port = str(self.ports[master])
        followed = {
            i: str(self.ask(i, "INFO", "replication").get("master_port", ""))
            for i, node in enumerate(self.nodes)
            if node.answers()
        }
        return next(i for i in followed if followed[i] == port)

    def move(self, slot: int) -> None:
        """Move a slot to another master key by key, as redis-cli does."""
        source = self.owner(slot)
        target = next(i for i in self.masters() if i != source)
        self.ask(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", self.id_of(source))
        self.ask(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", self.id_of(target))
        while keys := self.ask(source, "CLUSTER", "GETKEYSINSLOT", slot, 1):
            port = self.ports[target]
            self.ask(source, "MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", *keys)
        for node in (target, source):
            self.ask(node, "CLUSTER", "SETSLOT", slot, "NODE", self.id_of(target))

    def flush(self) -> None:
        for node in self.masters():
            self.ask(node, "FLUSHALL")


@contextlib.contextmanager
def clustered(program: str, home: Path) -> Iterator[RealCluster]:
    ports = [free_port() for _ in range(2 * MASTERS)]
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(
                running(
                    program,
                    home / str(i),
                    "--port",
                    str(port),
                    "--bind",
                    "127.0.0.1",
                    "--cluster-enabled",
                    "yes",
                    "--cluster-port",
                    str(free_port()),
                    "--cluster-node-timeout",
                    str(TIMEOUT_MS),
                    "--cluster-replica-no-failover",
                    "no",
                    "--repl-diskless-sync-delay",
                    "0",
                    # As docs/operations.md advises: a failed node does not stop the others.
                    "--cluster-require-full-coverage",
                    "no",
                )
            )
            for i, port in enumerate(ports)
        ]
        cluster = RealCluster(nodes, ports)
        _join(cluster)
        yield cluster
        for node in nodes:
            # On SIGTERM masters would wait for their replicas.
            node.kill()


def _join(cluster: RealCluster) -> None:
    for i in range(MASTERS):
        first, last = SLOTS * i // MASTERS, SLOTS * (i + 1) // MASTERS - 1
        cluster.ask(i, "CLUSTER", "ADDSLOTSRANGE", first, last)
        cluster.ask(i, "CLUSTER", "SET-CONFIG-EPOCH", i + 1)
    for i, port in enumerate(cluster.ports[1:], start=1):
        bus = int(cluster.ask(i, "CONFIG", "GET", "cluster-port")[b"cluster-port"])
        cluster.ask(0, "CLUSTER", "MEET", "127.0.0.1", port, bus)
    known = len(cluster.ports)
    wait_until(
        lambda: all(
            int(cluster.ask(i, "CLUSTER INFO")["cluster_known_nodes"]) == known
            for i in range(known)
        ),
        "the nodes to know each other",
    )
    for i in range(MASTERS):
        cluster.ask(MASTERS + i, "CLUSTER", "REPLICATE", cluster.id_of(i))
    wait_until(cluster.is_whole, "the cluster to be whole")
