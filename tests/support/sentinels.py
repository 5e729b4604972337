"""A master, its replica and three Sentinels, as processes that a test may kill or freeze."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from .servers import RealServer, free_port, kept, wait_until

NAME = "main"
# The service's user on the Sentinels, who may run SENTINEL MASTERS only.
USER = "asker"
SECRET = "senti/nel&p@ss"
# In milliseconds. By default Sentinels meet after two seconds, and take ten until they find a
# master that is back. They ping as seldom as ever: if all miss a master at once, each votes for
# itself, and they try again after seconds. A server that does not take itself for what they do is
# put right after four of the second periods: less than a second is little on a busy machine.
HASTE = ("INFO-PERIOD", 200, "PUBLISH-PERIOD", 300)


class Member(RealServer):
    """A master, or a replica of the master at this port."""

    def __init__(self, program: str, home: Path, master: int = 0) -> None:
        self.port = free_port()
        options = ("--port", str(self.port), "--bind", "127.0.0.1")
        super().__init__(program, home, *options, "--repl-diskless-sync-delay", "0")
        self._master = master

    def command(self) -> list[str]:
        above = ["--replicaof", "127.0.0.1", str(self._master)] if self._master else []
        return [*super().command(), *above]

    def start_below(self, master: int) -> None:
        """Start as a replica of this master, and not as one because of a Sentinel."""
        self._master = master
        self.start()

    def role(self) -> str:
        with self.admin() as admin:
            return str(admin.role()[0].decode())

    def is_replica_in_step(self) -> bool:
        with self.admin() as admin:
            facts: dict[str, object] = admin.info("replication")
        return facts.get("master_link_status") == "up"

    def wait_for_replica(self) -> None:
        """Wait until all writes so far have reached the replica."""
        with self.admin() as admin:
            assert admin.execute_command("WAIT", 1, 10_000) == 1


class Sentinel(RealServer):
    """The same program as a Sentinel, which stores its state in its configuration file."""

    def __init__(self, program: str, home: Path, master: int) -> None:
        super().__init__(program, home)
        self.port = free_port()
        self.file = home / "sentinel.conf"
        home.mkdir(parents=True)
        self.file.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {home}\nunixsocket {self.socket}\n"
            f"user {USER} on >{SECRET} -@all +sentinel|masters\n"
            f"sentinel monitor {NAME} 127.0.0.1 {master} 2\n"
            f"sentinel down-after-milliseconds {NAME} 1000\n"
            f"sentinel failover-timeout {NAME} 3000\n"
        )

    def command(self) -> list[str]:
        return [self.program, str(self.file), "--sentinel"]

    def start(self) -> None:
        super().start()
        with self.admin() as admin:
            admin.execute_command("SENTINEL", "DEBUG", *HASTE)

    def master(self) -> int:
        """The port of the master that it reports."""
        with self.admin() as admin:
            port: int = admin.sentinel_masters()[NAME]["port"]
        return port

    def has_met_master(self) -> bool:
        with self.admin() as admin:
            return bool(admin.sentinel_masters()[NAME]["runid"])

    def knows_everybody(self) -> bool:
        with self.admin() as admin:
            known = admin.sentinel_masters()[NAME]
        return (known["num-slaves"], known["num-other-sentinels"]) == (1, 2)


@dataclass
class Group:
    master: Member
    replica: Member
    sentinels: list[Sentinel]

    def fail_over(self) -> None:
        """Kill the master; once the replica is promoted, start the old master as its replica."""
        failed, chosen = self.master, self.replica
        failed.kill()
        wait_until(
            lambda: {sentinel.master() for sentinel in self.sentinels} == {chosen.port},
            "another master to be chosen",
        )
        failed.start_below(chosen.port)
        self.master, self.replica = chosen, failed

    @property
    def url(self) -> str:
        return self.url_by(*(sentinel.port for sentinel in self.sentinels))

    def url_by(self, *ports: int) -> str:
        """A URL with the Sentinels at these ports, in this order."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        entry = f"sentinel_username={USER}&sentinel_password={quote(SECRET, safe='')}"
        return f"redis+sentinel://{self.master.entry}@{hosts}/{NAME}?{entry}"


@contextlib.contextmanager
def group(program: str, home: Path) -> Iterator[Group]:
    with contextlib.ExitStack() as stack:
        master = stack.enter_context(kept(Member(program, home / "m")))
        replica = stack.enter_context(kept(Member(program, home / "r", master.port)))
        wait_until(replica.is_replica_in_step, "the replica to be in step")
        sentinels = [
            stack.enter_context(kept(Sentinel(program, home / str(n), master.port)))
            for n in range(3)
        ]
        for sentinel in sentinels:
            wait_until(sentinel.knows_everybody, "the Sentinels to know each other")
        yield Group(master, replica, sentinels)
