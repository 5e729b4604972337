"""Views from before this service counted, as imports of logs add them to the statistics.

A file is known by a digest of how it begins. Each group of pages, and the site, remembers how many
of its lines were added to them, in the same step as the numbers: so an import may be repeated,
killed half way, or go on when the file has grown. Of each day the site remembers which import it is
of, and from when to when: what another file has of that time may be the same views.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple

from ..driver.client import RedisClient
from ..driver.keys import GROUPS, Keys
from ..driver.scripts import Script, Scripts
from .numbered import hashes, number_or_0
from .site_store import SiteViews
from .store import Month, PageViews, Views

# A day such as 20261123 divided by this is its month.
DAYS_OF_MONTH = 100
DAY_DIGITS = 8

# What becomes of a number that is there already; `source` is `add` for a bounded number of hosts.
How = Literal["add", "most", "source"]


class PastFile(NamedTuple):
    """`id` is a digest of how it begins, `month` the one of its first line, such as 202611."""

    id: str
    month: int


class PastDay(NamedTuple):
    """Which import a day is of, such as `access-log`, and its first and last view, in ms."""

    tool: str
    first: int
    last: int


@dataclass(slots=True)
class Applied:
    """How many lines of a file were added to each group of pages, and to the site, if an import of
    it has begun, and so it `is_known`. From line `left_from` on up to `left_to` it has views that
    were left out, as another file had that time; 0 for none."""

    groups: list[int]
    site: int
    is_known: bool
    left_from: int = 0
    left_to: int = 0

    def leave_out(self, line: int) -> None:
        self.left_from = self.left_from or line
        self.left_to = max(self.left_to, line)


class PageChange(NamedTuple):
    """Views of a page on a day such as 20261123, by bots of each class, too; its visitors of all
    that day."""

    path: str
    day: int
    views: int
    visitors: int
    bots: Mapping[str, int]


class SiteChange(NamedTuple):
    """A field of the site's sums of a month, or of its sources of a day."""

    how: How
    day: int
    field: str
    number: int


class Lines(NamedTuple):
    """Lines of a file that are added in one step: from `before` on, up to `after`."""

    file: PastFile
    before: int
    after: int


class OtherImport(Exception):
    """Another import adds lines of the same file."""


