"""Who counts as one client of what takes long, and how much of it each may have waiting.

Where clients take turns (fair_queue.py), shares bound what waits: all of it, and each client's, so
that one who asks for more than that is refused and others are not.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..errors import Busy, TooManyAtOnce
from ..model import Caller
from ..netaddr import limit_key

# When to come back, for whom something of theirs has to be done first.
RETRY_MS = 1000


class Client(NamedTuple):
    """Who takes turns, and whose shares the work for them is of."""

    turn: str
    shares: tuple[str, ...]


# Whatever is done behind the requests: imports and mails take turns as one client.
BACKGROUND = Client("", ())


def client_of(caller: Caller) -> Client:
    """All of an address take turns as one, however many accounts it has; and an account has one
    share, however many addresses it has. Administrators wait for no stranger at their address."""
    account, address = caller.viewer.account, f"address {limit_key(caller.address)}"
    if account is None:
        return Client(address, (address,))
    by_account = f"account {account.id}"
    if caller.viewer.is_administrator:
        return Client(by_account, (by_account,))
    return Client(address, (address, by_account))


class Shares:
    """Room for `each` client and for all `together`, in whatever unit it is asked for.

    What exceeds it is still let in if there is any room, so that nothing is too large.
    """

    def __init__(self, each: int, together: int) -> None:
        self.each = each
        self.together = together
        self._taken = 0
        self._shares = Counter[str]()

    @contextmanager
    def room(self, client: Client, size: int) -> Iterator[None]:
        """Taken during the block. Raises TooManyAtOnce if the client has no more, else Busy."""
        if any(self._shares[each] >= self.each for each in client.shares):
            raise TooManyAtOnce(RETRY_MS)
        if self._taken >= self.together:
            raise Busy()
        self._take(client, size)
        try:
            yield
        finally:
            self._take(client, -size)

    def _take(self, client: Client, size: int) -> None:
        self._taken += size
        for each in client.shares:
            self._shares[each] += size
            if not self._shares[each]:
                del self._shares[each]
