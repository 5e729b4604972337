"""Digests: several comments in one email to the owner.

The first comment is sent immediately, and those within `every_ms` of an email are gathered for the
next. Any worker starts that one, as a task of the outbox, so it is retried like all others.
"""

from collections.abc import Sequence

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.scripts import Scripts
from ...tasks import Task

# The kind of the task. Its `version` is when it was started, in ms since the epoch.
DIGEST = "mail-digest"
MAX_GATHERED = 10_000


class Digest:
    """With an `every_ms` of 0 each comment is sent immediately. All coroutines raise
    StoreUnavailable."""

    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys, every_ms: int) -> None:
        self._redis = redis
        self._every_ms = every_ms
        self._outbox = keys.site("outbox")
        self._names = {name: keys.site(name) for name in ("gathered", "mailed")}
        self._gather = scripts["outbox/gather"]
        self._digest = scripts["outbox/digest"]

    async def may_mail_now(self, id: str, now_ms: int, *, waits: bool) -> bool:
        """May this comment be emailed now? Otherwise it is gathered, as is each one that
        `waits`."""
        if not self._every_ms:
            return True
        status, *_ = await self._gather(
            **self._names, id=id, now=now_ms, every=self._every_ms, most=MAX_GATHERED, waits=waits
        )
        return bool(status == b"NOW")

    async def start(self, now_ms: int) -> None:
        """Put the next digest into the outbox, if it is time for one."""
        task = Task(DIGEST, "", "", "", "", now_ms).dump()
        await self._digest(
            **self._names, outbox=self._outbox, now=now_ms, every=self._every_ms, task=task
        )

    async def ids(self, started_ms: int) -> list[str]:
        """The ids of all gathered comments, newest first; none for a digest after which another one
        was started, as while the mail server is unreachable: that one contains them."""
        until, ids = await self._redis.ask_masters(
            ("GET", self._names["mailed"]), ("ZREVRANGE", self._names["gathered"], 0, -1)
        )
        is_newest = int(until or 0) == started_ms + self._every_ms
        return [id.decode() for id in ids] if is_newest else []

    async def told(self, ids: Sequence[str]) -> None:
        if ids:
            await self._redis.change(("ZREM", self._names["gathered"], *ids))
