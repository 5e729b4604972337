"""When, by whom and from where the whole site was viewed.

A script reaches one slot of a Cluster, so each group of counters has a share of the site's numbers
(lua/counters/count.lua, lua/views/visit.lua). The shares are added up when they are read; for past
hours and days, the sum is stored, and the shares are removed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf, isfinite
from typing import NamedTuple

import orjson

from ..driver.client import RedisClient
from ..driver.keys import GROUPS, Keys
from ..driver.replies import ErrorReply
from ..driver.scripts import Scripts
from ..ids import split
from . import day_lists
from .calendar import MINUTE_MS
from .ever_store import EverStore
from .numbered import by_number, hashes, is_number
from .page_views import by_class
from .store import every_month

# An hour such as 2026112316 divided by this is its day.
HOURS = 100
# The newest comments among which the most commented pages are found, and the number of these pages.
MAX_COMMENTS, MAX_COMMENTED = 10_000, 100
# Of a group, as many as it keeps per day.
MAX_READ = 64
# Of the site.
MAX_LISTED = 1_000
# Days with a note of its owner.
MAX_NOTES = 1_000
MAX_TITLES = 10_000
# In lists, how many views a page may have that is not there; no page has this path.
UNLISTED = ""


class SiteNumbers(NamedTuple):
    """Views by hour such as 2026112316; visitors, and views by class of bots, by day."""

    hours: Mapping[int, int]
    visitors: Mapping[int, int]
    bots: Mapping[int, Counter[str]]

    def fields(self) -> dict[str, int]:
        """As they are stored."""
        numbers = {str(hour): views for hour, views in self.hours.items()}
        numbers |= {f"v{day}": visitors for day, visitors in self.visitors.items()}
        for day, classes in self.bots.items():
            numbers |= {f"b{day} {name}": views for name, views in classes.items()}
        return numbers

    def days(self) -> set[int]:
        return {hour // HOURS for hour in self.hours} | {*self.visitors} | {*self.bots}


class SiteViews:
    """All methods raise StoreUnavailable, and ErrorReply for a damaged key; of shares and lists, it
    counts as nothing beside the others."""

    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._keep = scripts["views/keep"]
        self._keys = keys
        self.sources = day_lists.sources_of(redis, scripts, keys)
        self.referrals = day_lists.referrals_of(redis, scripts, keys)
        self.audience = day_lists.audience_of(redis, scripts, keys)

    async def shares(self) -> SiteNumbers:
        """What the shares have together."""
        return numbers_of(
            await hashes(self._redis, [*map(self._keys.share, range(GROUPS))], spares=True)
        )

    async def kept(self, months: Sequence[int]) -> SiteNumbers:
        """The stored numbers of these months, such as 202611."""
        keys = [self._keys.site_views(month) for month in months]
        return numbers_of(await hashes(self._redis, keys, spares=True))

    async def known_months(self) -> list[int]:
        """The months with stored numbers, such as 202611."""
        every = every_month()
        sizes = await self._redis.ask_each(
            *(("HLEN", self._keys.site_views(month)) for month in every), of_masters=True
        )
        there = {day // 100 for day in (await self.shares()).days()}
        kept = {month for month, size in zip(every, sizes, strict=True) if size}
        return sorted(kept | there)

    async def keep(self, numbers: SiteNumbers, kept_ms: int) -> None:
        """Store the sums of past hours and days. It may be repeated, and run by several
        services."""
        months = defaultdict[str, dict[str, int]](dict)
        for field, number in numbers.fields().items():
            months[field.lstrip("vb")[:6]][field] = number
        damage = None
        for month, fields in months.items():
            try:
                counted = [word for item in fields.items() for word in item]
                key = self._keys.site_views(int(month))
                await self._keep(sums=key, kept_ms=kept_ms, counted=counted)
            except ErrorReply as error:
                # The other months are stored nevertheless.
                damage = error
        if damage:
            raise damage

    async def drop(self, numbers: SiteNumbers) -> None:
        """Remove stored numbers from the shares."""
        if fields := [*numbers.fields()]:
            shares = map(self._keys.share, range(GROUPS))
            await self._redis.change(*(("HDEL", share, *fields) for share in shares))

    async def drop_read(self, day: int) -> None:
        """Remove the shares of a day's most read pages, whose sum is stored."""
        await self._redis.change(*(("DEL", self._keys.read_in(g, day)) for g in range(GROUPS)))

    async def shares_of_read(self, day: int) -> Counter[str]:
        """The pages most viewed on a day, by path: those of each group; and UNLISTED."""
        keys = (self._keys.read_in(group, day) for group in range(GROUPS))
        replies = await self._redis.ask_each(
            *(("ZRANGE", key, -MAX_READ, -1, "WITHSCORES") for key in keys)
        )
        groups = [_by_path(pairs or ()) for pairs in replies]
        total = Counter[str]()
        for pages in groups:
            total.update(pages)
        _note_unlisted(total, max(_unlisted(pages, MAX_READ) for pages in groups))
        return total

    async def read(self, days: Iterable[int]) -> list[Counter[str]]:
        """The stored views of the pages most viewed on each day; of day 0, ever."""
        keys = [self._keys.most_read(day) for day in days]
        replies = await self._redis.ask_each(
            *(("ZRANGE", key, 0, -1, "WITHSCORES") for key in keys)
        )
        lists = [_by_path(pairs or ()) for pairs in replies]
        for pages in lists:
            _note_unlisted(pages, max(pages[UNLISTED], _unlisted(pages, MAX_LISTED)))
        return lists

    async def commented(
        self, since_ms: int, before_ms: float = inf
    ) -> tuple[Counter[str], Mapping[str, str], bool]:
        """How many of the newest comments of a time each page has, by its id; the paths of those
        with most; and whether these are all comments of that time."""
        newest = f"({before_ms}" if before_ms < inf else "+inf"
        (ids,) = await self._redis.ask(
            ("ZRANGE", self._keys.site("recent"), newest, since_ms, "BYSCORE", "REV")
            + ("LIMIT", 0, MAX_COMMENTS)
        )
        counts = Counter(split(id.decode())[1] for id in ids)
        pages = [page for page, _ in counts.most_common(MAX_COMMENTED)]
        paths = await self._redis.ask_each(*(("GET", self._keys.page(p, "path")) for p in pages))
        known = {page: path.decode() for page, path in zip(pages, paths, strict=True) if path}
        return counts, known, len(ids) < MAX_COMMENTS

    async def keep_read(self, day: int, pages: Mapping[str, int], kept_ms: int = 0) -> None:
        """Store these views of pages, of a day or ever, and only the most viewed."""
        if not pages.keys() - {UNLISTED}:
            return
        key, listed = self._keys.most_read(day), Counter(pages)
        unlisted = listed.pop(UNLISTED, 0)
        # Redis does not free the memory that a larger list once took.
        first = listed.most_common(MAX_LISTED)
        scores = [word for path, views in first for word in (views, path)]
        commands: list[Sequence[object]] = [
            ("ZADD", key, *scores),
            ("ZREMRANGEBYRANK", key, 0, -MAX_LISTED - 1),
        ]
        if unlisted:
            commands.append(("ZADD", key, unlisted, UNLISTED))
        if kept_ms:
            commands.append(("PEXPIRE", key, kept_ms))
        await self._redis.change(*commands)

    async def views_ever(self) -> int:
        return await EverStore(self._redis, self._keys).total()

    async def salt(self, day: int, new: bytes, lasts_ms: int) -> bytes:
        """The salt of a day: the new one, unless it has one already."""
        key = self._keys.visitor_salt(day)
        _, salt = await self._redis.change(("SET", key, new, "NX", "PX", lasts_ms), ("GET", key))
        return bytes(salt or new)

    async def people(self) -> frozenset[str]:
        """The classes of bots that count as people."""
        (hash,) = await hashes(self._redis, [self._keys.site("people")], spares=True)
        return frozenset(name.decode(errors="replace") for name in hash)

    async def shared(self) -> str:
        """The word in the link by which somebody may see the statistics; "" without a link."""
        (word,) = await self._redis.ask(("GET", self._keys.shared))
        return (word or b"").decode(errors="replace")

    async def share(self, word: str) -> None:
        """Make a link with this word the only one; with "" there is none."""
        key = self._keys.shared
        await self._redis.change(("SET", key, word) if word else ("DEL", key))

    async def titles(self, paths: Sequence[str]) -> dict[str, tuple[int, str]]:
        """By path, when each page's title was read, in days since 1970; and the title, "" for
        none."""
        if not paths:
            return {}
        (stored,) = await self._redis.ask(("HMGET", self._keys.titles, *paths))
        found = dict[str, tuple[int, str]]()
        for path, value in zip(paths, stored, strict=True):
            day, _, title = (value or b"").partition(b" ")
            if is_number(day):
                found[path] = int(day), title.decode(errors="replace")
        return found

    async def note_title(self, path: str, day: int, title: str) -> None:
        """With MAX_TITLES of them, all are forgotten, and read again."""
        key = self._keys.titles
        (number,) = await self._redis.ask_masters(("HLEN", key))
        if number >= MAX_TITLES:
            await self._redis.change(("DEL", key))
        await self._redis.change(("HSET", key, path, f"{day} {title}"))

    async def has_counts(self, minute: int) -> bool:
        (has,) = await self._redis.ask(("HEXISTS", self._keys.live, minute))
        return bool(has)

    async def keep_counts(self, minute: int, counts: Mapping[str, int], minutes: int) -> None:
        """Store the counts of pages in this minute, for so many minutes."""
        key, old = self._keys.live, [minute - ago for ago in range(minutes + 1, 2 * minutes + 2)]
        await self._redis.change(
            ("HSET", key, minute, orjson.dumps(counts)),
            ("HDEL", key, *old),
            ("PEXPIRE", key, (minutes + 1) * MINUTE_MS),
        )

    async def kept_counts(self) -> dict[int, dict[str, int]]:
        """By minute, the counts of pages; damaged ones are left out."""
        (hash,) = await hashes(self._redis, [self._keys.live], spares=True)
        found = dict[int, dict[str, int]]()
        for minute, text in hash.items():
            with suppress(ValueError):
                counts = orjson.loads(text)
                if is_number(minute) and isinstance(counts, dict):
                    found[int(minute)] = {p: n for p, n in counts.items() if type(n) is int}
        return found

    async def notes(self) -> dict[int, str]:
        """What an owner has noted on days such as 20261123."""
        (hash,) = await hashes(self._redis, [self._keys.notes], spares=True)
        return {
            int(day): text.decode(errors="replace")
            for day, text in sorted(hash.items())
            if is_number(day)
        }

    async def note(self, day: int, text: str) -> bool:
        """Note a text on a day, or nothing with ""; False if there are MAX_NOTES already."""
        key = self._keys.notes
        if not text:
            await self._redis.change(("HDEL", key, day))
            return True
        number, known = await self._redis.ask_masters(("HLEN", key), ("HGET", key, day))
        if number >= MAX_NOTES and known is None:
            return False
        await self._redis.change(("HSET", key, day, text))
        return True

    async def count_as_people(self, name: str, *, is_people: bool) -> None:
        key = self._keys.site("people")
        command = ("HSET", key, name, 1) if is_people else ("HDEL", key, name)
        await self._redis.change(command)


