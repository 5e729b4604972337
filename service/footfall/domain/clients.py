"""Who sends a change of a counter: whose tokens it takes, and whose view it is."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..driver.connection import pack_word
from ..driver.visits import Visitor
from .agents import class_of_view
from .rate_limit import RateLimits
from .visitors import visitor_hash

# With the longest headers, they are 12 MB.
MAX_KEPT_CLIENTS = 8_192
MAX_KEPT_BYTES = 1_024


class Client(NamedTuple):
    """`key` names it for the rate limits, "" if it has none. `visitor` is None where visitors are
    not told apart, or for what comes without an address."""

    key: str = ""
    visitor: Visitor | None = None


NOBODY = Client()


class Clients(dict[tuple[str, bytes, bytes, bytes], Client]):
    """(peer's address, X-Forwarded-For if it is a proxy's, user agent, purpose) -> the client. The
    purpose is the header Sec-Purpose, or Purpose.

    A cache: most clients ask again. It has addresses, so it is cleared when a day is over.
    """

    def __init__(
        self,
        limits: RateLimits,
        site: str,
        behind: Callable[[str, bytes], str],
        *,
        tells_visitors: bool,
    ) -> None:
        """`behind` tells the address behind a proxy. With `tells_visitors` those of this site are
        told apart."""
        self._limits = limits
        self._site = site
        self._behind = behind
        self.tells_visitors = tells_visitors

    def __missing__(self, asked: tuple[str, bytes, bytes, bytes]) -> Client:
        peer, forwarded, agent, purpose = asked
        address = self._behind(peer, forwarded) if forwarded else peer
        client = Client(self._limits.client_key(address), self._visitor(address, agent, purpose))
        if len(self) >= MAX_KEPT_CLIENTS:
            self.clear()
        if len(forwarded) + len(agent) + len(purpose) <= MAX_KEPT_BYTES:
            self[asked] = client
        return client

    def _visitor(self, address: str, agent: bytes, purpose: bytes) -> Visitor | None:
        if not self.tells_visitors:
            return None
        numbered = partial(visitor_hash, site=self._site, address=address, user_agent=agent)
        bot = class_of_view(agent, purpose=purpose)
        return Visitor(numbered, pack_word(bot) if bot else b"")
