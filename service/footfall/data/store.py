"""The data in Redis: one module per noun, one round trip per method.

The driver does the rest: it names keys (driver/keys.py), calls scripts by the names in their
headers (driver/scripts.py), joins concurrent requests (driver/batch.py), and turns failures of
Redis into StoreUnavailable (driver/client.py).
"""

from collections.abc import Awaitable, Callable
from secrets import token_hex

from ..accounts.store.accounts import AccountStore
from ..accounts.store.bans import Bans
from ..accounts.store.log import ModerationLog
from ..accounts.store.places import PlaceStore
from ..comments.store.actions import Actions
from ..comments.store.bin import Bin
from ..comments.store.bodies import Bodies
from ..comments.store.comments import CommentStore
from ..comments.store.deletions import Deletions
from ..comments.store.forwards import Forwards
from ..comments.store.journal import Journal
from ..comments.store.mending import Mending
from ..comments.store.moderation import Moderation
from ..comments.store.moves import Moves
from ..comments.store.recent import Recent
from ..comments.store.site_index import SiteIndex
from ..counting.batch import Clock, Dating, batches_of
from ..counting.packed import PackedNames
from ..counting.quota import CounterNumbers, CounterQuota, NewCounters
from ..counting.store import Counters, CounterWalk
from ..driver.background import Background
from ..driver.client import RedisClient
from ..driver.keys import SEED_BYTES, Keys
from ..driver.script_calls import Rate
from ..driver.scripts import Scripts
from ..limits.buckets import TokenBuckets
from ..limits.floods import Floods
from ..notifications.store.outbox import Outbox
from ..notifications.store.unsubscribed import Unsubscribed
from ..statistics.audience import Audience
from ..statistics.ever_store import EverStore
from ..statistics.site_store import SiteViews
from ..statistics.store import Views
from ..statistics.visits import Visits
from .backups import Backups
from .size import Scale

__all__ = ["HOW_TO_MAKE_ONE", "Mismatch", "NoDataSet", "Rate", "Store"]

# The number of the data's layout.
FORMAT = 1
HOW_TO_MAKE_ONE = "`footfall serve` and `footfall restore` create one"


class Mismatch(Exception):
    """This version cannot use the data set, or not while it is being restored."""


class NoDataSet(Mismatch):
    """There is no data set."""


