"""Spread counters over more buckets, or fewer, while services go on counting.

A bucket is moved in one step of a script, so each counter is at any moment in one place. What was
interrupted goes on when it is run again: a bucket that is moved already is a string.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hiredis import ReplyError

from .connect import is_moved
from .keys import Layout
from .layout import Moving

if TYPE_CHECKING:
    from . import Store

# How long a string stays in a bucket's place. Services look every minute, but what was interrupted
# may be left for long, and without its string a bucket would be begun anew, its counters hidden.
STRING_SECONDS = 365 * 24 * 3600

# Hears which share of the buckets is done.
Tell = Callable[[float], None]


async def rebucket(store: "Store", buckets: int, tell: Tell) -> int:
    """Spread the counters over so many buckets; how many were moved.

    Raises Moving if they are being moved to another number of buckets, StoreUnavailable.
    """
    keys = store.keys
    await _step(store, buckets, is_done=False)
    old, new = keys.layout, keys.next
    if new is None:
        return 0
    if new.buckets != buckets:
        raise Moving(new.buckets)
    moved, found = 0, 1
    # Again until there is nothing more: a failover may have taken some moves back.
    while found:
        found = 0
        for bucket in range(old.buckets):
            tell(bucket / old.buckets)
            found += await _move(store, bucket, old, new)
        moved += found
    await _step(store, buckets, is_done=True)
    return moved


async def _step(store: "Store", buckets: int, *, is_done: bool) -> None:
    found = await store.scripts["site/arrange"](
        format=store.keys.site("format"),
        generation=store.keys.layout.generation,
        buckets=buckets,
        is_done=is_done,
    )
    store.layouts.take(*found)


async def _move(store: "Store", bucket: int, old: Layout, new: Layout) -> int:
    """Move a bucket; how many counters were in it."""
    key = store.keys.counts_of(bucket, old)
    there = range(bucket % new.buckets, new.buckets, old.buckets)
    place_of = {number: place for place, number in enumerate(there, 1)}
    while True:
        try:
            (fields,) = await store.redis.ask(("HKEYS", key))
        except ReplyError as error:
            if is_moved(error):
                return 0
            raise
        places: list[object] = []
        for field in fields:
            # What lies in a wrong bucket goes on doing so, for `footfall check` to tell.
            places += place_of.get(new.bucket(field.partition(b" ")[2]), 1), field
        outcome = await store.scripts["counters/move"](
            old=key,
            new=[store.keys.counts_of(number, new) for number in there],
            seconds=STRING_SECONDS,
            places=places,
        )
        if outcome != b"changed":
            return len(fields) if outcome == b"moved" else 0
