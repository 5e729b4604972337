"""Clients of slow work, and the share of the queue that each may use.

Where clients take turns (fair_queue.py), shares bound the queue: in all, and for each client, so
that only a client that exceeds its share is rejected. An IPv6 address stands for its /64, of which
one line may have 65,536: their /48 takes turns as one client, and has a share, too.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..errors import Busy, TooManyAtOnce
from ..model import Caller
from ..netaddr import HOMES_IN_A_NETWORK, limit_key, network_key

# The time to retry, for a client whose earlier work must end first.
RETRY_MS = 1000


class QueuedClient(NamedTuple):
    """The client that takes turns, the client whose share is used, and their network."""

    turn: str
    shares: tuple[str, ...]
    network: str = ""


# All background work: imports and emails take turns as one client.
BACKGROUND = QueuedClient("", ())


def queued_client_of(caller: Caller) -> QueuedClient:
    """All of an address take turns as one, however many accounts it has; and an account has one
    share, however many addresses it has. Administrators do not wait for strangers at their
    address."""
    account, home = caller.viewer.account, limit_key(caller.address)
    by_account = (f"account {account.id}",) if account else ()
    if caller.viewer.is_moderator:
        return QueuedClient("".join(by_account), by_account)
    network = network_key(home)
    return QueuedClient(f"address {network or home}", (f"address {home}", *by_account), network)


class Shares:
    """The capacity for `each` client and for all `together`, in the caller's unit. All of a /48
    have as much as HOMES_IN_A_NETWORK clients, and never more than half of it.

    A request beyond it is still accepted if any capacity is free, so that nothing is too large.
    """

    def __init__(self, each: int, together: int) -> None:
        self.each = each
        self.together = together
        self.of_network = min(HOMES_IN_A_NETWORK * each, max(each, together // 2))
        self._taken = 0
        self._shares = Counter[str]()

    @contextmanager
    def room(self, client: QueuedClient, size: int) -> Iterator[None]:
        """Taken during the block. Raises TooManyAtOnce if the client's share is used up, else
        Busy."""
        network = client.network
        if any(self._shares[share] >= self.each for share in client.shares) or (
            network and self._shares[network] >= self.of_network
        ):
            raise TooManyAtOnce(RETRY_MS)
        if self._taken >= self.together:
            raise Busy()
        self._take(client, size)
        try:
            yield
        finally:
            self._take(client, -size)

    def _take(self, client: QueuedClient, size: int) -> None:
        self._taken += size
        for share in (*client.shares, *filter(None, [client.network])):
            self._shares[share] += size
            if not self._shares[share]:
                del self._shares[share]
