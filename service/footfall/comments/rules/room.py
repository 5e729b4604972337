"""COMMENT_LIMIT: the memory that comments may take, of which no network gets much in a day.

Without it one /48 could fill Redis for good, and its owner could not tell until everything fails.
The memory of all comments is read once a minute, by a sample (data/size.py), so it is exceeded by
what comes within that minute.
"""

from collections.abc import Awaitable, Callable, Mapping

from ...driver.facts import Facts
from ...driver.script_calls import Rate
from ...errors import CommentsFull, TooMuchWritten
from ...limits.buckets import TokenBuckets, of_client
from ...model import Caller
from ...netaddr import limit_key
from ...plurals import number_of

ALMOST_FULL = 0.9
# How long to wait until the memory is read.
READ_SECONDS = 5.0
# Of the memory of Redis, by default.
DEFAULT_SHARE = 0.5
# A client may write so much of the limit in a day: a /48 gets a hundredth, an address a 32nd of
# that; and at least a few of the longest comments.
CLIENTS = 3200
MIN_CLIENT_BYTES = 200_000
DAY_SECONDS = 86_400
# The bytes for one token, and what a comment takes besides its text and HTML: its place in every
# index, and its author.
TOKEN_BYTES = 100
OVERHEAD_BYTES = 1000

ReadFacts = Callable[[], Awaitable[Mapping[str, Facts | None]]]
# The number of comments and the bytes of each, within so many seconds; None if they are not known.
ReadSize = Callable[[float], Awaitable[tuple[int, float] | None]]


class CommentRoom:
    """`limit` is in bytes, 0 for none, None for the default. `used` is the share of it in use, as
    far as this process knows."""

    def __init__(
        self, read_size: ReadSize, facts: ReadFacts, buckets: TokenBuckets, limit: int | None
    ) -> None:
        self._read_size = read_size
        self._facts = facts
        self._buckets = buckets
        self._setting = limit
        self.limit = limit or 0
        self._taken = 0.0
        self._number = 0

    @property
    def used(self) -> float:
        return self._taken / self.limit if self.limit else 0.0

    @property
    def is_almost_full(self) -> bool:
        return self.used >= ALMOST_FULL

    @property
    def warning(self) -> str:
        """A warning for the owner long before the limit is reached; "" if none."""
        if not self.is_almost_full:
            return ""
        what = "are refused" if self.used >= 1 else "will be refused when it is full"
        return (
            f"{number_of(self._number, 'comment')} take {self.used:.0%} of COMMENT_LIMIT, and new "
            f"ones {what}: delete spam, which BIN_DAYS keeps for some days, or raise COMMENT_LIMIT "
            "and the memory of Redis"
        )

    async def read(self) -> None:
        """Read how much is taken. Raises StoreUnavailable."""
        if self._setting is None:
            self.limit = _default(await self._facts())
        if not self.limit:
            return
        if size := await self._read_size(READ_SECONDS):
            self._number, bytes_each = size
            self._taken = self._number * bytes_each

    async def take(self, caller: Caller, *texts: str) -> None:
        """Take room for a comment of these texts; moderators always have some.

        Raises CommentsFull, TooMuchWritten if the caller's share of today is used up.
        """
        if not self.limit or caller.viewer.is_moderator:
            return
        if self.used >= 1:
            raise CommentsFull()
        bytes = OVERHEAD_BYTES + sum(len(text.encode()) for text in texts)
        if caller.address and not caller.is_anybody:
            await self._take_share(limit_key(caller.address), bytes)
        self._taken += bytes

    async def _take_share(self, client: str, bytes: int) -> None:
        share = max(MIN_CLIENT_BYTES, self.limit // CLIENTS) // TOKEN_BYTES
        buckets = of_client(client, Rate(share / DAY_SECONDS, share), "written ")
        # What is longer than a share is let in when nothing of that is used.
        tokens = min(share, -(-bytes // TOKEN_BYTES))
        if wait_ms := await self._buckets.retry_after(buckets, tokens):
            raise TooMuchWritten(wait_ms)


def _default(servers: Mapping[str, Facts | None]) -> int:
    """The default limit, by the memory of all masters; 0 if they do not tell it."""
    masters = [facts for facts in servers.values() if facts and facts.get("role") == "master"]
    memory = [
        int(facts.get("maxmemory", 0)) or int(facts.get("total_system_memory", 0))
        for facts in masters
    ]
    return int(sum(memory) * DEFAULT_SHARE) if all(memory) else 0
