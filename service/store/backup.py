"""Everything that is stored, read while the service goes on: lines for an archive.

What a line holds was true at one moment between begin and end. A hash of counters is read in one
step. So is a page, unless it is long: then it is walked, some comments a step, each of them whole.
Changes of different comments do not depend on each other, but for a reply, which needs the comments
above it; so once a page changes during its walk, replies bring those along. What is read is then
the page as it would be if some of the changes had come a moment earlier or later, and whatever was
acknowledged before the begin is there.

Left out is what follows from the rest (the indexes of pages and of the site) and what ends by
itself (gates, trials). The order is that of the buckets, then of the pages' digests, so that an
interrupted backup goes on behind the last finished page. Accounts come last: whoever has written a
comment had one before.
"""

import asyncio
from base64 import b32hexdecode, b32hexencode
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import islice
from secrets import token_hex
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from ..model import STATUSES
from . import codec
from .archive import FORMAT, Chunk, Damaged, Line, Place, Totals, Writer, chunks
from .comments import Step
from .counters import walked
from .ids import SHORT, is_id
from .keys import Keys, digest

if TYPE_CHECKING:
    from . import Store

# Counter hashes in one round trip, and pages that are begun together.
AT_ONCE = 16
# Comments in a step of a walk: so many at first, then as many as make STEP_BYTES, that is a
# millisecond or two in which a request has to wait.
FIRST, FEWEST, MOST = 64, 8, 256
STEP_BYTES = 1 << 16
# Comments above replies that are not brought along again, while no more than that are remembered.
REMEMBERED = 10_000
# What HINCRBY can have made has no more.
MOST_DIGITS = 19

# Hears what is being done, and which share of it is.
Tell = Callable[[str, float], None]
# Hears what is left out, since it is damaged.
Complain = Callable[[str], None]


class OtherData(Exception):
    """The file is of another data set."""


async def backup(
    store: "Store", file: BinaryIO, kept: Chunk | None, *,
    about: Mapping[str, str], tell: Tell, complain: Complain,
) -> Totals:  # fmt: skip
    """Write everything, or what is missing behind `kept`. Raises StoreUnavailable, OSError.

    `about` goes into the header; its `by` names the version that writes.
    """
    if kept is None:
        writer, place = Writer(file), Place(0, "")
        of = {"prefix": store.keys.prefix, "buckets": store.keys.buckets}
        born = {"id": token_hex(8), "born": store.born.decode()}
        writer.add({"footfall": FORMAT, **about, **of, **born})
        writer.cut(place)
    else:
        assert kept.place is not None
        writer, place = Writer.behind(kept, file), kept.place
    async for line, behind in _lines(store, place, tell, complain):
        writer.add(line)
        if writer.is_full:
            writer.cut(behind)
    writer.cut(None, is_last=True)
    return writer.totals


def resume(store: "Store", file: BinaryIO, tell: Tell) -> Chunk | None:
    """The chunk to go on behind, all else cut away; None if the file is whole.

    Raises Damaged when there is no such chunk, OtherData.
    """
    kept = None
    length = file.seek(0, 2)
    file.seek(0)
    try:
        for chunk in chunks(file):
            if chunk.number == 0:
                (header,) = chunk
                of = (store.born.decode(), store.keys.buckets)
                if (header["born"], header["buckets"]) != of:
                    raise OtherData("it was begun from another data set")
            if chunk.place is not None:
                kept = chunk
            tell("reading the file", chunk.end / length)
    except Damaged:
        if kept is None:
            raise
    else:
        return None
    file.seek(kept.end)
    file.truncate()
    return kept


async def _lines(
    store: "Store", place: Place, tell: Tell, complain: Complain
) -> AsyncIterator[tuple[Line, Place | None]]:
    """Each with the place to go on behind it, None in the middle of something."""
    hashes = await store.counter_hashes()
    buckets = len(hashes)
    for bucket in range(place.bucket, buckets, AT_ONCE):
        tell("counters", bucket / buckets)
        if counters := await _counters(store, hashes[bucket : bucket + AT_ONCE], complain):
            yield {"counters": counters}, Place(min(bucket + AT_ONCE, buckets), "")
    pages = await Pages.of(store)
    names = pages.behind(place.page)
    done = len(pages) - sum(1 for _ in pages.behind(place.page))
    while group := list(islice(names, AT_ONCE)):
        tell("comments", done / len(pages))
        async for page, line in _together(store, group, complain):
            yield line, Place(buckets, page) if line["end"] else None
        done += len(group)
    tell("accounts", 0)
    async for accounts in _walked(store, store.keys.accounts):
        yield {"accounts": {id.decode(): body.decode() for id, body in accounts}}, None


async def _counters(store: "Store", keys: list[str], complain: Complain) -> dict[str, int]:
    counters = {}
    async for key, found in walked(store.redis, keys):
        for field, count in found.items():
            name = field.decode(errors="replace")
            is_here = store.is_older or store.keys.counts(name) == key
            if is_here and count.isdigit() and len(count) <= MOST_DIGITS:
                counters[name] = int(count)
            else:
                complain(f"counters {key}: {field!r} at {count!r}")
    return counters


