"""The site ends in the truth, whatever is lost on the way, and in whatever order services go on.

Hypothesis makes up what several services on one data set do: their script calls are carried out
one at a time, in any order; a reply may be lost after any of them, or a service may end. Records
come again when they are long followed. In the end every page agrees with itself, and the site with
what the pages have written down, once each.
"""

from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, multiple, precondition, rule

from footfall.comments.store import codec, deleted, deletions, journal
from footfall.comments.store.indexes import DELETED, HASHES, INDEXES, indexes_of, site_indexes_of
from footfall.comments.store.moderation import Actor, Overtaken
from footfall.comments.store.outcomes import AlreadyPublished, IdTaken
from footfall.comments.store.projections import UNDO_MS, JournalEntry, logged_as, task_of
from footfall.comments.store.status import status_of
from footfall.data.store import Store
from footfall.errors import NoSuchParent, StoreUnavailable
from footfall.ids import SHORT, IdGenerator, created_ms, digest, split
from footfall.model import STATUSES, Body, Comment, Draft, Status, StoredComment
from tests.support.stepping import Call, Fate, Stepping

from .machines import PREFIX, SiteMachine, play

NOW = 1_700_000_000_000
PATHS = ("/a", "/b")
# Account and author, of people with an account, with an email and with neither.
PEOPLE = (("bob", "bob"), ("", "ann"), ("", ""))
FATES: tuple[Fate, ...] = ("comes", "comes", "comes", "lost", "lost before", "ends", "ends before")
MODERATOR = Actor("moderator", "root")
SERVICES = 2
# What a request may be told, and what it is told if its reply was lost.
REFUSALS = (AlreadyPublished, IdTaken, NoSuchParent, Overtaken, StoreUnavailable)


class Asked(NamedTuple):
    """Which service is asked; the request waits at its first script call, unless it
    `is_answered` before anything else goes on."""

    number: int
    is_answered: bool


some_service = st.builds(Asked, st.integers(0, SERVICES - 1), is_answered=st.booleans())
some_people = st.sampled_from(PEOPLE)
some_status = st.sampled_from(STATUSES)


