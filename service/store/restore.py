"""A backup's lines, put into a store that is at rest, and compared with one.

Every write says what a thing is from now on, so that a chunk may be applied twice and a comment may
come twice: the later one counts. The data set is marked while a restore goes on, and nobody opens
it then. The mark says which file and how far, so that the same file goes on where it was
interrupted.

A page keeps its version. That harms no cache, since the data set is born anew, and an ETag says of
which birth it is.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, BinaryIO

from ..model import Body
from . import codec
from .archive import Chunk, Damaged, Line, Totals, chunks
from .backup import Tell, pages
from .ids import SHORT, born
from .keys import SEED_BYTES, Keys, digest
from .room import number_of_counters
from .site import RECENT

if TYPE_CHECKING:
    from . import Store

Command = Sequence[object]

# Of a page, each by a comment's id.
HASHES = ("bodies", "private", "likes", "held")
# Of the site, each by time.
LISTS = ("recent", "waiting", "spam")
# The mark: the file's id, the chunk that goes on, or that the old data is still being removed, and
# the digest of all before.
CLEARING = "-1"


class NotEmpty(Exception):
    """The target holds data that a restore would mix with the file's."""


async def restore(
    store: "Store", file: BinaryIO, *, replaces: bool, tell: Tell, length: int
) -> Totals:
    """Put everything in a file into the store. Raises Damaged, NotEmpty, StoreUnavailable.

    `length` is the file's, 0 if that is not known.
    """
    found = chunks(file)
    (header,) = next(found)
    id = header["id"]
    first, proof = await _begin(store, id, replaces=replaces)
    await store.open(is_being_restored=True)
    for chunk in found:
        tell("restoring", chunk.end / length if length else 0)
        if chunk.number >= first:
            await _apply(store, chunk, id)
        elif chunk.number == first - 1 and chunk.digest.hexdigest() != proof:
            raise NotEmpty(
                "what was restored of this file before was changed by `footfall backup --resume`: "
                "restore it with --replace"
            )
        totals = chunk.totals
    tell("indexes", 1)
    comments, count = await _index(store)
    counted = await number_of_counters(store.redis, store.keys)
    if (counted, count) != (totals.counters, totals.pages):
        raise NotEmpty(
            f"restored {totals}, but {counted:,} counters and {count:,} pages are there now: "
            f"somebody else is writing; stop the services and restore once more"
        )
    await store.redis.change(("HDEL", store.keys.site("format"), "restoring"))
    return Totals(counted, count, comments, totals.accounts)


def verify(file: BinaryIO, *, tell: Tell, length: int) -> Totals:
    """Read a file to its end. Raises Damaged."""
    for chunk in chunks(file):
        tell("reading the file", chunk.end / length if length else 0)
    return chunk.totals


async def _begin(store: "Store", id: str, *, replaces: bool) -> tuple[int, str]:
    """Mark the data set; the number of the chunk to begin with, and the proof of that before."""
    key = store.keys.site("format")
    (mark,) = await store.redis.ask(("HGET", key, "restoring"))
    whose, place, proof = mark.decode().split(" ") if mark else ("", "", "")
    if whose == id and place != CLEARING and not replaces:
        return int(place), proof
    if whose and whose != id and not replaces:
        raise NotEmpty(
            "a restore from another file was interrupted here: restore that one again, "
            "or replace what is there with --replace"
        )
    if not (whose or replaces) and await _holds_data(store):
        raise NotEmpty(
            f"there is data under KEY_PREFIX {store.keys.prefix} already: "
            "choose another one, or replace what is there with --replace"
        )
    if whose or replaces:
        await store.redis.change(("HSET", key, "restoring", f"{id} {CLEARING} "))
        await _clear(store)
    made = {
        "seed": token_hex(SEED_BYTES), "buckets": store.keys.buckets, "born": token_hex(4),
        "restoring": f"{id} 1 ",
    }  # fmt: skip
    await store.redis.change(("DEL", key), ("HSET", key, *chain(*made.items())))
    return 1, ""


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


async def _apply(store: "Store", chunk: Chunk, id: str) -> None:
    """Write a chunk, and then that it is written."""
    keys, change = store.keys, store.redis.change
    commands: list[Command] = []
    said: list[tuple[str, str, str]] = []
    for line in chunk:
        if counters := line.get("counters"):
            commands += _counted(keys, counters)
        elif accounts := line.get("accounts"):
            commands.append(("HSET", keys.accounts, *chain(*accounts.items())))
            commands.append(("INCR", keys.accounts_version))
        elif "path" in line:
            page = digest(line["path"])
            commands += _placed(keys, page, line)
            said += ((page, words, comment) for words, comment in line["said"].items())
    if commands:
        await change(*commands)
    if said:
        # One may be of a comment that came when the walk had passed its place.
        bodies = ((keys.page(page, "bodies"), comment) for page, _, comment in said)
        are_there = await store.redis.ask(*(("HEXISTS", *each) for each in bodies))
        known = compress(said, are_there)
        commands = [("HSET", keys.page(page, "said"), *each) for page, *each in known]
    mark = f"{id} {chunk.number + 1} {chunk.digest.hexdigest()}"
    await change(*commands, ("HSET", keys.site("format"), "restoring", mark))


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
        for name, member, score in _indexes(id, parsed, likes, status, is_pinned):
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


def _indexes(
    id: str, body: Body, likes: int, status: str, is_pinned: bool
) -> Iterator[tuple[str, str, int | None]]:
    """Each index that a comment may be in: its name, the member, the score or None if it is not."""
    is_approved = status == "approved"
    if body.account:
        yield f"mine:{body.account}", id, None if is_approved else born(id)
    if root := codec.root_of(body)[:SHORT]:
        yield "replies", f"{root}:{id}", 0 if is_approved else None
        yield "heldreplies", f"{root}:{id}", None if is_approved else 0
    else:
        is_listed = is_approved and not is_pinned
        yield "pinned", id, born(id) if is_pinned else None
        yield "newest", id, born(id) if is_listed else None
        yield "liked", id, likes if is_listed else None
        yield "heldroots", id, None if is_approved or is_pinned else born(id)


async def _index(store: "Store") -> tuple[int, int]:
    """Make the site's indexes from the pages that are there: (comments, pages)."""
    ask, change, site = store.redis.ask, store.redis.change, store.keys.site
    made = [
        site(name) for name in ("recent", "waiting", "spam", "totals", "total", "authors", "heard")
    ]
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
    return comments, count


def _indexed(keys: Keys, page: str, comments: Iterable[Sequence[Any]]) -> Iterator[Command]:
    indexes: defaultdict[str, list[object]] = defaultdict(list)
    authors: Counter[str] = Counter()
    for short, body, _, _, status, _ in comments:
        id, parsed = short + page, codec.parse_body(body.encode())
        indexes["recent" if status == "approved" else status] += born(id), id
        if status != "approved" and parsed.account:
            indexes[f"own:{parsed.account}"] += born(id), id
        if status == "approved" and (author := parsed.tally.decode()):
            authors[author] += 1
    for name, words in indexes.items():
        yield "ZADD", keys.site(name), *words
    yield "ZREMRANGEBYRANK", keys.site("recent"), 0, -RECENT - 1
    for author, number in authors.items():
        yield "HINCRBY", keys.site("authors"), author, number


def _nothing_is_damaged(text: str) -> None:
    raise Damaged(f"after it was restored: {text}")
