"""What the service tells systemd (sd_notify): a socket of the test's takes systemd's place."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from footfall.server import systemd
from tests.support.servers import program_of, running, wait_until
from tests.support.serving import serving
from tests.support.workers import workers

STARTING = "STATUS=starting: Redis is not open yet"


class Manager:
    """A socket to which services send, and the lines that came, in their order."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.setblocking(False)
        self._lines = list[str]()

    @property
    def lines(self) -> list[str]:
        try:
            while True:
                self._lines += self.socket.recv(4096).decode().split("\n")
        except BlockingIOError:
            return self._lines

    def wait(self, line: str) -> None:
        wait_until(lambda: line in self.lines, f"{line} among {self._lines}")

    def forget(self) -> None:
        self.lines.clear()


@pytest.fixture
def told(own: Path) -> Iterator[Manager]:
    found = Manager(f"{own}/notify")
    with found.socket:
        yield found


def watched(own: Path, microseconds: int) -> dict[str, str]:
    return {"NOTIFY_SOCKET": f"{own}/notify", "WATCHDOG_USEC": str(microseconds)}


def test_it_tells_that_it_is_ready_how_it_is_that_it_lives_and_that_it_stops(
    own: Path, told: Manager
) -> None:
    environ = {**watched(own, 200_000), "DRAIN_SECONDS": "0.1"}
    with (
        running(program_of("valkey"), own / "r") as server,
        serving(own / "s", REDIS_URL=server.url, REDIS_TIMEOUT="0.5", **environ) as served,
    ):
        told.wait("READY=1")
        assert told.lines[:3] == [STARTING, "READY=1", "STATUS=ready"]
        told.wait("WATCHDOG=1")
        server.signal(signal.SIGSTOP)
        wait_until(
            lambda: any(line.startswith("STATUS=not ready: Redis") for line in told.lines),
            "a status that names Redis",
        )
        told.forget()
        # Redis being away is no reason to be started again.
        told.wait("WATCHDOG=1")
        server.signal(signal.SIGCONT)
        told.wait("STATUS=ready")
        assert served.end()[0] == 0
        told.wait("STOPPING=1")
        assert told.lines[told.lines.index("STOPPING=1") + 1] == "STATUS=draining"
        assert "STATUS=ready" not in told.lines[told.lines.index("STOPPING=1") :]


@pytest.mark.rare
def test_a_parent_tells_what_its_workers_answer(own: Path, told: Manager) -> None:
    with serving(own / "s", "--workers", "2", **watched(own, 100_000)) as served:
        told.wait("WATCHDOG=1")
        assert [line for line in told.lines if "WATCHDOG" not in line] == [
            STARTING,
            "READY=1",
            "STATUS=ready",
        ]
        told.forget()
        for pid in workers(served):
            os.kill(pid, signal.SIGKILL)
        wait_until(
            lambda: any(line.startswith("STATUS=not ready: no answer") for line in told.lines),
            "a status without workers",
        )


async def test_no_life_is_told_while_nobody_could_answer(
    own: Path, told: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in watched(own, 20_000).items():
        monkeypatch.setenv(name, value)
    answers = [True, False, False, False, False]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = systemd.Systemd(listener, lambda: answers.pop(0))
        found.ready()
        _, living = found._tasks
        # It ends when the answers do.
        with pytest.raises(IndexError):
            await living
        found._tasks[0].cancel()
    assert told.lines.count("WATCHDOG=1") == 1


def test_an_abstract_socket_is_told_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"footfall-test-{os.getpid()}"
    told = Manager(f"\0{name}")
    monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
    with told.socket:
        systemd.tell("STATUS=one\nREADY=1")
        assert told.lines == ["STATUS=one READY=1"]


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, 0),
        ({"WATCHDOG_USEC": "soon"}, 0),
        ({}, 0),
    ],
)
def test_only_the_process_that_is_watched_tells_that_it_lives(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], seconds: float
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert systemd._watchdog_seconds() == seconds


def test_a_socket_that_nobody_reads_stops_nothing(
    own: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", f"{own}/nobody")
    systemd.tell("READY=1")
    (line,) = caplog.messages
    assert line.startswith("NOTIFY_SOCKET takes no message")