class Journals(SiteMachine):
    comments: Bundle[str] = Bundle("comments")

    @initialize(target=comments)
    def open(self) -> Any:
        """Two threads of a page, in one of which a reply has replies."""
        self.empty()
        self.now, self.mint = NOW, IdGenerator()
        self.patch = pytest.MonkeyPatch()
        for module, name, value in (
            (journal, "LEFT_MS", -1),
            (journal, "JOURNAL_STEP_COMMENTS", 2),
            (deletions, "STEP_REPLIES", 1),
            (deleted, "STEP_REMOVED", 2),
            (deletions, "PACE_SECONDS", 0),
        ):
            self.patch.setattr(module, name, value)
        # Every entry that a page has ever written down, and every record of some of them.
        self.written = dict[str, dict[int, JournalEntry]]()
        self.records = list[dict[str, Any]]()
        self.answered = set[str]()
        self.stepping = Stepping(self._store, self._look)
        self.stepping.patch(self.patch)
        for _ in range(SERVICES):
            self.run(self.stepping.start())
        bob, ann, _ = PEOPLE
        first = Asked(0, is_answered=True)
        root = self.post(first, PATHS[0], bob, "approved")
        reply = self.reply(first, root, ann, "approved")
        others = [
            self.reply(first, parent, bob, status)
            for parent, status in ((reply, "approved"), (reply, "waiting"), (root, "spam"))
        ]
        other = self.post(first, PATHS[0], ann, "approved")
        return multiple(root, reply, *others, other)

    async def _store(self) -> Store:
        store = Store(self.redis, prefix=PREFIX, buckets=256, tells=True)
        await store.create()
        return store

    async def _look(self, store: Store, script: str, values: dict[str, Any]) -> None:
        if script == "journal/apply":
            self.records.append(values)
        elif "journal" in values:
            page = store.keys.page_of(values["journal"])
            (reply,) = await store.redis.ask_masters(("XRANGE", values["journal"], "-", "+"))
            for entry in (JournalEntry.parse(*each) for each in reply):
                assert self.written.setdefault(page, {}).setdefault(entry.version, entry) == entry

    def _ask(
        self, service: Asked, work: Callable[[Store], Coroutine[Any, Any, Any]], id: str = ""
    ) -> None:
        running = self.stepping.services[service.number]

        async def request() -> None:
            try:
                await work(running.store)
            except REFUSALS:
                return
            self.answered |= {id}

        self.run(self.stepping.ask(running, request(), is_answered=service.is_answered))

    def _clock(self) -> int:
        self.now += 1
        return self.now

    # What people ask for.

    @rule(
        target=comments,
        service=some_service,
        path=st.sampled_from(PATHS),
        by=some_people,
        status=some_status,
    )
    def post(self, service: Asked, path: str, by: tuple[str, str], status: Status) -> str:
        return self._publish(service, path, by, status, "")

    @rule(
        target=comments, service=some_service, parent=comments, by=some_people, status=some_status
    )
    def reply(self, service: Asked, parent: str, by: tuple[str, str], status: Status) -> str:
        path = next(path for path in PATHS if digest(path) == split(parent)[1])
        return self._publish(service, path, by, status, parent)

    def _publish(
        self, service: Asked, path: str, by: tuple[str, str], status: Status, parent: str
    ) -> str:
        at, (account, author) = self._clock(), by
        id = self.mint.new(at, path)

        async def publish(store: Store) -> None:
            root = (
                (await store.comments.before(Draft("", path, parent=parent), has_twins=True)).root
                if parent
                else ""
            )
            if root is None:
                raise NoSuchParent()
            comment = Comment(
                id,
                path,
                created_ms(id),
                "",
                "a",
                parent=parent,
                root=root,
                account=account,
                author=author,
                mail=None if account or not author else f"{author}@example.com",
            )
            await store.comments.publish(comment, status, "")

        self._ask(service, publish, id)
        return id

    def _change(
        self,
        service: Asked,
        id: str,
        change: Callable[[Store, StoredComment], Coroutine[Any, Any, Any]],
    ) -> None:
        async def read_and_change(store: Store) -> None:
            for found in await store.moderation.whole([id]):
                await change(store, found)

        self._ask(service, read_and_change)

    @rule(
        service=some_service,
        id=comments,
        status=st.none() | some_status,
        is_pinned=st.none() | st.booleans(),
        by=st.sampled_from(("moderator", "judge")),
    )
    def moderate(
        self, service: Asked, id: str, status: Status | None, is_pinned: bool | None, by: Any
    ) -> None:
        now, actor = self._clock(), Actor(by, "root" if by == "moderator" else "")

        async def change(store: Store, stored: StoredComment) -> None:
            moderate = store.moderation.moderate
            await moderate(stored, status, now, actor, is_pinned=is_pinned)

        self._change(service, id, change)

    @rule(service=some_service, id=comments, by=some_people, status=st.none() | some_status)
    def give_to_another_author(
        self, service: Asked, id: str, by: tuple[str, str], status: Status | None
    ) -> None:
        now, (account, author) = self._clock(), by

        async def change(store: Store, stored: StoredComment) -> None:
            after = replace(codec.comment(stored), account=account, author=author, mail=None)
            await store.moderation.moderate(stored, status, now, MODERATOR, after=after)

        self._change(service, id, change)

    @rule(service=some_service, id=comments)
    def delete(self, service: Asked, id: str) -> None:
        now = self._clock()
        self._change(
            service, id, lambda store, found: store.deletions.delete(found, now, MODERATOR)
        )

    @rule(service=some_service, id=comments)
    def restore(self, service: Asked, id: str) -> None:
        now = self._clock()
        self._ask(service, lambda store: store.deletions.restore(id, now, MODERATOR))

    @rule(service=some_service, id=comments)
    def erase(self, service: Asked, id: str) -> None:
        now = self._clock()

        async def change(store: Store, stored: StoredComment) -> None:
            if await store.deletions.delete(stored, now, Actor("erasure")) is not None:
                await store.deletions.remove(id, now)

        self._change(service, id, change)

    # What services do by themselves.

    @rule(service=some_service)
    def catch_up(self, service: Asked) -> None:
        self._ask(service, lambda store: store.journal.catch_up())

    @rule(service=some_service)
    def follow_all(self, service: Asked) -> None:
        self._ask(service, lambda store: store.journal.follow_all())

    @rule(service=some_service)
    def sweep(self, service: Asked) -> None:
        now = self._clock()
        self._ask(service, lambda store: store.deletions.sweep_due(now))

    @rule(minutes=st.sampled_from((0.5, 1)))
    def wait(self, minutes: float) -> None:
        self.now += round(minutes * UNDO_MS)

    @precondition(lambda self: self.stepping.calls)
    @rule(place=st.integers(0, 7), fate=st.sampled_from(FATES))
    def go_on(self, place: int, fate: Fate) -> None:
        calls: list[Call] = self.stepping.calls
        self.run(self.stepping.go_on(calls[place % len(calls)], fate))

    @precondition(lambda self: self.stepping.calls)
    @rule()
    def finish(self) -> None:
        self.run(self.stepping.finish())

    @precondition(lambda self: self.records)
    @rule(place=st.integers(0, 50))
    def a_record_comes_late(self, place: int) -> None:
        record = self.records[place % len(self.records)]
        self.run(self._applied_again(record))

    async def _applied_again(self, record: dict[str, Any]) -> None:
        # By no service, so that it waits at no gate.
        store = await self._store()
        await store.scripts["journal/apply"](**record)

    # The end.

    def teardown(self) -> None:
        if not hasattr(self, "stepping"):
            return
        try:
            self.run(self.stepping.finish())
            self.patch.undo()
            store = self.run(self._store())
            self.run(self._drained(store))
            self.run(self._check(store))
            # Now nothing can be restored.
            self.now += UNDO_MS
            self.run(self._drained(store))
            self.run(self._check(store, is_removed=True))
        finally:
            self.patch.undo()

    async def _drained(self, store: Store) -> None:
        await store.journal.follow_all()
        for _ in range(5):
            # Longer than any service may be at a page.
            self.now += deletions.LEASE_MS
            await store.deletions.sweep_due(self.now)
            await store.background.finished()
            self.now -= deletions.LEASE_MS

    async def _check(self, store: Store, *, is_removed: bool = False) -> None:
        site = Expected()
        for page in self.written:
            await self._check_page(store, page, site, is_removed=is_removed)
        for page, entries in self.written.items():
            site.totals[page] = site.visible[page]
            for entry in entries.values():
                site.log[frozenset(logged_as(page, entry).items())] += 1
                if task := task_of(page, entry):
                    site.tasks[task.dump().decode()] += 1
            born = Counter(
                change.id
                for entry in entries.values()
                for change in entry.changes
                if not change.was
            )
            assert set(born.values()) <= {1}
            self.answered -= {id + page for id in born}
        # Every acknowledged comment is stored.
        assert self.answered <= {""}
        del site.log[frozenset()]
        assert await found_in(store) == site.content(is_removed=is_removed)

    async def _check_page(
        self, store: Store, page: str, site: "Expected", *, is_removed: bool
    ) -> None:
        """A page's indexes are those of its comments."""
        has = await page_content(store, page)
        heads = {*has["deleted"]}
        went = [member.split(":")[1] for member in has["gone"]]
        assert len({*heads, *went}) == len(heads) + len(went)
        assert not is_removed or not (heads or went)
        assert {*has["held"]} <= {*has["bodies"]} == {*has["private"]}
        expected = {name: dict[str, float]() for name in INDEXES}
        for id, body in has["bodies"].items():
            words = has["held"].get(id, b"").decode()
            status = status_of(words.encode() or None)
            assert (status == "deleted") == (id in heads or id in went), words
            parsed = codec.parse_body(body)
            is_pinned = id in has["pinned"]
            for place in indexes_of(id, parsed, 0, status, is_pinned=is_pinned):
                if place.score is not None:
                    expected[place.name][place.member] = place.score
            if status != "deleted":
                site.add(id + page, parsed, status)
                self._check_root(has, codec.root_of(parsed)[:SHORT])
            if status == "approved":
                site.visible[page] += 1
        if heads:
            site.removals.add(page)
        if not is_removed:
            # What went with its root stays among the replies to replies until it is removed.
            for member in {*has["nested"]} - {*expected["nested"]}:
                assert member.split(":")[1] in went
                del has["nested"][member]
        assert {name: has[name] for name in INDEXES} == expected
        assert has["hidden"] == {}

    def _check_root(self, has: Mapping[str, Mapping[str, Any]], root: str) -> None:
        """What is shown below a root is below one that is there."""
        if root:
            assert not codec.root_of(codec.parse_body(has["bodies"][root]))
            assert status_of(has["held"].get(root)) != "deleted"