def numbers_of(read: Sequence[Mapping[bytes, bytes]]) -> SiteNumbers:
    """The sum of hashes of the site's numbers."""
    hours, visitors = Counter[int](), Counter[int]()
    bots = defaultdict[int, Counter[str]](Counter)
    for fields in read:
        hours.update(by_number(fields))
        visitors.update(by_number(fields, b"v"))
        marked = ((at[1:], views) for at, views in fields.items() if at[:1] == b"b")
        for day, classes in by_class(marked).items():
            bots[day].update(classes)
    return SiteNumbers(hours, visitors, bots)


def larger(one: Mapping[str, int], other: Mapping[str, int]) -> Counter[str]:
    """The larger number of each page, 0 too: then only bots have viewed it."""
    return Counter({path: max(one.get(path, 0), other.get(path, 0)) for path in {**one, **other}})


def _unlisted(pages: Counter[str], most: int) -> int:
    """How many views a page may have that is not in this list of so many pages at most."""
    return min(pages.values()) if len(pages) >= most else 0


def _note_unlisted(pages: Counter[str], views: int) -> None:
    if views:
        pages[UNLISTED] = views


def _by_path(words: Sequence[bytes]) -> Counter[str]:
    """Numbers by path, of a sorted set with its scores, which could be infinite if another program
    had written there."""
    pairs = zip(words[::2], map(float, words[1::2]), strict=True)
    return Counter(
        {path.decode(errors="replace"): round(score) for path, score in pairs if isfinite(score)}
    )
