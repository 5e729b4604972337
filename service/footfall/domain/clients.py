"""Who sends a change of a counter: whose tokens it takes, and whose view it is."""

from functools import partial
from typing import NamedTuple

from ..driver.connection import pack_word
from ..driver.visits import Visitor
from .agents import class_of_view
from .rate_limit import RateLimits
from .visitors import MAX_AGENT_BYTES, visitor_hash

# With the longest user agents, they are 8 MB.
MAX_KEPT_CLIENTS = 8_192


class Client(NamedTuple):
    """`key` names it for the rate limits, "" if it has none. `visitor` is None where visitors are
    not told apart, or for what comes without an address."""

    key: str = ""
    visitor: Visitor | None = None


NOBODY = Client()


class Clients(dict[tuple[str, bytes, bytes], Client]):
    """(address, user agent, purpose) -> the client, as `of` finds it.

    A cache: most clients ask again. It has addresses, so it is cleared when a day is over.
    """

    def __init__(self, limits: RateLimits, site: str, *, tells_visitors: bool) -> None:
        """With `tells_visitors` those of this site are told apart."""
        self._limits = limits
        self._site = site
        self.tells_visitors = tells_visitors

    def of(self, address: str, agent: bytes, purpose: bytes) -> Client:
        """`purpose` is the header Sec-Purpose, or Purpose."""
        return self[address, agent[:MAX_AGENT_BYTES], purpose]

    def __missing__(self, asked: tuple[str, bytes, bytes]) -> Client:
        address, agent, purpose = asked
        client = Client(self._limits.client_key(address), self._visitor(address, agent, purpose))
        if len(self) >= MAX_KEPT_CLIENTS:
            self.clear()
        if len(purpose) <= MAX_AGENT_BYTES:
            self[asked] = client
        return client

    def _visitor(self, address: str, agent: bytes, purpose: bytes) -> Visitor | None:
        if not self.tells_visitors:
            return None
        numbered = partial(visitor_hash, site=self._site, address=address, user_agent=agent)
        bot = class_of_view(agent, purpose=purpose)
        return Visitor(numbered, pack_word(bot) if bot else b"")