class Expected:
    """What the site knows if it has followed everything."""

    def __init__(self) -> None:
        self.lists = dict[str, dict[str, float]]()
        self.totals = dict[str, int]()
        self.visible = Counter[str]()
        self.removals = set[str]()
        self.log = Counter[frozenset[tuple[str, str]]]()
        self.tasks = Counter[str]()

    def add(self, id: str, body: Body, status: str) -> None:
        for place in site_indexes_of(id, body, status):
            if place.score is not None:
                self.lists.setdefault(place.name, {})[place.member] = place.score

    def content(self, *, is_removed: bool) -> dict[str, Any]:
        authors = {
            name.removeprefix("by:"): len(ids)
            for name, ids in self.lists.items()
            if name.startswith("by:")
        }
        return {
            **self.lists,
            **({"authors": authors} if authors else {}),
            **({"removals": self.removals} if self.removals else {}),
            "totals": self.totals,
            "total": sum(self.visible.values()),
            "log": self.log,
            "tasks": self.tasks,
        }


async def page_content(store: Store, page: str) -> dict[str, dict[str, Any]]:
    found, client = dict[str, dict[str, Any]](), store.redis.client
    for name in HASHES:
        fields = (await client.hscan(store.keys.page(page, name), count=10_000))[1]
        found[name] = {field.decode(): value for field, value in fields.items()}
    for name in (*INDEXES, *DELETED):
        key = store.keys.page(page, name)
        members = await client.zrange(key, 0, -1, withscores=True)
        found[name] = {member.decode(): score for member, score in members}
    return found


