"""A backup's lines, put into a store that is at rest, and compared with one.

The whole file is read before anything is touched. The data set is marked while a restore goes on,
and nobody opens it then; whoever finds the mark of one that was interrupted starts over. Every
write says what a thing is from now on, so a comment may come twice: the later one counts.

A page keeps its version. That harms no cache, since the data set is born anew, and an ETag says of
which birth it is. Comments are put back as they were, byte for byte: an answer makes of a name and
an address what may be shown, wherever they come from.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, BinaryIO

from ..driver.keys import SEED_BYTES, Keys, digest
from ..store import FORMAT, codec
from ..store.indexes import DERIVED, SITE_INDEXES, indexes_of, site_indexes_of
from ..store.site_index import MAX_RECENT_COMMENTS
from .archive import Damaged, Line, Totals, lines
from .backup import Tell, pages

if TYPE_CHECKING:
    from ..store import Store

Command = Sequence[object]

# Of a page, each by a comment's id.
HASHES = ("bodies", "private", "likes", "held")
# Commands that go to Redis together: those of some pages, or of a long line.
BATCH_COMMANDS = 256


class NotEmpty(Exception):
    """The target holds data that a restore would mix with the file's."""


async def restore(store: "Store", file: BinaryIO, *, replaces: bool, tell: Tell) -> Totals:
    """Put everything in a file into the store. Raises Damaged, NotEmpty, StoreUnavailable."""
    verify(file, tell=tell)
    found = lines(file, lambda share: tell("restoring", share))
    mark = f"{next(found)['id'][:32]} {token_hex(8)}"
    await _begin(store, mark, replaces=replaces)
    await store.open(is_being_restored=True)
    batch, begun = _Batch(store), 0
    for line in found:
        batch.add(line)
        if batch.is_full or "totals" in line:
            begun += await batch.write(mark)
            batch = _Batch(store)
    totals = line["totals"]
    tell("indexes", 1)
    comments, count = await _index(store)
    counted = (await store.census.take()).number
    there = Totals(counted, count, comments, totals["accounts"])
    if (counted, count) != (begun, totals["pages"]):
        raise NotEmpty(
            f"restored {begun:,} counters and {totals['pages']:,} pages, but there are {there} "
            "now: somebody else is writing; stop the services and restore once more"
        )
    await store.redis.change(("HDEL", store.keys.site("format"), "restoring"))
    return there


def verify(file: BinaryIO, *, tell: Tell) -> Totals:
    """Read a file to its end. Raises Damaged."""
    for line in lines(file, lambda share: tell("reading the file", share)):
        last = line
    return Totals(**last["totals"])


async def _begin(store: "Store", mark: str, *, replaces: bool) -> None:
    """Mark the data set, and take away what is there."""
    key = store.keys.site("format")
    (is_marked,) = await store.redis.change(("HEXISTS", key, "restoring"))
    if not (is_marked or replaces) and await _holds_data(store):
        raise NotEmpty(
            f"there is data under KEY_PREFIX {store.keys.prefix} already: "
            "choose another one, or replace what is there with --replace"
        )
    await store.redis.change(("HSET", key, "restoring", mark))
    await _clear(store)
    made = {
        "number": FORMAT, "seed": token_hex(SEED_BYTES), "buckets": store.keys.buckets,
        "born": token_hex(4), "restoring": mark,
    }  # fmt: skip
    await store.redis.change(("DEL", key), ("HSET", key, *chain(*made.items())))


async def _holds_data(store: "Store") -> bool:
    async for _ in _lasting(store):
        return True
    return False


async def _clear(store: "Store") -> None:
    async for names in _lasting(store):
        await store.redis.change(*(("UNLINK", name) for name in names))


async def _lasting(store: "Store") -> AsyncIterator[list[bytes]]:
    """Every key under the prefix but the one that says how the data set is made, some at a time."""
    async for names in store.redis.scan(store.keys.every_key):
        if lasting := [key for key in names if key != store.keys.site("format").encode()]:
            yield lasting


