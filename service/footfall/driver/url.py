"""Parses REDIS_URL: the address of a server, of Sentinels or of a Cluster, with its credentials.

redis-py parses such URLs, too. But it accepts any option, even one that sends commands twice,
ignores what it does not understand, and quotes parts of passwords in its errors. So the URL's form
and its options are checked first, and an error quotes nothing of it but the name of a file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.connection import (
    AbstractConnection,
    Connection,
    ConnectionPool,
    SSLConnection,
    parse_url,
)
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool

# How similar a misspelt option must be to a real one, from 0 to 1.
MIN_SIMILARITY = 0.8
# No part may contain a separator, or half of a password could be read as a host.
_URL = re.compile(
    r"(?=[!-~]+$)(rediss?(?:\+sentinel)?|unix)://(?:([^/?#@]*)@)?([^/?#@]*)(/[^?#@]*)?"
    r"(?:\?([^?#@]*))?"
)
# The rest of the scheme after redis or rediss -> the path's pattern, and its description.
_PATHS = {
    "unix": ("/.+", "a socket's path comes after three slashes: unix:///path"),
    "": ("(/[0-9]{0,5})?", "the database must be a number"),
    "+sentinel": (
        "/[^/]+(/[0-9]{0,5})?",
        "after the Sentinels it must name the master, and may name a database by its number: "
        "redis+sentinel://host/name/0",
    ),
}
_FLAG = ("(?i:true|false)", "true or false")
# Option -> the schemes that may have it, its value's pattern, and its description.
_OPTIONS = {
    "db": (".*", "[0-9]{1,5}", "a number"),
    "cluster": ("rediss?", *_FLAG),
    "ssl_ca_certs": ("rediss.*", ".*", ""),
    "ssl_certfile": ("rediss.*", ".*", ""),
    "ssl_keyfile": ("rediss.*", ".*", ""),
    "ssl_password": ("rediss.*", ".*", ""),
    "ssl_cert_reqs": ("rediss.*", "required|none", "required or none"),
    "ssl_check_hostname": ("rediss.*", *_FLAG),
    "sentinel_username": (".*sentinel", ".*", ""),
    "sentinel_password": (".*sentinel", ".*", ""),
}

# A pattern of an error of the system, OpenSSL, Redis or redis-py -> the remedy. These errors
# persist until someone acts; the first match counts.
_LASTING = {
    "self-signed|unable to get local issuer": "name the CA of its certificate with ssl_ca_certs",
    "certificate is not valid for": "its certificate is for another host",
    "certificate has expired": "it needs a new one",
    "CERTIFICATE_REQUIRED": "it requires a client certificate: ssl_certfile and ssl_keyfile",
    "ALERT_UNKNOWN_CA": "it does not know the CA of the certificate in ssl_certfile",
    "NOAUTH|Authentication required": (
        "it requires a password: redis://name:password@host or "
        "redis://:password@host in REDIS_URL, or REDIS_PASSWORD"
    ),
    "WRONGPASS|username-password": (
        "it rejects the name or the password of REDIS_URL, REDIS_PASSWORD or their files: were "
        "they changed?"
    ),
    "without any password configured": "it has no password: remove it from REDIS_URL",
    "Sentinels refuse": "name and password for them are sentinel_username and sentinel_password",
    "unknown command 'SENTINEL'": (
        "this is a Redis, not a Sentinel: use redis://, or the Sentinels' port"
    ),
    "NOPERM|ERR [Uu]nknown|ERR ACL failure|ERR The user executing": (
        "docs/operations.md lists the permissions it needs"
    ),
    "DB index is out of range": "its setting `databases` is their number, from 0 on",
    "MOVED|CROSSSLOT": "this is a node of a Cluster: append ?cluster=true to REDIS_URL",
    "cluster support disabled": "this is not a Cluster: remove ?cluster=true from REDIS_URL",
    "not allowed in cluster mode": "a Redis Cluster has only database 0",
    "as reply type byte": "this is not Redis: is the port correct?",
    "DENIED Redis is running in protected mode": "set a password, or its `bind`",
}
# The same for what may pass by itself: a server that is started later, a network that comes back.
_PASSING = {
    "reset by peer|closed by server": (
        "a server with TLS wants rediss://, and maybe ssl_certfile and ssl_keyfile"
    ),
    "Connection refused": "nothing listens there: is it running, and is this its address?",
    "connecting to /.*No such file": "it is not running, or its `unixsocket` has another path",
    "connecting to /.*Permission denied": "its `unixsocketperm` keeps this user out",
    "Name or service not known|name resolution|nodename nor servname|No address associated": (
        "the host name cannot be resolved: is it spelt correctly?"
    ),
    "No route to host|Network is unreachable": "the network is unreachable",
    "max number of clients reached": "its setting `maxclients` is too low",
    "Too many open files": "`ulimit -n` is too low for this service",
}


# The words after AUTH: none, a password, or a name and a password.
Login = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed URL. `options` are for redis-py's connection; `hosts` are (host, port) of Sentinels
    or of nodes of a Cluster; `service` is the Sentinels' name of the master.

    `shown` is the URL without user names, passwords and files, for logs.
    """

    shown: str
    kind: type[AbstractConnection]
    options: Mapping[str, Any] = field(repr=False)
    is_cluster: bool = False
    hosts: tuple[tuple[str, int], ...] = ()
    service: str = ""
    login: Login = field(default=(), repr=False)
    sentinel_login: Login = field(default=(), repr=False)

    def pool(self, timeout: float, to_sentinels: object, **options: Any) -> ConnectionPool:
        """A pool that opens connections, each to the server that is master then.

        `timeout` is in seconds; `to_sentinels` is redis-py's provider of their credentials.
        """
        if not self.hosts:
            return ConnectionPool(self.kind, **options, **self.options, **_within(timeout))
        is_tls = self.kind is SSLConnection
        tls = {name: value for name, value in self.options.items() if name.startswith("ssl_")}
        # Sentinels are queried in turn, so those that do not answer must leave time for the others.
        short = _within(timeout / (1 + len(self.hosts)))
        sentinels = _Sentinels(  # type: ignore[no-untyped-call]
            self.hosts,
            sentinel_kwargs={
                **options,
                **tls,
                **short,
                "ssl": is_tls,
                "credential_provider": to_sentinels,
            },
        )
        options |= {**self.options, **_within(timeout), "ssl": is_tls}
        return _Pool(self.service, sentinels, **options)  # type: ignore[no-untyped-call]

    def cluster(self, timeout: float, **options: Any) -> RedisCluster:
        """A client for the Cluster, which learns its other nodes from those in the URL."""
        nodes = [ClusterNode(host, port) for host, port in self.hosts]
        options |= {**self.options, **_within(timeout), "ssl": self.kind is SSLConnection}
        # redis-py's client for a Cluster does not take it, and its connections do.
        password = {name: options.pop(name) for name in {"ssl_password"} & options.keys()}
        client = RedisCluster(startup_nodes=nodes, **options)
        client.connection_kwargs |= password
        for node in client.startup_nodes:
            node.connection_kwargs |= password
        return client


