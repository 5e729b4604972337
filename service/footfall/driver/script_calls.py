"""The script calls of a batch: one for all changes of counters and one for all tokens that are
taken; on a Cluster one for each slot.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .connection import Command, pack_word
from .keys import weight
from .packed import Moment, PackedChange
from .replies import UNDELIVERED, deliver, failure
from .scripts import Script
from .visits import Visitor, Visits

log = logging.getLogger(__name__)

# Called with the numbers in the order of the request, or with what went wrong.
CountsCallback = Callable[[list[int] | Exception], None]


class Rate:
    """A token bucket's rate: it gets `a_second` tokens and holds `at_once`."""

    def __init__(self, a_second: float, at_once: int) -> None:
        self.a_second = a_second
        self.at_once = at_once
        each = round(1_000_000 / a_second)
        # The script's arguments, packed: µs for one token, and µs for a full bucket.
        self.packed = pack_word(each) + pack_word(each * at_once)


# (key of a bucket, tokens, rate, callback)
Taking = tuple[str, int, Rate, CountsCallback]


class ScriptCall(ABC):
    """A call of a script that returns so many numbers: `size`."""

    size: int

    @abstractmethod
    def command(self, *, in_full: bool = False) -> Command: ...

    @abstractmethod
    def answer(self, replies: list[Any]) -> int:
        """Answer all requests; returns the weight of the counters that have begun."""

    @abstractmethod
    def fail(self, error: Exception) -> None: ...


class ChangeCall(ScriptCall):
    """Changes of counters, and who waits for each."""

    def __init__(
        self, script: Script, changes: Mapping[PackedChange, Sequence[CountsCallback]]
    ) -> None:
        self._script = script
        self._changes = changes
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
        return self._script.call(2 * number, 2 * number, keys + args, in_full=in_full)

    def answer(self, replies: list[Any]) -> int:
        new_weight = place = 0
        for change, waiting in self._changes.items():
            if change.is_rise:
                count = replies[place]
                place += 1
                if type(count) is not int:
                    _answer(waiting, failure(count))
                    continue
                count -= len(waiting)
                if not count:
                    new_weight += weight(change.changes[0][0])
                for done in waiting:
                    count += 1
                    try:
                        done([count])
                    except Exception:
                        log.exception(UNDELIVERED)
                continue
            for done in waiting:
                counts = replies[place : place + change.size]
                place += change.size
                new_weight += _new_weight(change, counts)
                deliver(done, _sound(counts))
        return new_weight

    def fail(self, error: Exception) -> None:
        for waiting in self._changes.values():
            _answer(waiting, error)


# Of the keys and arguments of lua/counters/count.lua, those before the first change, and those of
# each: of its arguments, without the visitors.
_KEYS_BEFORE, _KEYS_EACH = 2, 7
_ARGS_BEFORE, _ARGS_EACH = 7, 5
_NONE = pack_word(0)
_NOBODY = _NONE + _NONE


class DatedCall(ChangeCall):
    """The same where views are dated, and it is noted by whom they are."""

    def __init__(
        self,
        script: Script,
        changes: Mapping[PackedChange, Sequence[CountsCallback]],
        clock: Callable[[], Moment],
        visitors: Mapping[PackedChange, Sequence[Visitor]],
        visits: Visits,
    ) -> None:
        """Views are of the moment when the command is first made: if that fails, as with a clock
        that is far off, it fails for who waits."""
        super().__init__(script, changes)
        self._clock = clock
        self._moment: Moment | None = None
        self._visitors = visitors
        self._visits = visits

    def command(self, *, in_full: bool = False) -> Command:
        moment = self._moment = self._moment or self._clock()
        day, visitors, missed = moment.day, self._visitors, self._visits.missed
        keys: list[bytes] = []
        args = [moment.packed]
        number = seen = 0
        for change, waiting in self._changes.items():
            own = change.keys_on(day)
            keys.append(own)
            who = visitors.get(change) if change.is_view else None
            if who is None:
                noted = change.origin[0] + _NOBODY
            elif len(who) == 1 and (moment.salt or who[0].bot) and not change.origin[1]:
                # As nearly always: one who is known, or is told of now, or a bot.
                one = who[0]
                if not one.bot and (one.day != day or one.number in missed):
                    one.renew(moment)
                    self._visits.note(moment, (one.number,))
                noted = change.origin[0] + one.alone
                seen += change.size
            else:
                noted, words = self._noted(change, who, moment)
                seen += words * change.size
            if change.is_rise:
                args.append(change.noted(len(waiting), noted))
                number += 1
                continue
            args.append(change.noted(1, noted))
            if (more := len(waiting) - 1) > 0:
                # Who has viewed is noted with the first of them.
                keys.append(own * more)
                args.append(change.noted(1, change.origin[0] + _NOBODY) * more)
            number += change.size * (more + 1)
        self.size = number
        first = next(iter(self._changes)).shares_on(day)
        return self._script.call(
            _KEYS_BEFORE + _KEYS_EACH * number,
            _ARGS_BEFORE + _ARGS_EACH * number + seen,
            [first, *keys, *args],
            in_full=in_full,
        )

    def _noted(
        self, change: PackedChange, visitors: Sequence[Visitor], moment: Moment
    ) -> tuple[bytes, int]:
        """What is noted of the views of a change, and how many words of it are visitors."""
        source, bot_of_page = change.origin
        people, bots = set[int](), list[bytes]()
        for each in visitors:
            if bot := each.bot or bot_of_page:
                bots.append(bot)
            elif moment.salt:
                if each.day != moment.day:
                    each.renew(moment)
                people.add(each.number)
        self._visits.note(moment, people)
        counts = pack_word(len(people)) + pack_word(len(bots))
        return b"".join([source, counts, *map(pack_word, people), *bots]), len(people) + len(bots)


def _new_weight(change: PackedChange, counts: Sequence[Any]) -> int:
    each = zip(change.changes, counts, strict=True)
    return sum(weight(name) for (name, delta), count in each if count == 1 and delta == 1)


class TokenCall(ScriptCall):
    """Tokens that are taken from buckets."""

    def __init__(self, script: Script, takings: Sequence[Taking]) -> None:
        self._script = script
        self._takings = takings
        self.size = len(takings)

    def command(self, *, in_full: bool = False) -> Command:
        now = pack_word(time.time_ns() // 1000)
        words = [pack_word(bucket) for bucket, _, _, _ in self._takings]
        words += [now + pack_word(tokens) + rate.packed for _, tokens, rate, _ in self._takings]
        return self._script.call(self.size, 4 * self.size, words, in_full=in_full)

    def answer(self, replies: list[Any]) -> int:
        for (_, _, _, done), wait in zip(self._takings, replies, strict=True):
            deliver(done, _sound([wait]))
        return 0

    def fail(self, error: Exception) -> None:
        for _, _, _, done in self._takings:
            deliver(done, error)


def _answer(waiting: Iterable[CountsCallback], answer: list[int] | Exception) -> None:
    for done in waiting:
        deliver(done, answer)


def _sound(numbers: list[Any]) -> list[int] | Exception:
    """The numbers, or what the first of them stands for that is an error."""
    wrong = next((each for each in numbers if isinstance(each, Exception)), None)
    return failure(wrong) if wrong else numbers
