"""Who has viewed what today: each visitor once a day, of each page and of the whole site.

This process remembers for an hour whom it has told Redis of, and tells it only who is new: what is
lost or removed there is told again in the next hour at the latest. Visitors of a page are told with
their view. A script that counts a view reaches one slot of a Cluster, and a visitor of the site may
view pages of any; so the site's visitors are distinguished in shares of their own, by a call after
that of the view.
"""

import asyncio
import secrets
from array import array
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping
from typing import Protocol

from ..driver.commands import pack_word
from ..driver.keys import GROUPS, Keys
from ..driver.replies import ErrorReply
from ..driver.scripts import Scripts
from ..errors import StoreUnavailable
from ..netaddr import place_of
from .audience import KINDS, Audience
from .moment import NO_MOMENT, Moment

# What is remembered, eight bytes each. Two in one place take turns: they are only told again.
TOLD = 1 << 17
PLACES = TOLD - 1
# A home has no thousand browsers; further ones are views, and no visitors. Of each sender the
# number of browsers in a day, times BROWSER, and of their pages; those of a /48 of IPv6 share some
# places.
SENDERS, BROWSER = 1 << 17, 1 << 16
# Numbers of browsers that were counted so: they are told more than once.
COUNTED = 1 << 16
MAX_BROWSERS, MAX_PAGES = 1_000, BROWSER - 1
# How long the site's visitors are gathered for a call, how many at most, and in how many groups.
PAUSE_SECONDS = 0.02
MAX_VISITS_A_CALL = 1_000
SHARES = 16


class Visitor(Protocol):
    """A person with a number of this day, also packed, and where they come from; and what their
    browser says of itself."""

    number: int
    packed: bytes
    sender: str
    language: bytes

    @property
    def agent(self) -> bytes: ...


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
        audience: Audience | None = None,
        *,
        is_cluster: bool,
    ) -> None:
        """Without an audience, visitors are not classed."""
        self._audience = audience
        self._kinds = pack_word(" ".join(KINDS) if audience else "")
        self._visit = scripts["views/visit"]
        self._keys = keys
        self._start = start
        self._stats = stats
        self._is_cluster = is_cluster
        # Do visitors of pages take all that COUNTER_LIMIT has for them? Then further views are only
        # views.
        self.are_full = False
        self._connected = 0
        # Numbers of visitors, and of visitors on pages, each with the salt, at the place that their
        # last bits name.
        self.told = array("q", bytes(8 * TOLD))
        # Visitors of the site, to be sent after a pause in which more may come.
        self._new: list[Visitor] = []
        self._moment = NO_MOMENT
        self._open(self._moment)

    def on(self, moment: Moment) -> None:
        """Before `is_new`."""
        if moment.day != self._moment.day:
            # These are of the day before.
            self._tell_now()
            self._open(moment)
        elif moment.packed is not self._moment.packed or self._connected != self._stats.connections:
            self.forget()
        # The day ends sooner than it did for the first of its visitors.
        self._moment = moment

    def _open(self, moment: Moment) -> None:
        self._moment = moment
        self._seen = array("I", bytes(4 * SENDERS))
        self._counted = array("q", bytes(8 * COUNTED))
        self.forget()

    def forget(self) -> None:
        """What was told may be lost. With another salt none of it is found; to empty the table
        would stop all requests for half a millisecond, as often as Redis fails."""
        self._connected = self._stats.connections
        self.salt = secrets.randbits(63)

    def is_new(self, view: int, visitor: Visitor) -> bool:
        """Has Redis to be told of this view, which is not the one at its place in `told`?"""
        sender, number, told = visitor.sender, visitor.number, self.told
        known = number ^ self.salt
        place = place_of(sender, SENDERS) if ":" in sender else hash(sender) & SENDERS - 1
        seen = self._seen[place]
        if seen % BROWSER >= MAX_PAGES or self.are_full:
            return False
        if told[known & PLACES] != known:
            counted, at = self._counted, number & COUNTED - 1
            if counted[at] != number:
                if seen >= MAX_BROWSERS * BROWSER:
                    return False
                seen += BROWSER
                counted[at] = number
            told[known & PLACES] = known
            self._new.append(visitor)
            if len(self._new) == 1:
                self._start(self._tell_soon())
            elif len(self._new) == MAX_VISITS_A_CALL:
                self._tell_now()
        self._seen[place] = seen + 1
        told[view & PLACES] = view
        return True

    async def _tell_soon(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS)
        self._tell_now()

    def _tell_now(self) -> None:
        if self._new:
            shares = defaultdict[int, list[Visitor]](list)
            for visitor in self._new:
                shares[visitor.number % SHARES].append(visitor)
            self._start(self._tell(self._moment, shares))
            self._new = []

    async def _tell(self, moment: Moment, shares: Mapping[int, list[Visitor]]) -> None:
        # On a Cluster a call reaches one group.
        calls = ([each] for each in shares.items()) if self._is_cluster else [[*shares.items()]]
        for call in calls:
            arguments = [self._keys_of(share, moment.day) for share, _ in call]
            arguments += (*map(pack_word, (f"v{moment.day}", moment.day_ms)), self._kinds)
            for _, some in call:
                arguments += pack_word(len(some)), *(visitor.packed for visitor in some)
                arguments += map(self._classes, some)
            try:
                words = 2 if self._audience else 1
                more = words * sum(len(some) for _, some in call)
                await self._visit.packed(len(call), arguments, more=more)
            except (StoreUnavailable, ErrorReply):
                # Connections log outages. Returning visitors are resent.
                self.forget()

    def _classes(self, visitor: Visitor) -> bytes:
        if self._audience is None:
            return b""
        address = visitor.sender.partition("/")[0]
        return self._audience.packed(visitor.agent, visitor.language, address)

    def _keys_of(self, share: int, day: int) -> bytes:
        keys, group = self._keys, share * (GROUPS // SHARES)
        names = keys.share(group), keys.visitors_in(group, day), keys.audience_in(group, day)
        return b"".join(map(pack_word, names))
