"""Clients of a pool: who takes turns, and whose shares are used.

An IPv6 address stands for its /64, of which one line may have 65,536: their /48 takes turns as one
client, and has a share, too.
"""

from math import inf
from typing import NamedTuple

from ..model import Caller
from ..netaddr import limit_key, network_key

# The pace of who is known, where a stranger's is 1.
KNOWN_WEIGHT = 8.0


class PoolClient(NamedTuple):
    """The client that takes turns, and those whose shares are used.

    `weight` is the pace of its turns, as a multiple of a stranger's; `is_network`: it is a /48.
    """

    turn: str
    shares: tuple[str, ...]
    weight: float = 1.0
    is_network: bool = False


# All background work: imports and notifications take turns as one client, which needs no share.
BACKGROUND = PoolClient("", ())
# All who come by a trusted proxy that does not forward addresses: they need no share, since that
# would be everybody's.
ANYBODY = PoolClient("anybody", (), KNOWN_WEIGHT)
# Connections of trusted proxies, to which those of any stranger give way.
PROXIES = PoolClient("proxies", (), weight=inf)


def known_client(name: str) -> PoolClient:
    """Somebody with a proof that strangers lack, by a name for it: an account, or a link to one."""
    return PoolClient(name, (name,), KNOWN_WEIGHT)


def pool_client_of(caller: Caller) -> PoolClient:
    """All of an address take turns as one, however many accounts it has; and an account has one
    share, however many addresses it has. Moderators do not wait for strangers at their address."""
    if caller.is_anybody and not caller.viewer.account:
        return ANYBODY
    account, home = caller.viewer.account, limit_key(caller.address)
    by_account = (f"account {account.id}",) if account else ()
    if caller.viewer.is_moderator:
        return known_client(*by_account)
    network = network_key(home)
    return PoolClient(
        f"address {network or home}",
        (f"address {home}", *by_account),
        KNOWN_WEIGHT if account else 1.0,
        bool(network),
    )