def _within(timeout: float) -> dict[str, Any]:
    return {"socket_timeout": timeout, "socket_connect_timeout": timeout}


class _Sentinels(Sentinel):
    async def discover_master(self, service_name: str) -> Any:
        try:
            return await super().discover_master(service_name)
        except MasterNotFoundError as error:
            raise MasterNotFoundError(self._why_not_found(service_name, str(error))) from error

    def _why_not_found(self, service_name: str, text: str) -> str:
        """In words, as redis-py's own text lists its internal state."""
        if "AuthenticationError" in text:
            return "the Sentinels refuse the password, or that there is none"
        if text.count("> - ") >= len(self.sentinels):
            return "no Sentinel answers: are they running, and are these their addresses?"
        return (
            f"no Sentinel that answers knows a master {service_name!r} that is up: is that the "
            "name in `sentinel monitor`?"
        )


class _Pool(SentinelConnectionPool):
    async def aclose(self) -> None:
        await super().aclose()
        await self.sentinel_manager.aclose()


def parse_redis_url(url: str, password: str = "") -> Address:
    """The address in a REDIS_URL, with this password if there is one.

    Raises ValueError with the problem.
    """
    scheme, entry, hosts, path, query = _parts(url)
    options = _options(query, scheme)
    shown = f"{scheme}://{hosts}{path}" + (f"?db={options['db']}" if "db" in options else "")
    base, _, has_sentinels = scheme.partition("+")
    is_cluster = options.pop("cluster", "").lower() == "true"
    service = ""
    if has_sentinels:
        service, slash, number = path[1:].partition("/")
        path = slash + number
    each = hosts.split(",") if has_sentinels or is_cluster else [hosts]
    rest = f"{path}?{urlencode(options)}"
    urls = [_parsed(f"{base}://{entry}@{host}{rest}") for host in each]
    kind, own = urls[0].pop("connection_class", Connection), urls[0]
    in_url = own.pop("password", "")
    login = _login(own.pop("username", ""), password or in_url)
    sentinel_login = _login(own.pop("sentinel_username", ""), own.pop("sentinel_password", ""))
    if is_cluster and own.pop("db", 0):
        raise ValueError("a Redis Cluster has only database 0")
    if kind is SSLConnection:
        # Without a password OpenSSL would ask for one on the terminal.
        own.setdefault("ssl_password", "")
        _check_certificates(own)
    if not has_sentinels and not is_cluster:
        return Address(shown, kind, own, login=login)
    port = 26379 if has_sentinels else 6379
    several = tuple((one.pop("host"), one.pop("port", port)) for one in urls)
    return Address(shown, kind, own, is_cluster, several, unquote(service), login, sentinel_login)


