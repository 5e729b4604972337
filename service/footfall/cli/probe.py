"""One GET to a service on this machine, by its port or its UNIX socket, for probes."""

import http.client
import socket


class NoAnswer(Exception):
    """No service listens there, or it takes too long."""


class _Local(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


# Addresses that mean all of the machine's -> one that can be connected to. Nothing is bound here.
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104


def ask(host: str, port: int, uds: str, path: str, seconds: float) -> tuple[int, str]:
    """GET a path; returns (status, body). `uds` is a socket's path, "" for host and port.

    Raises NoAnswer.
    """
    place = uds or f"{host} port {port}"
    connection = (
        _Local(uds, seconds)
        if uds
        else http.client.HTTPConnection(_ANY.get(host, host), port, timeout=seconds)
    )
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswer(f"no answer from {place}: {error or type(error).__name__}") from error
    finally:
        connection.close()
