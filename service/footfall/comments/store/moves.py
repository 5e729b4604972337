"""Data taken from one page and given to another, which on a Cluster is in another slot.

Taken data stay beside their old page until they are known to have arrived, so a crash or a lost
reply loses nothing, and continuing adds nothing twice. Between the two steps they are shown on
neither page. The site remembers moves in progress.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from itertools import chain
from secrets import token_hex
from typing import NamedTuple

import orjson

from ...counters import view_counter
from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.scripts import Scripts
from ...ids import SHORT, digest
from ...model import Comment
from ...statistics.calendar import HOURS_MS
from ...statistics.moment import Moment
from ...statistics.numbered import by_name, hashes, number_or_0
from ...statistics.open_hour import Stored, closed
from ...statistics.page_views import month_of
from ...statistics.store import days_of_groups, every_month
from . import codec
from .comments import CHANGED
from .journal import Journal
from .taken_counters import TakenCounters, Visitors, counted, words_of_months, words_of_visitors

# A page's group remembers arrived moves for so long: a move is continued within a minute.
GIVEN_MS = 30 * 24 * 3600 * 1000
# Fields of the comments that are on their way, in one step.
STEP_FIELDS = 500
PARTS = ("body", "private", "likes", "held", "pinned", "decided")


class MoveUnderWay(Exception):
    """One of the pages takes part in this other `move`."""

    def __init__(self, move: "MoveNote") -> None:
        super().__init__(move)
        self.move = move


class MoveNote(NamedTuple):
    """A move in progress: its pages, the account that started it, and the last progress, ms."""

    source: str
    target: str
    by: str
    at: int


class TakenComment(NamedTuple):
    """A comment as its page stored it; `move` is the id of its move, `id` its short one."""

    move: str
    id: str
    body: bytes
    private: bytes
    likes: int
    held: str
    is_pinned: bool
    decision: str = ""

    @property
    def fields(self) -> list[str]:
        return [f"{self.move} {self.id} {part}" for part in PARTS]


class Moves:
    """All methods raise StoreUnavailable."""

    def __init__(
        self,
        redis: RedisClient,
        scripts: Scripts,
        keys: Keys,
        journal: Journal,
        moment: Callable[[], Moment] | None,
    ) -> None:
        self._redis = redis
        self._moment = moment
        self._keys = keys
        self._journal = journal
        self._take_counters = scripts["counters/take"]
        self._give_counters = scripts["counters/give"]
        self._take_comments = scripts["comments/take"]

    # Which are under way.

    async def start(self, note: MoveNote) -> None:
        """Raises MoveUnderWay, unless it is of this very move."""
        for each in await self.under_way():
            if each[:2] != note[:2] and {*each[:2]} & {*note[:2]}:
                raise MoveUnderWay(each)
        await self.go_on(note)
        await self._redis.change(("INCRBY", self._keys.site("moved"), 1))

    async def started(self) -> int:
        """How many moves have ever started."""
        (number,) = await self._redis.ask_masters(("GET", self._keys.site("moved")))
        return int(number or 0)

    async def go_on(self, note: MoveNote) -> None:
        """Note progress, at this time."""
        note_json = orjson.dumps({"to": note.target, "by": note.by, "at": note.at})
        await self._redis.change(("HSET", self._keys.site("moves"), note.source, note_json))

    async def under_way(self) -> list[MoveNote]:
        (hash,) = await hashes(self._redis, [self._keys.site("moves")])
        notes = ((path.decode(), orjson.loads(json)) for path, json in hash.items())
        return [MoveNote(path, note["to"], note["by"], note["at"]) for path, note in notes]

    async def end(self, note: MoveNote) -> None:
        await self._redis.change(("HDEL", self._keys.site("moves"), note.source))

    # Counters.

    async def take_counters(
        self, source: str, target: str, types: Sequence[str], arrived: str
    ) -> TakenCounters | None:
        """Take all counters of a page, unless some taken earlier must arrive first.

        Forgets the data that the move `arrived` took. None if there are no counters.
        """
        keys, names = self._keys, [f"{type} {source}" for type in types]
        places = [keys.counts(name) for name in names]
        places += chain.from_iterable((key, keys.taken(key)) for key in self._views_of(source))
        taken = await self._take_counters(
            moving=keys.moving(source),
            numbers=Keys.numbers_beside(places[0]),
            places=places,
            id=token_hex(8),
            to=target,
            arrived=arrived,
            counters=len(names),
            names=names,
        )
        if taken[0] == b"NONE":
            return None
        return await self._taken(source, taken[1].decode(), taken[2].decode())

    def _views_of(self, path: str) -> Iterator[str]:
        keys = self._keys.views(path)
        yield from (keys.hours, *keys.of_months(every_month()))
        yield from map(keys.visitors, days_of_groups())

    async def _taken(self, source: str, id: str, target: str) -> TakenCounters:
        keys, taken, every = self._keys.views(source), self._keys.taken, sorted(every_month())
        every_key = [self._keys.moving(source), *map(taken, (keys.hours, *keys.of_months(every)))]
        counts, hours, *fields = await hashes(self._redis, every_key)
        stored = list(map(Stored, every, fields[::2], fields[1::2]))
        closed(stored, hours, number_or_0(counts.get(view_counter(source).encode())))
        months = {month.number: month_of(*month) for month in stored if month.days}
        hours_ms, *months_ms = await self._redis.ask_masters(
            ("PTTL", taken(keys.hours)), *(("PTTL", taken(keys.days(month))) for month in months)
        )
        return TakenCounters(
            id,
            target,
            {name.decode(): number_or_0(n) for name, n in counts.items() if b" " in name},
            months,
            {month: max(ms, 1) for month, ms in zip(months, months_ms, strict=True)},
            by_name(hours),
            hours_ms if hours_ms > 0 else HOURS_MS,
            [visitor async for visitor in self._visitors(source)],
        )

    async def _visitors(self, source: str) -> AsyncIterator[Visitors]:
        for day in days_of_groups():
            key = self._keys.taken(self._keys.views(source).visitors(day))
            type, kept_ms = await self._redis.ask_masters(("TYPE", key), ("PTTL", key))
            if type == b"set":
                (numbers,) = await self._redis.ask_masters(("SMEMBERS", key))
                yield Visitors(day, max(kept_ms, 1), numbers)
            elif type == b"string":
                (sketch,) = await self._redis.ask_masters(("GET", key))
                yield Visitors(day, max(kept_ms, 1), (), sketch)

    async def give_counters(self, source: str, taken: TakenCounters) -> None:
        """Add them to those of the page to which they go, if that has not been done."""
        keys, target = self._keys, taken.target
        months, moment = sorted(every_month()), self._moment() if self._moment else None
        views, of_views = view_counter(target), keys.views(target)
        counts = {
            name.partition(" ")[0] + f" {target}": count for name, count in taken.counts.items()
        }
        await self._give_counters(
            given=keys.given(target),
            numbers=Keys.numbers_beside(keys.given(target)),
            counter=keys.counts(views),
            hours=of_views.hours,
            spare=keys.spare(target),
            places=[
                *map(keys.counts, counts),
                *of_views.of_months(months),
                *(of_views.visitors(visitor.day) for visitor in taken.visitors),
            ],
            page=digest(source),
            id=taken.id,
            given_ms=GIVEN_MS,
            name=views,
            counters=len(counts),
            months=len(months),
            current=months.index(moment.month) + 1 if moment else 0,
            hour=moment.hour if moment else 0,
            day_ms=max((visitor.kept_ms for visitor in taken.visitors), default=0),
            words=[
                *chain.from_iterable(counts.items()),
                *words_of_months(taken, months, taken.counts.get(view_counter(source), 0)),
                *(taken.hours_ms, *counted(taken.hours)),
                *chain.from_iterable(
                    words_of_visitors(visitor, months.index(visitor.day // 100) + 1)
                    for visitor in taken.visitors
                ),
            ],
        )

    # Comments.

    async def comments_of(self, page: str) -> int:
        """How many comments a page has, of any status."""
        (number,) = await self._redis.ask_masters(("HLEN", self._keys.page(page, "bodies")))
        return int(number)

    async def ids_on(self, page: str, ids: Sequence[str]) -> list[str]:
        """Which of these short ids a page has."""
        bodies = self._keys.page(page, "bodies")
        replies = await self._redis.ask_masters(*(("HEXISTS", bodies, id) for id in ids))
        return [id for id, is_there in zip(ids, replies, strict=True) if is_there]

    async def take_comments(
        self, page: str, move: str, comments: Iterable[tuple[Comment, bytes]], now_ms: int
    ) -> int:
        """Take those of these comments, each with its body as it was read, that have not changed;
        how many."""
        keys = {name: self._keys.page(page, name) for name in (*CHANGED, "nested", "moving")}
        del keys["longest"]
        arguments = list[object]()
        for comment, body in comments:
            arguments += (id[:SHORT] for id in (comment.id, comment.root, comment.parent))
            arguments += (codec.fingerprint(comment), body)
        _, taken = await self._journal.change(
            self._take_comments,
            page,
            **keys,
            move=move,
            now=now_ms,
            by="move",
            actor="",
            comments=arguments,
        )
        return int(taken)

    async def taken_comments(self, page: str) -> list[TakenComment]:
        """Some of those that are on their way from a page; all, if they are few."""
        key, cursor = self._keys.page(page, "moving"), b"0"
        names = set[tuple[str, str]]()
        while not names:
            (step,) = await self._redis.ask_masters(("HSCAN", key, cursor, "COUNT", STEP_FIELDS))
            cursor, entries = step
            names = {(move, id) for move, id, _ in (w.decode().split() for w in entries[::2])}
            if cursor == b"0":
                break
        empty = TakenComment("", "", b"", b"", 0, "", is_pinned=False)
        asked = [empty._replace(move=move, id=id) for move, id in sorted(names)]
        replies = await self._redis.ask_masters(*(("HMGET", key, *each.fields) for each in asked))
        return [
            TakenComment(
                each.move,
                each.id,
                body,
                private or b"",
                number_or_0(likes),
                (held or b"").decode(),
                pinned == b"1",
                (decided or b"").decode(),
            )
            for each, values in zip(asked, replies, strict=True)
            for body, private, likes, held, pinned, decided in [values]
            if body is not None
        ]

    async def forget_comments(self, page: str, arrived: Sequence[TakenComment]) -> None:
        fields = [field for each in arrived for field in each.fields]
        await self._redis.change(("HDEL", self._keys.page(page, "moving"), *fields))