class PastViews:
    """`left_ms` says for how many ms a month such as 202611 is kept from now on. `current` is this
    month, and the one before. All coroutines raise StoreUnavailable, and ErrorReply for a damaged
    key."""

    def __init__(
        self,
        redis: RedisClient,
        scripts: Scripts,
        keys: Keys,
        views: Views,
        site_views: SiteViews,
        left_ms: Callable[[int], int],
        current: tuple[int, int],
    ) -> None:
        self._redis = redis
        self._import = scripts["views/import"]
        self._import_site = scripts["views/import_site"]
        self._keys = keys
        self._views = views
        self._site_views = site_views
        self._left_ms = left_ms
        self._last, self._current = sorted(current)

    def group(self, path: str) -> int:
        """Pages of one group are changed together."""
        return self._keys.group(path)

    # What is known.

    async def days(self, months: Sequence[int]) -> dict[int, PastDay]:
        """The days of these months that were imported."""
        found = await hashes(self._redis, [self._keys.site_files(month) for month in months])
        items = (item for fields in found for item in fields.items())
        # The other fields are digests of files, which are longer.
        days = ((day, _past_day(words)) for day, words in items if len(day) == DAY_DIGITS)
        return {int(day): past for day, past in days if past and day.isdigit()}

    async def counted_days(self, months: Sequence[int]) -> frozenset[int]:
        """The days of these months of which the site has views, its own or imported ones."""
        kept, shares = await self._site_views.kept(months), await self._site_views.shares()
        return frozenset(kept.days() | shares.days())

    async def applied(self, file: PastFile) -> Applied:
        keys = self._keys
        groups = [keys.files_in(group, file.month) for group in range(GROUPS)]
        commands = (("HGET", key, file.id) for key in groups)
        of_site = ("HMGET", keys.site_files(file.month), file.id, *_left(file))
        *words, (site, *left) = await self._redis.ask_masters(*commands, of_site)
        numbers = list(map(number_or_0, words))
        return Applied(numbers, number_or_0(site), site is not None, *map(number_or_0, left))

    # Adding.

    async def begin(self, files: Mapping[PastFile, Applied], days: Mapping[int, PastDay]) -> None:
        """Note which files are imported, and which days they have, before their views are added."""
        keys, commands = self._keys, list[Sequence[object]]()
        for file, applied in files.items():
            key, left = keys.site_files(file.month), (applied.left_from, applied.left_to)
            commands.append(("HSETNX", key, file.id, 0))
            if applied.left_to:
                commands.append(("HSET", key, *chain(*zip(_left(file), left, strict=True))))
        for day, past in days.items():
            words = f"{past.tool} {past.first} {past.last}"
            commands.append(("HSET", keys.site_files(day // DAYS_OF_MONTH), day, words))
        for month in {file.month for file in files} | {day // DAYS_OF_MONTH for day in days}:
            commands.append(("PEXPIRE", keys.site_files(month), self._remembered_ms))
        if commands:
            await self._redis.change(*commands)

    async def add(self, lines: Lines, changes: Sequence[PageChange], *, counts: bool) -> bool:
        """Views of pages of one group; False if they were added before. With `counts` they are
        added to the pages' counters, too. Raises OtherImport."""
        group = self._keys.group(changes[0].path)
        return await _added(
            self._import,
            files=self._keys.files_in(group, lines.file.month),
            numbers=self._keys.numbers(group),
            pages=[key for each in changes for key in self._keys_of(each)],
            counts=counts,
            changes=[word for each in changes for word in self._words_of(each)],
            **self._head(lines),
        )

    async def add_to_site(self, lines: Lines, changes: Sequence[SiteChange]) -> bool:
        """The same to the site's sums."""
        return await _added(
            self._import_site,
            files=self._keys.site_files(lines.file.month),
            sums=[self._sum_of(each) for each in changes],
            changes=[word for each in changes for word in self._site_words_of(each)],
            **self._head(lines),
        )

    @property
    def _remembered_ms(self) -> int:
        """As long as any of their lines can be kept, since files may be older than these."""
        return self._left_ms(self._current)

    def _head(self, lines: Lines) -> dict[str, Any]:
        return {
            "file": lines.file.id,
            "before": lines.before,
            "after": lines.after,
            "kept_ms": self._remembered_ms,
        }

    def _keys_of(self, change: PageChange) -> tuple[str, ...]:
        keys, path, month = self._keys, change.path, change.day // DAYS_OF_MONTH
        days = (keys.days(path, each) for each in (month, self._last, self._current))
        return (*days, keys.bots(path, month), keys.counts(f"time {path}"))

    def _words_of(self, change: PageChange) -> Iterable[object]:
        month, day = divmod(change.day, DAYS_OF_MONTH)
        name, left_ms = f"time {change.path}", self._left_ms(month)
        words = (name, day, change.views, change.visitors, left_ms, len(change.bots))
        return (*words, *chain(*change.bots.items()))

    def _sum_of(self, change: SiteChange) -> str:
        if change.how == "source":
            return self._keys.sources(change.day)
        return self._keys.site_views(change.day // DAYS_OF_MONTH)

    def _site_words_of(self, change: SiteChange) -> Iterable[object]:
        left_ms = self._left_ms(change.day // DAYS_OF_MONTH)
        return change.how, change.field, change.number, left_ms

    # What follows from that.

    async def put_in_order(self, paths: Sequence[str], months: Sequence[int]) -> None:
        """Let no month of these pages end with more than the next one begins with."""
        found = zip(paths, await self._views.of_pages(paths, months), strict=True)
        if commands := [each for path, page in found for each in self._lowered(path, page)]:
            await self._redis.change(*commands)

    def _lowered(self, path: str, page: PageViews) -> Iterable[Sequence[object]]:
        limit: int | None = None
        for number in sorted(page.months, reverse=True):
            month = page.months[number]
            if limit is not None and month.end > limit:
                month = _ending_with(month, limit)
                fields = ("base", month.base, "undated", month.undated)
                yield ("HSET", self._keys.days(path, number), *fields)
            limit = month.base

    async def note_most_read(self, day: int, paths: Sequence[str], kept_ms: int) -> None:
        """Pages that may be the most viewed of a day, with what is known of them."""
        found = zip(paths, await self._views.on_days(paths, [day]), strict=True)
        views = {path: of_day.views for path, (of_day,) in found if of_day.views}
        await self._site_views.keep_read(day, views, kept_ms)

    async def note_most_read_ever(self, paths: Sequence[str]) -> None:
        counts = dict(zip(paths, await self._views.counts(paths), strict=True))
        await self._site_views.keep_read(0, {path: n for path, n in counts.items() if n})


def _left(file: PastFile) -> tuple[str, str]:
    """The fields that have between which of its lines some were left out."""
    return f"{file.id} from", f"{file.id} to"


async def _added(script: Script, **values: Any) -> bool:
    match await script(**values):
        case [b"OK"]:
            return True
        case [b"DONE"]:
            return False
    raise OtherImport


def _ending_with(month: Month, end: int) -> Month:
    """The same month, lowered: it began with less, or else some of its views have no day."""
    excess = month.end - end
    moved = max(0, min(month.base, excess))
    return month._replace(base=month.base - moved, undated=month.undated - excess + moved)


def _past_day(words: bytes) -> PastDay | None:
    tool, *times = words.decode(errors="replace").split(" ")
    if len(times) != 2 or not all(map(str.isdigit, times)):
        return None
    return PastDay(tool, *map(int, times))