async def _walked(store: "Store", key: str) -> AsyncIterator[list[tuple[bytes, bytes]]]:
    """A hash whose fields do not depend on each other, some at a time."""
    cursor = b"0"
    while True:
        ((cursor, found),) = await store.redis.ask(("HSCAN", key, cursor, "COUNT", FIRST))
        yield list(pairs(found))
        if cursor == b"0":
            return


def pairs(words: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(words[::2], words[1::2], strict=True)


class Pages:
    """The digests of all pages, in ten bytes each: the only thing that grows with the site."""

    def __init__(self) -> None:
        self._parts: defaultdict[int, bytearray] = defaultdict(bytearray)

    @classmethod
    async def of(cls, store: "Store") -> "Pages":
        """Those that the keys tell, and those that the site's totals tell.

        Either may lack one: a key whose slot moves to another node during the SCAN, and a page of
        which the site's indexes were not told.
        """
        pages = cls()
        async for keys in store.redis.scan(store.keys.every_page):
            for key in keys:
                pages.add(Keys.page_of(key.decode(errors="replace")))
        async for found in _walked(store, store.keys.site("totals")):
            for page, _ in found:
                pages.add(page.decode(errors="replace"))
        for first, part in pages._parts.items():
            each = sorted({bytes(part[at : at + 10]) for at in range(0, len(part), 10)})
            pages._parts[first] = bytearray(b"".join(each))
        return pages

    def add(self, page: str) -> None:
        if len(page) == SHORT and is_id(page * 2):
            packed = b32hexdecode(page.upper())
            self._parts[packed[0]] += packed

    def __len__(self) -> int:
        return sum(map(len, self._parts.values())) // 10

    def behind(self, last: str) -> Iterator[str]:
        for _, part in sorted(self._parts.items()):
            for at in range(0, len(part), 10):
                page = b32hexencode(part[at : at + 10]).decode().lower()
                if page > last:
                    yield page


async def pages(store: "Store", complain: Complain) -> AsyncIterator[tuple[str, Line]]:
    """Every page with its digest, in one line or several; the last one says so."""
    names = (await Pages.of(store)).behind("")
    while group := list(islice(names, AT_ONCE)):
        async for each in _together(store, group, complain):
            yield each


async def _together(
    store: "Store", group: list[str], complain: Complain
) -> AsyncIterator[tuple[str, Line]]:
    """Pages one after the other; their first steps, mostly their only ones, are taken together."""
    walks = [_page(store, page, complain) for page in group]
    firsts = await asyncio.gather(*(anext(walk, None) for walk in walks))
    for page, walk, line in zip(group, walks, firsts, strict=True):
        while line is not None:
            yield page, line
            line = await anext(walk, None)


async def _page(store: "Store", page: str, complain: Complain) -> AsyncIterator[Line]:
    walk, count, wanted = ("0", "0"), FIRST, list[str]()
    has_moved, brought = False, set[str]()
    version, server = 0, b""
    while True:
        step = await store.comments.copy(page, *walk, count, wanted)
        if not server:
            version, server = step.version, step.server
            if not step.path and not step.comments:
                # Gone, or only an entry among the totals.
                return
            if digest(step.path) != page:
                complain(f"page {page}: its path is {step.path!r}")
                return
        walk = step.cursor, step.echo
        has_moved |= step.version != version
        if step.server != server:
            # A cursor means nothing to another server, or to one that was started again.
            server, walk, has_moved = step.server, ("0", "0"), True
        rows = list(_rows(page, step, complain))
        wanted = _missing(rows, brought) if has_moved else []
        is_end = not (any(walk) or wanted)
        yield {
            "path": step.path, "version": step.version, "comments": [each for each, _ in rows],
            "said": step.said, "end": is_end, "moved": has_moved,
        }  # fmt: skip
        if is_end:
            return
        size = sum(len(each[1]) + len(each[2]) for each in step.comments)
        count = max(FEWEST, min(MOST, count * STEP_BYTES // max(1, size)))


def _rows(page: str, step: Step, complain: Complain) -> Iterator[tuple[list[Any], set[str]]]:
    for each in step.comments:
        try:
            yield row(page, *each)
        except (TypeError, ValueError) as error:
            complain(f"page {page}: comment {each[0]!r}: {error}")


def _missing(rows: list[tuple[list[Any], set[str]]], brought: set[str]) -> list[str]:
    """The comments above these that are not among them, nor were brought along before."""
    above = {id for _, ids in rows for id in ids}
    wanted = above - {row[0] for row, _ in rows} - brought
    if len(brought) > REMEMBERED:
        brought.clear()
    brought |= wanted
    return sorted(wanted)


def row(
    page: str, id: bytes, body: bytes, private: bytes, likes: bytes, status: bytes, is_pinned: int
) -> tuple[list[Any], set[str]]:
    """A comment as it is written, and the ids of those above it. Raises ValueError, TypeError."""
    short, shown = id.decode(), status.decode()
    if not is_id(short + page):
        raise ValueError("this is no id")
    if shown not in STATUSES:
        raise ValueError(f"the unknown status {shown!r}")
    if not likes.isdigit() or len(likes) > MOST_DIGITS:
        raise ValueError(f"{likes!r} likes")
    content = orjson.loads(b"{" + codec.parse_body(body).content + b"}")
    above = {content[name][:SHORT] for name in ("pid", "rid") if name in content}
    return [short, body.decode(), private.decode(), int(likes), shown, bool(is_pinned)], above
