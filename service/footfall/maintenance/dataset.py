"""What all operations of this package work on: a whole data set."""

from dataclasses import dataclass

from ..accounts.store.bans import Bans
from ..comments.store.comments import CommentStore
from ..comments.store.journal import Journal
from ..comments.store.mending import Mending
from ..counting.quota import CounterNumbers
from ..driver.client import RedisClient
from ..driver.keys import Keys
from ..statistics.ever_store import EverStore
from ..statistics.site_store import SiteViews
from ..statistics.store import Views


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set's Redis, its keys' names, the comments of its pages, its bans, the journals,
    corrections of pages, the numbers of counters, the statistics of pages, the views ever, and how
    long deleted comments are stored.

    `app.data_set` makes one of a store. Other needs of an operation are arguments of its own.
    """

    redis: RedisClient
    keys: Keys
    comments: CommentStore
    bans: Bans
    journal: Journal
    mending: Mending
    numbers: CounterNumbers
    views: Views
    site_views: SiteViews
    views_ever: EverStore
    deleted_ms: int
