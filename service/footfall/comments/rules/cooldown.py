"""The time between two comments of an address."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ...errors import ServiceError, TooFast
from ...limits.buckets import TokenBuckets, of_client
from ...model import Caller
from ...netaddr import limit_key
from ..store.outcomes import AlreadyPublished
from .admission import Rules


@asynccontextmanager
async def cooldown(buckets: TokenBuckets, rules: Rules, caller: Caller) -> AsyncIterator[None]:
    """Start the address's cooldown, and end it if nothing is stored. Raises TooFast."""
    if not rules.cooldown:
        yield
        return
    address = of_client(limit_key(caller.address), rules.cooldown, "comment ")
    wait_ms = await buckets.retry_after(address)
    if wait_ms and not caller.viewer.is_moderator:
        raise TooFast(wait_ms)
    try:
        yield
    except (ServiceError, AlreadyPublished):
        # Nothing was stored, as far as is known: the author may retry immediately.
        if not wait_ms:
            buckets.give_back(address)
        raise
