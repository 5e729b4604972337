"""Who has viewed what today: each visitor once a day, of each page and of the whole site.

This process remembers for an hour whom it has told Redis of, and tells it only who is new: what is
lost or removed there is told again in the next hour at the latest. Visitors of a page are told with
their view. A script that counts a view reaches one slot of a Cluster, and a visitor
of the site may view pages of any; so the site's visitors are distinguished in shares of their own,
one for each group, by a call after that of the view.
"""

import asyncio
from array import array
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable
from typing import Protocol

from ..driver.connection import pack_word
from ..driver.keys import GROUPS, Keys
from ..driver.replies import ErrorReply
from ..driver.scripts import Scripts
from ..errors import StoreUnavailable
from ..netaddr import place_of
from .moment import Moment

# What is remembered, eight bytes each. Two in one place take turns: they are only told again.
TOLD = 1 << 17
PLACES = TOLD - 1
# Of each sender, as an array of two bytes each counts them in a day; those of a /48 of IPv6 share
# some places. A home has no thousand browsers; further ones are views, and no visitors.
SENDERS = 1 << 17
MAX_BROWSERS, MAX_PAGES = 1_000, (1 << 16) - 1
MAX_VISITS_A_CALL = 500
# How long visitors are gathered for a call.
PAUSE_SECONDS = 0.02


class Visitor(Protocol):
    """A person with a number of this day, and where they come from."""

    number: int
    sender: str


class Connections(Protocol):
    """How many connections to Redis were opened."""

    connections: int


class Visits:
    """Records visitors; `start` starts background work. What was told on an earlier connection is
    told again, since another server may answer on a new one."""

    def __init__(
        self,
        scripts: Scripts,
        keys: Keys,
        start: Callable[[Coroutine[None, None, None]], None],
        stats: Connections,
        *,
        is_cluster: bool,
    ) -> None:
        self._visit = scripts["views/visit"]
        self._keys = keys
        self._start = start
        self._stats = stats
        self._is_cluster = is_cluster
        self._connected = 0
        # For this day: the packed keys of each group's shares, and what is known.
        self._moment = Moment(0, b"", 0, 0)
        self._shares = dict[int, bytes]()
        self._begin(self._moment)
        # Visitors to send, after a pause in which more may come.
        self._new: list[int] = []

    def on(self, moment: Moment) -> None:
        """Before `is_new`."""
        if moment.day != self._moment.day:
            if self._new:
                # They are of the day before.
                self._start(self._tell(self._moment, self._shares, self._new))
            self._begin(moment)
        elif moment.packed is not self._moment.packed or self._connected != self._stats.connections:
            self.forget()
        # The day ends sooner than it did for the first of its visitors.
        self._moment = moment

    def _begin(self, moment: Moment) -> None:
        self._moment, self._shares, self._new = moment, {}, []
        self._pages = array("H", bytes(2 * SENDERS))
        self._browsers = array("H", bytes(2 * SENDERS))
        self.forget()

    def forget(self) -> None:
        """What was told may be lost."""
        self._connected = self._stats.connections
        # Numbers of visitors, and of visitors on pages, at the place that their last bits name.
        self.told = array("q", bytes(8 * TOLD))

    def is_new(self, page: bytes, visitor: Visitor) -> bool:
        """Has Redis to be told that this visitor has viewed a page, or several, with this name?"""
        number, told = visitor.number, self.told
        view = number ^ hash(page)
        if told[view & PLACES] == view:
            return False
        place = place_of(visitor.sender, SENDERS)
        if self._pages[place] >= MAX_PAGES:
            return False
        if told[number & PLACES] != number:
            if self._browsers[place] >= MAX_BROWSERS:
                return False
            self._browsers[place] += 1
            told[number & PLACES] = number
            self._new.append(number)
            if len(self._new) == 1:
                self._start(self._tell_soon())
        self._pages[place] += 1
        told[view & PLACES] = view
        return True

    async def _tell_soon(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS)
        new, self._new = self._new, []
        await self._tell(self._moment, self._shares, new)

    async def _tell(self, moment: Moment, shares: dict[int, bytes], numbers: list[int]) -> None:
        for some in self._calls(numbers):
            arguments = [self._share(shares, number % GROUPS, moment.day) for number in some]
            arguments += map(pack_word, (f"v{moment.day}", moment.day_ms, *some))
            try:
                await self._visit.packed(len(some), arguments)
            except (StoreUnavailable, ErrorReply):
                # Connections log outages. Returning visitors are resent.
                self.forget()

    def _share(self, shares: dict[int, bytes], group: int, day: int) -> bytes:
        if group not in shares:
            keys = self._keys.share(group), self._keys.visitors_in(group, day)
            shares[group] = b"".join(map(pack_word, keys))
        return shares[group]

    def _calls(self, numbers: list[int]) -> Iterable[list[int]]:
        """The parts that one call may send: on a Cluster it reaches one group."""
        if not self._is_cluster:
            firsts = range(0, len(numbers), MAX_VISITS_A_CALL)
            return [numbers[first : first + MAX_VISITS_A_CALL] for first in firsts]
        groups = defaultdict[int, list[int]](list)
        for number in numbers:
            groups[number % GROUPS].append(number)
        return groups.values()