async def found_in(store: Store) -> dict[str, Any]:
    site, client = store.keys.site, store.redis.client
    found: dict[str, Any] = {}
    people = {word for pair in PEOPLE for word in pair if word}
    lists = [f"{kind}:{person}" for kind in ("own", "by") for person in people]
    for name in ("recent", "waiting", "spam", "authors", "removals", *lists):
        members = await client.zrange(site(name), 0, -1, withscores=True)
        if members:
            found[name] = {member.decode(): score for member, score in members}
    if "removals" in found:
        found["removals"] = set(found["removals"])
    totals = (await client.hscan(site("totals"), count=10_000))[1]
    found["totals"] = {page.decode(): int(words.split()[1]) for page, words in totals.items()}
    found["total"] = int(await client.get(site("total")) or 0)
    log = await store.log.newest(1000)
    found["log"] = Counter(frozenset(each.fields.items()) for each in log)
    (tasks,) = await store.redis.ask(("XRANGE", site("outbox"), "-", "+"))
    found["tasks"] = Counter(words[1].decode() for _, words in tasks)
    return found


@pytest.mark.parametrize(("server", "examples"), [("valkey", 100), ("redis", 30)])
def test_the_site_follows_whatever_is_lost_and_whoever_ends(server: str, examples: int) -> None:
    play(Journals, server, examples)
