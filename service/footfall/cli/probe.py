"""One GET to a service on this machine, by its port or its UNIX socket, and the command for probes.

Containers run it every ten seconds, on busy nodes. So this imports nothing but a socket.
"""

import os
import sys

# `socket` around it takes a third of the time that Python needs to start.
from _socket import AF_INET, AF_INET6, AF_UNIX, socket

SECONDS = 2.0
# The service's answer is far shorter.
MAX_BYTES = 1 << 20
# Addresses that mean all of the machine's -> one that can be connected to. Nothing is bound here.
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104
# As config.py has them, which would load too much.
DEFAULTS = {"HOST": "127.0.0.1", "PORT": "8360", "UDS": ""}


class NoAnswer(Exception):
    """No service listens there, or it takes too long."""


def ask(host: str, port: int, uds: str, path: str, seconds: float) -> tuple[int, str]:
    """GET a path; returns (status, body). `uds` is a socket's path, "" for host and port.

    `seconds` are for each step. Raises NoAnswer.
    """
    host = _ANY.get(host, host)
    # As the service binds it: a name is one of an IPv4 address.
    family = AF_UNIX if uds else AF_INET6 if ":" in host else AF_INET
    connection = socket(family)
    try:
        connection.settimeout(seconds)
        connection.connect(uds or (host, port))
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        answer = b""
        while (part := connection.recv(65_536)) and len(answer) < MAX_BYTES:
            answer += part
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), body.decode(errors="replace")
    except (OSError, IndexError, ValueError) as error:
        place = uds or f"{host} port {port}"
        raise NoAnswer(f"no answer from {place}: {error or type(error).__name__}") from error
    finally:
        connection.close()


def is_probe(arguments: list[str]) -> bool:
    """Is this `footfall health` without what only the whole command knows?"""
    places = (".env", *(os.environ.get(f"{name}_FILE", "") for name in DEFAULTS))
    host = os.environ.get("HOST") or DEFAULTS["HOST"]
    port = os.environ.get("PORT") or DEFAULTS["PORT"]
    # Else it is a word that switches the socket off.
    is_path = "/" in (os.environ.get("UDS") or "/")
    return bool(
        arguments in (["health"], ["health", "--ready"])
        and not any(map(os.path.exists, places))
        and is_path
        # Brackets and blanks mean what config.py makes of them, and 0 is no port to connect to.
        and not set(host) & set("[] \t")
        and port.isascii()
        and port.isdigit()
        and int(port)
    )


def probe(arguments: list[str]) -> int:
    """Print the service's answer, and return 0 if it is well."""
    host, port, uds = (os.environ.get(name) or each for name, each in DEFAULTS.items())
    path = "/readyz" if "--ready" in arguments else "/livez"
    try:
        status, text = ask(host, int(port), uds, path, SECONDS)
    except NoAnswer as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    sys.stdout.write(f"{text.strip()}\n")
    return int(status != 200)
