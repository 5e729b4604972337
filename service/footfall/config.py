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

    host: str = env("127.0.0.1", host_or_address)
    port: int = env("8360", number(0, 65535))
    uds: str = env("", path)
    uds_mode: int = env("660", mode)
    workers: int = env("1", number(1, 64))
    max_connections: int = env("10000", number(1, 1_000_000))
    drain_seconds: float = env("0", seconds)
    hang_seconds: int = env("10", number(0, 3600))
    log_format: str = env("text", one_of("text", "json"))
    log_level: str = env("warning", level)
    access_log: bool = env("false", flag)
    slow_seconds: float = env("0.25", seconds)
    data_dir: Path = env("data", directory)
    redis_url: str = env("", redis_url, secret=True)
    redis_password: str = env("", secret, secret=True)
    redis_server: str = env("", path)
    redis_timeout: float = env("1.5", timeout)
    read_from_replicas: bool = env("false", flag)
    redis_wait: float = env("60", seconds)
    durability: Durability | None = env("", durability)
    guard: str = env("refuse", one_of("refuse", "warn"))
    trusted_proxies: tuple[Network, ...] = env("127.0.0.0/8,::1", networks)
    client_address_header: str = env("X-Forwarded-For", header_name)
    ip2region_db: str = env("", region_file)

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
