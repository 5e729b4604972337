"""All settings: name in the environment, default, parser and meaning. They are read once at start.

The names are Waline's wherever it has one, so that its env files can be used here.
Only app.py, cli/ and server/ see Settings; other modules get the values that they need.
"""

from collections.abc import Iterator
from dataclasses import Field, dataclass
from pathlib import Path
from typing import Any

from .environment import BadSettings as BadSettings
from .environment import FromEnvironment
from .model import Durability
from .netaddr import Network
from .outbox_settings import OutboxSettings
from .setting_texts import directory, header_name, host_or_address, path, secret
from .site_settings import SiteSettings
from .values import (
    durability,
    env,
    flag,
    level,
    mode,
    networks,
    number,
    one_of,
    redis_url,
    region_file,
    seconds,
    timeout,
)


@dataclass(frozen=True)
class ProcessSettings(FromEnvironment):
    """Settings of the whole process: addresses, Redis, logs."""

    host: str = env("HOST", "127.0.0.1", host_or_address, "Address to listen on")
    port: int = env("PORT", "8360", number(0, 65535), "Port to listen on; 0 lets the kernel choose")
    uds: str = env(
        "UDS", "", path, "Path of a UNIX socket to listen on, instead of address and port"
    )
    uds_mode: int = env("UDS_MODE", "660", mode, "File mode of that socket")
    workers: int = env("WORKERS", "1", number(1, 64), "Processes that share the port")
    max_connections: int = env(
        "MAX_CONNECTIONS",
        "10000",
        number(1, 1_000_000),
        "Connections per worker; further ones get 503 and Retry-After",
    )
    drain_seconds: float = env(
        "DRAIN_SECONDS",
        "0",
        seconds,
        "Seconds after SIGTERM in which /readyz returns 503 and requests are still answered",
    )
    hang_seconds: int = env(
        "HANG_SECONDS",
        "10",
        number(0, 3600),
        "With several WORKERS: kill one whose event loop has stood still for so long, and start "
        "another; 0: never",
    )
    log_format: str = env(
        "LOG_FORMAT", "text", one_of("text", "json"), "Log lines as text, or as JSON objects"
    )
    log_level: str = env(
        "LOG_LEVEL", "warning", level, "Highest level to log: error, warning or info"
    )
    access_log: bool = env(
        "ACCESS_LOG", "false", flag, "Write a line for each request to standard output"
    )
    slow_seconds: float = env(
        "SLOW_SECONDS",
        "0.25",
        seconds,
        "Log requests and Redis replies that take longer, at most one per second; 0: none",
    )
    data_dir: Path = env("DATA_DIR", "data", directory, "Directory of the private Redis' data")
    redis_url: str = env(
        "REDIS_URL",
        "",
        redis_url,
        "Your own Redis: redis://, rediss://, unix://, redis+sentinel:// or "
        "rediss+sentinel://; add ?cluster=true for a Redis Cluster. Empty: a private one in "
        "DATA_DIR",
        secret=True,
    )
    redis_password: str = env(
        "REDIS_PASSWORD", "", secret, "Redis password, instead of the one in REDIS_URL", secret=True
    )
    redis_server: str = env(
        "REDIS_SERVER",
        "",
        path,
        "Program to start as the private Redis; empty: the Valkey in the package",
    )
    redis_timeout: float = env(
        "REDIS_TIMEOUT", "1.5", timeout, "Seconds to wait for Redis before returning 503"
    )
    read_from_replicas: bool = env(
        "READ_FROM_REPLICAS",
        "false",
        flag,
        "Read from replicas of a Redis Cluster: counts and pages may be milliseconds old",
    )
    redis_wait: float = env(
        "REDIS_WAIT", "60", seconds, "Seconds to wait at startup for a Redis that is not up yet"
    )
    durability: Durability | None = env(
        "DURABILITY",
        "",
        durability,
        "When a change is acknowledged: memory, everysec, fsync or replica:N. Empty: fsync "
        "with the private server, everysec with REDIS_URL",
    )
    guard: str = env(
        "GUARD",
        "refuse",
        one_of("refuse", "warn"),
        "If Redis could lose data: refuse to start, or only warn",
    )
    trusted_proxies: tuple[Network, ...] = env(
        "TRUSTED_PROXIES",
        "127.0.0.0/8,::1",
        networks,
        "Proxies trusted to say who their visitors are",
    )
    client_address_header: str = env(
        "CLIENT_ADDRESS_HEADER",
        "X-Forwarded-For",
        header_name,
        "Header in which these proxies name a visitor, such as X-Real-IP, CF-Connecting-IP or "
        "Forwarded",
    )
    ip2region_db: str = env(
        "IP2REGION_DB", "", region_file, "An ip2region .xdb file; empty: no regions"
    )

    def redis_access(self, anew: bool) -> tuple[str, str]:
        """(REDIS_URL, REDIS_PASSWORD), read again from their files or as they were at startup.

        Raises ValueError, which names the file that cannot be read again.
        """
        url, password = self.redis_url, self.redis_password
        if not anew:
            return url, password
        return self.given.now("REDIS_URL", url), self.given.now("REDIS_PASSWORD", password)


@dataclass(frozen=True)
class Settings(SiteSettings, ProcessSettings):
    """All settings of a process and of its site."""

    @classmethod
    def settings(cls) -> Iterator["Field[Any]"]:
        # Those of notifications come last.
        inherited = OutboxSettings.__annotations__
        return iter(sorted(super().settings(), key=lambda setting: setting.name in inherited))
