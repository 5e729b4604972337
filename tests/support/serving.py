"""The service as users start it: a child process, whose banner has its address; and commands."""

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from .commands import NEED_A_PROCESS, invoke
from .forking import Forked

ROOT = Path(__file__).parents[2]
# PYTHONPATH with this checkout's code and tests, for a process in another directory.
SOURCES = f"{ROOT}/service:{ROOT}"
STOP_SECONDS = 60.0
# Of new data sets; fewer are not allowed.
BUCKETS = 256

# The variables that child processes inherit: what any program needs, and coverage's.
COVERAGE = {"COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"}
KEPT = ("PATH", "HOME", "LANG", *sorted(COVERAGE))


class Serving:
    """One `footfall serve` on a free port, in a directory of its own."""

    # The module that is run.
    module = "footfall"
    # Where its log goes: by default to the same pipe as the banner.
    stderr = subprocess.STDOUT

    def __init__(self, directory: Path, *options: str, **environ: str) -> None:
        self.directory = directory
        self.options = options
        self.environ = {
            # With both, the service would warn that PORT does nothing.
            **({} if "UDS" in environ else {"PORT": "0"}),
            "DATA_DIR": str(directory / "data"),
            "IPQPS": "0",
            "REDIS_WAIT": "0",
            # Commands look into every hash of counters, 65,536 by default, whatever there is.
            "COUNTER_BUCKETS": str(BUCKETS),
            **environ,
        }
        self.process: subprocess.Popen[str] | None = None
        self.url = ""
        # What it has printed until it listens.
        self.output = ""

    def run(
        self,
        *command: str,
        stdin: int | None = None,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.STDOUT,
        more: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        """Start a command of the package as a process in this directory, with these settings
        alone."""
        environ = {**self._whole_environ(), **(more or {})}
        # These start with an interpreter, and another module is not loaded yet.
        starts = "PYTHONPATH" in self.environ or bool(environ.keys() & COVERAGE)
        is_forked = self.module == "footfall" and not starts
        # Like the installed command, -P does not import from the working directory.
        program = ["footfall"] if is_forked else [sys.executable, "-P", "-m", self.module]
        return (Forked if is_forked else subprocess.Popen)(
            [*program, *command],
            cwd=self.directory,
            env=environ,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            text=True,
        )

    def _whole_environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.directory.mkdir(parents=True, exist_ok=True)
        return {**kept, "PYTHONPATH": SOURCES, "PYTHONUNBUFFERED": "1", **self.environ}

    def ask(self, *command: str, stdin: str | bytes = "") -> tuple[int, str]:
        """Run a command to its end, in this process if it may: (exit code, output)."""
        if self.module != "footfall" or command[0] in NEED_A_PROCESS:
            return self.ask_process(*command)
        done = invoke(
            *command, directory=self.directory, environ=self._whole_environ(), stdin=stdin
        )
        return int(done.exit_code), done.output

    def ask_process(self, *command: str) -> tuple[int, str]:
        """The same as a process, like those that handle signals."""
        process = self.run(*command)
        output, _ = process.communicate(timeout=STOP_SECONDS)
        return process.returncode, output

    def output_of(self, *command: str) -> tuple[int, str]:
        """The same without the first line of the output, which names the data set."""
        code, output = self.ask(*command)
        first, _, rest = output.partition("\n")
        assert first.startswith("Data set: "), output
        return code, rest

    def start(self) -> None:
        # On a busy machine Redis may be seconds late, at the start and with a flush to the disk.
        patient = {"REDIS_TIMEOUT": "60"} if "REDIS_TIMEOUT" not in self.environ else {}
        if self.environ["REDIS_WAIT"] == "0":
            patient["REDIS_WAIT"] = "60"
        self.process = self.run("serve", *self.options, stderr=self.stderr, more=patient)
        assert self.process.stdout is not None
        self.output = ""
        found = None
        while found is None:
            line = self.process.stdout.readline()
            if not line:
                self.process.communicate()
                raise AssertionError(self.output)
            self.output += line
            found = re.search(r"listens on (\S+)", line)
        self.url = found[1]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Stop it by a signal: (exit code, the rest of its output)."""
        assert self.process is not None
        self.process.send_signal(number)
        output, _ = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode, output

    def end(self) -> tuple[int, str]:
        """Stop it: (exit code, its whole output). `stop` loses what this process has buffered.

        Only for a service with little output, which must fit into the pipe.
        """
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.terminate()
        code = self.process.wait(STOP_SECONDS)
        with self.process.stdout as output:
            return code, self.output + output.read()

    def end_at_once(self) -> None:
        """Kill it with its workers and its Redis: an orderly stop takes a third of a second, and
        tests that ask nothing about it pay that hundreds of times."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        # A process that is killed writes down nothing for coverage.
        if not children.exists() or self._whole_environ().keys() & COVERAGE:
            self.stop()
            return
        # So that it has no more children than are found.
        self.process.send_signal(signal.SIGSTOP)
        found = [os.pidfd_open(int(pid)) for pid in children.read_text().split()]
        self.process.kill()
        self.process.wait(STOP_SECONDS)
        for child in found:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(child, signal.SIGKILL)
            # Else it might still write into a directory that is being removed.
            assert select.select([child], [], [], STOP_SECONDS)[0]
            os.close(child)


class Skewed(Serving):
    """The same with a clock that is wrong by the seconds in the file CLOCK_OFFSET_FILE."""

    module = "tests.chaos.skewed"


@contextlib.contextmanager
def started(served: Serving) -> Iterator[Serving]:
    served.start()
    try:
        yield served
    finally:
        if served.process is not None and served.process.poll() is None:
            served.end_at_once()
        if served.process is not None and served.process.stdout is not None:
            served.process.stdout.close()


def serving(
    directory: Path, *options: str, **environ: str
) -> contextlib.AbstractContextManager[Serving]:
    return started(Serving(directory, *options, **environ))
