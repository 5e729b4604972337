"""Answers with statistics: each is made once a minute, in turn, since it takes milliseconds."""

from collections.abc import Awaitable, Callable

from ..limits.answer_cache import CachedAnswer, Key
from ..limits.clients import pool_client_of
from ..model import Caller
from .noun import Statistics


async def once_a_minute(
    statistics: Statistics, key: Key, make: Callable[[], Awaitable[bytes]], caller: Caller
) -> bytes:
    """What `make` returns, or has returned in this minute, which is the same for all. An
    administrator, who may have changed it just now, gets a new one.

    Raises TooManyAtOnce, Busy, and what `make` does.
    """
    minute = statistics.reports.minute()

    async def made() -> CachedAnswer:
        return CachedAnswer((minute,), await make(), b"")

    client = pool_client_of(caller)
    if caller.viewer.is_administrator:
        async with statistics.pool.turn(client):
            return (await made()).body
    answers = statistics.answers
    return (await answers.find_or_make(key, (minute,), made, statistics.pool, client)).body
