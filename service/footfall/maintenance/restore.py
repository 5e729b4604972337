"""Restores a backup into a data set that no service uses.

The whole file is verified before anything is changed. The data set is marked during a restore, and
services do not open it then; the next restore after an interrupted one starts over. Every write is
absolute, so a comment may come twice: the later one counts.

Pages keep their versions. Cached pages do not match all the same, since the data set gets a new id,
which is part of every ETag. Comments are restored byte for byte; answers make names and addresses
safe, wherever they come from.
"""

from collections import Counter, defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import chain, compress
from secrets import token_hex
from typing import Any, BinaryIO, NamedTuple

from ..accounts.rules.mails import canonical
from ..accounts.store import codec as account_codec
from ..accounts.store.bans import VERSION
from ..comments.store import codec
from ..comments.store.indexes import DERIVED, SITE_INDEXES, indexes_of, notes_of, site_indexes_of
from ..comments.store.status import status_in
from ..data.store import FORMAT
from ..driver.client import RedisClient
from ..driver.keys import SEED_BYTES, Keys
from ..ids import digest
from ..model import OnProgress
from ..plurals import number_of
from . import view_lines
from .archive import Damaged, Line, Totals, lines
from .backup import pages
from .dataset import DataSet

# The hashes of a page whose fields are comments' ids.
HASHES = ("bodies", "private", "likes", "held")
# Commands that are sent together: those of some pages, or of one long line.
BATCH_COMMANDS = 256


class NotEmpty(Exception):
    """The target holds data that a restore would mix with the file's."""


async def restore(
    data: DataSet,
    file: BinaryIO,
    *,
    reopen: Callable[[], Awaitable[None]],
    replaces: bool,
    on_progress: OnProgress,
    say: Callable[[str], None],
) -> Totals:
    """Restore a file. `reopen` is called to read the data set's new seed and buckets.

    With `replaces`, existing data is removed first. Raises Damaged, NotEmpty, StoreUnavailable.
    """
    strays = verify(file, on_progress=on_progress).strays
    if strays:
        number = number_of(len(strays), "reply", "replies")
        say(f"left out, since they could not be shown: {number} without a thread")
    rows = lines(file, lambda share: on_progress("restoring", share))
    header = next(rows)
    mark = f"{header['id'][:32]} {token_hex(8)}"
    await _start(data.redis, data.keys, mark, replaces=replaces)
    await reopen()
    started, totals = await _write(data, rows, strays, mark)
    on_progress("indexes", 1)
    comments, pages = await _index(data)
    counters = (await data.numbers.recount(mends=True)).number
    await data.views_ever.restore()
    there = Totals(counters, pages, comments, totals["accounts"])
    if (counters, pages) != (started, totals["pages"]):
        raise NotEmpty(
            f"restored {number_of(started, 'counter')} and {number_of(totals['pages'], 'page')}, "
            f"and now there is something else: {there}; somebody else is writing: stop "
            "the services and restore once more"
        )
    await data.redis.change(("HDEL", data.keys.site("format"), "restoring"))
    return there


async def _write(
    data: DataSet, rows: Iterator[Any], strays: set[str], mark: str
) -> tuple[int, Any]:
    """How many counters were started, and the totals that the file ends with."""
    batch, started = _Batch(data.redis, data.keys), 0
    for line in rows:
        if line.get("moved"):
            started += await batch.write(mark)
            batch = _Batch(data.redis, data.keys)
            await _take_out(data, line)
        batch.add(without(line, strays))
        if batch.is_full or "totals" in line:
            started += await batch.write(mark)
            batch = _Batch(data.redis, data.keys)
    return started, line["totals"]


class Contents(NamedTuple):
    """What a file holds: the ids of replies that are to be left out, and its header."""

    totals: Totals
    strays: set[str]
    header: Line


def verify(file: BinaryIO, *, on_progress: OnProgress) -> Contents:
    """Read a file to its end, and check each line as a restore does. Raises Damaged."""
    strays, totals = set[str](), Totals()
    rows = lines(file, lambda share: on_progress("reading the file", share), strays, totals)
    header = next(rows)
    for _ in rows:
        pass
    return Contents(totals, strays, header)


def without(line: Line, strays: set[str]) -> Line:
    """The line without these comments."""
    if not strays or "path" not in line:
        return line
    page = digest(line["path"])
    return {**line, "comments": [row for row in line["comments"] if row[0] + page not in strays]}