class _Batch:
    """What some lines tell of, as commands."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._counters: list[Command] = []
        self._others: list[Command] = []
        # Page, fingerprint, comment.
        self._fingerprints: list[tuple[str, str, str]] = []

    def add(self, line: Line) -> None:
        keys = self._store.keys
        if counters := line.get("counters"):
            self._counters += _counted(keys, counters)
        elif accounts := line.get("accounts"):
            self._others.append(("HSET", keys.accounts, *chain(*accounts.items())))
            self._others.append(("INCR", keys.accounts_version))
        elif "path" in line:
            page = digest(line["path"])
            self._others += _placed(keys, page, line)
            self._fingerprints += ((page, *each) for each in line["fingerprints"].items())

    @property
    def is_full(self) -> bool:
        return len(self._counters) + len(self._others) >= BATCH_COMMANDS

    async def write(self, mark: str) -> int:
        """How many counters there are now that were not there. Raises NotEmpty."""
        redis, keys = self._store.redis, self._store.keys
        asked = ("HGET", keys.site("format"), "restoring")
        *replies, found = await redis.change(*self._counters, *self._others, asked)
        if found != mark.encode():
            raise NotEmpty("another restore has begun here meanwhile; this one is given up")
        if self._fingerprints:
            # One may be of a comment that came when the walk had passed its place.
            bodies = (
                (keys.page(page, "bodies"), comment) for page, _, comment in self._fingerprints
            )
            are_there = await redis.change(*(("HEXISTS", *each) for each in bodies))
            if known := list(compress(self._fingerprints, are_there)):
                fingerprints = (
                    ("HSET", keys.page(page, "fingerprints"), *each) for page, *each in known
                )
                await redis.change(*fingerprints)
        return sum(replies[: len(self._counters)])


def _counted(keys: Keys, counters: Mapping[str, int]) -> Iterator[Command]:
    """Into the buckets of this data set, which may be others than the file's."""
    buckets: defaultdict[str, list[object]] = defaultdict(list)
    for name, count in counters.items():
        buckets[keys.counts(name)] += name, count
    for key, fields in buckets.items():
        yield "HSET", key, *fields


def _placed(keys: Keys, page: str, line: Line) -> Iterator[Command]:
    """What puts a page's comments where they belong, and takes them away from everywhere else."""
    hashes: defaultdict[str, list[object]] = defaultdict(list)
    leaving: defaultdict[str, list[object]] = defaultdict(list)
    coming: defaultdict[str, list[object]] = defaultdict(list)
    for row in {row[0]: row for row in line["comments"]}.values():
        id, body, private, likes, status, is_pinned = row
        held = "" if status == "approved" else status
        for name, value in zip(HASHES, (body, private, likes, held), strict=True):
            if value:
                hashes[name] += id, value
            else:
                leaving[name].append(id)
        parsed = codec.parse_body(body.encode())
        for name, member, score in indexes_of(id, parsed, likes, status, is_pinned=is_pinned):
            if score is None:
                leaving[name].append(member)
            else:
                coming[name] += score, member
    for name, words in leaving.items():
        yield "HDEL" if name in HASHES else "ZREM", keys.page(page, name), *words
    for name, words in hashes.items():
        yield "HSET", keys.page(page, name), *words
    for name, words in coming.items():
        yield "ZADD", keys.page(page, name), *words
    yield "SET", keys.page(page, "path"), line["path"]
    yield "SET", keys.page(page, "version"), line["version"]


async def _index(store: "Store") -> tuple[int, int]:
    """Make the site's indexes from the pages that are there: (comments, pages)."""
    ask, change, site = store.redis.ask, store.redis.change, store.keys.site
    made = [site(name) for name in (*SITE_INDEXES, *DERIVED)]
    async for keys in store.redis.scan(store.keys.own("*")):
        made += (key.decode() for key in keys)
    await change(*(("DEL", key) for key in made))
    comments = count = total = 0
    async for page, line in pages(store, _nothing_is_damaged):
        if commands := list(_indexed(store.keys, page, line["comments"])):
            await change(*commands)
        if line["end"]:
            names = (store.keys.page(page, name) for name in ("bodies", "held"))
            bodies, held = await ask(*(("HLEN", name) for name in names))
            await change(("HSET", site("totals"), page, f"{line['version']} {bodies - held}"))
            comments, count, total = comments + bodies, count + 1, total + bodies - held
    await change(("SET", site("total"), total))
    if total > MAX_RECENT_COMMENTS:
        ((oldest,),) = await ask(("ZRANGE", site("recent"), 0, 0))
        await change(("SET", site("oldest"), oldest))
    return comments, count


def _indexed(keys: Keys, page: str, comments: Iterable[Sequence[Any]]) -> Iterator[Command]:
    indexes: defaultdict[str, list[object]] = defaultdict(list)
    authors: Counter[str] = Counter()
    for short, body, _, _, status, _ in comments:
        parsed = codec.parse_body(body.encode())
        for index, id, score in site_indexes_of(short + page, parsed, status):
            if score is not None:
                indexes[index] += score, id
        if status == "approved" and (author := parsed.tally.decode()):
            authors[author] += 1
    for name, words in indexes.items():
        yield "ZADD", keys.site(name), *words
    yield "ZREMRANGEBYRANK", keys.site("recent"), 0, -MAX_RECENT_COMMENTS - 1
    for author, number in authors.items():
        yield "HINCRBY", keys.site("authors"), author, number


def _nothing_is_damaged(text: str) -> None:
    raise Damaged(f"after it was restored: {text}")
