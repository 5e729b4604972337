"""Has the site followed all journals, and has every started change ended?

Services do both within seconds (comments/rules/keeping_up.py). So anything left for longer was
damaged, or no service runs.
"""

import asyncio
import re
from collections.abc import AsyncIterator

from ..comments.store.journal import now_ms
from ..driver.replies import scored
from ..ids import is_id
from .backup import walked_hash
from .dataset import DataSet
from .page_walk import WALK_STEP_COMMENTS

# An entry that was not followed is read this often, with a pause before each time: together longer
# than services take to recover what a crash has left.
LOOKS = 8
AGAIN_SECONDS = 1.0
# How many pages are remembered, before they are looked at again.
MAX_DOUBTS = 10_000
# A page's in `totals`, and `total`.
ENTRY = re.compile(rb"\d{1,16} \d{1,16}")
NUMBER = re.compile(rb"-?\d{1,16}")
# A change takes milliseconds, and is abandoned after a minute.
LONG_MS = 300_000


def followed_of(entry: bytes | None) -> int:
    """The version in a page's entry of `totals`; 0 for none, and for an unreadable one."""
    return int(entry.partition(b" ")[0]) if entry and ENTRY.fullmatch(entry) else 0


def visible_of(entry: bytes) -> int:
    """The approved comments in a page's entry of `totals`; -1 if it cannot be read."""
    return int(entry.partition(b" ")[2]) if ENTRY.fullmatch(entry) else -1


async def journal_problems(data: DataSet, *, repair: bool) -> AsyncIterator[str]:
    """A sentence for each, which a repair has corrected. Raises StoreUnavailable."""
    async for text in _unreadable(data, repair=repair):
        yield text
    doubts: dict[str, bytes] = {}
    async for page in data.journal.pages():
        if entry := await _unfollowed(data, page):
            doubts[page] = entry
        if len(doubts) >= MAX_DOUBTS:
            async for text in _settled(data, doubts, repair=repair):
                yield text
            doubts.clear()
    async for text in _settled(data, doubts, repair=repair):
        yield text
    async for text in _old_changes(data, repair=repair):
        yield text


async def _unreadable(data: DataSet, *, repair: bool) -> AsyncIterator[str]:
    """Invalid totals: with them the site follows nothing. The right values are found by comparison
    with the pages."""
    totals, total = data.keys.site("totals"), data.keys.site("total")
    async for pairs in walked_hash(data.redis, totals):
        for page, entry in pairs:
            if not ENTRY.fullmatch(entry):
                if repair:
                    await data.redis.change(("HDEL", totals, page))
                text = f"totals has {entry[:32]!r} for {page.decode(errors='replace')}"
                yield f"site: {text}{_repaired(repair)}"
    (sum_,) = await data.redis.ask(("GET", total))
    if sum_ is not None and not NUMBER.fullmatch(sum_):
        if repair:
            await data.redis.change(("SET", total, 0))
        yield f"site: total is {sum_[:32]!r}{_repaired(repair)}"


async def _unfollowed(data: DataSet, page: str) -> bytes | None:
    """The id of the first entry of a page's journal that the site has not followed."""
    # The site first: changes that it follows between both reads are not reported.
    (entry,) = await data.redis.ask_masters(("HGET", data.keys.site("totals"), page))
    journal, after = data.keys.page(page, "journal"), f"({followed_of(entry)}"
    (reply,) = await data.redis.ask_masters(("XRANGE", journal, after, "+", "COUNT", 1))
    return reply[0][0] if reply else None


async def _settled(data: DataSet, doubts: dict[str, bytes], *, repair: bool) -> AsyncIterator[str]:
    for _ in range(LOOKS):
        if not doubts:
            return
        await asyncio.sleep(AGAIN_SECONDS)
        now = {page: await _unfollowed(data, page) for page in doubts}
        # Another entry is a new one, which is young.
        doubts = {page: entry for page, entry in doubts.items() if now[page] == entry}
    for page, entry in doubts.items():
        if repair:
            await data.journal.follow(page)
        text = f"page {page}: its journal has entries from {entry.decode()} on that the site has "
        yield f"{text}not followed{_repaired(repair)}"


async def _old_changes(data: DataSet, *, repair: bool) -> AsyncIterator[str]:
    """Changes that have been in progress for minutes, or from the future."""
    changing, now = data.keys.site("changing"), now_ms()
    for first, last in (("-inf", now - LONG_MS), (now + LONG_MS, "+inf")):
        offset = 0
        while True:
            most = ("LIMIT", offset, WALK_STEP_COMMENTS, "WITHSCORES")
            (reply,) = await data.redis.ask_masters(
                ("ZRANGE", changing, first, last, "BYSCORE", *most)
            )
            members = list(scored(reply))
            for member, since in members:
                change = member.decode(errors="replace")
                if repair:
                    await _end(data, member)
                text = f"changing holds {change!r}, which started {(now - since) / 1000:.0f} s ago"
                yield f"site: {text}{_repaired(repair)}"
            offset += 0 if repair else WALK_STEP_COMMENTS
            if len(members) < WALK_STEP_COMMENTS:
                break


async def _end(data: DataSet, change: bytes) -> None:
    """Let the site follow a finished change, like `Journal.catch_up`."""
    page = change.partition(b" ")[0].decode(errors="replace")
    if is_id(page * 2):
        await data.journal.follow(page)
    await data.redis.change(("ZREM", data.keys.site("changing"), change))


def _repaired(repair: bool) -> str:
    return " (repaired)" if repair else ""
