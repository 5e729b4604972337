"""Reads a whole data set while services run, as lines for an archive.

Each line was true at one moment during the backup. A counter is read in one step, and so is a page,
unless it is long: then it is read some comments a step, each of them complete. Changes of different
comments do not depend on each other, except that a reply needs the comments above it; so once a
page has changed during its walk, the comments above replies are read again with them. The result
is a page on which some changes came a moment earlier or later, and it has everything that was
acknowledged before the backup began.

Left out is what can be derived (the indexes of pages and of the site) and what expires (cooldowns,
trials). Accounts are read last, so that the account of each comment's author is there.
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
from ..model import OnProgress
from ..store.bans import VERSION
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

# Counter hashes, or first steps of pages, in one round trip.
KEYS_A_TRIP = 16
# COUNT of the steps of a walk; a packed hash is returned as a whole.
STEP_COMMENTS = 256
# How many comments above replies are remembered, so that they are not read again.
MAX_REMEMBERED_COMMENTS = 10_000

# Called with a sentence for each thing that is left out because it is damaged.
Complain = Callable[[str], None]


async def backup(
    data: DataSet, file: BinaryIO, *, is_seeded: bool, has_secrets: bool, about: Mapping[str, str],
    on_progress: OnProgress, complain: Complain,
) -> Totals:  # fmt: skip
    """Write everything that is stored. Raises StoreUnavailable, OSError.

    `is_seeded` is False for a data set of format 1, which has no seed. `has_secrets` asks for the
    credentials of accounts, too. `about` is added to the header; its `by` is this version.
    """
    writer = Writer(file)
    of = {"prefix": data.keys.prefix, "buckets": data.keys.buckets}
    writer.add({"footfall": FORMAT, **about, **of, "id": token_hex(8)})
    async for line in _lines(data, is_seeded, on_progress, complain):
        writer.add(line)
    if has_secrets:
        async for secrets in walked_hash(data.redis, data.keys.account("credentials")):
            writer.add({"credentials": {id.decode(): body.decode() for id, body in secrets}})
    writer.end()
    return writer.totals


async def _lines(
    data: DataSet, is_seeded: bool, on_progress: OnProgress, complain: Complain
) -> AsyncIterator[Line]:
    keys = data.keys
    hashes = list(keys.every_counts()) if is_seeded else await _buckets(data.redis, keys)
    for first in range(0, len(hashes), KEYS_A_TRIP):
        on_progress("counters", first / len(hashes))
        part, seeded = hashes[first : first + KEYS_A_TRIP], keys if is_seeded else None
        async for counters in _counters(data.redis, part, seeded, complain):
            yield {"counters": counters}
    names = await Pages.of(data)
    done, every = 0, iter(names)
    while group := list(islice(every, KEYS_A_TRIP)):
        on_progress("comments", done / len(names))
        async for _, line in _together(data.comments, group, complain):
            yield line
        done += len(group)
    on_progress("accounts", 0)
    async for accounts in walked_hash(data.redis, keys.accounts):
        yield {"accounts": {id.decode(): body.decode() for id, body in accounts}}
    async for bans in walked_hash(data.redis, keys.site("bans")):
        found = {value.decode(): ban.decode() for value, ban in bans if value != VERSION.encode()}
        if found:
            yield {"bans": found}
    async for entries in _log(data.redis, keys):
        yield {"log": entries}
    async for unsubscribed in _unsubscribed(data.redis, keys):
        yield {"unsubscribed": unsubscribed}


async def _log(redis: Connected, keys: Keys) -> AsyncIterator[list[tuple[str, dict[str, str]]]]:
    """What moderators did, oldest first, some entries at a time."""
    first = "-"
    while True:
        command = ("XRANGE", keys.site("log"), first, "+", "COUNT", STEP_COMMENTS)
        (found,) = await redis.ask(command)
        if not found:
            return
        entries = [
            (id.decode(), {name.decode(): text.decode() for name, text in pairs(words)})
            for id, words in found
        ]
        yield entries
        first = f"({entries[-1][0]}"


async def _unsubscribed(redis: Connected, keys: Keys) -> AsyncIterator[list[str]]:
    """Who wants no more mails, some at a time; one may come twice."""
    cursor = b"0"
    while True:
        command = ("SSCAN", keys.site("unsubscribed"), cursor, "COUNT", STEP_COMMENTS)
        ((cursor, names),) = await redis.ask(command)
        if names:
            yield [name.decode() for name in names]
        if cursor == b"0":
            return


async def _buckets(redis: Connected, keys: Keys) -> list[str]:
    """The existing hashes of counters, for a data set without a seed, found by SCAN."""
    found = set[str]()
    # Format 1 also has strings under such names, each in place of a hash that was moved.
    async for names in redis.scan(keys.every_bucket, type="hash"):
        found.update(name.decode() for name in names)
    return sorted(found)


async def _counters(
    redis: Connected, hashes: list[str], keys: Keys | None, complain: Complain
) -> AsyncIterator[dict[str, int]]:
    """Name -> count, in parts that make a line each; with `keys`, a counter that is in the wrong
    hash is left out."""
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


async def walked_hash(
    redis: Connected, key: str, scan: str = "HSCAN"
) -> AsyncIterator[list[tuple[bytes, bytes]]]:
    """The (field, value) pairs of a hash, some at a time; a pair may come twice. ZSCAN reads those
    of a sorted set."""
    cursor = b"0"
    while True:
        ((cursor, found),) = await redis.ask((scan, key, cursor, "COUNT", STEP_COMMENTS))
        yield list(pairs(found))
        if cursor == b"0":
            return


def pairs(words: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(words[::2], words[1::2], strict=True)


class Pages:
    """The digests of all pages, in ten bytes each: all else that is in memory is bounded."""

    def __init__(self) -> None:
        self._parts: defaultdict[int, bytearray] = defaultdict(bytearray)

    @classmethod
    async def of(cls, data: DataSet) -> "Pages":
        """The pages that SCAN finds, and those in the site's totals.

        Either may lack one: SCAN a key whose slot moves to another node meanwhile, and the totals a
        page that was not announced.
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
    """(digest, line) for every page, which has one line or several; the last has `end`."""
    names = iter(await Pages.of(data))
    while group := list(islice(names, KEYS_A_TRIP)):
        async for each in _together(data.comments, group, complain):
            yield each


