"""The socket that a service listens on: an address and a port, or a path for a proxy next to it.

Several workers share a port by SO_REUSEPORT, each with a socket of its own. A path cannot be shared
like that: there they inherit one socket from their parent.
"""

import contextlib
import ctypes
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from ..config import Settings
from ..driver.private_server import MAX_SOCKET_PATH_BYTES, CannotStart

BACKLOG = 2048
# Linux's number; Python has no name for it.
SO_ATTACH_FILTER = 26


@contextlib.contextmanager
def bound(settings: Settings, *, is_shared: bool = False) -> Iterator[socket.socket]:
    """A socket that keeps the place and takes no connections yet. Raises CannotStart.

    `is_shared` lets other processes have the same port, if they say so, too.
    """
    try:
        if settings.uds:
            listener = _at_path(Path(settings.uds), settings.uds_mode)
        else:
            listener = _at_port(settings.host, settings.port, is_shared=is_shared)
    except OSError as error:
        place = settings.uds or f"{settings.host} port {settings.port}"
        raise CannotStart(f"cannot listen on {place}: {error.strerror or error}") from error
    path = Path(settings.uds)
    own = _birth(path) if settings.uds else None
    try:
        with listener:
            yield listener
    finally:
        # While the last requests were answered, another service may have taken the place.
        with contextlib.suppress(FileNotFoundError):
            if own and own == _birth(path):
                path.unlink()


def _birth(path: Path) -> tuple[int, int]:
    """Tells a file from one that has come in its place, and may have its inode."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def name_of(listener: socket.socket) -> str:
    if listener.family == socket.AF_UNIX:
        return f"unix:{listener.getsockname()}"
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def refuse_more(listener: socket.socket) -> None:
    """Let nobody else in, and leave those who are waiting where they are.

    Where the system cannot do that (other than Linux), some may still come before it is closed.
    """
    with contextlib.suppress(OSError):
        if listener.family == socket.AF_UNIX:
            listener.shutdown(socket.SHUT_RD)
        else:
            _drop_greetings(listener)


def accepted(listener: socket.socket) -> Iterator[socket.socket]:
    """The connections that wait, until there is none, and no more than can."""
    listener.setblocking(False)
    for _ in range(BACKLOG + 1):
        try:
            connection, _ = listener.accept()
        except ConnectionAbortedError:
            continue
        except OSError:
            return
        connection.setblocking(False)
        yield connection


def _drop_greetings(listener: socket.socket) -> None:
    """Ignore SYN packets: their senders try again in a second, and find another, or nobody.

    A socket that is closed resets everybody who is about to connect, and whoever has begun to.
    """
    SYN, FLAGS = 0x02, 13
    program = [
        # Load the byte with the flags; go one further if SYN is not among them.
        (0x30, 0, 0, FLAGS),
        (0x45, 0, 1, SYN),
        # Drop; keep all of it.
        (0x06, 0, 0, 0),
        (0x06, 0, 0, 0xFFFFFFFF),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in program))
    pointer = struct.pack("HL", len(program), ctypes.addressof(code))
    listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, pointer)


def _at_port(host: str, port: int, *, is_shared: bool) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    with _closed_if_it_fails(listener):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, port))
    return listener


def _at_path(path: Path, mode: int) -> socket.socket:
    if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
        raise OSError(None, f"the path is longer than {MAX_SOCKET_PATH_BYTES} bytes")
    listener = socket.socket(socket.AF_UNIX)
    with _closed_if_it_fails(listener):
        _clear(path)
        listener.bind(str(path))
        path.chmod(mode)
    return listener


def _clear(path: Path) -> None:
    """Remove the socket of a service that was killed; raises OSError if one is there."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise OSError(None, "another process is listening there")


@contextlib.contextmanager
def _closed_if_it_fails(listener: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        listener.close()
        raise
