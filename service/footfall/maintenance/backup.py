"""Reads a whole data set while services run, as lines for an archive.

Each line was true at one moment during the backup. A counter is read in one step, and so is a page,
unless it is long (page_walk.py). The result is a page on which some changes came a moment earlier
or later, and it has everything that was acknowledged before the backup started.

Left out are data that can be derived (the indexes of pages and of the site), data that expire
(cooldowns), deleted comments, and queued notifications. Accounts are read last, so that the account
of each comment's author is there.
"""

import asyncio
from base64 import b32hexdecode, b32hexencode
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import islice
from secrets import token_hex
from typing import BinaryIO, TypeVar

from ..accounts.store.bans import VERSION
from ..driver.client import RedisClient
from ..driver.keys import Keys
from ..driver.walks import walked
from ..ids import SHORT, is_id
from ..model import OnProgress
from . import view_lines
from .archive import FORMAT, LINE_BYTES, Line, Totals, count_of
from .archive_writer import Writer
from .dataset import DataSet
from .entries import is_account, is_ban, is_closing, is_credentials, is_logged, is_unsubscribed
from .page_walk import WALK_STEP_COMMENTS, Complain, Walk

T = TypeVar("T")

# Counter hashes, or first steps of pages, in one round trip.
KEYS_A_TRIP = 16


async def backup(
    data: DataSet,
    file: BinaryIO,
    *,
    has_secrets: bool,
    about: Mapping[str, str],
    on_progress: OnProgress,
    complain: Complain,
) -> tuple[Totals, int]:
    """Write all stored data; returns the amounts and the bytes.

    Raises StoreUnavailable, OSError. `has_secrets` includes the credentials of accounts. `about` is
    added to the header; its `by` is this version.
    """
    writer = Writer(file)
    of = {"prefix": data.keys.prefix, "buckets": data.keys.buckets}
    writer.add({"footfall": FORMAT, **about, **of, "id": token_hex(8)})
    async for line in _lines(data, on_progress, complain):
        writer.add(line)
    if has_secrets:
        key = data.keys.account("credentials")
        async for secrets in walked_hash(data.redis, key):
            whole = _restorable(key, _texts(secrets), is_credentials, complain)
            writer.add({"credentials": whole})
    writer.end()
    return writer.totals, writer.length_bytes


async def _lines(data: DataSet, on_progress: OnProgress, complain: Complain) -> AsyncIterator[Line]:
    hashes, months = list(data.keys.every_counts()), await data.site_views.known_months()
    site = data.site_views
    # The shares first: what is removed from them is in the sums by then.
    beside = view_lines.SiteBesidePages(await site.shares(), await site.kept(months))
    for first in range(0, len(hashes), KEYS_A_TRIP):
        on_progress("counters", first / len(hashes))
        part = hashes[first : first + KEYS_A_TRIP]
        async for counters in _counters(data.redis, part, data.keys, complain):
            async for line in view_lines.lines_of_counters(data, counters, months, beside):
                yield line
    if months:
        async for line in view_lines.lines_of_site(data, months, beside):
            yield line
    names = await Pages.of(data)
    done, every = 0, iter(names)
    while group := list(islice(every, KEYS_A_TRIP)):
        on_progress("comments", done / len(names))
        async for _, line in _together(data, group, complain):
            yield line
        done += len(group)
    on_progress("accounts", 0)
    async for line in _around(data, complain):
        yield line


async def _around(data: DataSet, complain: Complain) -> AsyncIterator[Line]:
    """All data except counters and comments."""
    keys = data.keys
    async for accounts in walked_hash(data.redis, keys.accounts):
        yield {"accounts": _restorable(keys.accounts, _texts(accounts), is_account, complain)}
    async for bans in walked_hash(data.redis, keys.site("bans")):
        texts = (text for text in _texts(bans) if text[0] != VERSION)
        if whole := _restorable(keys.site("bans"), texts, is_ban, complain):
            yield {"bans": whole}
    async for rules in walked_hash(data.redis, keys.site("closed")):
        if whole := _restorable(keys.site("closed"), _texts(rules), is_closing, complain):
            yield {"closed": whole}
    async for entries in _log(data.redis, keys):
        by_id = ((entry[0], entry) for entry in entries)
        logged = _restorable(keys.site("log"), by_id, is_logged, complain)
        yield {"log": list(logged.values())}
    async for names in _unsubscribed(data.redis, keys):
        each_twice = zip(names, names, strict=True)
        known = _restorable(keys.site("unsubscribed"), each_twice, is_unsubscribed, complain)
        yield {"unsubscribed": list(known)}


