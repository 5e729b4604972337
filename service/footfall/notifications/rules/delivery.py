"""Background worker that delivers outbox notifications.

It splits each event into one task per interested channel, so that a failing channel is retried
alone. A task ends after its delivery: a crash repeats it, so delivery is at least once, and
normally once.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Protocol, TypeVar, cast

from ...comments.noun import Comments
from ...comments.rules import spam_check
from ...comments.rules.spam_check import Undecided
from ...comments.store import codec
from ...comments.store.projections import UNDO_MS
from ...driver.replies import ErrorReply
from ...errors import StoreUnavailable
from ...model import Comment, Status, StoredComment
from ...notify.comment_letters import News
from ...notify.mail import OwnerMail
from ...notify.notification import (
    OWNER_MAIL,
    READER_MAIL,
    Channel,
    Dropped,
    Gathered,
    NotDelivered,
    Notification,
)
from ...notify.spam_checkers import SpamChecker
from ...plurals import number_of
from ...render.versions import version
from ...tasks import Task
from ..store.digest import DIGEST
from ..store.outbox import WEEKLY, Outbox, OutboxEntry
from .digests import undecided
from .recipients import Recipients
from .weekly import WeeklyMail

T = TypeVar("T")
log = logging.getLogger(__name__)

# Tasks that one worker has at the same time.
MAX_TASKS = 16
# For one attempt; less than Outbox.IDLE_MS, after which another worker takes a task over.
ATTEMPT_SECONDS = 40
GRACE_SECONDS = 5
# The pause between checks for abandoned tasks, and for due ones.
POLL_SECONDS = 1.0
WAKE_SECONDS = 5.0
# The first wait after a failure, and the longest; this many attempts take a day and a half.
FIRST_WAIT_SECONDS = 5
MAX_WAIT_SECONDS = 3600
MAX_ATTEMPTS = 45
# Stored and shown characters of a reason.
MAX_REASON_CHARACTERS = 300


class PageTitles(Protocol):
    """Titles of pages by path. Both raise StoreUnavailable, ErrorReply."""

    async def of(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Only those that are known."""

    async def of_page(self, path: str) -> str:
        """Read first if it is not known; "" for none."""


