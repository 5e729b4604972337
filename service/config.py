"""Every setting: its environment name, default, parser and meaning, read once at start.

The names are the reference server's wherever it has one, so that an env file moves over as it is.
Only app.py and cli.py see Settings; every other room is handed the values it needs.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from .model import Durability
from .render.avatar import DEFAULT_TEMPLATE, compile_avatar
from .render.region import open_regions

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

COUNTERS = ("time", *(f"reaction{n}" for n in range(9)))


class BadSettings(ValueError):
    """Every setting that could not be read, one line each."""


def env(
    name: str, default: Any, parse: Callable[[str], Any], doc: str, secret: bool = False
) -> Any:
    """A settings field; `default` is written as it would be in the environment."""
    return field(
        default_factory=lambda: parse(default),
        metadata={
            "env": name, "default": default, "parse": parse, "doc": doc, "secret": secret,
        },
        repr=not secret,
    )  # fmt: skip


def flag(text: str) -> bool:
    match text.strip().lower():
        case "1" | "true" | "yes" | "on":
            return True
        case "" | "0" | "false" | "no" | "off":
            return False
    raise ValueError("say true or false")


def filled(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def directory(text: str) -> Path:
    return Path(filled(text))


def words(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))


def number(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError("needs a whole number") from None
        if not least <= value <= most:
            raise ValueError(f"must be from {least} to {most}")
        return value

    return parse


def seconds(text: str) -> float:
    """Zero and empty both turn a limit off, as in the reference."""
    try:
        value = float(text or 0)
    except ValueError:
        raise ValueError("needs a number of seconds") from None
    if not 0 <= value <= 86_400:
        raise ValueError("must be from 0 to 86400 seconds")
    return value


def timeout(text: str) -> float:
    value = seconds(text)
    if value < 0.05:
        raise ValueError("must be at least 0.05 seconds")
    return value


def networks(text: str) -> tuple[Network, ...]:
    found = []
    for word in words(text):
        try:
            found.append(ipaddress.ip_network(word, strict=False))
        except ValueError:
            raise ValueError(f"{word!r} is neither an address nor a network") from None
    return tuple(found)


def patterns(text: str) -> tuple[re.Pattern[str], ...]:
    found = []
    for word in words(text):
        try:
            found.append(re.compile(word, re.IGNORECASE))
        except re.error as error:
            raise ValueError(f"the pattern {word!r} cannot be read: {error}") from None
    return tuple(found)


def domains(text: str) -> tuple[str | re.Pattern[str], ...]:
    """Host names, or /regular expressions/ searched for in the host name."""
    found: list[str | re.Pattern[str]] = []
    for word in re.findall(r"/(?:[^/\\]|\\.)+/|[^,\s][^,]*", text):
        word = word.strip()
        if not (len(word) > 1 and word[0] == word[-1] == "/"):
            # A scheme in front is the commonest mistake with this setting: take the host of it.
            found.append(re.sub(r"^https?://|[:/].*$", "", word.lower()))
            continue
        try:
            found.append(re.compile(word[1:-1], re.IGNORECASE))
        except re.error as error:
            raise ValueError(f"the pattern {word!r} cannot be read: {error}") from None
    return tuple(found)


def levels(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(word) for word in words(text))
    except ValueError:
        raise ValueError("needs whole numbers between commas") from None
    if list(found) != sorted(set(found)):
        raise ValueError("must rise from left to right")
    return found


def counters(text: str) -> tuple[str, ...]:
    found = words(text)
    for word in found:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,31}", word):
            raise ValueError(f"{word!r} is not a name of up to 32 letters and digits")
    if "time" not in found:
        raise ValueError("must contain time, the count of views")
    return found


def prefix(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,32}", text):
        raise ValueError("must be 1 to 32 letters, digits, dots, dashes or underscores")
    return text


def buckets(text: str) -> int:
    value = number(256, 1 << 20)(text)
    if value & (value - 1):
        raise ValueError("must be a power of two")
    return value


def web_address(text: str) -> str:
    if text and not re.match(r"https?://[^/\s]+", text):
        raise ValueError("must begin with http:// or https://")
    return text.rstrip("/")


def redis_url(text: str) -> str:
    """Only its beginning; the rest is store/address.py's."""
    if text and not re.match(r"(rediss?(\+sentinel)?|unix)://", text):
        raise ValueError(
            "must begin with redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://"
        )
    return text


def durability(text: str) -> Durability | None:
    if not text:
        return None
    if found := re.fullmatch(r"replica:([1-9])", text):
        return Durability("replica", int(found[1]))
    for level in ("memory", "everysec", "fsync"):
        if text == level:
            return Durability(level)
    raise ValueError("say memory, everysec, fsync or replica:N, N from 1 to 9")


def one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"say {' or '.join(choices)}")
        return text

    return parse


def mode(text: str) -> int:
    if not re.fullmatch(r"0?[0-7]{3}", text):
        raise ValueError("needs three digits from 0 to 7, as chmod does")
    return int(text, 8)


def template(text: str) -> str:
    compile_avatar(text or DEFAULT_TEMPLATE, "")
    return text or DEFAULT_TEMPLATE


def region_file(text: str) -> str:
    if text:
        open_regions(text)
    return text


