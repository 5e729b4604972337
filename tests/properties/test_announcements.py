"""The site's indexes end in the truth, in whatever order and however often changes reach them.

Hypothesis makes up a history of comments and of what moderators do to them, which the scripts of
the pages play. The changes that they return are then announced in any order, each at least once.
The replies to some publications are lost; these are found later, when more has happened to the
comment.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from footfall.driver.client import Connected, connect
from footfall.model import STATUSES, Comment, Shown, Status
from footfall.store import Store
from footfall.store.codec import body, parse_body
from footfall.store.comments import Change
from footfall.store.ids import IdGenerator, created_ms, split
from tests.conftest import server_of
from tests.support.fakes import fake_redis
from tests.support.servers import RealServer

NOW = 1_700_000_000_000
PATHS = ("/a", "/b")
ACCOUNTS = ("", "bob")
_prefixes = (f"n{n}" for n in count())
_mint = IdGenerator()


@dataclass(frozen=True)
class Birth:
    path: str
    account: str
    status: Status
    is_lost: bool


@dataclass(frozen=True)
class Verdict:
    """A decision on the comment in this place, counted modulo their number."""

    place: int
    status: Status


@dataclass(frozen=True)
class Deletion:
    """The deletion of the comment in this place, unless the reply to its publication was lost."""

    place: int


_statuses = st.sampled_from(STATUSES)
_births = st.builds(
    Birth, st.sampled_from(PATHS), st.sampled_from(ACCOUNTS), _statuses, is_lost=st.booleans()
)
_places = st.integers(0, 5)
_histories = st.lists(
    _births | st.builds(Verdict, _places, _statuses) | st.builds(Deletion, _places), max_size=12
)


@dataclass
class Told:
    """What the pages' scripts return: the status of each comment by its id, and all changes."""

    statuses: dict[str, Status]
    changes: list[Change]


async def play(store: Store, history: list[Birth | Verdict | Deletion]) -> Told:
    comments: list[tuple[Comment, Birth]] = []
    told = Told({}, [])
    for n, step in enumerate(history):
        if isinstance(step, Birth):
            id = _mint.new(NOW + n, step.path)
            author = step.account or "ann"
            comment = Comment(
                id, step.path, created_ms(id), "", "", account=step.account, author=author
            )
            change = await store.comments.publish(comment, step.status, "")
            comments.append((comment, step))
            told.statuses[id] = step.status
            told.changes += [] if step.is_lost else [change]
        elif isinstance(step, Deletion):
            if comments and not comments[step.place % len(comments)][1].is_lost:
                comment, _ = comments.pop(step.place % len(comments))
                gone = await store.moderation.delete(
                    await store.moderation.whole([comment.id]), NOW + n
                )
                del told.statuses[comment.id]
                told.changes += (change for _, change in gone)
        elif comments:
            comment, _ = comments[step.place % len(comments)]
            shown = Shown(comment.id, comment.path, parse_body(body(comment)))
            moderated = await store.moderation.moderate(shown, step.status, NOW + n)
            assert moderated
            told.statuses[comment.id] = step.status
            told.changes.append(moderated)
    for comment, birth in comments:
        if birth.is_lost:
            found = await store.comments.published(comment, birth.status)
            assert found
            told.changes.append(found)
    return told


async def indexes(store: Store) -> Mapping[str, Any]:
    client, site = store.redis.client, store.keys.site
    found: dict[str, Any] = {
        name: {each.decode() for each in await client.zrange(site(name), 0, -1)}
        for name in ("recent", "waiting", "spam", "own:bob")
    }
    totals = (await client.hscan(site("totals"), count=10_000))[1]
    found["totals"] = {page.decode(): int(text.split()[1]) for page, text in totals.items()}
    found["total"] = int(await client.get(site("total")) or 0)
    authors = await client.zrange(site("authors"), 0, -1, withscores=True)
    found["authors"] = {author.decode(): int(number) for author, number in authors}
    return found


def truth(told: Told) -> Mapping[str, Any]:
    ids: dict[str, set[str]] = {status: set() for status in STATUSES}
    for id, status in told.statuses.items():
        ids[status].add(id)
    owners = {each.id: each.account for each in told.changes}
    pages = {split(each.id)[1] for each in told.changes}
    approved = Counter(split(id)[1] for id in ids["approved"])
    return {
        "recent": ids["approved"],
        "waiting": ids["waiting"],
        "spam": ids["spam"],
        "own:bob": {id for id in ids["waiting"] | ids["spam"] if owners[id]},
        "totals": {page: approved[page] for page in pages},
        "total": len(ids["approved"]),
        "authors": dict(Counter(owners[id] or "ann" for id in ids["approved"])),
    }


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.mark.parametrize(("server", "examples"), [("fake", 100), ("valkey", 100), ("redis", 50)])
def test_announcements_in_any_order_end_in_the_truth(
    server: str, examples: int, loop: asyncio.AbstractEventLoop, request: pytest.FixtureRequest
) -> None:
    redis: Connected
    if server == "fake":
        redis = fake_redis()
    else:
        servers: dict[str, RealServer] = request.getfixturevalue("servers")
        redis = connect(server_of(server, servers).url, timeout=5)

    async def announced(history: list[Birth | Verdict | Deletion], order: st.DataObject) -> None:
        store = Store(redis, prefix=next(_prefixes), buckets=256)
        await store.create()
        told = await play(store, history)
        again = order.draw(st.lists(st.sampled_from(told.changes))) if told.changes else []
        for change in order.draw(st.permutations([*told.changes, *again])):
            await store.site.announce(change, NOW + len(history))
        assert await indexes(store) == truth(told)

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(history=_histories, order=st.data())
    def holds(history: list[Birth | Verdict | Deletion], order: st.DataObject) -> None:
        loop.run_until_complete(announced(history, order))

    holds()
    loop.run_until_complete(redis.close())
