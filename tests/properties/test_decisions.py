"""What was read is what is decided, and nothing that was decided is lost.

Hypothesis makes up what two moderators, an author, a spam filter, the sweep of old spam and a
reader do on one page. Script calls are carried out one at a time, in any order; a reply may be lost
after any of them, or a service may end. No text is ever public that nobody has approved as it is;
each moderator is told what their decision did; and what is deleted can be restored.
"""

from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, multiple, precondition, rule

from footfall.comments.rules import actions, moderation, spam_check
from footfall.comments.rules.orders import Order
from footfall.comments.rules.progress import Action
from footfall.comments.rules.spam_check import Undecided
from footfall.comments.store import codec, deletions, journal
from footfall.comments.store.deletions import SWEEPER
from footfall.comments.store.moderation import Overtaken
from footfall.comments.store.projections import JournalEntry
from footfall.config import Settings
from footfall.data.store import Store
from footfall.errors import ServiceError
from footfall.ids import SHORT, IdGenerator, created_ms, digest
from footfall.model import Account, Caller, Comment, Viewer
from footfall.notify.notification import Notification
from footfall.render.versions import version
from footfall.site import Site
from footfall.tasks import Task
from tests.conftest import ADMIN, BOB
from tests.support.sites import site_of
from tests.support.stepping import Call, Fate, Running, Stepping

from .machines import PREFIX, SiteMachine, play

NOW = 1_700_000_000_000
PATH = "/a"
PAGE = digest(PATH)
SETTINGS = {"COMMENT_AUDIT": "true", "IPQPS": "0", "COUNTER_RATE": "0"}
MODERATORS = (ADMIN, Account("mo", "moderator", "Mo", "mo@example.com"))
FATES: tuple[Fate, ...] = ("comes", "comes", "comes", "comes", "lost", "lost before", "ends")

some_moderator = st.integers(0, len(MODERATORS) - 1)
some_deed = st.sampled_from(("approved", "approved", "waiting", "spam", "deleted"))


class Read(NamedTuple):
    """A comment as a moderator has read it."""

    version: str
    text: str


class Told(NamedTuple):
    """What a moderator was told of a decision; `action` is None if it was an error."""

    id: str
    deed: str
    action: Action | None


@dataclass
class Filter:
    """Texts with an odd number are spam; `asked` is called with each text."""

    asked: Callable[[str], None]
    name: str = "filter"

    async def is_spam(self, notification: Notification) -> bool:
        text = notification.about.source
        self.asked(text)
        return int(text.rpartition(" ")[2]) % 2 == 1


