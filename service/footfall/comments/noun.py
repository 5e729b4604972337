"""The comments of a site, and what their rules need."""

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field

from ..accounts.noun import Accounts
from ..accounts.store.log import ModerationLog
from ..counting.rules import Counting
from ..limits.answer_cache import AnswerCache
from ..limits.buckets import TokenBuckets
from ..process.process import Process
from ..render.pictures import Pictures
from ..render.view import DisplayOptions
from ..statistics.store import Views
from .rules.admission import Rules
from .rules.live import LivePages
from .rules.room import CommentRoom
from .store.actions import Actions
from .store.bin import Bin
from .store.comments import CommentStore
from .store.deletions import Deletions
from .store.forwards import Forwards
from .store.journal import Journal
from .store.moderation import Moderation
from .store.moves import Moves
from .store.recent import Recent
from .store.reports import ReportStore
from .store.site_index import SiteIndex
from .store.verdicts import VerdictStore


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
    reports: ReportStore
    # What a language model has said of them.
    verdicts: VerdictStore
    # Have recipients who are unsubscribed from one page be so from another, by the pages' digests.
    move_unsubscribed: Callable[[str, str], Awaitable[None]]
    # Forget the failed notifications whose errors name this email; how many there were.
    forget_undelivered: Callable[[str], Awaitable[int]]
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
