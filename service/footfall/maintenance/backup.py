"""Everything that is stored, read while the service goes on: lines for an archive.

What a line holds was true at one moment between begin and end. Each counter is read in one step.
So is a page, unless it is long: then it is walked, some comments a step, each of them whole.
Changes of different comments do not depend on each other, but for a reply, which needs the comments
above it; so once a page changes during its walk, replies bring those along. What is read is then
the page as it would be if some of the changes had come a moment earlier or later, and whatever was
acknowledged before the begin is there.

Left out is what follows from the rest (the indexes of pages and of the site) and what ends by
itself (gates, trials). Accounts come last: whoever has written a comment had one before.
"""

import asyncio
from base64 import b32hexdecode, b32hexencode
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import islice
from secrets import token_hex
from typing import Any, BinaryIO

import orjson

from ..driver.client import Connected
from ..driver.keys import Keys, digest
from ..store.comments import Comments, Step
from ..store.counters import walked
from ..store.ids import SHORT, is_id
from .archive import (
    FORMAT,
    LINE_BYTES,
    MAX_LINE_BYTES,
    Line,
    Totals,
    Writer,
    check_row,
    count_of,
)
from .dataset import DataSet

# Counter hashes in one round trip, and pages that are begun together.
KEYS_A_TRIP = 16
# Comments in a step of a walk; a hash that is packed comes as a whole.
STEP_COMMENTS = 256
# Comments above replies that are not brought along again, while no more than that are remembered.
MAX_REMEMBERED_COMMENTS = 10_000

# Hears what is being done, and which share of it is.
Tell = Callable[[str, float], None]
# Hears what is left out, since it is damaged.
Complain = Callable[[str], None]


async def backup(
    data: DataSet, file: BinaryIO, *, is_seeded: bool, about: Mapping[str, str], tell: Tell,
    complain: Complain,
) -> Totals:  # fmt: skip
    """Write everything. Raises StoreUnavailable, OSError.

    A seed says where each counter lies, unless the data set is of format 1. `about` goes into the
    header; its `by` names the version that writes.
    """
    writer = Writer(file)
    of = {"prefix": data.keys.prefix, "buckets": data.keys.buckets}
    writer.add({"footfall": FORMAT, **about, **of, "id": token_hex(8)})
    async for line in _lines(data, is_seeded, tell, complain):
        writer.add(line)
    writer.end()
    return writer.totals


async def _lines(
    data: DataSet, is_seeded: bool, tell: Tell, complain: Complain
) -> AsyncIterator[Line]:
    keys = data.keys
    hashes = list(keys.every_counts()) if is_seeded else await _buckets(data.redis, keys)
    for first in range(0, len(hashes), KEYS_A_TRIP):
        tell("counters", first / len(hashes))
        part, seeded = hashes[first : first + KEYS_A_TRIP], keys if is_seeded else None
        async for counters in _counters(data.redis, part, seeded, complain):
            yield {"counters": counters}
    names = await Pages.of(data)
    done, every = 0, iter(names)
    while group := list(islice(every, KEYS_A_TRIP)):
        tell("comments", done / len(names))
        async for _, line in _together(data.comments, group, complain):
            yield line
        done += len(group)
    tell("accounts", 0)
    async for accounts in walked_hash(data.redis, keys.accounts):
        yield {"accounts": {id.decode(): body.decode() for id, body in accounts}}


async def _buckets(redis: Connected, keys: Keys) -> list[str]:
    """The hashes of counters that there are, where nobody can tell which there may be."""
    found = set[str]()
    # Beside them are strings, each in place of a hash that was moved.
    async for names in redis.scan(keys.every_bucket, type="hash"):
        found.update(name.decode() for name in names)
    return sorted(found)


async def _counters(
    redis: Connected, hashes: list[str], keys: Keys | None, complain: Complain
) -> AsyncIterator[dict[str, int]]:
    """As many in each as make a line; `keys` say where each counter belongs, if they can."""
    counters, size = dict[str, int](), 0
    async for key, found in walked(redis, hashes):
        for field, count in found.items():
            try:
                name = field.decode()
                if keys and keys.counts(name) != key:
                    raise ValueError("this is not its place")
                counters[name] = count_of(count)
            except ValueError as error:
                complain(f"counters {key}: {field!r}: {error}")
            size += len(field)
            if size > LINE_BYTES:
                yield counters
                counters, size = {}, 0
    if counters:
        yield counters