async def _start(redis: RedisClient, keys: Keys, mark: str, *, replaces: bool) -> None:
    """Mark the data set as being restored, and remove existing data."""
    key = keys.site("format")
    (is_marked,) = await redis.change(("HEXISTS", key, "restoring"))
    if not (is_marked or replaces) and await _holds_data(redis, keys):
        raise NotEmpty(
            f"there is data under KEY_PREFIX {keys.prefix} already: "
            "choose another one, or replace what is there with --replace"
        )
    await redis.change(("HSET", key, "restoring", mark))
    await _clear(redis, keys)
    made = {
        "number": FORMAT,
        "seed": token_hex(SEED_BYTES),
        "buckets": keys.buckets,
        "born": token_hex(4),
        "restoring": mark,
    }
    await redis.change(("DEL", key), ("HSET", key, *chain(*made.items())))


async def _holds_data(redis: RedisClient, keys: Keys) -> bool:
    async for _ in _lasting(redis, keys):
        return True
    return False


async def _clear(redis: RedisClient, keys: Keys) -> None:
    async for names in _lasting(redis, keys):
        await redis.change(*(("UNLINK", name) for name in names))


async def _lasting(redis: RedisClient, keys: Keys) -> AsyncIterator[list[bytes]]:
    """All keys under the prefix, in lists, except `format` and when backups were made: an empty
    data set may have these, and what watches backups must not lose that."""
    kept = {keys.site(name).encode() for name in ("format", "backup")}
    async for names in redis.scan(keys.every_key):
        if lasting := [key for key in names if key not in kept]:
            yield lasting


