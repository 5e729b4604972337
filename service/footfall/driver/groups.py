"""Asks of each group of keys (keys.py) the same."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from .keys import GROUPS

# In one round trip: Redis needs a moment for each.
GROUPS_AT_ONCE = 16

T = TypeVar("T")


async def of_all_groups(ask: Callable[[int], Awaitable[T]]) -> AsyncIterator[tuple[int, T]]:
    """Each group with its replies; several are queried in one round trip."""
    for first in range(0, GROUPS, GROUPS_AT_ONCE):
        groups = range(first, first + GROUPS_AT_ONCE)
        for each in zip(groups, await asyncio.gather(*map(ask, groups)), strict=True):
            yield each
