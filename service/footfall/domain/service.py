"""What every operation may use: what is kept in Redis, the rules of this site, the clock.

Built once by app.py. There is no other shared state, so that two processes over one Redis behave as
one.
"""

import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field

from ..driver.safety import Safety
from ..model import PUBLIC, Viewer
from ..netaddr import Networks
from ..render.region import Region
from ..render.view import DisplayOptions
from ..store.accounts import Accounts
from ..store.comments import Comments
from ..store.cooldown import Cooldown
from ..store.counters import Counters
from ..store.ids import IdGenerator
from ..store.quota import CounterQuota
from ..store.recent import Recent
from ..store.site_index import SiteIndex
from ..store.size import Scale
from ..store.trials import Trials
from ..telemetry.metrics import Metrics
from .moderation import Rules
from .page_cache import PageCache
from .rate_limit import RateLimits
from .renderer import Renderer


def now_ms() -> int:
    return time.time_ns() // 1_000_000


async def everyone_is_public(token: str) -> Viewer:
    """Without accounts no token is known, and an unknown token is nobody's, never an error."""
    return PUBLIC


def nowhere(address: str) -> Region:
    return Region("", "")


@dataclass(frozen=True, slots=True)
class Service:
    # What is kept in Redis, by noun.
    counters: Counters
    quota: CounterQuota
    trials: Trials
    comments: Comments
    recent: Recent
    site_index: SiteIndex
    accounts: Accounts
    cooldown: Cooldown
    # What is wrong with Redis, how much is in it, why nobody can be answered now, and how many
    # requests the next batches will take along.
    safety: Safety
    scale: Scale
    trouble: Callable[[], Awaitable[str]]
    waiting: Callable[[], int]
    rules: Rules
    display: DisplayOptions
    # What is counted: views, and reactions.
    counter_types: tuple[str, ...]
    # Tells pages of this data set and look from those of any other, in ETags.
    salt: Callable[[], bytes]
    rate_limits: RateLimits = field(default_factory=lambda: RateLimits(0, 0, Networks()))
    region_of: Callable[[str], Region] = nowhere
    viewer_of: Callable[[str], Awaitable[Viewer]] = everyone_is_public
    clock: Callable[[], int] = now_ms
    ids: IdGenerator = field(default_factory=IdGenerator)
    metrics: Metrics = field(default_factory=Metrics)
    renderer: Renderer = field(default_factory=Renderer)
    page_cache: PageCache = field(default_factory=PageCache)
    # What the newest comments were when they were last asked for, by the question: a hundred at
    # most.
    recent_ids: dict[Hashable, tuple[str, ...]] = field(default_factory=dict)