async def _together(
    comments: Comments, group: list[str], complain: Complain
) -> AsyncIterator[tuple[str, Line]]:
    """Pages one after the other; their first steps, mostly their only ones, share a round trip."""
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
                # The page does not exist (any more), although the totals have it.
                return
            if digest(step.path) != page:
                complain(f"page {page}: its path is {step.path!r}")
                return
        walk = step.cursor, step.echo
        has_moved |= step.version != version
        if step.server != server:
            # A cursor is valid only on the server that returned it, until that restarts.
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
    """Rows in parts that make a line each; only the last may be empty."""
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
    """The short ids of comments above these that are not among them, and were not read before."""
    above = {id for _, ids in rows for id in ids}
    wanted = above - {row[0] for row, _ in rows} - brought
    if len(brought) > MAX_REMEMBERED_COMMENTS:
        brought.clear()
    brought |= wanted
    return sorted(wanted)


def row(
    page: str, id: bytes, body: bytes, private: bytes, likes: bytes, status: bytes, is_pinned: int
) -> tuple[list[Any], set[str]]:
    """A comment as it is written into a line, and the short ids of the comments above it.

    Raises ValueError for one that a restore would refuse.
    """
    texts = [each.decode() for each in (id, body, private, status)]
    row = [*texts[:3], count_of(likes), texts[3], bool(is_pinned)]
    above = check_row(page, row)
    # A line also has the path and the page's fingerprints.
    if len(body) > LINE_BYTES and len(orjson.dumps(row)) > MAX_LINE_BYTES - (LINE_BYTES << 1):
        raise ValueError(f"it has {len(body):,} bytes, more than there may be in a line")
    return row, above
