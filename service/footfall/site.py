"""One site: its nouns, each with what it needs; app.py builds it.

All other state is in Redis, so that several processes behave as one.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, partial
from inspect import Parameter, signature
from operator import attrgetter
from typing import Any

from .accounts.rules.account_mails import AccountMails
from .accounts.rules.bans import KnownBans
from .accounts.rules.captcha import Captcha
from .accounts.rules.devices import Devices
from .accounts.rules.lookalikes import Lookalikes
from .accounts.rules.sessions import Sessions
from .accounts.store.accounts import AccountStore
from .accounts.store.log import ModerationLog
from .comments.rules.admission import Rules
from .comments.rules.importer import Importer
from .comments.rules.live import LivePages
from .comments.rules.room import CommentRoom
from .comments.store.actions import Actions
from .comments.store.bin import Bin
from .comments.store.comments import CommentStore
from .comments.store.deletions import Deletions
from .comments.store.forwards import Forwards
from .comments.store.journal import Journal
from .comments.store.moderation import Moderation
from .comments.store.moves import Moves
from .comments.store.recent import Recent
from .comments.store.site_index import SiteIndex
from .counting.rules import Counting
from .limits.answer_cache import AnswerCache
from .limits.buckets import TokenBuckets
from .limits.floods import Floods
from .limits.pool import Pool
from .model import Viewer
from .notifications.rules.recipients import Recipients
from .notifications.store.outbox import Outbox
from .notifications.store.unsubscribed import Unsubscribed
from .outside.providers import Providers
from .permissions import AccountRules
from .process.process import Process
from .render.pictures import Pictures
from .render.view import DisplayOptions
from .site_settings import SiteSettings
from .statistics.keeper import Keeper
from .statistics.reports import Reports
from .statistics.store import Views
from .statistics.totals import KnownTotals
from .statistics.views_ever import ViewsEver
from .store.backups import Backups
from .store.size import Scale

# Of answers that are cached for a minute.
MAX_STATISTICS_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Statistics:
    reports: Reports
    keeper: Keeper
    views_ever: ViewsEver
    totals: KnownTotals
    # The turns in which answers are made, each once a minute.
    pool: Pool
    answers: AnswerCache = field(default_factory=partial(AnswerCache, MAX_STATISTICS_BYTES))


@dataclass(frozen=True, slots=True)
class Accounts:
    process: Process
    store: AccountStore
    rules: AccountRules
    bans: KnownBans
    sessions: Sessions
    devices: Devices
    mails: AccountMails
    captcha: Captcha
    lookalikes: Lookalikes
    buckets: TokenBuckets
    # The login services.
    providers: Providers
    # The viewer with this token; the public for an invalid one.
    viewer_of: Callable[[str], Awaitable[Viewer]]


@dataclass(frozen=True, slots=True)
class Comments:
    process: Process
    accounts: Accounts
    counting: Counting
    store: CommentStore
    live_pages: LivePages
    moderation: Moderation
    deletions: Deletions
    moves: Moves
    journal: Journal
    actions: Actions
    bin: Bin
    forwards: Forwards
    recent: Recent
    index: SiteIndex
    # Unsubscribed recipients, by page.
    unsubscribed: Unsubscribed
    # Their pending notifications.
    outbox: Outbox
    # Views move with a page and its comments.
    views: Views
    log: ModerationLog
    buckets: TokenBuckets
    rules: Rules
    room: CommentRoom
    display: DisplayOptions
    # Which pictures are shown in them.
    pictures: Pictures
    # A part of ETags that differs for each data set and each set of display options.
    salt: Callable[[], bytes]
    page_cache: AnswerCache = field(default_factory=AnswerCache)
    # Parsed request for the newest comments -> their ids when it came last; a hundred at most.
    recent_ids: dict[Hashable, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notifications:
    outbox: Outbox
    recipients: Recipients
    # Tests all channels (notifications/rules/notification_test.py), with an address for a reader's
    # email: the error of each channel by name, "" for none.
    try_out: Callable[["Site", str], Awaitable[dict[str, str]]]


@dataclass(frozen=True, slots=True)
class Data:
    """All that is stored, as a whole."""

    # Sizes in Redis, and the number of requests waiting for the next batches.
    scale: Scale
    waiting: Callable[[], int]
    backups: Backups
    # Whom all processes of this service refuse.
    floods: Floods
    # Waline's archive; and the importer, loaded on demand.
    export: Callable[[], AsyncGenerator[bytes]]
    importer: Callable[[], Importer[Comments]]


@dataclass(frozen=True, slots=True)
class Site:
    process: Process
    settings: SiteSettings
    counting: Counting
    statistics: Statistics
    comments: Comments
    accounts: Accounts
    notifications: Notifications
    data: Data

    @property
    def warnings(self) -> list[str]:
        """What this worker has noticed that its owner should know."""
        counting = self.counting
        of = (counting.quota, self.comments.room, counting.unknown_proxies)
        return [each.warning for each in of if each.warning]


# Type -> the site's field of it.
_NOUNS: Mapping[object, str] = {noun.type: noun.name for noun in fields(Site)}


@cache
def noun_of(handler: Callable[..., object]) -> Callable[[Site], Any]:
    """What an operation gets of a site, by the annotation of its first parameter."""
    first, *_ = signature(handler).parameters.values()
    if first.annotation in (Site, Parameter.empty):
        return lambda site: site
    return attrgetter(_NOUNS[first.annotation])
