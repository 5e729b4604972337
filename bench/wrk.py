"""Throughput, with wrk: a closed loop that is fast enough for the fastest server here.

wrk.lua sends prepared requests and reports exact numbers of requests and of answers.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .machine import Cores

SCRIPT = Path(__file__).parent / "wrk.lua"


@dataclass(frozen=True, slots=True)
class Played:
    """One run. `sent` counts requests made; `accepted` answers below status 400."""

    sent: int
    accepted: int
    refused: int
    broken: int
    seconds: float
    bytes: int
    p50_us: int
    p99_us: int
    p999_us: int
    max_us: int

    @property
    def rate(self) -> float:
        return self.accepted / self.seconds if self.seconds else 0.0

    @property
    def errors(self) -> int:
        return self.refused + self.broken

    @property
    def in_flight(self) -> int:
        """Requests whose outcome is not known."""
        return self.sent - self.accepted - self.refused


def program() -> str | None:
    return shutil.which("wrk")


class Requests:
    """Templates in a file for wrk.lua, which exists during the block."""

    def __init__(self, templates: Sequence[bytes]) -> None:
        self._file = tempfile.NamedTemporaryFile(prefix="wrk", suffix=".requests")  # noqa: SIM115
        self._file.write(b"\0".join(templates) + b"\0")
        self._file.flush()
        self.name = self._file.name

    def __enter__(self) -> "Requests":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def play(
        self, url: str, *, connections: int, seconds: float, cores: Cores, first: int
    ) -> Played:
        """Raises RuntimeError with wrk's words if it does not run to its end."""
        wrk = program()
        if not wrk:
            raise RuntimeError("there is no wrk; bench/install.sh installs it")
        # wrk counts in whole seconds.
        command = [
            wrk,
            "-t1",
            f"-c{connections}",
            f"-d{max(round(seconds), 1)}s",
            "--timeout",
            "10s",
            "-s",
            str(SCRIPT),
            url,
            "--",
            self.name,
            str(first),
        ]
        wanted = set(cores.load)
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds + 60,
            check=False,
            preexec_fn=lambda: os.sched_setaffinity(0, wanted),
        )
        for line in done.stdout.splitlines():
            if line.startswith("RESULT "):
                return _played(json.loads(line.removeprefix("RESULT ")))
        raise RuntimeError(f"wrk said: {(done.stdout + done.stderr)[-500:]}")


def _played(found: dict[str, int]) -> Played:
    # wrk counts a refusal among the answers.
    return Played(
        sent=found["sent"],
        accepted=found["answered"] - found["refused"],
        refused=found["refused"],
        broken=found["broken"] + found["timeouts"],
        seconds=found["us"] / 1e6,
        bytes=found["bytes"],
        p50_us=found["p50"],
        p99_us=found["p99"],
        p999_us=found["p999"],
        max_us=found["max"],
    )
