"""What REDIS_URL says: a server, or the Sentinels that know where it is, and how to be let in.

redis-py reads such URLs too, but it takes any option, so that a URL could have commands sent twice,
and it quotes half a password that it cannot read. Here options are those that are listed, and an
error repeats nothing of the URL but the name of a file.
"""

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.connection import (
    AbstractConnection,
    Connection,
    ConnectionPool,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool

# Nothing that separates the parts may be in a part, or the half of a password would be a host.
_URL = re.compile(
    r"(?P<scheme>rediss?(?:\+sentinel)?|unix)://(?:(?P<entry>[^/?#@]*)@)?(?P<hosts>[^/?#@]*)"
    r"(?P<path>/[^?#@]*)?(?:\?(?P<query>[^?#@]*))?"
)
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:,\[\]]+))(?::([0-9]{1,5}))?")

# What OpenSSL and Redis say -> what it means for the URL.
_ADVICE = {
    "self-signed|unable to get local issuer": "name the CA of its certificate with ssl_ca_certs",
    "certificate is not valid for": "its certificate is for another host",
    "CERTIFICATE_REQUIRED": "it wants to see a certificate: ssl_certfile and ssl_keyfile",
    "ALERT_UNKNOWN_CA": "it does not know the CA of the certificate in ssl_certfile",
    "reset by peer": "a server with TLS wants rediss://, and maybe ssl_certfile and ssl_keyfile",
    "NOAUTH|WRONGPASS|username-password": "name and password are in redis://name:password@host",
    "NOPERM": "what its user must be allowed is in the README",
}


@dataclass(frozen=True, slots=True)
class Address:
    """`options` are a redis-py connection's; `hosts` are of Sentinels, or of nodes of a Cluster."""

    kind: type[AbstractConnection]
    options: Mapping[str, Any] = field(repr=False)
    is_cluster: bool = False
    hosts: tuple[tuple[str, int], ...] = ()
    sentinel_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    service: str = ""

    def pool(self, timeout: float, **options: Any) -> ConnectionPool:
        """Where connections come from. Each new one asks the Sentinels who is master now."""
        if not self.hosts:
            return ConnectionPool(self.kind, **options, **self.options, **_within(timeout))
        is_tls = self.kind is SSLConnection
        tls = {name: value for name, value in self.options.items() if name in _TLS}
        # One is asked after the other, and those who are gone must leave time for the others.
        short = _within(timeout / (1 + len(self.hosts)))
        sentinels = _Sentinels(  # type: ignore[no-untyped-call]
            self.hosts,
            sentinel_kwargs={**options, **tls, **self.sentinel_options, **short, "ssl": is_tls},
        )
        options |= {**self.options, **_within(timeout), "ssl": is_tls}
        return _Pool(self.service, sentinels, **options)  # type: ignore[no-untyped-call]

    def cluster(self, timeout: float, **options: Any) -> RedisCluster:
        """For a Cluster that some of its nodes are known of; they know the others."""
        nodes = [ClusterNode(host, port) for host, port in self.hosts]
        is_tls = self.kind is SSLConnection
        return RedisCluster(
            startup_nodes=nodes, ssl=is_tls, **options, **self.options, **_within(timeout)
        )


def _within(timeout: float) -> dict[str, Any]:
    return {"socket_timeout": timeout, "socket_connect_timeout": timeout}


class _Sentinels(Sentinel):
    async def discover_master(self, service_name: str) -> Any:
        try:
            return await super().discover_master(service_name)
        except MasterNotFoundError as error:
            # The original's text is all of redis-py's inside.
            raise MasterNotFoundError(
                f"no Sentinel that answers knows a master {service_name!r} that is up"
            ) from error


class _Pool(SentinelConnectionPool):
    async def aclose(self) -> None:
        await super().aclose()
        await self.sentinel_manager.aclose()