async def walked_hash(redis: Connected, key: str) -> AsyncIterator[list[tuple[bytes, bytes]]]:
    """A hash whose fields do not depend on each other, some at a time."""
    cursor = b"0"
    while True:
        ((cursor, found),) = await redis.ask(("HSCAN", key, cursor, "COUNT", STEP_COMMENTS))
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
    async def of(cls, data: DataSet) -> "Pages":
        """Those that the keys tell, and those that the site's totals tell.

        Either may lack one: a key whose slot moves to another node during the SCAN, and a page of
        which the site's indexes were not told.
        """
        pages = cls()
        async for keys in data.redis.scan(data.keys.every_page):
            for key in keys:
                pages.add(Keys.page_of(key.decode(errors="replace")))
        async for found in walked_hash(data.redis, data.keys.site("totals")):
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

    def __iter__(self) -> Iterator[str]:
        for _, part in sorted(self._parts.items()):
            for at in range(0, len(part), 10):
                yield b32hexencode(part[at : at + 10]).decode().lower()


async def pages(data: DataSet, complain: Complain) -> AsyncIterator[tuple[str, Line]]:
    """Every page with its digest, in one line or several; the last one says so."""
    names = iter(await Pages.of(data))
    while group := list(islice(names, KEYS_A_TRIP)):
        async for each in _together(data.comments, group, complain):
            yield each


async def _together(
    comments: Comments, group: list[str], complain: Complain
) -> AsyncIterator[tuple[str, Line]]:
    """Pages one after the other; their first steps, mostly their only ones, are taken together."""
    walks = [_page(comments, page, complain) for page in group]
    firsts = await asyncio.gather(*(anext(walk, None) for walk in walks))
    for page, walk, line in zip(group, walks, firsts, strict=True):
        while line is not None:
            yield page, line
            line = await anext(walk, None)


async def _page(comments: Comments, page: str, complain: Complain) -> AsyncIterator[Line]:
    walk, wanted = ("0", "0"), list[str]()
    has_moved, brought = False, set[str]()
    version, server = 0, b""
    while True:
        step = await comments.copy(page, *walk, STEP_COMMENTS, wanted)
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
        line: Line = {
            "path": step.path,
            "version": step.version,
            "fingerprints": {},
            "moved": has_moved,
        }
        *parts, last = _parts([each for each, _ in rows])
        for part in parts:
            yield {**line, "comments": part, "end": False}
        yield {**line, "comments": last, "fingerprints": step.fingerprints, "end": is_end}
        if is_end:
            return


def _parts(rows: list[list[Any]]) -> Iterator[list[list[Any]]]:
    """As many in each as make a line, one at least but for the last."""
    part, size = list[list[Any]](), 0
    for row in rows:
        part.append(row)
        size += len(row[1]) + len(row[2])
        if size > LINE_BYTES:
            yield part
            part, size = [], 0
    yield part


def _rows(page: str, step: Step, complain: Complain) -> Iterator[tuple[list[Any], set[str]]]:
    for each in step.comments:
        try:
            yield row(page, *each)
        except ValueError as error:
            complain(f"page {page}: comment {each[0]!r}: {error}")


def _missing(rows: list[tuple[list[Any], set[str]]], brought: set[str]) -> list[str]:
    """The comments above these that are not among them, nor were brought along before."""
    above = {id for _, ids in rows for id in ids}
    wanted = above - {row[0] for row, _ in rows} - brought
    if len(brought) > MAX_REMEMBERED_COMMENTS:
        brought.clear()
    brought |= wanted
    return sorted(wanted)


def row(
    page: str, id: bytes, body: bytes, private: bytes, likes: bytes, status: bytes, is_pinned: int
) -> tuple[list[Any], set[str]]:
    """A comment as it is written, and the ids of those above it.

    Raises ValueError for one that no restore would take.
    """
    texts = [each.decode() for each in (id, body, private, status)]
    row = [*texts[:3], count_of(likes), texts[3], bool(is_pinned)]
    above = check_row(page, row)
    # Beside it there is the path in a line, and what was said on the page.
    if len(body) > LINE_BYTES and len(orjson.dumps(row)) > MAX_LINE_BYTES - (LINE_BYTES << 1):
        raise ValueError(f"it has {len(body):,} bytes, more than there may be in a line")
    return row, above
