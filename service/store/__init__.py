"""The only room that knows Redis: one method, one trip.

Keys are named in keys.py, scripts are called by their headers' names (scripts.py), and the two
doors to Redis turn its failures into StoreUnavailable (connect.py).
"""

from ..errors import StoreUnavailable
from .accounts import Accounts
from .comments import Comments
from .connect import Clients
from .counters import Counters
from .gate import Gate
from .keys import Keys
from .scripts import Scripts
from .site import Site

__all__ = ["Mismatch", "Store", "StoreUnavailable"]


class Mismatch(Exception):
    """The data set was made with settings that cannot be changed afterwards."""


class Store:
    """All of it, over one pair of clients."""

    def __init__(self, clients: Clients, *, prefix: str, buckets: int) -> None:
        self.clients = clients
        self.keys = Keys(prefix, buckets)
        scripts = Scripts(clients)
        self.counters = Counters(clients, scripts, self.keys)
        self.comments = Comments(clients, scripts, self.keys)
        self.gate = Gate(scripts, self.keys)
        self.site = Site(clients, scripts, self.keys)
        self.accounts = Accounts(clients, self.keys)

    async def open(self) -> None:
        """Check that Redis answers, keeps what it is given, and holds data made the same way.

        Raises StoreUnavailable; Mismatch when the data set has another number of buckets, since
        every counter would then be looked for in the wrong place.
        """
        async with self.clients.answering():
            key = self.keys.site("format")
            await self.clients.writer.hsetnx(key, "buckets", self.keys.buckets)
            found = int(await self.clients.reader.hget(key, "buckets"))
        if found != self.keys.buckets:
            raise Mismatch(
                f"this data set was made with COUNTER_BUCKETS={found}; set that, "
                f"or choose another KEY_PREFIX"
            )

    async def close(self) -> None:
        await self.clients.close()