def read(url: str) -> Address:
    """Raises ValueError that says what is wrong."""
    found = _URL.fullmatch(url)
    if not found or not re.fullmatch("[!-~]*", url):
        raise ValueError(
            "cannot be read; whatever has a meaning in a URL must be written in percent in names, "
            "passwords, paths and options: @ as %40, / as %2F, ? as %3F, # as %23, % as %25"
        )
    scheme, hosts, path = found["scheme"], found["hosts"], found["path"] or ""
    has_sentinels, is_tls = scheme.endswith("+sentinel"), scheme.startswith("rediss")
    kind: type[AbstractConnection] = SSLConnection if is_tls else Connection
    options = {**_entry(found["entry"]), **dict(_options(found["query"], scheme))}
    is_cluster = options.pop("cluster", False)
    several: tuple[tuple[str, int], ...] = ()
    service, number = "", path[1:]
    if scheme == "unix":
        if hosts or not path:
            raise ValueError("a socket's path comes after three slashes: unix:///path")
        kind, options["path"], number = UnixDomainSocketConnection, unquote(path), ""
    elif has_sentinels:
        several = tuple(_host(host, 26379) for host in hosts.split(","))
        service, _, number = number.partition("/")
        if not service:
            raise ValueError("must name the master after its Sentinels: redis+sentinel://host/name")
    elif is_cluster:
        several = tuple(_host(host, 6379) for host in hosts.split(","))
    else:
        options["host"], options["port"] = _host(hosts, 6379)
    if number:
        options["db"] = _number(number)
    if is_cluster and options.pop("db", 0):
        raise ValueError("a Redis Cluster has no databases but 0")
    if is_tls:
        # OpenSSL asks the terminal for a password that it is not given.
        options.setdefault("ssl_password", "")
        _check_certificates(options)
    sentinel_options = {
        name: options.pop(f"sentinel_{name}")
        for name in ("username", "password")
        if f"sentinel_{name}" in options
    }
    return Address(kind, options, is_cluster, several, sentinel_options, unquote(service))


def advised(error: object) -> str:
    """An error's text, with what to do about it where that is known."""
    text = str(error)
    for pattern, advice in _ADVICE.items():
        if re.search(pattern, text):
            return f"{text} ({advice})"
    return text


def may_pass(error: object) -> bool:
    """Could a later attempt succeed? Not with a wrong password or certificate."""
    text = str(error)
    return "reset by peer" in text or advised(error) == text


def _entry(text: str | None) -> dict[str, str]:
    if text is None:
        return {}
    name, colon, password = text.partition(":")
    if not colon:
        raise ValueError("a name or a password alone needs a colon: name:@host or :password@host")
    entry = {"username": unquote(name), "password": unquote(password)}
    return {what: word for what, word in entry.items() if word}


def _host(text: str, port: int) -> tuple[str, int]:
    found = _HOST.fullmatch(text)
    if not found or int(found[3] or 0) > 65535:
        raise ValueError(
            "a host is a name or an address, and its port a number: host:6379, [::1]:6379; "
            "several between commas are Sentinels, redis+sentinel://host,host/name, or of a Cluster"
        )
    return found[1] or unquote(found[2]), int(found[3] or port)


def _options(query: str | None, scheme: str) -> Iterator[tuple[str, Any]]:
    known: dict[str, Callable[[str], Any]] = {"db": _number}
    if scheme in ("redis", "rediss"):
        known["cluster"] = _flag
    if scheme.startswith("rediss"):
        known |= _TLS
    if scheme.endswith("+sentinel"):
        known |= {"sentinel_username": str, "sentinel_password": str}
    for option in filter(None, (query or "").split("&")):
        name, equals, value = option.partition("=")
        if name not in known or not equals:
            raise ValueError(f"has an option that it cannot have; {scheme} has {', '.join(known)}")
        try:
            yield name, known[name](unquote(value))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error


def _number(text: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", text):
        raise ValueError("the database must be a number")
    return int(text)


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.lower() == "true"


def _file(text: str) -> str:
    try:
        open(text, "rb").close()
    except OSError as error:
        raise ValueError(f"{text} cannot be read: {error.strerror}") from error
    return text


def _need(text: str) -> str:
    if text not in ("required", "none"):
        raise ValueError("must be required or none")
    return text


_TLS: Mapping[str, Callable[[str], Any]] = {
    "ssl_ca_certs": _file, "ssl_certfile": _file, "ssl_keyfile": _file, "ssl_password": str,
    "ssl_cert_reqs": _need, "ssl_check_hostname": _flag,
}  # fmt: skip


def _check_certificates(options: Mapping[str, Any]) -> None:
    """Now, and not at the first question."""
    tls = {name: value for name, value in options.items() if name in _TLS}
    try:
        SSLConnection(**tls).ssl_context.get()
    except ssl.SSLError as error:
        raise ValueError(f"its certificates or keys cannot be used: {error}") from error
