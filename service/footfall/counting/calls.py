"""The script calls of a batch that change counters; on a Cluster, one per slot."""

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from ..driver.commands import Command
from ..driver.replies import UNDELIVERED, deliver, failure
from ..driver.script_calls import CountsCallback, ScriptCall, sound
from ..driver.scripts import Script
from ..statistics.moment import Moment
from ..statistics.visits import PLACES, Visits
from .clients import Bot, CountingClient, Person
from .count_words import NOBODY, CountWords, Seen, SeenTogether, bots_of
from .packed import NO_SOURCE, PackedChange

log = logging.getLogger(__name__)

Waiting = Sequence[tuple[CountsCallback, CountingClient]]
# The request, and its callback.
Changes = Mapping[PackedChange, Waiting]
Asked = tuple[PackedChange, Waiting]
# Receives a client's change that has started counters, and the counts.
Started = Callable[[CountingClient, PackedChange, Sequence[Any]], None]


class ChangeCall(ScriptCall):
    """Changes of counters, and the requests waiting for each."""

    def __init__(self, script: Script, changes: Changes, started: Started) -> None:
        self._script = script
        self._changes = changes
        self._started = started
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

    def answer(self, replies: list[Any]) -> ScriptCall | None:
        place = 0
        for change, waiting in self._changes.items():
            place = self._answer(change, waiting, replies, place)
        return None

    def _answer(
        self, change: PackedChange, waiting: Waiting, replies: list[Any], place: int
    ) -> int:
        """From the replies at this place on; returns the place behind them."""
        if change.is_rise:
            count = replies[place]
            if type(count) is not int:
                _answer(waiting, failure(count))
                return place + 1
            count -= len(waiting)
            if not count:
                self._started(waiting[0][1], change, (1,))
            for done, _ in waiting:
                count += 1
                try:
                    done([count])
                except Exception:
                    log.exception(UNDELIVERED)
            return place + 1
        for done, client in waiting:
            counts = replies[place : place + change.size]
            place += change.size
            if 1 in counts:
                self._started(client, change, counts)
            deliver(done, sound(counts))
        return place

    def fail(self, error: Exception) -> None:
        for waiting in self._changes.values():
            _answer(waiting, error)


class DatedCall(ChangeCall):
    """A call that counts, dates views and notes their visitors."""

    def __init__(
        self,
        script: Script,
        changes: Changes,
        started: Started,
        clock: Callable[[], Moment],
        visits: Visits,
    ) -> None:
        """Views are dated when the command is first built. If that fails, for example because of a
        wrong clock, the waiting requests fail."""
        super().__init__(script, changes, started)
        self._clock = clock
        self._visits = visits
        self._packed: list[bytes] = []
        # How many keys and arguments there are, without those before the first change.
        self._keys = self._args = 0
        # Views of an open hour that have nothing else to note come first, then the others.
        self._plain: list[Asked] = []
        self._rest: list[Asked] = []
        self._salt = 0

    def command(self, *, in_full: bool = False) -> Command:
        if not self._packed:
            self._pack()
        more = self._args - self._keys
        return self._script.call(self._keys, self._packed, more=more, in_full=in_full)

    def fail(self, error: Exception) -> None:
        self._visits.forget()
        super().fail(error)

    def answer(self, replies: list[Any]) -> ScriptCall | None:
        place, gone = 0, dict[PackedChange, Waiting]()
        for change, waiting in chain(self._plain, self._rest):
            if change.page is not None:
                if replies[place] is None:
                    gone[change] = waiting
                    place += 1
                    continue
                if type(replies[place]) is int:
                    change.page.opened = self._salt
            place = self._answer(change, waiting, replies, place)
        if not gone:
            return None
        # Somebody has removed these counters: nothing was counted, and nobody noted.
        self._visits.forget()
        return DatedCall(self._script, gone, self._started, self._clock, self._visits)

    def _pack(self) -> None:
        """Once: who was seen is not seen again."""
        moment, visits = self._clock(), self._visits
        visits.on(moment)
        day, told, self._salt = moment.day, visits.told, visits.salt
        salt, words = visits.salt, CountWords(day)
        plain, rest, keys, args = self._plain, self._rest, words.plain_keys, words.plain_args
        for asked in self._changes.items():
            change, waiting = asked
            page, client = change.page, waiting[0][1]
            is_bot = type(client) is Bot
            is_known = page is not None and page.opened == salt and (page.left > 0 or is_bot)
            if page is None or not is_known or len(waiting) > 1 or change.origin[1]:
                self._pack_any(change, waiting, moment, words)
                continue
            # As nearly always.
            is_seen = is_bot
            if type(client) is Person and (is_seen := client.day == day or client.renew(moment)):
                view = client.number ^ hash(change.args) ^ salt
                is_seen = told[view & PLACES] != view and visits.is_new(view, client)
            page.left -= not is_bot
            if is_seen or change.origin[0] is not NO_SOURCE:
                rest.append(asked)
                words.add_seen(change.args, page, change.origin[0], client if is_seen else NOBODY)
            else:
                plain.append(asked)
                keys.append(page.counter)
                args.append(change.args)
        self.size = len(plain) + words.size
        self._keys, self._args = words.numbers
        self._packed = words.packed(next(iter(self._changes)).shares_on(day), moment.packed)

    def _pack_any(
        self, change: PackedChange, waiting: Waiting, moment: Moment, words: CountWords
    ) -> None:
        page, source, seen = change.page, change.origin[0], self._seen(change, waiting, moment)
        people = len(waiting) - bots_of(seen)
        args = change.rise_by(len(waiting)) if change.is_rise else change.args
        if page is None:
            words.add_each(change, len(waiting), seen)
        elif page.opened != self._salt or (page.left <= 0 and people):
            words.add_first(change.keys, args, page, len(waiting), source, seen)
        else:
            page.left -= people
            if not seen.words and source is NO_SOURCE:
                self._plain.append((change, waiting))
                words.plain_keys.append(page.counter)
                words.plain_args.append(args)
                return
            words.add_seen(args, page, source, seen)
        self._rest.append((change, waiting))

    def _seen(self, change: PackedChange, waiting: Waiting, moment: Moment) -> Seen:
        """Who is to be noted of the views of a change."""
        bot_of_page = change.origin[1]
        people, bots, visits = set[bytes](), list[bytes](), self._visits
        for _, client in waiting if change.is_view else ():
            if isinstance(client, Bot):
                bots.append(client.bot)
            elif isinstance(client, Person):
                if bot_of_page:
                    bots.append(bot_of_page)
                elif client.renew(moment):
                    view = client.number ^ hash(change.args) ^ visits.salt
                    if visits.told[view & PLACES] != view and visits.is_new(view, client):
                        people.add(client.packed)
        return SeenTogether(people, bots)


def _answer(waiting: Waiting, answer: list[int] | Exception) -> None:
    for done, _ in waiting:
        deliver(done, answer)
