"""What every operation may use: the nouns in Redis, the rules of this site, the clock.

app.py builds it once. All other state is in Redis, so that several processes behave as one.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field

from ..driver.background import Background
from ..driver.safety import Safety
from ..model import Viewer
from ..netaddr import Networks
from ..outside.providers import Providers
from ..render.region import Region
from ..render.view import DisplayOptions
from ..store.accounts import Accounts
from ..store.backups import Backups
from ..store.comments import Comments
from ..store.cooldown import Cooldown
from ..store.counter_walk import CounterWalk
from ..store.counters import Counters
from ..store.deletions import Deletions
from ..store.ids import IdGenerator
from ..store.journal import Journal
from ..store.log import ModerationLog
from ..store.moderation import Moderation
from ..store.outbox import Outbox
from ..store.quota import CounterQuota
from ..store.recent import Recent
from ..store.site_index import SiteIndex
from ..store.size import Scale
from ..store.trials import Trials
from ..store.undo import UndoRecords
from ..telemetry.metrics import Metrics
from .account_mails import AccountMails
from .bans import KnownBans
from .captcha import Captcha
from .devices import Devices
from .importer import Importer
from .page_cache import PageCache
from .passwords import Passwords
from .rate_limit import RateLimits
from .recipients import Recipients
from .renderer import Renderer
from .rules import AccountRules, Rules
from .sessions import Sessions


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def nowhere(address: str) -> Region:
    return Region("", "")


async def nothing() -> AsyncGenerator[bytes]:
    return
    yield b""


def nobody() -> Importer:
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class About:
    """What is running: its version; and its settings as (name, value, default, meaning), without
    secrets."""

    version: str = ""
    settings: Sequence[tuple[str, str, str, str]] = ()


@dataclass(frozen=True, slots=True)
class Service:
    # The nouns in Redis.
    counters: Counters
    counter_walk: CounterWalk
    quota: CounterQuota
    trials: Trials
    comments: Comments
    moderation: Moderation
    deletions: Deletions
    journal: Journal
    undo_records: UndoRecords
    recent: Recent
    site_index: SiteIndex
    accounts: Accounts
    bans: KnownBans
    background: Background
    backups: Backups
    log: ModerationLog
    outbox: Outbox
    recipients: Recipients
    account_mails: AccountMails
    # Who says whether people can be told now: see domain/trial_news.py. To whom replies are told;
    # by the name of each channel why it failed, "" if it did not.
    tries_out: Callable[["Service", str], Awaitable[dict[str, str]]]
    captcha: Captcha
    cooldown: Cooldown
    # The state of Redis: what is unsafe about it, how much it stores, why it cannot be used now
    # ("" if it can), and how many requests wait for the next batches.
    safety: Safety
    scale: Scale
    trouble: Callable[[], Awaitable[str]]
    waiting: Callable[[], int]
    rules: Rules
    display: DisplayOptions
    # The types of counters: views and reactions.
    counter_types: tuple[str, ...]
    # A part of ETags that differs for each data set and each set of display options.
    salt: Callable[[], bytes]
    sessions: Sessions
    devices: Devices
    # Whose token this is; the public for one that is nobody's.
    viewer_of: Callable[[str], Awaitable[Viewer]]
    account_rules: AccountRules = AccountRules()
    site_name: str = "Footfall"
    # By whom people may log in.
    providers: Providers = field(default_factory=Providers)
    about: About = About()
    # All that is stored, as Waline's archive; and what stores rows from elsewhere, which is loaded
    # when it is asked for.
    export: Callable[[], AsyncGenerator[bytes]] = nothing
    importer: Callable[[], Importer] = nobody
    passwords: Passwords = field(default_factory=Passwords)
    rate_limits: RateLimits = field(default_factory=lambda: RateLimits(0, 0, Networks()))
    region_of: Callable[[str], Region] = nowhere
    clock: Callable[[], int] = now_ms
    ids: IdGenerator = field(default_factory=IdGenerator)
    metrics: Metrics = field(default_factory=Metrics)
    renderer: Renderer = field(default_factory=Renderer)
    page_cache: PageCache = field(default_factory=PageCache)
    # Parsed request for the newest comments -> their ids when it came last; a hundred at most.
    recent_ids: dict[Hashable, tuple[str, ...]] = field(default_factory=dict)