class Delivery:
    """`channels` are all configured ones; tasks of others, which were turned off, are dropped.

    Before notifications of a comment that waits for them, the `spam_checkers` are queried.
    """

    def __init__(
        self,
        comments: Comments,
        outbox: Outbox,
        recipients: Recipients,
        channels: Sequence[Channel],
        spam_checkers: Sequence[SpamChecker] = (),
        weekly: WeeklyMail | None = None,
        *,
        title: str = "",
        site_url: str = "",
        titles: PageTitles | None = None,
    ) -> None:
        """`title` is the site's."""
        self.process = comments.process
        self.title = title
        self._comments = comments
        self._outbox = outbox
        self._recipients = recipients
        self._digest = recipients.digest
        self.channels: Mapping[str, Channel] = {channel.name: channel for channel in channels}
        self.spam_checkers = spam_checkers
        self._weekly = weekly
        self.site_url = site_url
        self._titles = titles
        self._running: dict[asyncio.Task[None], OutboxEntry] = {}
        self._is_stopping = False

    async def run(self) -> None:
        """Runs until it is cancelled; `stop` then returns started tasks to the queue."""
        loop = asyncio.get_running_loop()
        next_wake = loop.time()
        await _tried(self._outbox.start())
        while not self._is_stopping:
            # Each by itself: a failure must not stop the others.
            if loop.time() >= next_wake:
                await _tried(self._resume())
                next_wake = loop.time() + WAKE_SECONDS
            if not await _tried(self.step()):
                await self._rest()

    async def _resume(self) -> None:
        now_ms = self.process.clock()
        await self._outbox.wake(now_ms)
        if OWNER_MAIL in self.channels:
            await self._digest.start(now_ms)
        if self._weekly:
            await self._weekly.start(now_ms)
        if self._room():
            self._start(await self._outbox.take_over(self._room()))

    async def step(self) -> int:
        """Start as many tasks as capacity allows; their number. Raises StoreUnavailable."""
        entries = await self._outbox.take(self._room()) if self._room() else []
        self._start(entries)
        return len(entries)

    async def stop(self) -> None:
        """Start nothing more; hand over to other workers what does not end in GRACE_SECONDS."""
        self._is_stopping = True
        running = list(self._running)
        if running:
            _, late = await asyncio.wait(running, timeout=GRACE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _room(self) -> int:
        return MAX_TASKS - len(self._running)

    async def _rest(self) -> None:
        """Until something has come, or ends, or POLL_SECONDS are over."""
        arrival = asyncio.ensure_future(self._outbox.arrived.wait())
        try:
            full = not self._room()
            waits = {*self._running} if full else {arrival}
            await asyncio.wait(waits, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            arrival.cancel()
            self._outbox.arrived.clear()

    def _start(self, entries: Sequence[OutboxEntry]) -> None:
        for entry in entries:
            task = asyncio.create_task(self._carry_out(entry))
            self._running[task] = entry
            task.add_done_callback(lambda done: self._running.pop(done, None))

    async def _carry_out(self, entry: OutboxEntry) -> None:
        try:
            try:
                async with asyncio.timeout(ATTEMPT_SECONDS):
                    follow = await self._attempt(entry.task)
            except asyncio.CancelledError:
                await self._outbox.done(entry, [entry.task])
                raise
            except Undecided as undecided:
                due_ms = self.process.clock() + UNDO_MS
                await self._outbox.later(entry, undecided.task, due_ms)
            except NotDelivered as failed:
                await self._failed(entry, str(failed), is_final=failed.is_final)
            except TimeoutError:
                await self._failed(entry, f"no answer within {ATTEMPT_SECONDS} seconds")
            except StoreUnavailable:
                raise
            except Exception:
                log.exception("%s failed", entry.task.name)
                await self._failed(entry, "the channel failed: see the log")
            else:
                await self._outbox.done(entry, follow)
        except (StoreUnavailable, ErrorReply):
            # Nobody has ended the task, so a worker takes it over when it has been idle.
            log.warning("%s is retried later, as Redis does not answer", entry.task.name)

    async def _attempt(self, task: Task) -> Sequence[Task]:
        """What follows from a task that is carried out. Raises NotDelivered, StoreUnavailable."""
        if task.kind == DIGEST:
            await self._tell_digest(task)
            return ()
        if task.kind == WEEKLY:
            # A setting that was changed meanwhile has fewer recipients, or none.
            if self._weekly and await self._weekly.send(task):
                self._delivered(task)
            return ()
        is_known = task.kind in ("event", spam_check.KIND, *self.channels)
        comment = await self._found(task) if is_known else None
        if comment is None:
            return ()
        notification = await self._news(task, comment)
        if task.kind == spam_check.KIND:
            return await spam_check.decide(
                self._comments, self.spam_checkers, comment, notification, task
            )
        if task.kind == "event":
            if self.spam_checkers and spam_check.is_wanted(task):
                return [replace(task, kind=spam_check.KIND)]
            return [replace(task, kind=name) for name in self._wanting(notification)]
        await self._tell(self.channels[task.kind], notification, task, comment)
        return ()

    async def _tell(
        self, channel: Channel, notification: Notification, task: Task, stored: StoredComment
    ) -> None:
        """Raises NotDelivered, Undecided."""
        if not channel.wants(notification):
            if channel.name != READER_MAIL:
                spam_check.require_decided(task, stored)
            return
        try:
            await channel.send(notification)
        except Gathered:
            self.process.metrics.deliveries.add("gathered")
        except Dropped:
            self.process.metrics.deliveries.add("dropped")
        else:
            self._delivered(task)

    def _delivered(self, task: Task) -> None:
        self.process.metrics.deliveries.add("delivered")
        log.info("%s was delivered", task.name)

    async def _tell_digest(self, task: Task) -> None:
        """Notify the owner of the gathered comments, unless all of them are decided by now. Raises
        NotDelivered."""
        channel, comments = self.channels.get(OWNER_MAIL), self._comments
        ids = await self._digest.ids(task.version)
        news = await undecided(comments, ids)
        if news.number and isinstance(channel, OwnerMail):
            waiting, _ = await comments.index.held()
            address = self._recipients.address
            queue_url = f"{address}/ui/queue" if address else ""
            texts = self.title, self.site_url, queue_url
            titles = await self._titles_of(comment.path for comment in news.alone)
            told = News(news.number, waiting, news.alone, news.waves, *texts, titles)
            await channel.send_digest(told, task.name)
            self._delivered(task)
        await self._digest.told(ids)

    def _wanting(self, notification: Notification) -> list[str]:
        """The channels that want this. A moderator's recent decision can be undone: then only
        readers are not notified, since their next message would be the same."""
        hoped = replace(notification, status=cast(Status, notification.now))
        return [
            name
            for name, channel in self.channels.items()
            if channel.wants(notification if name == READER_MAIL else hoped)
        ]

    async def _found(self, task: Task) -> StoredComment | None:
        """The comment as it is now. If readers were to be notified of an approval that was
        withdrawn, that is noted. Raises Undecided if its deletion may be undone."""
        is_approval = task.now == "approved" and task.seen != "1"
        tells_readers = is_approval and task.kind in ("event", READER_MAIL)
        while comments := await self._comments.moderation.whole([task.id]):
            is_held = comments[0].status != "approved"
            if not (tells_readers and is_held) or await self._outbox.mark_unnotified(task.id):
                return comments[0]
        deletions, now_ms = self._comments.deletions, self.process.clock()
        if await deletions.is_undoable(task.id, now_ms):
            raise Undecided(task)
        return None

    async def _failed(self, entry: OutboxEntry, reason: str, *, is_final: bool = False) -> None:
        reason = " ".join(reason.split())[:MAX_REASON_CHARACTERS]
        task = replace(entry.task, attempts=entry.task.attempts + 1)
        is_filters = task.kind == spam_check.KIND
        most = spam_check.MAX_ATTEMPTS if is_filters else MAX_ATTEMPTS
        if is_final or task.attempts >= most:
            log.error("%s was not delivered, and has failed permanently: %s", task.name, reason)
            self.process.metrics.deliveries.add("given up")
            follow = [spam_check.after(task)] if is_filters else []
            await self._outbox.give_up(entry, task, reason, follow)
            return
        wait_ms = _wait_ms(task.attempts)
        log.warning(
            "%s was not delivered, and is retried in %s: %s",
            task.name,
            number_of(wait_ms // 1000, "second"),
            reason,
        )
        self.process.metrics.deliveries.add("failed")
        await self._outbox.later(entry, task, self.process.clock() + wait_ms)

    async def _news(self, task: Task, stored: StoredComment) -> Notification:
        about = await self._with_author(stored)
        above = await self._comments.moderation.whole([about.parent]) if about.parent else []
        return Notification(
            about,
            stored.status,
            await self._with_author(above[0]) if above else None,
            task.was,
            task.now,
            task.by,
            self.title,
            self.site_url,
            task.name,
            task.seen,
            task.attempts,
            above[0].status if above else "approved",
            version(stored),
            # Only emails name it.
            await self._title_of(about.path) if task.kind in (READER_MAIL, OWNER_MAIL) else "",
        )

    async def _title_of(self, path: str) -> str:
        """A damaged one is none."""
        with suppress(ErrorReply):
            return await self._titles.of_page(path) if self._titles else ""
        return ""

    async def _titles_of(self, paths: Iterable[str]) -> Mapping[str, str]:
        with suppress(ErrorReply):
            return await self._titles.of(paths) if self._titles else {}
        return {}

    async def _with_author(self, stored: StoredComment) -> Comment:
        """The comment with the author's account as it is now; without one that is gone."""
        comment = codec.comment(stored)
        if not comment.account:
            return comment
        accounts = await self._comments.accounts.store.by_ids({comment.account})
        account = accounts.get(comment.account)
        if account is None:
            return replace(comment, account="")
        return replace(comment, nick=account.nick, mail=account.mail, link=account.link)


@asynccontextmanager
async def delivering(delivery: Delivery | None) -> AsyncIterator[None]:
    """Deliver during the block, if a channel is configured."""
    if delivery is None:
        yield
        return
    running = asyncio.create_task(delivery.run())
    try:
        yield
    finally:
        # First the part that starts tasks, so that none starts after `stop`.
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await delivery.stop()


async def _tried(work: Awaitable[T]) -> T | None:
    try:
        return await work
    except StoreUnavailable:
        return None
    except Exception:
        # Keep delivering the other notifications.
        log.exception("the outbox could not be read")
        return None


def _wait_ms(attempts: int) -> int:
    """The wait after this many attempts: twice as long each time, with some randomness."""
    import tenacity  # loaded by the first failure

    state = tenacity.RetryCallState(tenacity.AsyncRetrying(), None, (), {})
    state.attempt_number = attempts
    wait = tenacity.wait_exponential_jitter(multiplier=FIRST_WAIT_SECONDS, max=MAX_WAIT_SECONDS)
    return round(wait(state) * 1000)
