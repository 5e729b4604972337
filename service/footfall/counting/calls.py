"""The script calls of a batch that change counters; on a Cluster, one per slot."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..driver.connection import Command, pack_word
from ..driver.replies import UNDELIVERED, deliver, failure
from ..driver.script_calls import CountsCallback, ScriptCall, sound
from ..driver.scripts import Script
from ..statistics.moment import Moment
from ..statistics.visits import PLACES, Visits
from .clients import NOBODY_SEEN, Bot, CountingClient, Person
from .packed import PackedChange

log = logging.getLogger(__name__)

# The request, and its callback.
Changes = Mapping[PackedChange, Sequence[tuple[CountsCallback, CountingClient]]]
# Receives a client's change that has started counters, and the counts.
Began = Callable[[CountingClient, PackedChange, Sequence[Any]], None]


class ChangeCall(ScriptCall):
    """Changes of counters, and the requests waiting for each."""

    def __init__(self, script: Script, changes: Changes, began: Began) -> None:
        self._script = script
        self._changes = changes
        self._began = began
        self.size = 0

    def command(self, *, in_full: bool = False) -> Command:
        keys, args, number = [], [], 0
        for change, waiting in self._changes.items():
            times = len(waiting)
            if times == 1:
                keys.append(change.keys)
                args.append(change.args)
                number += change.size
            elif change.is_rise:
                keys.append(change.keys)
                args.append(change.rise_by(times))
                number += 1
            else:
                keys.append(change.keys * times)
                args.append(change.args * times)
                number += change.size * times
        self.size = number
        return self._script.call(number, keys + args, in_full=in_full)

    def answer(self, replies: list[Any]) -> None:
        place = 0
        for change, waiting in self._changes.items():
            if change.is_rise:
                count = replies[place]
                place += 1
                if type(count) is not int:
                    _answer(waiting, failure(count))
                    continue
                count -= len(waiting)
                if not count:
                    self._began(waiting[0][1], change, (1,))
                for done, _ in waiting:
                    count += 1
                    try:
                        done([count])
                    except Exception:
                        log.exception(UNDELIVERED)
                continue
            for done, client in waiting:
                counts = replies[place : place + change.size]
                place += change.size
                if 1 in counts:
                    self._began(client, change, counts)
                deliver(done, sound(counts))

    def fail(self, error: Exception) -> None:
        for waiting in self._changes.values():
            _answer(waiting, error)


class DatedCall(ChangeCall):
    """The same with dated views and their visitors."""

    def __init__(
        self,
        script: Script,
        changes: Changes,
        began: Began,
        clock: Callable[[], Moment],
        visits: Visits,
    ) -> None:
        """Views are dated when the command is first built. If that fails, for example because of a
        wrong clock, the waiting requests fail."""
        super().__init__(script, changes, began)
        self._clock = clock
        self._visits = visits
        self._packed: list[bytes] = []
        self._seen = 0

    def command(self, *, in_full: bool = False) -> Command:
        if not self._packed:
            self._pack()
        return self._script.call(self.size, self._packed, more=self._seen, in_full=in_full)

    def fail(self, error: Exception) -> None:
        self._visits.forget()
        super().fail(error)

    def _pack(self) -> None:
        """Once: who was seen is not seen again."""
        moment, visits = self._clock(), self._visits
        visits.on(moment)
        day, told, salt = moment.day, visits.told, visits.salt
        keys: list[bytes] = []
        args = [moment.packed]
        number = seen = 0
        for change, waiting in self._changes.items():
            own = change.keys_on(day)
            keys.append(own)
            if change.is_one_view and len(waiting) == 1:
                # As nearly always.
                client = waiting[0][1]
                noted = NOBODY_SEEN
                if type(client) is not Person:
                    noted = client.noted
                    seen += client.words
                elif client.day == day or client.renew(moment):
                    view = client.number ^ hash(change.args) ^ salt
                    if told[view & PLACES] != view and visits.is_new(view, client):
                        noted = client.noted
                        seen += 1
                args += (change.args, change.origin[0], noted)
                number += 1
                continue
            noted, arguments = self._noted(change, waiting, moment)
            seen += arguments * change.size
            if change.is_rise:
                args.append(change.noted(len(waiting), noted))
                number += 1
                continue
            args.append(change.noted(1, noted))
            if (more := len(waiting) - 1) > 0:
                # Visitors are noted with the first of them.
                keys.append(own * more)
                args.append(change.noted(1, change.origin[0] + NOBODY_SEEN) * more)
            number += change.size * (more + 1)
        self.size, self._seen = number, seen
        self._packed = [next(iter(self._changes)).shares_on(day), *keys, *args]

    def _noted(
        self,
        change: PackedChange,
        waiting: Sequence[tuple[CountsCallback, CountingClient]],
        moment: Moment,
    ) -> tuple[bytes, int]:
        """The arguments for the views of a change, and the number of those that are visitors."""
        source, bot_of_page = change.origin
        if not change.is_view:
            return source + NOBODY_SEEN, 0
        people, bots, visits = set[bytes](), list[bytes](), self._visits
        for _, client in waiting:
            if isinstance(client, Bot):
                bots.append(client.bot)
            elif isinstance(client, Person):
                if bot_of_page:
                    bots.append(bot_of_page)
                elif client.renew(moment):
                    view = client.number ^ hash(change.args) ^ visits.salt
                    if visits.told[view & PLACES] != view and visits.is_new(view, client):
                        people.add(client.packed)
        counts = pack_word(len(people)) + pack_word(len(bots))
        return b"".join([source, counts, *people, *bots]), len(people) + len(bots)


def _answer(
    waiting: Sequence[tuple[CountsCallback, CountingClient]], answer: list[int] | Exception
) -> None:
    for done, _ in waiting:
        deliver(done, answer)