class Decisions(SiteMachine):
    comments: Bundle[str] = Bundle("comments")

    @initialize(target=comments)
    def open(self) -> Any:
        self.empty()
        self.now, self.number = NOW, 0
        self.patch = pytest.MonkeyPatch()
        for module, name, value in (
            (journal, "LEFT_MS", -1),
            (deletions, "PACE_SECONDS", 0),
            (actions, "PACE_SECONDS", 0),
        ):
            self.patch.setattr(module, name, value)
        self.sites = dict[Store, Site]()
        self.read = dict[tuple[int, str], Read]()
        # Texts of comments that somebody has approved as they are, or is about to.
        self.approved = set[tuple[str, str]]()
        self.told = list[Told]()
        self.written = dict[int, JournalEntry]()
        self.stepping = Stepping(self._store, self._look_after)
        self.stepping.patch(self.patch)
        self.run(self.stepping.start())
        mint, ids = IdGenerator(), list[str]()
        for _ in range(2):
            ids.append(mint.new(self._clock(), PATH))
            self._ask(partial(self._publish, ids[-1]), is_answered=True)
        return multiple(*ids)

    async def _publish(self, id: str, site: Site) -> None:
        text = self._text()
        comment = Comment(id, PATH, created_ms(id), text, text, account=BOB.id, author=BOB.id)
        await site.comments.store.publish(comment, "waiting", "")

    async def _store(self) -> Store:
        store = Store(self.redis, prefix=PREFIX, buckets=256, bin_days=7)
        await store.create()
        self.sites[store] = site_of(Settings.from_env(SETTINGS), store, clock=self._clock)
        return store

    def _clock(self) -> int:
        self.now += 1
        return self.now

    def _text(self) -> str:
        self.number += 1
        return f"text {self.number}"

    def _ask(
        self, work: Callable[[Site], Coroutine[Any, Any, Any]], *, is_answered: bool = False
    ) -> None:
        running: Running = self.stepping.services[0]

        async def request() -> None:
            try:
                await work(self.sites[running.store])
            except (ServiceError, Overtaken, Undecided):
                return

        self.run(self.stepping.ask(running, request(), is_answered=is_answered))
        self._settle()

    def _settle(self) -> None:
        """What follows a change is not what this machine is about."""
        while behind := [each for each in self.stepping.calls if each.script == "journal/cut"]:
            self.run(self.stepping.go_on(behind[0], "comes"))

    async def _look_after(self, store: Store, script: str, values: dict[str, Any]) -> None:
        """The reader: what is public after each step."""
        if "journal" not in values or not script.startswith("comments/"):
            return
        (reply,) = await store.redis.ask_masters(("XRANGE", values["journal"], "-", "+"))
        for entry in (JournalEntry.parse(*each) for each in reply):
            self.written.setdefault(entry.version, entry)
        ids = [f"{change.id}{PAGE}" for entry in self.written.values() for change in entry.changes]
        for stored in await store.comments.by_ids(sorted({*ids})):
            text = codec.source_of(stored.body)
            assert stored.status != "approved" or (stored.id, text) in self.approved

    # What people do.

    @rule(number=some_moderator, id=comments)
    def read_it(self, number: int, id: str) -> None:
        self._read(number, id)

    def _read(self, number: int, id: str) -> None:
        async def read() -> None:
            store = self.stepping.services[0].store
            for stored in await store.comments.by_ids([id]):
                text = codec.source_of(stored.body)
                self.read[number, id] = Read(version(stored), text)

        self.run(read())

    @rule(number=some_moderator, id=comments, deed=some_deed, is_read=st.booleans())
    def decide(self, number: int, id: str, deed: Any, is_read: bool) -> None:
        if not is_read:
            self._read(number, id)
        read = self.read.get((number, id))
        if read is None:
            return
        if deed == "approved":
            self.approved.add((id, read.text))

        async def decide(site: Site) -> None:
            caller, action = Caller(Viewer(MODERATORS[number])), None
            try:
                order, seen = Order(deed), {id: read.version}
                action = await actions.carry_out(site.comments, order, seen, caller)
            finally:
                self.told.append(Told(id, deed, action))

        self._ask(decide)

    @precondition(lambda self: any(told.action for told in self.told))
    @rule(number=some_moderator, place=st.integers(0, 9))
    def undo(self, number: int, place: int) -> None:
        done = [told.action for told in self.told if told.action]
        name, caller = done[place % len(done)].name, Caller(Viewer(MODERATORS[number]))
        self._ask(lambda site: actions.undo(site.comments, name, caller))

    @rule(id=comments)
    def edit(self, id: str) -> None:
        wanted, caller = moderation.Edit(self._text()), Caller(Viewer(BOB))
        self._ask(lambda site: moderation.edit(site.comments, id, wanted, caller))

    @rule(id=comments)
    def judge(self, id: str) -> None:
        async def judge(site: Site) -> None:
            for stored in await site.comments.moderation.whole([id]):
                about = codec.comment(stored)
                task = Task("judge", id, "", "waiting", "author", 0, met="waiting")
                news = Notification(about, stored.status, None, "", "waiting", "author", "", "")
                checker = Filter(lambda text: self.approved.add((id, text)))
                await spam_check.decide(site.comments, [checker], stored, news, task)

        self._ask(judge)

    @rule(id=comments)
    def sweep_old_spam(self, id: str) -> None:
        async def sweep(site: Site) -> None:
            for stored in await site.comments.store.by_ids([id]):
                if stored.status == "spam":
                    await site.comments.deletions.delete(stored, self._clock(), SWEEPER)

        self._ask(sweep)

    @precondition(lambda self: self.stepping.calls)
    @rule(place=st.integers(0, 7), fate=st.sampled_from(FATES))
    def go_on(self, place: int, fate: Fate) -> None:
        calls: list[Call] = self.stepping.calls
        self.run(self.stepping.go_on(calls[place % len(calls)], fate))
        self._settle()

    @precondition(lambda self: self.stepping.calls)
    @rule()
    def finish(self) -> None:
        self.run(self.stepping.finish())

    # The end.

    def teardown(self) -> None:
        if not hasattr(self, "stepping"):
            return
        try:
            self.run(self.stepping.finish())
            self.patch.undo()
            self.run(self._check())
        finally:
            self.patch.undo()

    async def _check(self) -> None:
        store = await self._store()
        await store.journal.follow_all()
        await store.background.finished()
        self._check_told()
        await self._check_bin(store)

    def _check_told(self) -> None:
        """Each decision was made as often as its moderator was told."""
        made = Counter(
            (entry.action, change.id + PAGE)
            for entry in self.written.values()
            for change in entry.changes[:1]
            if entry.action
        )
        for told in self.told:
            if told.action is None:
                continue
            result, times = told.action.results[told.id], made[told.action.name, told.id]
            assert times <= 1
            assert result == "failed" or (result == "done") == (times == 1), result

    async def _check_bin(self, store: Store) -> None:
        """What is not shown to moderators is in the bin, and comes back from there."""
        ids = {change.id + PAGE for entry in self.written.values() for change in entry.changes}
        there = {stored.id for stored in await store.comments.by_ids(sorted(ids))}
        _, binned, _ = await store.bin.listed("", 100)
        assert {*binned} == ids - there
        for id in binned:
            assert await store.deletions.restore(id, self._clock(), SWEEPER) == 0
        assert len(await store.comments.by_ids(sorted(ids))) == len(ids)
        assert all(len(id) == 2 * SHORT for id in ids)


@pytest.mark.parametrize(("server", "examples"), [("valkey", 200), ("redis", 60)])
def test_what_was_read_is_decided_and_nothing_is_lost(server: str, examples: int) -> None:
    play(Decisions, server, examples)
