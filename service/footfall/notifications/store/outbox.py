"""The outbox: notifications, stored until they are delivered.

What happens to a comment comes into the site's stream by its page's journal, each event once; any
number of workers take tasks from there by a consumer group.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.replies import ErrorReply
from ...driver.scripts import Scripts
from ...errors import StoreUnavailable
from ...ids import split
from ...tasks import Task

log = logging.getLogger(__name__)

GROUP = "workers"
# All workers have one name: a task belongs to no process, and any that finds it idle takes it over.
CONSUMER = "worker"
# A task that was not ended for this long was left by a crash: none takes longer.
IDLE_MS = 60_000
# More than the stored failed tasks, which are about 10,000.
MAX_UNDELIVERED = 20_000
# Due tasks per step.
MAX_WOKEN = 100


class OutboxEntry(NamedTuple):
    """A task that one worker has, by its place in the stream."""

    id: str
    task: Task


class Undelivered(NamedTuple):
    """A task that failed permanently; `id` starts with its time, in ms since the epoch."""

    id: str
    task: Task
    error: str

    @property
    def at(self) -> int:
        return int(self.id.partition("-")[0])


class Depth(NamedTuple):
    """Numbers of queued, later and failed tasks; of comments gathered for the next digest; and the
    time of the oldest queued task, in ms since the epoch, 0 for none."""

    waiting: int
    later: int
    undelivered: int
    gathered: int
    since_ms: int

    def age_ms(self, now_ms: int) -> int:
        return max(0, now_ms - self.since_ms) if self.since_ms else 0


# The kind of a task for an email about a week. Its `id` is the recipient's place in the setting,
# and its `version` the week's Monday, such as 20261123.
WEEKLY = "mail-weekly"


class Outbox:
    """`is_on`: there is a channel; otherwise nothing is ever written."""

    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys, *, is_on: bool) -> None:
        self.is_on = is_on
        # Set when this process has put something into the outbox.
        self.arrived = asyncio.Event()
        # What `refresh` has read last; None if it could not.
        self.reading: Depth | None = None
        self._redis = redis
        self._keys = keys
        self._names = {name: keys.site(name) for name in ("outbox", "retries", "undelivered")}
        self._stream = self._names["outbox"]
        self._gathered = keys.site("gathered")
        self._settle = scripts["outbox/settle"]
        self._wake = scripts["outbox/wake"]
        self._again = scripts["outbox/again"]
        self._mark_unnotified = scripts["outbox/mark_unnotified"]
        self._weekly = scripts["outbox/weekly"], keys.site("weekly")

    async def start_weekly(self, monday: int, recipients: int) -> None:
        """Put the emails about this week into the outbox, unless some service has done so. Raises
        StoreUnavailable."""
        script, weekly = self._weekly
        tasks = [Task(WEEKLY, str(n), "", "", "", monday).dump() for n in range(recipients)]
        await script(outbox=self._stream, weekly=weekly, week=monday, tasks=tasks)

    async def mark_unnotified(self, id: str) -> bool:
        """Note that readers were not notified of a comment's approval, which was withdrawn, so that
        the next one is news; False if it is approved by now."""
        short, page = split(id)
        status, *_ = await self._mark_unnotified(held=self._keys.page(page, "held"), id=short)
        return bool(status == b"OK")

    async def take(self, count: int) -> list[OutboxEntry]:
        """Tasks for this worker alone, in the order in which they came."""
        entries = await self._of_group(
            "XREADGROUP", "GROUP", GROUP, CONSUMER, "COUNT", count, "STREAMS", self._stream, ">"
        )
        return _parsed(entries[0][1]) if entries else []

    async def take_over(self, count: int) -> list[OutboxEntry]:
        """Tasks of workers that crashed."""
        entries = await self._of_group(
            "XAUTOCLAIM", self._stream, GROUP, CONSUMER, IDLE_MS, "0-0", "COUNT", count
        )
        return _parsed(entries[1])

    async def _of_group(self, *command: object) -> Any:
        """The reply to a command of the consumers' group, which is made again if it is gone."""
        while True:
            try:
                (reply,) = await self._redis.change(command)
            except ErrorReply as error:
                if "NOGROUP" not in str(error):
                    raise
                await self.start()
            else:
                return reply

    async def start(self) -> None:
        """Make the stream and the group of consumers, if they are not there."""
        try:
            await self._redis.change(("XGROUP", "CREATE", self._stream, GROUP, "0", "MKSTREAM"))
        except ErrorReply as error:
            if "BUSYGROUP" not in str(error):
                raise

    async def done(self, entry: OutboxEntry, follow: Sequence[Task] = ()) -> None:
        """End a task, and put those that follow from it into the outbox, in one step."""
        await self._end(entry, [word for task in follow for word in (0, task.dump())])

    async def later(self, entry: OutboxEntry, task: Task, due_ms: int) -> None:
        await self._end(entry, [due_ms, task.dump()])

    async def give_up(
        self, entry: OutboxEntry, task: Task, error: str, follow: Sequence[Task] = ()
    ) -> None:
        await self._end(
            entry, [word for next_task in (task, *follow) for word in (0, next_task.dump())], error
        )

    async def _end(self, entry: OutboxEntry, follow: Sequence[object], error: str = "") -> None:
        await self._settle(**self._names, group=GROUP, entry=entry.id, error=error, follow=follow)

    async def wake(self, now_ms: int) -> None:
        """Queue tasks that are due for a retry."""
        woken = MAX_WOKEN
        while woken == MAX_WOKEN:
            _, woken = await self._wake(
                outbox=self._stream, retries=self._names["retries"], now=now_ms, most=MAX_WOKEN
            )

    async def depth(self) -> Depth:
        waiting, later, undelivered, gathered, first = await self._redis.ask(
            ("XLEN", self._stream),
            ("ZCARD", self._names["retries"]),
            ("XLEN", self._names["undelivered"]),
            ("ZCARD", self._gathered),
            ("XRANGE", self._stream, "-", "+", "COUNT", 1),
        )
        since_ms = int(first[0][0].partition(b"-")[0]) if first else 0
        return Depth(waiting, later, undelivered, gathered, since_ms)

    async def refresh(self, seconds: float) -> None:
        """Read the depth again, unless that takes longer."""
        self.reading = None
        if self.is_on:
            with contextlib.suppress(StoreUnavailable, ErrorReply, TimeoutError):
                async with asyncio.timeout(seconds):
                    self.reading = await self.depth()

    async def undelivered(
        self, count: int = MAX_UNDELIVERED, ids: Sequence[str] = ()
    ) -> list[Undelivered]:
        """Failed tasks, newest first: this many, or those with these ids."""
        key = self._names["undelivered"]
        commands: list[tuple[object, ...]] = [("XRANGE", key, id, id) for id in ids]
        if not ids:
            commands = [("XREVRANGE", key, "+", "-", "COUNT", count)]
        entries = [entry for reply in await self._redis.ask(*commands) for entry in reply]
        return [
            Undelivered(parsed.id, parsed.task, _pairs(raw[1]).get(b"error", b"").decode())
            for raw, parsed in zip(entries, _parsed(entries), strict=True)
        ]

    async def again(self, event: Undelivered, task: Task) -> bool:
        """Retry a failed task; False if another caller has just done so."""
        status, *_ = await self._again(
            outbox=self._stream,
            undelivered=self._names["undelivered"],
            entry=event.id,
            task=task.dump(),
        )
        return bool(status == b"OK")

    async def drop(self, ids: Sequence[str]) -> int:
        """Drop failed tasks; how many there were."""
        (number,) = await self._redis.change(("XDEL", self._names["undelivered"], *ids))
        return int(number)

    async def forget(self, mail: str) -> int:
        """Drop the failed tasks whose errors, which other servers write, name this address; how
        many there were."""
        named = [each.id for each in await self.undelivered() if mail in each.error.casefold()]
        return await self.drop(named) if named else 0


def _parsed(raw: Sequence[Any]) -> list[OutboxEntry]:
    # An entry that was deleted while it was idle has no words.
    return [
        OutboxEntry(id.decode(), _task(_pairs(pairs).get(b"task", b"")))
        for id, pairs in raw
        if pairs
    ]


def _task(stored: bytes) -> Task:
    """Unknown tasks get a kind that no channel has."""
    try:
        return Task(**orjson.loads(stored))
    except (TypeError, ValueError):
        log.error("the outbox had an entry that is not a task: %r", stored[:200])
        return Task("unknown", "", "", "", "", 0)


def _pairs(pairs: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(pairs[::2], pairs[1::2], strict=True))