class _Batch:
    """The commands that restore some lines."""

    def __init__(self, redis: RedisClient, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._counters: list[Sequence[object]] = []
        self._others: list[Sequence[object]] = []
        # (page, fingerprint, comment's short id)
        self._fingerprints: list[tuple[str, str, str]] = []

    def add(self, line: Line) -> None:
        keys = self._keys
        if counters := line.get("counters"):
            self._counters += _counted(keys, counters)
        elif "views" in line or "site_views" in line:
            self._others += view_lines.viewed(keys, line)
        elif accounts := line.get("accounts"):
            self._others += _registered(keys, accounts)
        elif secrets := line.get("credentials"):
            credentials = keys.account("credentials")
            self._others.append(("HSET", credentials, *chain(*secrets.items())))
            self._others += _known_by(keys, secrets)
        elif name := next((name for name in ("bans", "closed") if line.get(name)), ""):
            version = (VERSION, 1) if name == "bans" else ()
            self._others.append(("HSET", keys.site(name), *chain(*line[name].items()), *version))
        elif entries := line.get("log"):
            for id, fields in entries:
                self._others.append(("XADD", keys.site("log"), id, *chain(*fields.items())))
        elif names := line.get("unsubscribed"):
            self._others.append(("SADD", keys.site("unsubscribed"), *names))
        elif "path" in line:
            page = digest(line["path"])
            self._others += _placed(keys, page, line)
            self._fingerprints += ((page, *item) for item in line["fingerprints"].items())

    @property
    def is_full(self) -> bool:
        return len(self._counters) + len(self._others) >= BATCH_COMMANDS

    async def write(self, mark: str) -> int:
        """Send the commands; returns how many counters were new. Raises NotEmpty."""
        redis, keys = self._redis, self._keys
        read_mark = ("HGET", keys.site("format"), "restoring")
        *replies, mark_now = await redis.change(*self._counters, *self._others, read_mark)
        if mark_now != mark.encode():
            raise NotEmpty("another restore has started here meanwhile; this one ends")
        if self._fingerprints:
            # A fingerprint's comment may have come during the backup, and be missing in the file.
            bodies = (
                (keys.page(page, "bodies"), comment) for page, _, comment in self._fingerprints
            )
            are_there = await redis.change(*(("HEXISTS", *body) for body in bodies))
            if published := list(compress(self._fingerprints, are_there)):
                fingerprints = (
                    ("HSET", keys.page(page, "fingerprints"), *each) for page, *each in published
                )
                await redis.change(*fingerprints)
        return sum(replies[: len(self._counters)])


def _counted(keys: Keys, counters: Mapping[str, int]) -> Iterator[Sequence[object]]:
    """Commands for counters, in the buckets of this data set, which may differ from the file's."""
    buckets: defaultdict[str, list[object]] = defaultdict(list)
    for name, count in counters.items():
        buckets[keys.counts(name)] += name, count
    for key, fields in buckets.items():
        yield "HSET", key, *fields


def _placed(keys: Keys, page: str, line: Line) -> Iterator[Sequence[object]]:
    """Commands that put a page's comments into their places, and remove them from all others."""
    hashes: defaultdict[str, list[object]] = defaultdict(list)
    leaving: defaultdict[str, list[object]] = defaultdict(list)
    coming: defaultdict[str, list[object]] = defaultdict(list)
    for row in {row[0]: row for row in line["comments"]}.values():
        id, body, private, likes, place, is_pinned = row
        held, status = "" if place == "approved" else place, status_in(place)
        for name, value in zip(HASHES, (body, private, likes, held), strict=True):
            if value:
                hashes[name] += id, value
            else:
                leaving[name].append(id)
        parsed = codec.parse_body(body.encode())
        for name, member, score in indexes_of(id, parsed, likes, status, is_pinned=is_pinned):
            if score is None:
                leaving[name].append(member)
            else:
                coming[name] += score, member
    for name, arguments in leaving.items():
        yield "HDEL" if name in HASHES else "ZREM", keys.page(page, name), *arguments
    for name, arguments in hashes.items():
        yield "HSET", keys.page(page, name), *arguments
    for name, arguments in coming.items():
        yield "ZADD", keys.page(page, name), *arguments
    yield "SET", keys.page(page, "path"), line["path"]
    yield "SET", keys.page(page, "version"), line["version"]


async def _take_out(data: DataSet, line: Line) -> None:
    """Remove comments of an earlier line from the indexes: they have changed since."""
    page = digest(line["path"])
    ids = [row[0] for row in line["comments"]]
    key = data.keys.page(page, "bodies")
    bodies = await data.redis.change(*(("HGET", key, id) for id in ids))
    leaving: defaultdict[str, list[str]] = defaultdict(list)
    for id, body in zip(ids, bodies, strict=True):
        if body is not None:
            for place in indexes_of(id, codec.parse_body(body), 0, "deleted", is_pinned=False):
                leaving[place.name].append(place.member)
    await data.redis.change(
        *(("ZREM", data.keys.page(page, name), *members) for name, members in leaving.items())
    )


async def _index(data: DataSet) -> tuple[int, int]:
    """Derive the site's indexes from the pages; returns the numbers of comments and pages."""
    ask, change, site = data.redis.ask, data.redis.change, data.keys.site
    made = [site(name) for name in (*SITE_INDEXES, *DERIVED)]
    for pattern in (data.keys.own("*"), data.keys.by("*")):
        async for keys in data.redis.scan(pattern):
            made += (key.decode() for key in keys)
    await change(*(("DEL", key) for key in made))
    comments = count = total = 0
    async for page, line in pages(data, _nothing_is_damaged):
        if commands := list(_indexed(data.keys, page, line["comments"])):
            await change(*commands)
        if line["end"]:
            names = (data.keys.page(page, name) for name in ("bodies", "held"))
            bodies, held = await ask(*(("HLEN", name) for name in names))
            await change(("HSET", site("totals"), page, f"{line['version']} {bodies - held}"))
            comments, count, total = comments + bodies, count + 1, total + bodies - held
    await change(("SET", site("total"), total))
    return comments, count


def _known_by(keys: Keys, secrets: Mapping[str, str]) -> Iterator[Sequence[object]]:
    for id, body in secrets.items():
        for service, name in account_codec.credentials(body.encode()).identities.items():
            yield "HSET", keys.account("identities"), f"{service} {name}", id


def _registered(keys: Keys, accounts: Mapping[str, str]) -> Iterator[Sequence[object]]:
    """Accounts, and their indexes."""
    yield "HSET", keys.accounts, *chain(*accounts.items())
    stored = [account_codec.account(id, body.encode()) for id, body in accounts.items()]
    for account in stored:
        yield "HSET", keys.account("mails"), canonical(account.mail), account.id
        yield "ZADD", keys.account("ids"), 0, account.id
        if account.role == "administrator":
            yield "ZADD", keys.account("administrators"), 0, account.id


def _indexed(keys: Keys, page: str, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[object]]:
    indexes: defaultdict[str, list[object]] = defaultdict(list)
    authors: Counter[str] = Counter()
    for short, body, _, _, place, _ in rows:
        parsed, status = codec.parse_body(body.encode()), status_in(place)
        places = (*site_indexes_of(short + page, parsed, status), *notes_of(short + page, parsed))
        for index, id, score in places:
            if score is not None:
                indexes[index] += score, id
        if status == "approved" and (author := parsed.tally.decode()):
            authors[author] += 1
    for name, words in indexes.items():
        yield "ZADD", keys.site(name), *words
    for author, number in authors.items():
        yield "ZINCRBY", keys.site("authors"), number, author


def _nothing_is_damaged(text: str) -> None:
    raise Damaged(f"after it was restored: {text}")