class Store:
    """All nouns of one data set.

    Scripts and background work may be shared with other data sets on this Redis. `prefix` is
    KEY_PREFIX; `buckets` is the number of counter hashes of a new data set; `counter_limit` is a
    weight (driver/keys.py), 0 for no limit; with `tells`, changes of comments are written to the
    outbox. Deleted comments are stored for `bin_days`, or for a minute. Views are dated by
    `moment`, if given, and the site's visitors classed by `audience`.
    """

    def __init__(
        self,
        redis: RedisClient,
        scripts: Scripts | None = None,
        background: Background | None = None,
        *,
        prefix: str,
        buckets: int,
        counter_limit: int = 0,
        tells: bool = False,
        bin_days: int = 0,
        moment: Clock | None = None,
        audience: Audience | None = None,
    ) -> None:
        self.redis = redis
        # A random id that distinguishes this data set from one that replaces it; known after
        # `open`.
        self.data_set_id = b""
        self.keys = Keys(prefix, buckets)
        self.moment = moment
        self.packed = PackedNames(self.keys, is_dated=moment is not None)
        self.scripts = scripts = scripts or Scripts(redis)
        # Background work of the store and its users.
        self.background = background or Background()
        self._dating = self._dating_of(moment, audience)
        self.batches = batches_of(
            redis, scripts, lambda *started: self.new_counters.started(*started), self._dating
        )
        self.batch, self.changes = self.batches[redis.sender], self.batches[redis.changes]
        self.outbox = Outbox(redis, scripts, self.keys, is_on=tells)
        self.journal = Journal(redis, scripts, self.keys, self.outbox, self.background)
        self._make_nouns(counter_limit, bin_days)

    def _make_nouns(self, counter_limit: int, bin_days: int) -> None:
        redis, scripts = self.redis, self.scripts
        self.views = Views(redis, scripts, self.keys, self._forget_visitors, self.moment)
        self.site_views = SiteViews(redis, scripts, self.keys)
        self.views_ever = EverStore(redis, self.keys)
        self.counters = Counters(self.batch, self.changes, self.packed, self._corrected())
        self.counter_walk = CounterWalk(redis, self.keys)
        self.comments = CommentStore(redis, scripts, self.keys, self.batch, self.journal)
        self.moderation = Moderation(redis, scripts, self.keys, self.comments, self.journal)
        self.deletions = Deletions(redis, scripts, self.keys, self.journal, bin_days)
        self.moves = Moves(redis, scripts, self.keys, self.journal, self.moment)
        self.actions = Actions(redis, self.keys)
        self.bin = Bin(redis, self.keys)
        self.forwards = Forwards(redis, self.keys)
        self.unsubscribed = Unsubscribed(redis, self.keys)
        self.buckets = TokenBuckets(self.keys, self.batches[redis.prompt])
        self.numbers = CounterNumbers(redis, scripts, self.keys)
        visits = self._dating.visits if self._dating else None
        self.quota = CounterQuota(redis, self.keys, self.numbers, counter_limit, visits)
        self.new_counters = NewCounters(self.quota, self.buckets)
        self.site = SiteIndex(redis, scripts, self.keys)
        self.recent = Recent(redis, self.keys)
        self.bodies = Bodies(redis, scripts, self.keys)
        self.mending = Mending(redis, scripts, self.keys)
        self.accounts = AccountStore(redis, scripts, self.keys)
        self.places = PlaceStore(redis, scripts, self.keys)
        self.backups = Backups(redis, self.keys)
        self.bans = Bans(redis, scripts, self.keys)
        self.log = ModerationLog(redis, self.keys)
        self.floods = Floods(redis, self.keys)
        self.scale = Scale(redis, self.keys, self.numbers)

    def _forget_visitors(self) -> None:
        if self._dating:
            self._dating.visits.forget()

    def _dating_of(self, moment: Clock | None, audience: Audience | None) -> Dating | None:
        if moment is None:
            return None
        redis, start = self.redis, self.background.start
        visits = Visits(
            self.scripts, self.keys, start, redis.stats, audience, is_cluster=redis.is_cluster
        )
        return Dating(moment, visits)

    def _corrected(self) -> Callable[[str, int], Awaitable[int]] | None:
        return self.views.correct if self.moment else None

    def waiting(self) -> int:
        """The number of requests waiting for the next batches."""
        return sum(batch.waiting for batch in self.batches.values())

    async def create(self) -> bool:
        """Open the data set, and create it first if there is none: then True. Raises the errors of
        `open`."""
        try:
            await self.open()
            return False
        except NoDataSet:
            key = self.keys.site("format")
            # HSETNX, because another process may be creating the same data set.
            await self.redis.change(
                ("HSETNX", key, "number", FORMAT),
                ("HSETNX", key, "seed", token_hex(SEED_BYTES)),
                ("HSETNX", key, "buckets", self.keys.buckets),
                ("HSETNX", key, "born", token_hex(4)),
            )
            await self.open()
            return True

    async def open(self, *, is_being_restored: bool = False) -> None:
        """Load the scripts and read how the data is laid out.

        Raises StoreUnavailable; NoDataSet; Mismatch if a restore has not finished, unless it
        `is_being_restored` by the caller, or if it has another format.
        """
        await self.scripts.load()
        key = self.keys.site("format")
        command = ("HMGET", key, "born", "restoring", "buckets", "seed", "number")
        # Read from the master: a replica may not have it yet.
        ((id, restoring, buckets, seed, number),) = await self.redis.change(command)
        if id is None or buckets is None or seed is None:
            prefix = self.keys.prefix
            raise NoDataSet(f"there is no data set under KEY_PREFIX {prefix}; {HOW_TO_MAKE_ONE}")
        if restoring and not is_being_restored:
            raise Mismatch(
                "this data set is being restored, or that was interrupted: wait for "
                "`footfall restore`, or run it again, which starts over"
            )
        if number != b"%d" % FORMAT:
            raise Mismatch(
                f"the data set under KEY_PREFIX {self.keys.prefix} has format "
                f"{(number or b'').decode(errors='replace')[:32]!r}, and this version knows "
                f"{FORMAT} alone: back it up with the version that made it, and restore it here"
            )
        self.data_set_id = id
        self.keys.buckets, self.keys.seed = int(buckets), bytes.fromhex(seed.decode())
        self.packed.clear()
        fields = {"born": id, "buckets": buckets, "seed": seed, "number": number}
        # A restore changes all of these fields itself.
        self.redis.data_set_ids.expect(key, {} if is_being_restored else fields)
