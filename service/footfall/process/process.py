"""The parts that exist once per process, however many sites it serves."""

import time
from asyncio import Event
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..driver.background import Background
from ..driver.client import RedisClient
from ..driver.safety import Safety
from ..driver.scripts import Scripts
from ..ids import IdGenerator
from ..limits.pools import Pools
from ..limits.refusals import Refusals
from ..netaddr import Proxies
from ..render.region import Region
from ..telemetry.metrics import Metrics
from .renderer import Renderer


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def no_region(address: str) -> Region:
    return Region("", "")


@dataclass(frozen=True, slots=True)
class About:
    """The running version; and its settings as (name, value, default, meaning), without secrets."""

    version: str = ""
    settings: Sequence[tuple[str, str, str, str]] = ()


@dataclass(frozen=True, slots=True)
class Process:
    """The senders to Redis and what watches them, the threads, the numbers, the clock.

    Nothing here belongs to one site: what does is in site.py.
    """

    redis: RedisClient
    scripts: Scripts
    # Problems of Redis, and why it cannot be used now.
    safety: Safety
    background: Background = field(default_factory=Background)
    metrics: Metrics = field(default_factory=Metrics)
    pools: Pools = field(default_factory=Pools)
    refusals: Refusals = field(init=False)
    # A thread for comments and feeds.
    renderer: Renderer = field(init=False)
    proxies: Proxies = Proxies()
    region_of: Callable[[str], Region] = no_region
    clock: Callable[[], int] = now_ms
    ids: IdGenerator = field(default_factory=IdGenerator)
    about: About = About()
    # Set when the service stops: it is no longer ready, and ends endless work.
    draining: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        object.__setattr__(self, "refusals", Refusals(self.metrics.limits))
        object.__setattr__(self, "renderer", Renderer(self.pools.rendering))

    def new_id(self, path: str) -> str:
        """An id for something new: a comment on this page, or with "" anything else."""
        return self.ids.new(self.clock(), path)

    async def close(self) -> None:
        await self.redis.close()