def _texts(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[str, str]]:
    """Names and values of a hash, "" for invalid UTF-8."""
    for name, body in pairs:
        try:
            yield name.decode(), body.decode()
        except UnicodeDecodeError:
            yield name.decode(errors="replace"), ""


def _restorable(
    key: str, rows: Iterable[tuple[str, T]], is_whole: Callable[[T], bool], complain: Complain
) -> dict[str, T]:
    """The fields that a restore accepts, by name: it would reject a file with any other. Their
    values are not shown, since they may be secret."""
    whole = dict[str, T]()
    for name, each in rows:
        if is_whole(each):
            whole[name] = each
        else:
            complain(f"{key}: {name!r:.80}: it cannot be read")
    return whole


async def _log(redis: RedisClient, keys: Keys) -> AsyncIterator[list[tuple[str, dict[str, str]]]]:
    """What moderators did, oldest first, some entries at a time."""
    first = "-"
    while True:
        command = ("XRANGE", keys.site("log"), first, "+", "COUNT", WALK_STEP_COMMENTS)
        (reply,) = await redis.ask(command)
        if not reply:
            return
        entries = [
            (id.decode(), {name.decode(): text.decode(errors="replace") for name, text in fields})
            for id, fields in ((id, pairs(reply_of_entry)) for id, reply_of_entry in reply)
        ]
        yield entries
        first = f"({entries[-1][0]}"


async def _unsubscribed(redis: RedisClient, keys: Keys) -> AsyncIterator[list[str]]:
    """Unsubscribed recipients, in steps; one may come twice."""
    cursor = b"0"
    while True:
        command = ("SSCAN", keys.site("unsubscribed"), cursor, "COUNT", WALK_STEP_COMMENTS)
        ((cursor, names),) = await redis.ask(command)
        if names:
            yield [name.decode(errors="replace") for name in names]
        if cursor == b"0":
            return


async def _counters(
    redis: RedisClient, hashes: list[str], keys: Keys, complain: Complain
) -> AsyncIterator[dict[str, int]]:
    """Name -> count, in parts that make a line each; a counter in the wrong hash is left out."""
    counters, size = dict[str, int](), 0
    async for key, counts in walked(redis, hashes):
        for field, count in counts.items():
            try:
                name = field.decode()
                if keys.counts(name) != key:
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
    redis: RedisClient, key: str, scan: str = "HSCAN"
) -> AsyncIterator[list[tuple[bytes, bytes]]]:
    """The (field, value) pairs of a hash, in steps; a pair may come twice. ZSCAN reads those of a
    sorted set."""
    cursor = b"0"
    while True:
        ((cursor, entries),) = await redis.ask((scan, key, cursor, "COUNT", WALK_STEP_COMMENTS))
        yield list(pairs(entries))
        if cursor == b"0":
            return


def pairs(reply: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(reply[::2], reply[1::2], strict=True)


class Pages:
    """The digests of all pages, in ten bytes each: all else that is in memory is bounded."""

    def __init__(self) -> None:
        self._parts: defaultdict[int, bytearray] = defaultdict(bytearray)

    @classmethod
    async def of(cls, data: DataSet, pattern: str = "") -> "Pages":
        """The pages that SCAN finds, by their path or by another pattern, and those in the site's
        totals.

        Either may lack one: SCAN a key whose slot moves to another node meanwhile, and the totals a
        page that the site has not followed.
        """
        pages = cls()
        async for keys in data.redis.scan(pattern or data.keys.every_page):
            for key in keys:
                pages.add(Keys.page_of(key.decode(errors="replace")))
        async for pairs in walked_hash(data.redis, data.keys.site("totals")):
            for page, _ in pairs:
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
        async for each in _together(data, group, complain):
            yield each


async def _together(
    data: DataSet, group: list[str], complain: Complain
) -> AsyncIterator[tuple[str, Line]]:
    """Pages one after the other; their first steps, mostly their only ones, share a round trip."""
    walks = [Walk(data, page, complain).lines() for page in group]
    firsts = await asyncio.gather(*(anext(walk, None) for walk in walks))
    for page, walk, line in zip(group, walks, firsts, strict=True):
        while line is not None:
            yield page, line
            line = await anext(walk, None)
