"""Who views: a person, or a bot. And the visitors of a whole site, each once a day.

A script that counts a view reaches one slot of a Cluster, and a visitor of the site may view pages
of any. So the site's visitors are told apart in shares of their own, one for each group, by a call
behind that of the view: only when this process has not seen a visitor on that day.
"""

from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable

from ..errors import StoreUnavailable
from .connection import pack_word
from .keys import GROUPS, Keys
from .packed import Moment
from .replies import ErrorReply
from .scripts import Scripts

_NONE, _ONE = pack_word(0), pack_word(1)
# Numbers that a process remembers: some megabytes. One that is forgotten is only told once more.
MAX_KNOWN = 65_536
MAX_VISITS_A_CALL = 500


class Visitor:
    """A person, who is a number that the salt of a day makes; or a bot, which is of a class."""

    __slots__ = ("_numbered", "alone", "bot", "day", "number")

    def __init__(self, numbered: Callable[[bytes], int], bot: bytes = b"") -> None:
        """`numbered` makes the number of a salt; the bot's class is packed."""
        self._numbered = numbered
        self.bot = bot
        # The day of which the number is, and what lua/counters/count.lua is told of one view.
        self.day = 0
        self.number = 0
        self.alone = _NONE + _ONE + bot if bot else b""

    def renew(self, moment: Moment) -> None:
        """Take the number of another day; it needs a salt."""
        self.number = self._numbered(moment.salt)
        self.day = moment.day
        self.alone = _ONE + _NONE + pack_word(self.number)


class Visits:
    """Notes the site's visitors; `start` does something behind requests."""

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
        self._day = 0
        self._known = set[int]()

    def note(self, moment: Moment, numbers: Iterable[int]) -> None:
        """That people with these numbers have viewed some page."""
        if moment.day != self._day or len(self._known) >= MAX_KNOWN:
            self._known = set()
            self._day = moment.day
        new = [each for each in numbers if each not in self._known]
        if new:
            self._known.update(new)
            self._start(self._tell(moment, new))

    async def _tell(self, moment: Moment, numbers: list[int]) -> None:
        for some in self._calls(numbers):
            try:
                await self._visit(
                    shares=[key for each in some for key in self._keys_of(each, moment.day)],
                    field=f"v{moment.day}",
                    day_ms=moment.day_ms,
                    visitors=some,
                )
            except (StoreUnavailable, ErrorReply):
                # Connections log outages. Of who comes again is told again.
                self._known.difference_update(some)

    def _keys_of(self, number: int, day: int) -> tuple[str, str]:
        group = number % GROUPS
        return self._keys.share(group), self._keys.visitors_in(group, day)

    def _calls(self, numbers: list[int]) -> Iterable[list[int]]:
        """What one call may tell: on a Cluster it reaches one group."""
        if not self._is_cluster:
            firsts = range(0, len(numbers), MAX_VISITS_A_CALL)
            return [numbers[first : first + MAX_VISITS_A_CALL] for first in firsts]
        groups = defaultdict[int, list[int]](list)
        for number in numbers:
            groups[number % GROUPS].append(number)
        return groups.values()