def _login(name: str, password: str) -> Login:
    if name:
        return name, password
    return (password,) if password else ()


def advised(error: object) -> str:
    """An error's text, with advice if there is any."""
    text = str(error)
    advice = _found(text, _LASTING) or _found(text, _PASSING)
    return f"{text} ({advice})" if advice else text


def may_pass(error: object) -> bool:
    """Could a later attempt succeed? Not with a wrong password, certificate or database."""
    return not _found(str(error), _LASTING)


def _found(text: str, advice: Mapping[str, str]) -> str:
    return next((hint for pattern, hint in advice.items() if re.search(pattern, text)), "")


def _parts(url: str) -> tuple[str, str, str, str, str]:
    """(scheme, user name and password, hosts, path, query). Raises ValueError."""
    match = _URL.fullmatch(url)
    if not match:
        raise ValueError(
            "cannot be read; whatever has a meaning in a URL must be written in percent in names, "
            "passwords, paths and options: @ as %40, / as %2F, ? as %3F, # as %23, % as %25"
        )
    scheme, entry, hosts, path, query = match.groups(default="")
    if entry and ":" not in entry:
        raise ValueError("a name or a password alone needs a colon: name:@host or :password@host")
    pattern, advice = _PATHS[scheme.removeprefix("rediss").removeprefix("redis")]
    if not re.fullmatch(pattern, path) or (scheme == "unix" and hosts):
        raise ValueError(advice)
    # redis-py would take brackets before the @ for an IPv6 address.
    return scheme, entry.replace("[", "%5B").replace("]", "%5D"), hosts, path, query


def _parsed(url: str) -> dict[str, Any]:
    """redis-py's options for a URL with one server. Its own errors may quote passwords."""
    try:
        options: dict[str, Any] = {**parse_url(url)}
    except ValueError:
        options = {}
    if "path" not in options and "," in options.get("host", ","):
        raise ValueError(
            "a host is a name or an address, and its port a number: host:6379, [::1]:6379; "
            "several between commas are Sentinels, redis+sentinel://host,host/name, or of a Cluster"
        )
    return options


def _options(query: str, scheme: str) -> dict[str, str]:
    """The options as they are written, checked: redis-py would read any text as a flag."""
    rules = {name: rule for name, rule in _OPTIONS.items() if re.fullmatch(rule[0], scheme)}
    try:
        # A plus in a password is a plus, and no space.
        options = dict(parse_qsl(query.replace("+", "%2B"), True, strict_parsing=bool(query)))
    except ValueError:
        options = {"": ""}
    for name, value in options.items():
        if name not in rules:
            raise ValueError(
                f"has an option that it cannot have{_named(name, options)}; {scheme} has "
                f"{', '.join(rules)}"
            )
        _, pattern, advice = rules[name]
        if not re.fullmatch(pattern, value):
            raise ValueError(f"{name} must be {advice}")
    return options


def _named(name: str, options: Mapping[str, str]) -> str:
    """The name of an unknown option, unless it may be a part of a password."""
    if name in ("username", "password"):
        return f": {name} comes before the host, redis://name:password@host"
    may_be_secret = any("password" in option for option in options)
    if may_be_secret and not get_close_matches(name, _OPTIONS, 1, MIN_SIMILARITY):
        return ""
    return f": {name}" if re.fullmatch("[A-Za-z_]+", name) else ""


def _check_certificates(options: Mapping[str, Any]) -> None:
    """Check files and keys now, and not when the first connection is opened."""
    tls = {name: value for name, value in options.items() if name.startswith("ssl_")}
    for name in tls.keys() & {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile"}:
        # OpenSSL's error does not name the file that is missing.
        try:
            open(tls[name], "rb").close()
        except OSError as error:
            raise ValueError(f"{name}: {tls[name]} cannot be read: {error.strerror}") from error
    try:
        SSLConnection(**tls).ssl_context.get()
    except OSError as error:
        raise ValueError(f"its certificates or keys cannot be used: {error}") from error