@dataclass(frozen=True, slots=True)
class Settings:
    host: str = env("HOST", "127.0.0.1", filled, "Address to listen on")
    port: int = env("PORT", "8360", number(0, 65535), "Port to listen on; 0 lets the kernel choose")
    uds: str = env(
        "UDS", "", str, "Path of a UNIX socket to listen on, instead of an address and a port"
    )
    uds_mode: int = env("UDS_MODE", "660", mode, "Who may connect to that socket, as for chmod")
    workers: int = env("WORKERS", "1", number(1, 64), "Processes that share the port")
    drain_seconds: float = env(
        "DRAIN_SECONDS", "0", seconds,
        "Seconds after SIGTERM in which /readyz says 503 and requests are still taken",
    )  # fmt: skip
    data_dir: Path = env("DATA_DIR", "data", directory, "Where the private Redis keeps its data")
    redis_url: str = env(
        "REDIS_URL", "", redis_url,
        "A Redis of your own: redis://, rediss://, unix://, redis+sentinel:// or "
        "rediss+sentinel://; add ?cluster=true for a Redis Cluster. "
        "Empty: a private one is started in DATA_DIR", secret=True,
    )  # fmt: skip
    redis_server: str = env(
        "REDIS_SERVER", "", str,
        "Program to start as the private Redis; empty: the Valkey that came with the package",
    )  # fmt: skip
    redis_timeout: float = env(
        "REDIS_TIMEOUT", "1.5", timeout, "Seconds to wait for Redis before answering 503"
    )
    redis_wait: float = env(
        "REDIS_WAIT", "60", seconds, "Seconds to wait at the start for a Redis that comes later"
    )
    durability: Durability | None = env(
        "DURABILITY", "", durability,
        "How safe a change is before it is acknowledged: memory, everysec, fsync, or replica:N. "
        "Empty: fsync with the private server, everysec with REDIS_URL",
    )  # fmt: skip
    guard: str = env(
        "GUARD", "refuse", one_of("refuse", "warn"),
        "What to do with a Redis that cannot keep what it is given: do not start, or start and "
        "warn",
    )  # fmt: skip
    key_prefix: str = env(
        "KEY_PREFIX", "ff", prefix, "First word of every key, so that several sites share a Redis"
    )
    counter_buckets: int = env(
        "COUNTER_BUCKETS", "16384", buckets,
        "Hashes that counters are spread over; fixed once a data set holds counters",
    )  # fmt: skip
    counter_types: tuple[str, ...] = env(
        "COUNTER_TYPES", ",".join(COUNTERS), counters, "Counters that a page may have"
    )
    site_name: str = env("SITE_NAME", "", str, "Name of the site, shown on the demonstration page")
    site_url: str = env("SITE_URL", "", web_address, "Address of the site")
    server_url: str = env(
        "SERVER_URL", "", web_address,
        "Address of this service as browsers see it; empty: taken from each request",
    )  # fmt: skip
    forum_url: str = env(
        "FORUM_URL", "", web_address, "Discussion forum that the demonstration page points to"
    )
    trusted_proxies: tuple[Network, ...] = env(
        "TRUSTED_PROXIES", "127.0.0.0/8,::1", networks,
        "Networks whose X-Forwarded-For is believed",
    )  # fmt: skip
    ipqps: float = env(
        "IPQPS",
        "60",
        seconds,
        "Seconds between two comments from one address; 0 or empty: no limit",
    )
    comment_audit: bool = env(
        "COMMENT_AUDIT", "false", flag, "New comments wait for an administrator's approval"
    )
    forbidden_words: tuple[re.Pattern[str], ...] = env(
        "FORBIDDEN_WORDS", "", patterns,
        "Regular expressions between commas; a comment that matches one is kept as spam",
    )  # fmt: skip
    disallow_ip_list: tuple[Network, ...] = env(
        "DISALLOW_IP_LIST", "", networks, "Addresses and networks that may not comment"
    )
    secure_domains: tuple[str | re.Pattern[str], ...] = env(
        "SECURE_DOMAINS", "", domains,
        "Host names, or /patterns/, of the sites whose pages may call this service; empty: all",
    )  # fmt: skip
    avatar_proxy: str = env(
        "AVATAR_PROXY", "", web_address, "Service that avatars are shown through"
    )
    gravatar_str: str = env(
        "GRAVATAR_STR", DEFAULT_TEMPLATE, template, "Template of an avatar's address"
    )
    disable_useragent: bool = env(
        "DISABLE_USERAGENT", "false", flag, "Do not show a commentator's browser and system"
    )
    disable_region: bool = env(
        "DISABLE_REGION", "false", flag, "Do not show a commentator's region"
    )
    ip2region_db: str = env(
        "IP2REGION_DB", "", region_file, "An ip2region .xdb file; empty: no regions"
    )
    levels: tuple[int, ...] = env(
        "LEVELS", "", levels, "Approved comments needed for each level, rising; empty: no levels"
    )

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Raises BadSettings with every bad value at once."""
        values, wrong = {}, []
        for each in fields(cls):
            meta = each.metadata
            text = environ.get(meta["env"])
            if text is None:
                continue
            try:
                values[each.name] = meta["parse"](text)
            except ValueError as error:
                shown = "***" if meta["secret"] else repr(text)
                wrong.append(f"{meta['env']}={shown}: {error}")
        if wrong:
            raise BadSettings("\n".join(wrong))
        return cls(**values)

    def table(self, environ: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
        """Rows of environment name, value as given, default, meaning; secrets are masked."""
        return [self._row(each, environ) for each in fields(self)]

    def _row(self, each: "Field[Any]", environ: Mapping[str, str]) -> tuple[str, str, str, str]:
        meta = each.metadata
        assert each.default is MISSING
        value = environ.get(meta["env"], meta["default"])
        if meta["secret"] and value:
            value = "***"
        return meta["env"], value, meta["default"], meta["doc"]
