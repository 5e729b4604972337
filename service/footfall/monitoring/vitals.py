"""Values that an operator watches and only Redis knows: which servers answer, and what is pending.

Each is read by itself and within a short time, so that one that cannot be read hides no other.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from ..data.backups import Backups, LastBackup
from ..driver.replies import ErrorReply
from ..driver.roles import AWAY, ROLES
from ..errors import StoreUnavailable
from ..site import Site

T = TypeVar("T")
NEVER = LastBackup(0, 0, 0, "")


@dataclass(frozen=True, slots=True)
class Vitals:
    """`servers`: how many have each role of driver/roles.py.

    `held`: the numbers of pending and of spam comments; it and `backup` are None if they could not
    be read.
    """

    servers: Mapping[str, int]
    held: tuple[int, int] | None
    backup: LastBackup | None

    @property
    def redis_answers(self) -> bool:
        """Does every server answer?"""
        return any(self.servers.values()) and not self.servers[AWAY]


async def read(site: Site, wait_seconds: float) -> Vitals:
    roles, held, backup = await asyncio.gather(
        site.process.safety.roles(wait_seconds),
        _read(site.comments.index.held(), wait_seconds),
        _read(_last_backup(site.data.backups), wait_seconds),
    )
    return Vitals({role: roles.count(role) for role in ROLES}, held, backup)


async def _last_backup(backups: Backups) -> LastBackup:
    return await backups.last() or NEVER


async def _read(reading: Awaitable[T], wait_seconds: float) -> T | None:
    # A ValueError is a number that is damaged.
    with suppress(StoreUnavailable, ErrorReply, TimeoutError, ValueError):
        async with asyncio.timeout(wait_seconds):
            return await reading
    return None
