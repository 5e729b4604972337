"""The socket that a service listens on: a TCP port, or a UNIX socket for a proxy on this machine.

Workers share a port by SO_REUSEPORT, each with a socket of its own. A UNIX socket cannot be shared
like that, so they inherit one from their parent.
"""

import asyncio
import contextlib
import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from ..config import Settings
from ..driver.private_server import MAX_SOCKET_PATH_BYTES, CannotStart

BACKLOG = 2048
# Linux's number of this option, which Python does not name.
SO_ATTACH_FILTER = 26
# What to do about an address that cannot be listened on.
_ADVICE = {
    errno.EADDRINUSE: "; another process does: stop it, or choose another PORT",
    errno.EADDRNOTAVAIL: "; this machine does not have it: choose another HOST",
    errno.EACCES: "; ports below 1024 are for root: choose another PORT, or give the service "
    "CAP_NET_BIND_SERVICE",
    socket.EAI_NONAME: "; this HOST cannot be resolved",
}


@contextlib.contextmanager
def bound(settings: Settings, *, is_shared: bool = False) -> Iterator[socket.socket]:
    """A socket that is bound and does not listen yet. Raises CannotStart.

    With `is_shared` other processes can bind the same port, if they set it, too.
    """
    try:
        if settings.uds:
            listener = _at_path(Path(settings.uds), settings.uds_mode)
        else:
            listener = _at_port(settings.host, settings.port, is_shared=is_shared)
    except OSError as error:
        place = settings.uds or f"{settings.host} port {settings.port}"
        advice = "" if settings.uds else _ADVICE.get(error.errno or 0, "")
        raise CannotStart(f"cannot listen on {place}: {error.strerror or error}{advice}") from error
    path = Path(settings.uds)
    own = _identity(path) if settings.uds else None
    try:
        with listener:
            yield listener
    finally:
        # Removed unless another service has put its own socket there by now.
        with contextlib.suppress(FileNotFoundError):
            if own and own == _identity(path):
                path.unlink()


def _identity(path: Path) -> tuple[int, int]:
    """(inode, time of modification): a file that replaces another may get its inode again."""
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def name_of(listener: socket.socket) -> str:
    if listener.family == socket.AF_UNIX:
        return f"unix:{listener.getsockname()}"
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def asked(listener: socket.socket, path: str) -> bytes:
    """The whole answer to a request for this path. Raises OSError."""
    place = listener.getsockname()
    reader, writer = await (
        asyncio.open_unix_connection(place)
        if listener.family == socket.AF_UNIX
        else asyncio.open_connection(*place[:2])
    )
    try:
        # HTTP/1.0 needs no Host, and the answer ends with the connection.
        writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        return await reader.read()
    finally:
        writer.close()


def refuse_more(listener: socket.socket) -> None:
    """Reject new connections, and keep those that wait to be accepted.

    Only Linux supports that; on other systems some may still come before the socket is closed.
    """
    with contextlib.suppress(OSError):
        if listener.family == socket.AF_UNIX:
            listener.shutdown(socket.SHUT_RD)
        else:
            _drop_greetings(listener)


def accepted(listener: socket.socket) -> Iterator[socket.socket]:
    """Accept the waiting connections, at most as many as the backlog holds."""
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
    """Drop SYN packets: their clients retry after a second, and reach another worker or none.

    Closing the socket would reset waiting connections, and those whose handshake has started. On a
    busy service the backlog would never become empty, as others come while some are accepted:
    without this filter the end cut off up to 276 of the 300 clients of
    tests/integration/test_shutdown.py, in most of its runs.
    """
    SYN, FLAGS = 0x02, 13
    program = [
        # Load the byte with the flags; skip one instruction unless SYN is set.
        (0x30, 0, 0, FLAGS),
        (0x45, 0, 1, SYN),
        # Drop the packet; accept the whole packet.
        (0x06, 0, 0, 0),
        (0x06, 0, 0, 0xFFFFFFFF),
    ]
    code = ctypes.create_string_buffer(
        b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    )
    pointer = struct.pack("HL", len(program), ctypes.addressof(code))
    listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, pointer)


def _at_port(host: str, port: int, *, is_shared: bool) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    with _closed_if_it_fails(listener):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            listener.bind((host, port))
        except TypeError as error:
            # Such a text cannot be a name, so that no resolver gets it.
            raise socket.gaierror(socket.EAI_NONAME, "no name of a host") from error
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
    """Remove the socket of a service that was killed. Raises OSError if a process listens there."""
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
