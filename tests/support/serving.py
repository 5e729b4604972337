"""The service as a user starts it: a child process that says where it listens."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# This checkout's code, and its tests', for a process that starts elsewhere.
SOURCES = f"{ROOT}/service:{ROOT}"
STOP_SECONDS = 20.0

# Of this process's environment: what any program needs, and what `make coverage` tells those that
# are started.
KEPT = ("PATH", "HOME", "LANG", "COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START")


class Serving:
    """One `footfall serve` on a port the kernel gives, in a directory of its own."""

    # The package that is run.
    module = "footfall"
    # Where its log goes; among what it says, unless a test wants it apart.
    stderr = subprocess.STDOUT

    def __init__(self, directory: Path, *options: str, **environ: str) -> None:
        self.directory = directory
        self.options = options
        self.environ = {
            # A service that has a socket file says that a port does nothing.
            **({} if "UDS" in environ else {"PORT": "0"}),
            "DATA_DIR": str(directory / "data"),
            "IPQPS": "0",
            "REDIS_WAIT": "0",
            **environ,
        }
        self.process: subprocess.Popen[str] | None = None
        self.url = ""
        # Up to where it says that it listens.
        self.said = ""

    def run(
        self,
        *command: str,
        stdin: int | None = None,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.STDOUT,
    ) -> subprocess.Popen[str]:
        """Start a command of the package here, with these settings and no others."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.directory.mkdir(parents=True, exist_ok=True)
        return subprocess.Popen(
            # As the installed command: without the working directory.
            [sys.executable, "-P", "-m", self.module, *command],
            cwd=self.directory,
            env={**kept, "PYTHONPATH": SOURCES, "PYTHONUNBUFFERED": "1", **self.environ},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            text=True,
        )

    def ask(self, *command: str) -> tuple[int, str]:
        """Run a command to its end: (exit code, output)."""
        process = self.run(*command)
        output, _ = process.communicate(timeout=STOP_SECONDS)
        return process.returncode, output

    def told(self, *command: str) -> tuple[int, str]:
        """The same without the first line, which says which data set is looked at."""
        code, output = self.ask(*command)
        first, _, rest = output.partition("\n")
        assert first.startswith("Data set: "), output
        return code, rest

    def start(self) -> None:
        self.process = self.run("serve", *self.options, stderr=self.stderr)
        assert self.process.stdout is not None
        self.said = ""
        found = None
        while found is None:
            line = self.process.stdout.readline()
            assert line, self.said
            self.said += line
            found = re.search(r"listens on (\S+)", line)
        self.url = found[1]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """End it with a signal: (exit code, what it still said)."""
        assert self.process is not None
        self.process.send_signal(number)
        output, _ = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode, output

    def end(self) -> tuple[int, str]:
        """The same, with its whole banner, of which `stop` loses what this file has in its buffer.

        For a service that has not much to say.
        """
        assert self.process is not None and self.process.stdout is not None
        self.process.terminate()
        code = self.process.wait(STOP_SECONDS)
        with self.process.stdout as output:
            return code, self.said + output.read()


class Skewed(Serving):
    """One whose wall clock is as many seconds off as the file CLOCK_OFFSET_FILE says just now."""

    module = "tests.chaos.skewed"


@contextlib.contextmanager
def started(served: Serving) -> Iterator[Serving]:
    served.start()
    try:
        yield served
    finally:
        if served.process is not None and served.process.poll() is None:
            served.stop()
        if served.process is not None and served.process.stdout is not None:
            served.process.stdout.close()


def serving(
    directory: Path, *options: str, **environ: str
) -> contextlib.AbstractContextManager[Serving]:
    return started(Serving(directory, *options, **environ))
