"""The worker processes of a running service, and which of them answers."""

import contextlib
import os
import re
from http.client import HTTPConnection
from pathlib import Path

import httpx

from .requirements import give_up
from .servers import wait_until
from .serving import Serving


def workers(served: Serving) -> set[int]:
    assert served.process is not None
    return {pid for pid in children_of(served.process.pid) if b"--as-worker" in _command(pid)}


def children_of(pid: int) -> list[int]:
    if not Path("/proc/thread-self/children").exists():
        give_up("the kernel of this machine does not say which children a process has")
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return status != "Z"


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        # It has ended meanwhile.
        return b""


def worker_of(served: Serving, connection: HTTPConnection) -> int:
    """The pid of the worker that has accepted this connection."""
    # The worker's end of it: its own address and then the other's.
    ends = [connection.sock.getpeername()[1], connection.sock.getsockname()[1]]
    of_both = re.compile(r":{:04X} \w+:{:04X} .*".format(*ends))
    # Searched as text, since thousands of connections of other tests are still listed.
    rows = [line.split() for line in of_both.findall(Path("/proc/net/tcp").read_text())]
    # Without the number and the address, the socket is the ninth word behind the first port.
    sockets = {f"socket:[{row[8]}]" for row in rows}
    (worker,) = (pid for pid in workers(served) if sockets & files(pid))
    return worker


def files(pid: int) -> set[str]:
    """The files and sockets that a process has open."""
    found = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(each))
    return found


def ask(served: Serving, method: str, target: str) -> tuple[int, bytes, int]:
    """Send a request on a new connection: (status, body, the worker's pid)."""
    url = httpx.URL(served.url)
    connection = HTTPConnection(url.host, url.port or 80, timeout=60)
    try:
        connection.request(method, target)
        answer = connection.getresponse()
        return answer.status, answer.read(), worker_of(served, connection)
    finally:
        connection.close()


def ask_plainly(served: Serving, method: str, target: str) -> bytes:
    """Send a request on a new connection, to any worker; returns the body."""
    url = httpx.URL(served.url)
    connection = HTTPConnection(url.host, url.port or 80, timeout=60)
    with contextlib.closing(connection):
        connection.request(method, target)
        return connection.getresponse().read()


def all_answer(served: Serving, number: int = 2) -> None:
    """Wait until all workers answer: the banner is printed when the first one listens."""

    def do_answer() -> bool:
        with contextlib.suppress(ConnectionError):
            return len({ask(served, "GET", "/livez")[2] for _ in range(10 * number)}) == number
        return False

    wait_until(do_answer, "all workers to answer")
