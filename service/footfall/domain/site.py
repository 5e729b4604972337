"""One site: its nouns in Redis, its rules, what is shown of it, who may log in.

app.py builds it. All other state is in Redis, so that several processes behave as one.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from dataclasses import dataclass, field

from ..counting.rules import Counting
from ..model import Viewer
from ..outside.providers import Providers
from ..render.pictures import Pictures
from ..render.view import DisplayOptions
from ..statistics.reports import Statistics
from ..statistics.store import Views
from ..statistics.totals import KnownTotals
from ..statistics.views_ever import ViewsEver
from ..store.accounts import Accounts
from ..store.backups import Backups
from ..store.bulk_actions import BulkActions
from ..store.comments import Comments
from ..store.cooldown import Cooldown
from ..store.deletions import Deletions
from ..store.journal import Journal
from ..store.log import ModerationLog
from ..store.moderation import Moderation
from ..store.moves import Moves
from ..store.outbox import Outbox
from ..store.recent import Recent
from ..store.site_index import SiteIndex
from ..store.size import Scale
from ..store.undo import UndoRecords
from ..store.unsubscribed import Unsubscribed
from .account_mails import AccountMails
from .bans import KnownBans
from .captcha import Captcha
from .devices import Devices
from .importer import Importer
from .page_cache import PageCache
from .process import Process
from .recipients import Recipients
from .rules import AccountRules, Rules
from .sessions import Sessions
from .shares import Shares


async def nothing() -> AsyncGenerator[bytes]:
    return
    yield b""


def nobody() -> "Importer[Site]":
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Site:
    process: Process
    # The nouns in Redis.
    counting: Counting
    comments: Comments
    moderation: Moderation
    deletions: Deletions
    moves: Moves
    journal: Journal
    undo_records: UndoRecords
    bulk_actions: BulkActions
    recent: Recent
    site_index: SiteIndex
    accounts: Accounts
    bans: KnownBans
    backups: Backups
    log: ModerationLog
    unsubscribed: Unsubscribed
    views: Views
    outbox: Outbox
    recipients: Recipients
    account_mails: AccountMails
    # Tries out all channels (domain/notification_test.py), for an address that gets what a reader
    # would get: by the name of each channel why it failed, "" if it did not.
    test_notifications: Callable[["Site", str], Awaitable[dict[str, str]]]
    captcha: Captcha
    cooldown: Cooldown
    statistics: Statistics
    views_ever: ViewsEver
    totals: KnownTotals
    # How much Redis stores of it, and how many requests wait for the next batches.
    scale: Scale
    waiting: Callable[[], int]
    rules: Rules
    display: DisplayOptions
    # Which pictures are shown in comments.
    pictures: Pictures
    # The path by which a page is counted, of the one that a client sent.
    page_of: Callable[[str], str]
    # A part of ETags that differs for each data set and each set of display options.
    salt: Callable[[], bytes]
    sessions: Sessions
    devices: Devices
    # Whose token this is; the public for one that is nobody's.
    viewer_of: Callable[[str], Awaitable[Viewer]]
    # Other counters' protocols that it speaks, besides Waline's.
    compat: tuple[str, ...] = ()
    # What LeanCloud's clients have to name, "" for anything: the application and its key.
    leancloud_app_id: str = ""
    leancloud_app_key: str = ""
    account_rules: AccountRules = AccountRules()
    site_name: str = "Footfall"
    # By whom people may log in.
    providers: Providers = field(default_factory=Providers)
    # All that is stored, as Waline's archive; and what stores rows from elsewhere, which is loaded
    # when it is asked for.
    export: Callable[[], AsyncGenerator[bytes]] = nothing
    importer: Callable[[], "Importer[Site]"] = nobody
    # Of actions that go on behind the requests: one administrator's, and all.
    bulk_shares: Shares = field(default_factory=lambda: Shares(8, 16))
    page_cache: PageCache = field(default_factory=PageCache)
    # Parsed request for the newest comments -> their ids when it came last; a hundred at most.
    recent_ids: dict[Hashable, tuple[str, ...]] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        """What this worker has noticed that its owner should know."""
        return [*filter(None, [self.counting.quota.warning, self.counting.unknown_proxies.warning])]
