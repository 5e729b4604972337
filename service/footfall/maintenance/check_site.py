"""Is the site consistent with the pages?

It follows the pages' journals in a second step, so it may lag for a moment, and comments keep
coming. So an entry that differs is read again a second later, and is a problem only if it differs
in the same way. A repair appends the comment's state to the page's journal, and the site follows.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from itertools import islice
from typing import Any

from ..comments.store import codec
from ..comments.store.indexes import SITE_INDEXES, IndexPlace, notes_of, site_indexes_of
from ..comments.store.journal import now_ms
from ..comments.store.status import status_in, status_of
from ..driver.replies import scored
from ..ids import is_id, split
from .backup import Pages, pairs, walked_hash
from .check_journals import LONG_MS, NUMBER, visible_of
from .dataset import DataSet
from .findings import differing
from .moment import MAX_TRIES, IndexedComment, moment_of
from .page_walk import WALK_STEP_COMMENTS

# The site follows within milliseconds; an entry in doubt is read again after this time.
AGAIN_SECONDS = 1.0
# Attempts to read an entry that keeps changing, before it is left to the next check.
MAX_READS = 5
# How many entries in doubt are remembered, before they are read again.
MAX_DOUBTS = 10_000
# Entries that are read at the same time.
MAX_ENTRIES_AT_ONCE = 64

# (name of an index, member) -> the expected and the actual value.
Entry = tuple[str, str]
State = tuple[float | None, float | None]


class SiteCheck:
    """Compares all comments with the indexes. Its memory grows with their authors alone."""

    def __init__(self, data: DataSet, *, repair: bool) -> None:
        self._data = data
        self._repair = repair
        self._doubts: dict[Entry, State] = {}
        # Author -> approved comments; it takes 150 bytes for each.
        self._authors: Counter[bytes] = Counter()
        self.approved = self.held = 0
        self._readers: dict[str, Callable[[str], Coroutine[Any, Any, State]]] = {
            "totals": self._totals,
            "total": self._total,
            "authors": self._tally,
            "removals": self._removals,
        }

    async def add(self, page: str, rows: Sequence[Any]) -> None:
        """Compare the indexes with some comments of a page, as a backup has them."""
        by_index = defaultdict[str, list[IndexPlace]](list)
        for short, body, _, _, words, _ in rows:
            parsed, id, status = codec.parse_body(body.encode()), short + page, status_in(words)
            if status == "approved":
                if parsed.tally:
                    self._authors[parsed.tally] += 1
            else:
                self.held += 1
            for place in (*site_indexes_of(id, parsed, status), *notes_of(id, parsed)):
                by_index[place.name].append(place)
        site = self._data.keys.site
        scores = await self._data.redis.ask(
            *(("ZMSCORE", site(name), *(p.member for p in each)) for name, each in by_index.items())
        )
        for each, scores_of_index in zip(by_index.values(), scores, strict=True):
            for place, score in zip(each, scores_of_index, strict=True):
                self._doubt(place[:2], (place.score, score and float(score)))

    def _doubt(self, entry: Entry, state: State) -> None:
        if state[0] != state[1]:
            self._doubts[entry] = state

    async def settled(self, *, at_least: int = MAX_DOUBTS) -> AsyncIterator[str]:
        """Read the entries in doubt again, if there are `at_least` this many: those still wrong."""
        if len(self._doubts) < at_least:
            return
        doubts, self._doubts = self._doubts, {}
        for _ in range(MAX_READS):
            if not doubts:
                return
            await asyncio.sleep(AGAIN_SECONDS)
            rest: dict[Entry, State] = {}
            every = iter(doubts.items())
            while group := list(islice(every, MAX_ENTRIES_AT_ONCE)):
                states = await asyncio.gather(*(self._state(*entry) for entry, _ in group))
                for (entry, before), now in zip(group, states, strict=True):
                    if now == before:
                        yield await self._problem(entry, now)
                    elif now[0] != now[1]:
                        rest[entry] = now
            doubts = rest

    async def _state(self, name: str, member: str) -> State:
        """The expected and the actual value of an entry."""
        if reader := self._readers.get(name):
            return await reader(member)
        return await self._index(name, member)

    async def problems(self) -> AsyncIterator[str]:
        """All problems, once every comment was added."""
        await self._compare_members()
        async for text in self.settled(at_least=1):
            yield text
        await self._compare_lists()
        async for text in self.settled(at_least=1):
            yield text
        await self._compare_tallies()
        async for text in self.settled(at_least=1):
            yield text
        async for text in self._compare_totals():
            yield text
        self._doubt(("total", "comments"), await self._total("comments"))
        async for text in self.settled(at_least=1):
            yield text

    async def _problem(self, entry: Entry, state: State) -> str:
        wanted, actual = state
        number = None if wanted is None else int(wanted)
        if self._repair:
            await self._correct(entry, state)
        score = None if actual is None else b"%d" % int(actual)
        repaired = " (repaired)" if self._repair else ""
        return f"site: {differing(IndexPlace(*entry, number), score)}{repaired}"

    async def _compare_members(self) -> None:
        """Find entries of the indexes whose comments do not belong there."""
        redis, keys = self._data.redis, self._data.keys
        names = set(SITE_INDEXES)
        async for batch in redis.scan(keys.own("*")):
            names.update(name.decode().rpartition("{site}:")[2] for name in batch)
        for name in sorted(names):
            cursor = b"0"
            while True:
                walk = ("ZSCAN", keys.site(name), cursor, "COUNT", WALK_STEP_COMMENTS)
                ((cursor, entries),) = await redis.ask(walk)
                ids = [id.decode(errors="replace") for id, _ in pairs(entries)]
                for id in await self._misplaced(name, ids) if ids else []:
                    self._doubt((name, id), await self._index(name, id))
                if cursor == b"0":
                    break

    async def _misplaced(self, name: str, ids: list[str]) -> list[str]:
        """Which of these ids in an index may not belong there."""
        page, account = self._data.keys.page, name.partition(":")[2]
        halves = [split(id) for id in ids]
        if account:
            own = ((page(digest, "mine"), f"{account}:{short}") for short, digest in halves)
            replies = await self._data.redis.ask(*(("ZSCORE", *each) for each in own))
            return [id for id, score in zip(ids, replies, strict=True) if score is None]
        if name == "recent":
            asked = [
                ("HEXISTS", page(digest, key), short)
                for key in ("bodies", "held")
                for short, digest in halves
            ]
            replies = await self._data.redis.ask(*asked)
            every = zip(ids, replies[: len(ids)], replies[len(ids) :], strict=True)
            return [id for id, is_there, is_held in every if is_held or not is_there]
        held = ((page(digest, "held"), short) for short, digest in halves)
        replies = await self._data.redis.ask(*(("HGET", *each) for each in held))
        return [id for id, status in zip(ids, replies, strict=True) if status_of(status) != name]

    async def _index(self, name: str, id: str) -> State:
        """The state of a comment's entry in an index."""
        redis, keys = self._data.redis, self._data.keys
        (score,) = await redis.ask(("ZSCORE", keys.site(name), id))
        at = score and float(score)
        if name.startswith("pages:"):
            # A page on which an account wrote; it may stay when the comment has gone.
            return 0.0, at
        if not is_id(id):
            return None, at
        stored = await self._stored(id)
        if stored is None or stored.body and stored.parsed is None:
            # Its page changes too fast, or its body was reported as unreadable.
            return at, at
        if stored.parsed is None or stored.is_leaving:
            return None, at
        places = site_indexes_of(id, stored.parsed, stored.status)
        return next((place.score for place in places if place.name == name), None), at

    async def _stored(self, id: str) -> IndexedComment | None:
        """A comment at one moment; None if its page changes too fast."""
        short, page = split(id)
        for _ in range(MAX_TRIES):
            if moment := await moment_of(self._data, page, [short.encode()]):
                return moment.comments[short.encode()]
        return None

    async def _compare_totals(self) -> AsyncIterator[str]:
        """Compare the site's entry of each page, and find entries of others."""
        site = self._data.keys.site
        kinds = (("totals", "HSCAN", self._totals), ("removals", "ZSCAN", self._removals))
        for name, scan, reader in kinds:
            async for part in walked_hash(self._data.redis, site(name), scan):
                for page in (member.decode(errors="replace") for member, _ in part):
                    if not is_id(page * 2):
                        self._doubt((name, page), await reader(page))
        names = iter(await Pages.of(self._data))
        while group := list(islice(names, MAX_ENTRIES_AT_ONCE)):
            states = await asyncio.gather(*map(self._totals, group))
            for page, state in zip(group, states, strict=True):
                self.approved += max(int(state[0] or 0), 0)
                self._doubt(("totals", page), state)
            due = await asyncio.gather(*map(self._removals, group))
            for page, state in zip(group, due, strict=True):
                self._doubt(("removals", page), state)
            async for text in self.settled():
                yield text
        async for text in self.settled(at_least=1):
            yield text

    async def _totals(self, page: str) -> State:
        """The state of a page's entry in `totals`."""
        name = self._data.keys.page
        path, bodies, held, hidden, after, entry = await self._data.redis.ask(
            ("GET", name(page, "path")),
            ("HLEN", name(page, "bodies")),
            ("HLEN", name(page, "held")),
            ("HGET", name(page, "hidden"), "approved"),
            ("HLEN", name(page, "bodies")),
            ("HGET", self._data.keys.site("totals"), page),
        )
        if bodies != after:
            # Deleted comments are being removed: it is another state each time.
            return -1.0 - after, _visible(entry)
        # A page whose comments were all deleted still counts.
        exists = path is not None or bodies
        return bodies - held - int(hidden or 0) if exists else None, _visible(entry)

    async def _removals(self, page: str) -> State:
        """The state of a page's entry in `removals`; one that is due soon is right."""
        if not is_id(page * 2):
            key = self._data.keys.site("removals")
            (score,) = await self._data.redis.ask(("ZSCORE", key, page))
            return None, None if score is None else 0.0
        name = self._data.keys.page
        gone, oldest, score = await self._data.redis.ask(
            ("ZCARD", name(page, "gone")),
            ("ZRANGE", name(page, "deleted"), 0, 0, "WITHSCORES"),
            ("ZSCORE", self._data.keys.site("removals"), page),
        )
        kept_ms = self._data.deleted_ms
        due = next((at + kept_ms for _, at in scored(oldest)), 0.0 if gone else None)
        if due is None or score is not None and float(score) < now_ms() + LONG_MS:
            return None, None
        return due, score and float(score)

    async def _total(self, _name: str) -> State:
        """The state of `total`, the sum of `totals`; added up again if it changes meanwhile."""
        command = ("GET", self._data.keys.site("total"))
        for _ in range(MAX_READS):
            total = 0.0
            (before,) = await self._data.redis.ask(command)
            async for part in walked_hash(self._data.redis, self._data.keys.site("totals")):
                total += sum(_visible(entry) or 0 for _, entry in part)
            (after,) = await self._data.redis.ask(command)
            if before == after:
                return total, int(after) if after and NUMBER.fullmatch(after) else 0
        return None, None

    async def _compare_lists(self) -> None:
        """Compare authors' lists with the pages: what every comment has was compared before, so a
        list that is as long has nothing else."""
        async for batch in self._data.redis.scan(self._data.keys.by("*")):
            authors = [key.rpartition(b"{site}:by:")[2] for key in batch]
            lengths = await self._data.redis.ask(*(("ZCARD", key) for key in batch))
            for author, length in zip(authors, lengths, strict=True):
                if length != self._authors[author]:
                    await self._compare_list(author.decode(errors="replace"))
        self._authors.clear()

    async def _compare_tallies(self) -> None:
        """Compare authors' tallies with their lists."""
        async for keys in self._data.redis.scan(self._data.keys.by("*")):
            await self._compare_some(key.rpartition(b"{site}:by:")[2] for key in keys)
        authors = self._data.keys.site("authors")
        async for part in walked_hash(self._data.redis, authors, "ZSCAN"):
            await self._compare_some(author for author, _ in part)

    async def _compare_some(self, authors: Iterable[bytes]) -> None:
        for author in authors:
            name = author.decode(errors="replace")
            self._doubt(("authors", name), await self._tally(name))

    async def _compare_list(self, author: str) -> None:
        async for part in walked_hash(self._data.redis, self._data.keys.by(author), "ZSCAN"):
            for member, _ in part:
                id, name = member.decode(errors="replace"), f"by:{author}"
                self._doubt((name, id), await self._index(name, id))

    async def _tally(self, author: str) -> State:
        length, tally = await self._data.redis.ask(
            ("ZCARD", self._data.keys.by(author)),
            ("ZSCORE", self._data.keys.site("authors"), author),
        )
        return length or None, tally and float(tally)

    async def _correct(self, entry: Entry, state: State) -> None:
        """Correct an entry; a sum gets the difference added, so that concurrent changes count."""
        (name, member), (wanted, actual) = entry, state
        redis, keys, journal = self._data.redis, self._data.keys, self._data.journal
        kind, _, whose = name.partition(":")
        if name == "total":
            missing = int((wanted or 0) - (actual or 0))
            await redis.change(("INCRBY", keys.site("total"), missing))
        elif name == "authors" and wanted is None:
            await redis.change(("ZREM", keys.site("authors"), member))
        elif name == "authors":
            await redis.change(("ZADD", keys.site("authors"), int(wanted or 0), member))
        elif name == "totals" and wanted is None:
            await redis.change(("HDEL", keys.site("totals"), member))
        elif name == "totals":
            await journal.restate(member, [])
        elif name == "removals" and wanted is not None:
            await redis.change(("ZADD", keys.site(name), int(wanted), member))
        elif kind == "pages":
            await redis.change(("ZADD", keys.pages_of(whose), 0, member))
        elif is_id(member):
            short, page = split(member)
            account, author = (whose, "") if kind == "own" else ("", whose)
            await journal.restate(page, [(short, account, author)])
        else:
            await redis.change(("ZREM", keys.site(name), member))


def _visible(entry: bytes | None) -> float | None:
    return None if entry is None else float(visible_of(entry))
