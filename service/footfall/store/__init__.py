"""What the service keeps in Redis, a noun a module: one method, one trip.

How it is asked is the driver's: keys are named in driver/keys.py, scripts are called by their
headers' names (driver/scripts.py), what many requests want at once is asked together
(driver/batch.py), and the sender to Redis turns its failures into StoreUnavailable
(driver/client.py).
"""

from secrets import token_hex

from ..driver.batch import Batch
from ..driver.batch_kinds import Rate, Words
from ..driver.client import Connected
from ..driver.keys import SEED_BYTES, Keys
from ..driver.node_batches import batcher_of
from ..driver.replies import ErrorReply, is_refused, sentence
from ..driver.safety import Safety, Unsafe
from ..driver.scripts import Scripts
from ..errors import StoreUnavailable
from ..model import MEMORY, Durability
from .accounts import Accounts
from .bodies import Bodies
from .census import Census
from .comments import Comments
from .cooldown import Cooldown
from .counters import Counters
from .quota import CounterQuota
from .recent import Recent
from .site_index import SiteIndex
from .size import Scale
from .trials import Trials

__all__ = ["MAKERS", "Mismatch", "NoDataSet", "Rate", "Store", "StoreUnavailable", "Unsafe"]

# The number of the data's layout. 1 had no seed, which decides where counters lie; 2 had no number,
# and called two keys otherwise.
FORMAT = 3
MAKERS = "`footfall serve` and `footfall restore` make one"


class Mismatch(Exception):
    """The data set is not, or not now, one that this can be done with."""


class NoDataSet(Mismatch):
    """There is none where one was looked for."""


class Store:
    """All of it, over one way to Redis."""

    def __init__(
        self,
        redis: Connected,
        *,
        prefix: str,
        buckets: int,
        durability: Durability = MEMORY,
        counter_limit: int = 0,
        trials: int = 16,
        batch: type[Batch] = Batch,
    ) -> None:
        self.redis = redis
        # Tells this data set from one that takes its place; known once it is open.
        self.born = b""
        # One that a version before has made can be backed up, and no more.
        self.format = FORMAT
        self.keys = Keys(prefix, buckets)
        self.words = Words(self.keys)
        self.scripts = scripts = Scripts(redis)
        # Who waits for the disk or for replicas keeps nobody else waiting.
        self.batches = {
            sender: batcher_of(sender, redis, scripts, self.words, batch)
            for sender in (redis.sender, redis.prompt, redis.changes)
        }
        self.batch, self.changes = self.batches[redis.sender], self.batches[redis.changes]
        self.counters = Counters(self.batch, self.changes)
        self.comments = Comments(redis, scripts, self.keys, self.batch)
        self.cooldown = Cooldown(scripts, self.keys, self.batches[redis.prompt])
        self.trials = Trials(scripts, self.keys, trials)
        self.census = Census(redis, self.keys)
        self.quota = CounterQuota(redis, self.keys, self.changes, self.census, counter_limit)
        self.site = SiteIndex(redis, scripts, self.keys)
        self.recent = Recent(redis, self.keys)
        self.bodies = Bodies(redis, scripts, self.keys)
        self.accounts = Accounts(redis, self.keys)
        self.scale = Scale(redis, self.keys, self.census)
        self.safety = Safety(redis, durability)

    async def create(self) -> None:
        """Open the data set, and make it first where there is none. Raises what `open` does."""
        try:
            await self.open()
        except NoDataSet:
            key = self.keys.site("format")
            # Whoever else is making it at this moment makes the same one. The number and the seed
            # come first, as what lacks them was made by a version before.
            await self.redis.change(
                ("HSETNX", key, "number", FORMAT),
                ("HSETNX", key, "seed", token_hex(SEED_BYTES)),
                ("HSETNX", key, "buckets", self.keys.buckets),
                ("HSETNX", key, "born", token_hex(4)),
            )
            await self.open()

    async def open(self, *, is_being_restored: bool = False, may_be_older: bool = False) -> None:
        """Check that Redis answers and learn how the data is laid out.

        Raises StoreUnavailable; NoDataSet; Mismatch when the data set is not restored to its end,
        or was made by a version before, unless that will do.
        """
        await self.scripts.load()
        # Not of a replica, which may not know it yet.
        key = self.keys.site("format")
        question = ("HMGET", key, "born", "restoring", "buckets", "seed", "number")
        ((born, restoring, buckets, seed, number),) = await self.redis.change(question)
        if born is None or buckets is None:
            raise NoDataSet(f"there is no data set under KEY_PREFIX {self.keys.prefix}; {MAKERS}")
        if restoring and not is_being_restored:
            raise Mismatch(
                "this data set is being restored, or that was interrupted: wait for "
                "`footfall restore`, or run it again, which starts over"
            )
        self.format = int(number or 2) if seed else 1
        self._require_format(may_be_older)
        self.born = born
        self.keys.buckets, self.keys.seed = int(buckets), bytes.fromhex((seed or b"").decode())
        self.keys.fingerprints = "said" if self.format < FORMAT else "fingerprints"
        self.words.clear()
        known = {"born": born, "buckets": buckets, "seed": seed, "number": number}
        # Who restores changes all of it.
        self.redis.mark.expect(key, {} if is_being_restored else known)

    def _require_format(self, may_be_older: bool) -> None:
        if self.format == FORMAT or (may_be_older and self.format < FORMAT):
            return
        what = f"the data set under KEY_PREFIX {self.keys.prefix} has format {self.format}"
        if self.format > FORMAT:
            raise Mismatch(f"{what}, and this version knows {FORMAT} at most: install a later one")
        raise Mismatch(
            f"{what}, and this version needs {FORMAT}: stop all services on it, and take it along "
            "with `footfall backup FILE` and then `footfall restore --replace FILE`"
        )

    async def trouble(self) -> str:
        """Why nobody can be answered now; empty if Redis answers, with our data and scripts."""
        reason = ""
        try:
            await self.redis.look_at_mark()
            if not await self.scripts.are_loaded():
                # It was restarted, or told to forget.
                await self.scripts.load()
        except (StoreUnavailable, ErrorReply) as error:
            # Where Redis is, and why it is silent, is not everybody's business.
            reason = sentence(error) if is_refused(error) else "Redis does not answer"
        return self.redis.mark.problem or reason

    async def close(self) -> None:
        await self.redis.close()
