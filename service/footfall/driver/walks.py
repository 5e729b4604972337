"""Walks through many hashes, whatever their size."""

from collections.abc import AsyncIterator, Iterable
from itertools import islice

from .client import RedisClient

# Hashes, and fields of a large one, per step of a walk: 8 MB at worst.
MAX_STEP_HASHES = 32
MAX_STEP_FIELDS = 32


async def walked(
    redis: RedisClient, hashes: Iterable[str]
) -> AsyncIterator[tuple[str, dict[bytes, bytes]]]:
    """Each of these hashes that is not empty, with all its counters as field -> count.

    Large ones are read in steps, so counts are of different moments. Raises StoreUnavailable.
    """
    rest = iter(hashes)
    while part := list(islice(rest, MAX_STEP_HASHES)):
        found: dict[str, dict[bytes, bytes]] = {name: {} for name in part}
        cursors = dict.fromkeys(part, b"0")
        while cursors:
            steps = (("HSCAN", *step, "COUNT", MAX_STEP_FIELDS) for step in cursors.items())
            replies = zip(list(cursors), await redis.ask(*steps), strict=True)
            cursors = {}
            for name, (cursor, pairs) in replies:
                # HSCAN may return a field twice while the hash is resized.
                found[name].update(zip(pairs[::2], pairs[1::2], strict=True))
                if cursor != b"0":
                    cursors[name] = cursor
        for name, counts in found.items():
            if counts:
                yield name, counts
