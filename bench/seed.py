"""Comments to measure with: the same ones for every peer, stored in that peer's own way.

For this service its store publishes them, many at once, and not HTTP: to render Markdown a hundred
thousand times would take minutes.
"""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import orjson
from redis import Redis

from footfall.config import Settings
from footfall.data.store import Store
from footfall.ids import IdGenerator
from footfall.model import Comment
from footfall.stores import open_process, open_store

from .scenarios import REPLIES, ROOTS, article, deep

# More at once on one page only wait for each other.
MAX_PENDING_COMMENTS = 8
BATCH_COMMENTS = 2_000
START_MS = 1_700_000_000_000
WORDS = (
    "I have read this twice now and still think that the second half is where it gets interesting, "
    "not least because the numbers are all there; comment {n} of many."
)
LINK = "https://ann.example"
AVATAR = "https://seccdn.libravatar.org/avatar/0cc175b9c0f1b6a831c399e269772661"


@dataclass(frozen=True, slots=True)
class SeedComment:
    """One comment; a reply names its root by position on the page."""

    path: str
    n: int
    root: int | None

    @property
    def text(self) -> str:
        return WORDS.format(n=self.n)

    @property
    def html(self) -> str:
        return f"<p>{self.text}</p>\n"

    @property
    def nick(self) -> str:
        return f"Ann {self.n % 97}"

    @property
    def at(self) -> int:
        return START_MS + self.n * 1000


def comments_of(path: str, comments: int) -> Iterator[SeedComment]:
    """Roots with REPLIES replies each, in the order of their times."""
    root = 0
    for n in range(comments):
        if n % (1 + REPLIES) == 0:
            root = n
            yield SeedComment(path, n, None)
        else:
            yield SeedComment(path, n, root)


def of_articles(count: int) -> Iterator[SeedComment]:
    for n in range(count):
        yield from comments_of(article(n), ROOTS * (1 + REPLIES))


def of_deep(comments: int) -> Iterator[SeedComment]:
    return comments_of(deep(comments), comments)


def into_service(url: str, written: Iterable[SeedComment]) -> list[str]:
    """Store comments in this service's Redis; returns the ids of the roots."""
    return asyncio.run(_into_service(url, written))


async def _into_service(url: str, written: Iterable[SeedComment]) -> list[str]:
    settings = Settings.from_env({"REDIS_TIMEOUT": "30"})
    store = open_store(settings, open_process(settings, url))
    await store.create()
    generator, roots = IdGenerator(), dict[tuple[str, int], str]()
    pending: list[Comment] = []
    for each in written:
        id = generator.new(each.at, each.path)
        root = "" if each.root is None else roots[each.path, each.root]
        if not root:
            roots[each.path, each.n] = id
            # Before a root, never between a root and its replies.
            if len(pending) >= MAX_PENDING_COMMENTS:
                await _publish(store, pending)
        pending.append(_written(each, id, root))
    await _publish(store, pending)
    await store.redis.close()
    return list(roots.values())


async def _publish(store: Store, pending: list[Comment]) -> None:
    for chosen in (
        [each for each in pending if not each.root],
        [each for each in pending if each.root],
    ):
        await asyncio.gather(*(store.comments.publish(each, "approved", "") for each in chosen))
    await store.background.finished()
    pending.clear()


def comment(each: SeedComment, generator: IdGenerator, root: str = "") -> Comment:
    return _written(each, generator.new(each.at, each.path), root)


def _written(each: SeedComment, id: str, root: str) -> Comment:
    return Comment(
        id=id,
        path=each.path,
        at=each.at,
        html=each.html,
        source=each.text,
        nick=each.nick,
        mail="ann@example.com",
        link=LINK,
        ua="bench",
        browser="Chrome 130.0.0",
        os="Windows 10",
        avatar=AVATAR,
        address="127.0.0.1",
        parent=root,
        root=root,
        author="a" * 16,
    )


def into_redis(redis: "Redis", written: Iterable[SeedComment]) -> None:
    """Finished JSON for the peers' page script (programs/page.lua)."""
    rows = iter(written)
    while batch := list(islice(rows, BATCH_COMMENTS)):
        pipeline = redis.pipeline(transaction=False)
        for each in batch:
            id, keys = f"{each.n:012d}", f"{{{each.path}}}:"
            pipeline.hset(keys + "bodies", id, fragment(each))
            if each.root is None:
                pipeline.zadd(keys + "newest", {id: each.at})
            else:
                pipeline.zadd(keys + "replies", {f"{each.root:012d}:{id}": 0})
        pipeline.execute()


def fragment(each: SeedComment) -> bytes:
    """A comment as this service answers it; a root's text ends where its replies start."""
    fields: dict[str, Any] = {
        "objectId": f"{each.n:032d}",
        "comment": each.html,
        "orig": each.text,
        "time": each.at,
        "status": "approved",
        "like": 0,
        "nick": each.nick,
        "link": LINK,
        "avatar": AVATAR,
        "browser": "Chrome 130.0.0",
        "os": "Windows 10",
    }
    if each.root is None:
        return orjson.dumps(fields | {"sticky": False, "children": []})[:-2]
    id = f"{each.root:032d}"
    user = {"nick": f"Ann {each.root % 97}", "link": LINK, "avatar": AVATAR}
    return orjson.dumps(fields | {"pid": id, "rid": id, "reply_user": user})


# Far from the ids that the server gives to new comments.
WALINE_ID = 10_000_000
COLUMNS = (
    "id",
    "comment",
    "insertedAt",
    "ip",
    "link",
    "mail",
    "nick",
    "pid",
    "rid",
    "status",
    "ua",
    "url",
    "createdAt",
    "updatedAt",
    '"like"',
)


def rows_for_waline(written: Iterable[SeedComment]) -> Iterator[tuple[Any, ...]]:
    roots: dict[tuple[str, int], int] = {}
    for id, each in enumerate(written, WALINE_ID):
        root = None if each.root is None else roots[each.path, each.root]
        if root is None:
            roots[each.path, each.n] = id
        at = datetime.fromtimestamp(each.at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        yield (
            id,
            each.text,
            at,
            "127.0.0.1",
            LINK,
            "ann@example.com",
            each.nick,
            root,
            root,
            "approved",
            "bench",
            each.path,
            at,
            at,
            0,
        )


def into_sqlite(file: str, written: Iterable[SeedComment]) -> None:
    marks = ", ".join("?" * len(COLUMNS))
    with sqlite3.connect(file) as base:
        base.executemany(
            f"INSERT INTO wl_Comment ({', '.join(COLUMNS)}) VALUES ({marks})",
            rows_for_waline(written),
        )
