"""Hashes of numbers, as statistics are stored in, read whole; damaged fields are left out."""

from collections.abc import Mapping, Sequence

from ..driver.client import RedisClient

# One step of this reads a packed hash whole, and most others.
STEP_FIELDS = 1_000
# Of a 64-bit number.
MAX_DIGITS = 19


async def hashes(
    redis: RedisClient, keys: Sequence[str], *, spares: bool = False
) -> list[dict[bytes, bytes]]:
    """Each of these hashes. Raises StoreUnavailable, and ErrorReply for another type; with `spares`
    that counts as empty, for numbers that are useful without it."""
    ask = redis.ask_each if spares else redis.ask
    read: list[dict[bytes, bytes]] = [{} for _ in keys]
    cursors = dict.fromkeys(range(len(keys)), b"0")
    while cursors:
        steps = (("HSCAN", keys[at], cursors[at], "COUNT", STEP_FIELDS) for at in cursors)
        replies = zip(list(cursors), await ask(*steps), strict=True)
        cursors = {}
        for at, reply in replies:
            cursor, pairs = reply or (b"0", ())
            read[at] |= fields_of(pairs)
            if cursor != b"0":
                cursors[at] = cursor
    return read


def fields_of(pairs: Sequence[bytes]) -> dict[bytes, bytes]:
    """The fields of a reply to HSCAN."""
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def is_number(word: bytes) -> bool:
    # int() rejects thousands of digits, and is slow for fewer.
    return word.isdigit() and len(word) <= MAX_DIGITS


def by_number(fields: Mapping[bytes, bytes], mark: bytes = b"") -> dict[int, int]:
    """The fields that are this mark and a number, by that. `footfall check` names damaged ones."""
    start = len(mark)
    return {
        int(at[start:]): int(n)
        for at, n in fields.items()
        if at.startswith(mark) and is_number(at[start:]) and is_number(n)
    }


def by_name(fields: Mapping[bytes, bytes]) -> dict[str, int]:
    return {name.decode(errors="replace"): int(n) for name, n in fields.items() if is_number(n)}


def number_or_0(word: bytes | None) -> int:
    try:
        return int(word or 0)
    except ValueError:
        return 0
