"""Corrections of a page's keys, for `footfall check --repair`.

They are applied only if the page still has the version at which it was read, so no concurrent
change is lost.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.scripts import Scripts
from .journal import now_ms

# Of one script call.
STEP_FIXES = 200


class Fix(NamedTuple):
    """A command without its key, which is the one of this `name`."""

    name: str
    words: Sequence[object]


class Mending:
    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._mend = scripts["comments/mend"]

    async def mend(self, page: str, version: bytes, fixes: Sequence[Fix]) -> bool:
        """Were all applied? No if the page has another version; "" stands for none. Raises
        StoreUnavailable."""
        for first in range(0, len(fixes), STEP_FIXES):
            places: dict[str, int] = {}
            arguments = list[object]()
            for name, command in fixes[first : first + STEP_FIXES]:
                arguments += places.setdefault(name, len(places) + 1), len(command), *command
            match await self._mend(
                version=self._keys.page(page, "version"),
                wrong=[self._keys.page(page, name) for name in places],
                known=version,
                now=now_ms(),
                changes=arguments,
            ):
                case [b"OK", raised]:
                    version = b"%d" % raised
                case _:
                    return False
        return True
