"""Do the site's indexes agree with the pages?

Changes are announced to the indexes in a second step, so an index may be behind for a moment, and
comments go on coming. So an entry that differs is read again a second later, and is a problem only
if it differs in the same way. Then an announcement never came, which can be repaired.
"""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from itertools import islice
from typing import Any

from ..store import codec
from ..store.comments import Change
from ..store.ids import is_id, split
from ..store.indexes import SITE_INDEXES, Place, notes_of, site_indexes_of
from ..store.site_index import SiteIndex
from .archive import Line
from .backup import STEP_COMMENTS, Pages, pages, pairs, walked_hash
from .check_page import differing
from .dataset import DataSet

# An announcement takes milliseconds; an entry in doubt is read again after this time.
AGAIN_SECONDS = 1.0
# How often an entry that keeps changing is read, before it is left to the next check.
MAX_READS = 5
# How many entries in doubt are remembered, before they are read again.
MAX_DOUBTS = 10_000
# Entries that are read at the same time.
MAX_ENTRIES_AT_ONCE = 64

# (name of an index, member) -> what it should be, and what it is.
Entry = tuple[str, str]
State = tuple[float | None, float | None]


class SiteCheck:
    """Compares all comments with the indexes. Its memory grows with their authors alone."""

    def __init__(self, data: DataSet, site_index: SiteIndex, *, repair: bool) -> None:
        self._data = data
        self._site = site_index
        self._repair = repair
        self._doubts: dict[Entry, State] = {}
        # Author -> approved comments; it takes 150 bytes for each.
        self._authors: Counter[bytes] = Counter()
        self.approved = self.held = 0

    async def add(self, page: str, line: Line) -> None:
        """Compare the indexes with the comments of a line."""
        by_index = defaultdict[str, list[Place]](list)
        for short, body, _, _, status, _ in line["comments"]:
            parsed, id = codec.parse_body(body.encode()), short + page
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
        for each, found in zip(by_index.values(), scores, strict=True):
            for place, score in zip(each, found, strict=True):
                self._doubt(place[:2], (place.score, score and float(score)))

    def _doubt(self, entry: Entry, state: State) -> None:
        if state[0] != state[1]:
            self._doubts[entry] = state

    async def settled(self, *, at_least: int = MAX_DOUBTS) -> AsyncIterator[str]:
        """Read the entries in doubt again, if there are `at_least` so many: what is still wrong."""
        if len(self._doubts) < at_least:
            return
        doubts, self._doubts = self._doubts, {}
        readers: dict[str, Callable[[str], Coroutine[Any, Any, State]]] = {
            "totals": self._totals, "total": self._total,
        }  # fmt: skip
        for _ in range(MAX_READS):
            if not doubts:
                return
            await asyncio.sleep(AGAIN_SECONDS)
            rest: dict[Entry, State] = {}
            every = iter(doubts.items())
            while group := list(islice(every, MAX_ENTRIES_AT_ONCE)):
                states = await asyncio.gather(
                    *(
                        readers[name](member) if name in readers else self._index(name, member)
                        for (name, member), _ in group
                    )
                )
                for (entry, before), now in zip(group, states, strict=True):
                    if now == before:
                        yield await self._problem(entry, now)
                    elif now[0] != now[1]:
                        rest[entry] = now
            doubts = rest

    async def problems(self) -> AsyncIterator[str]:
        """All problems, once every comment was added."""
        await self._compare_members()
        async for text in self.settled(at_least=1):
            yield text
        async for text in self._compare_totals():
            yield text
        self._doubt(("total", "comments"), await self._total("comments"))
        async for text in self.settled(at_least=1):
            yield text
        async for text in self._compare_authors():
            yield text

    async def _problem(self, entry: Entry, state: State) -> str:
        wanted, found = state
        number = None if wanted is None else int(wanted)
        if self._repair:
            await self._correct(entry, state)
        score = None if found is None else b"%d" % int(found)
        repaired = " (repaired)" if self._repair else ""
        return f"site: {differing(Place(*entry, number), score)}{repaired}"

    async def _compare_members(self) -> None:
        """Find entries of the indexes whose comments do not belong there."""
        redis, keys = self._data.redis, self._data.keys
        names = set(SITE_INDEXES)
        async for found in redis.scan(keys.own("*")):
            names.update(name.decode().rpartition("{site}:")[2] for name in found)
        for name in sorted(names):
            cursor = b"0"
            while True:
                walk = ("ZSCAN", keys.site(name), cursor, "COUNT", STEP_COMMENTS)
                ((cursor, words),) = await redis.ask(walk)
                ids = [id.decode(errors="replace") for id, _ in pairs(words)]
                for id in await self._misplaced(name, ids) if ids else []:
                    self._doubt((name, id), await self._index(name, id))
                if cursor == b"0":
                    break

    async def _misplaced(self, name: str, ids: list[str]) -> list[str]:
        """Of these ids in an index, those that may not belong there."""
        page, account = self._data.keys.page, name.partition(":")[2]
        halves = [split(id) for id in ids]
        if account:
            own = ((page(digest, f"mine:{account}"), short) for short, digest in halves)
            found = await self._data.redis.ask(*(("ZSCORE", *each) for each in own))
            return [id for id, score in zip(ids, found, strict=True) if score is None]
        if name == "recent":
            asked = [
                ("HEXISTS", page(digest, key), short)
                for key in ("bodies", "held")
                for short, digest in halves
            ]
            found = await self._data.redis.ask(*asked)
            every = zip(ids, found[: len(ids)], found[len(ids) :], strict=True)
            return [id for id, is_there, is_held in every if is_held or not is_there]
        held = ((page(digest, "held"), short) for short, digest in halves)
        found = await self._data.redis.ask(*(("HGET", *each) for each in held))
        return [id for id, status in zip(ids, found, strict=True) if status != name.encode()]

    async def _index(self, name: str, id: str) -> State:
        """The state of a comment's entry in an index."""
        redis, keys = self._data.redis, self._data.keys
        (score,) = await redis.ask(("ZSCORE", keys.site(name), id))
        found = score and float(score)
        if name.startswith("pages:"):
            # A page on which an account wrote; it may stay when the comment has gone.
            return 0.0, found
        shown = await self._data.comments.by_ids([id]) if is_id(id) else []
        wanted = None
        for each in shown:
            places = site_indexes_of(id, each.body, each.status)
            wanted = next((place.score for place in places if place.name == name), None)
        return wanted, found

    async def _compare_totals(self) -> AsyncIterator[str]:
        async for part in walked_hash(self._data.redis, self._data.keys.site("totals")):
            named = (page.decode(errors="replace") for page, _ in part)
            for page in named:
                if not is_id(page * 2):
                    self._doubt(("totals", page), await self._totals(page))
        names = iter(await Pages.of(self._data))
        while group := list(islice(names, MAX_ENTRIES_AT_ONCE)):
            states = await asyncio.gather(*map(self._totals, group))
            for page, state in zip(group, states, strict=True):
                self.approved += int(state[0] or 0)
                self._doubt(("totals", page), state)
            async for text in self.settled():
                yield text
        async for text in self.settled(at_least=1):
            yield text

    async def _totals(self, page: str) -> State:
        """The state of a page's entry in `totals`."""
        name = self._data.keys.page
        path, bodies, held, entry = await self._data.redis.ask(
            ("GET", name(page, "path")), ("HLEN", name(page, "bodies")),
            ("HLEN", name(page, "held")), ("HGET", self._data.keys.site("totals"), page),
        )  # fmt: skip
        # A page whose comments were all deleted is one all the same.
        return bodies - held if path else None, _visible(entry)

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
                return total, int(after or 0)
        return None, None

    async def _compare_authors(self) -> AsyncIterator[str]:
        """Compare authors' tallies; those that differ are counted again.

        A difference is a problem if the tally did not change during that count.
        """
        authors = self._data.keys.site("authors")
        async for part in walked_hash(self._data.redis, authors, "ZSCAN"):
            for author, number in part:
                self._authors[author] -= int(number)
        differing = ((author, n) for author, n in self._authors.items() if n)
        missing = dict(islice(differing, MAX_DOUBTS))
        self._authors.clear()
        for _ in range(MAX_READS):
            if not missing:
                return
            before = await self._tallies(missing)
            counted = await self._counted_again(missing)
            await asyncio.sleep(AGAIN_SECONDS)
            after = await self._tallies(missing)
            seen, missing = missing, {}
            for author, count in counted.items():
                less = count - int(after[author] or 0)
                if less and (before[author], seen[author]) == (after[author], less):
                    state = (count or None, after[author])
                    yield await self._problem(("authors", author.decode(errors="replace")), state)
                elif less:
                    missing[author] = less

    async def _tallies(self, authors: Iterable[bytes]) -> dict[bytes, float | None]:
        names = list(authors)
        question = ("ZMSCORE", self._data.keys.site("authors"), *names)
        (found,) = await self._data.redis.ask(question)
        return {name: n and float(n) for name, n in zip(names, found, strict=True)}

    async def _counted_again(self, authors: Iterable[bytes]) -> dict[bytes, int]:
        """Author -> approved comments, each of them once, even if a walk returns it twice."""
        ids = {author: set[str]() for author in authors}
        async for page, line in pages(self._data, lambda text: None):
            for short, body, _, _, status, _ in line["comments"]:
                author = codec.parse_body(body.encode()).tally
                if author in ids:
                    belongs = ids[author].add if status == "approved" else ids[author].discard
                    belongs(short + page)
        return {author: len(each) for author, each in ids.items()}

    async def _correct(self, entry: Entry, state: State) -> None:
        """Correct an entry; sums get the difference added, so that changes meanwhile count."""
        (name, member), (wanted, found) = entry, state
        redis, keys = self._data.redis, self._data.keys
        missing = int((wanted or 0) - (found or 0))
        if name == "total":
            await redis.change(("INCRBY", keys.site("total"), missing))
        elif name == "authors":
            await redis.change(("ZINCRBY", keys.site("authors"), missing, member))
        elif name == "totals":
            (version,) = await redis.ask(("GET", keys.page(member, "version")))
            visible = -1 if wanted is None else int(wanted)
            await self._site.settle(member, int(version or 0), visible)
        elif name.startswith("pages:"):
            await self._site.note_page(name.partition(":")[2], member)
        else:
            await self._place(member, name.partition(":")[2])

    async def _place(self, id: str, account: str) -> None:
        """Put a comment into the indexes where it belongs now."""
        found, version = [], 0
        if is_id(id):
            # The version is read first: a later change has a newer one, and is announced itself.
            key = self._data.keys.page(split(id)[1], "version")
            (text,) = await self._data.redis.ask(("GET", key))
            found, version = await self._data.comments.by_ids([id]), int(text or 0)
        if not found:
            await self._site.forget(id, account)
            return
        (shown,) = found
        change = Change(id, shown.status, version, -1, shown.body.account, "", 0)
        await self._site.announce(change, version)


def _visible(entry: bytes | None) -> float | None:
    """The approved comments in a page's entry of `totals`; -1 if it cannot be read."""
    if entry is None:
        return None
    found = re.fullmatch(rb"\d+ (\d+)", entry)
    return float(found[1]) if found else -1.0
