"""The visitors of a whole site, each once a day.

A script that counts a view reaches one slot of a Cluster, and a visitor of the site may view pages
of any. So the site's visitors are distinguished in shares of their own, one for each group, by a
call after that of the view: only when this process has not seen a visitor on that day.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable

from ..driver.connection import pack_word
from ..driver.keys import GROUPS, Keys
from ..driver.replies import ErrorReply
from ..driver.scripts import Scripts
from ..errors import StoreUnavailable
from .moment import Moment

# Numbers that a process remembers: some megabytes. A forgotten one is only sent once more.
MAX_KNOWN = 65_536
MAX_VISITS_A_CALL = 500
# How long visitors are gathered for a call.
PAUSE_SECONDS = 0.02


class Visits:
    """Records the site's visitors; `start` starts background work."""

    def __init__(
        self,
        scripts: Scripts,
        keys: Keys,
        start: Callable[[Coroutine[None, None, None]], None],
        *,
        is_cluster: bool,
    ) -> None:
        self._visit = scripts["views/visit"]
        self._keys = keys
        self._start = start
        self._is_cluster = is_cluster
        # For this day: the visitors noted, and the packed keys of each group's shares.
        self._moment = Moment(0, b"", 0, 0)
        self._known = set[int]()
        self._shares = dict[int, bytes]()
        # Visitors to send, after a pause in which more may come.
        self._new: list[int] = []
        # Those that could not be sent to Redis; they are sent when they return.
        self.missed = set[int]()

    def note(self, moment: Moment, numbers: Iterable[int]) -> None:
        """That people with these numbers have viewed some page."""
        if moment.day != self._moment.day or len(self._known) >= MAX_KNOWN:
            self._begin(moment)
        # The day ends sooner than it did for the first of its visitors.
        self._moment = moment
        known = self._known
        for number in numbers:
            if number not in known:
                known.add(number)
                self.missed.discard(number)
                self._new.append(number)
                if len(self._new) == 1:
                    self._start(self._tell_soon())

    def _begin(self, moment: Moment) -> None:
        if self._new:
            # They are of the day before.
            self._start(self._tell(self._moment, self._shares, self._new))
        self._moment, self._known, self._shares, self._new = moment, set(), {}, []
        self.missed = set()

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
                self._known.difference_update(some)
                if moment.day == self._moment.day and len(self.missed) < MAX_KNOWN:
                    self.missed.update(some)

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
