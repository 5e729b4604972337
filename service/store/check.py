"""Do the keys agree with each other? What the scripts keep true, read back and compared.

Pages are the truth and the site's indexes are derived from them. A page's own keys change only in
one script each, so a page that disagrees with itself was damaged from outside, and is reported. The
site's indexes may have missed a step (a crash between two); `repair` applies the differences.

On a service that is taking comments, an index may be reported that is merely a step behind: look
again before you worry.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from ..model import STATUSES, Shown
from . import codec
from .connect import answering
from .ids import SHORT, born, is_id
from .keys import Keys, digest
from .site import RECENT

if TYPE_CHECKING:
    from . import Store

STRINGS = ("path", "version")
HASHES = ("bodies", "private", "likes", "held", "said")
INDEXES = ("newest", "liked", "pinned", "replies", "heldroots", "heldreplies")

Index = dict[str, float]


class Line(str):
    """A line of the report; only problems count against the data."""

    is_problem = False


class Problem(Line):
    is_problem = True


@dataclass(slots=True)
class Site:
    """What the site's indexes should hold, summed up from the pages."""

    totals: dict[str, tuple[int, int]] = field(default_factory=dict)
    visible: list[str] = field(default_factory=list)
    held: dict[str, list[str]] = field(default_factory=lambda: {"waiting": [], "spam": []})
    own: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    authors: Counter[str] = field(default_factory=Counter)

    def add(self, shown: Shown, status: str) -> None:
        if status == "approved":
            self.visible.append(shown.id)
            if author := shown.body.tally.decode():
                self.authors[author] += 1
            return
        self.held.setdefault(status, []).append(shown.id)
        if account := shown.body.account:
            self.own[account].append(shown.id)

    @property
    def total(self) -> int:
        return sum(visible for _, visible in self.totals.values())


async def check(store: "Store", *, repair: bool) -> AsyncIterator[Line]:
    """Lines of a report: problems first, a summary last. Raises StoreUnavailable."""
    site, counters, problems = Site(), 0, 0
    reader, keys = store.redis.client, store.keys
    async with answering(None):
        async for key in reader.scan_iter(match=keys.every_page, count=1000):
            page = await _Page.read(store, Keys.page_of(key.decode()))
            for text in page.problems(site):
                problems += 1
                yield Problem(f"page {page.digest}: {text}")
        async for key in reader.scan_iter(match=keys.every_bucket, count=1000):
            counts = await reader.hgetall(key)
            counters += len(counts)
            for text in _counter_problems(keys, key.decode(), counts):
                problems += 1
                yield Problem(f"counters {key.decode()}: {text}")
        async for text in _site_problems(store, site, repair=repair):
            problems += 1
            yield Problem(f"site: {text}{' (repaired)' if repair else ''}")
    yield Line(
        f"{len(site.totals)} pages, {site.total} approved comments, "
        f"{sum(map(len, site.held.values()))} held, {counters} counters, {problems} problems"
    )


@dataclass(frozen=True, slots=True)
class _Page:
    """All of a page's keys at one version, so that no change falls in between."""

    digest: str
    path: str
    version: int
    hashes: Mapping[str, Mapping[str, bytes]]
    indexes: Mapping[str, Index]

    @classmethod
    async def read(cls, store: "Store", page: str) -> "_Page":
        while True:
            pipeline = store.redis.client.pipeline(transaction=False)
            for name in STRINGS:
                pipeline.get(store.keys.page(page, name))
            for name in HASHES:
                pipeline.hgetall(store.keys.page(page, name))
            for name in INDEXES:
                pipeline.zrange(store.keys.page(page, name), 0, -1, withscores=True)
            pipeline.get(store.keys.page(page, "version"))
            path, version, *rest, version_after = await pipeline.execute()
            if version == version_after:
                break
        hashes = [{key.decode(): value for key, value in each.items()} for each in rest[:5]]
        indexes = [{member.decode(): score for member, score in each} for each in rest[5:]]
        return cls(
            page,
            path.decode(),
            int(version or 0),
            dict(zip(HASHES, hashes, strict=True)),
            dict(zip(INDEXES, indexes, strict=True)),
        )

    def problems(self, site: Site) -> Iterator[str]:
        """What is wrong; adds what is here to the site on the way."""
        if digest(self.path) != self.digest:
            yield f"its path {self.path!r} has another digest"
        yield from self._stray()
        wanted: dict[str, Index] = {name: {} for name in INDEXES}
        for short, body in self.hashes["bodies"].items():
            if not is_id(short + self.digest):
                yield f"comment {short!r} has no proper id"
                continue
            shown = Shown(short + self.digest, self.path, codec.parse_body(body))
            status = self.hashes["held"].get(short, b"approved").decode()
            if status not in STATUSES:
                yield f"comment {short} has the unknown status {status!r}"
            likes = int(self.hashes["likes"].get(short, 0))
            if likes < 0:
                yield f"comment {short} has {likes} likes"
            self._place(shown, short, status == "approved", likes, wanted)
            site.add(shown, status)
        for name in INDEXES:
            yield from _differences(name, self.indexes[name], wanted[name])
        visible = len(self.hashes["bodies"]) - len(self.hashes["held"])
        site.totals[self.digest] = self.version, visible

    def _stray(self) -> Iterator[str]:
        """Entries for comments that have no body."""
        bodies = self.hashes["bodies"].keys()
        for short in bodies - self.hashes["private"].keys():
            yield f"private lacks {short}"
        said = {id.decode() for id in self.hashes["said"].values()}
        named = {name: self.hashes[name].keys() for name in ("private", "likes", "held")}
        for name, shorts in {**named, "said": said}.items():
            for short in sorted(shorts - bodies):
                yield f"{name} holds {short}, which has no body"

    def _place(
        self, shown: Shown, short: str, is_approved: bool, likes: int, wanted: dict[str, Index]
    ) -> None:
        """Enter a comment in the indexes that it belongs in."""
        if root := codec.root_of(shown.body):
            name = "replies" if is_approved else "heldreplies"
            wanted[name][f"{root[:SHORT]}:{short}"] = 0
        elif short in self.indexes["pinned"]:
            wanted["pinned"][short] = born(short)
        elif is_approved:
            wanted["newest"][short] = born(short)
            wanted["liked"][short] = likes
        else:
            wanted["heldroots"][short] = born(short)


def _counter_problems(keys: Keys, key: str, counts: Mapping[bytes, bytes]) -> Iterator[str]:
    for name, count in counts.items():
        _, _, path = name.decode(errors="replace").partition(" ")
        if not count.isdigit():
            yield f"{name!r} is {count!r}, not a count"
        if keys.counts(path) != key:
            yield f"{name!r} belongs in {keys.counts(path)}"


async def _site_problems(store: "Store", site: Site, *, repair: bool) -> AsyncIterator[str]:
    """The site's indexes against what the pages say."""
    reader, writer, keys = store.redis.client, store.redis.client, store.keys
    scanned = reader.scan_iter(match=keys.own("*"), count=1000)
    accounts = {key.decode().rpartition(":")[2] async for key in scanned}
    wanted = {
        "recent": nlargest(RECENT, site.visible),
        **site.held,
        **{f"own:{account}": site.own[account] for account in accounts | site.own.keys()},
    }
    for name, ids in wanted.items():
        members = await reader.zrange(keys.site(name), 0, -1, withscores=True)
        found = {id.decode(): at for id, at in members}
        index = {id: float(born(id)) for id in ids}
        if name == "recent" and found and not repair:
            # Withdrawn comments leave gaps at the far end, which is no fault.
            index = {id: at for id, at in index.items() if id >= min(found)}
        for text in _differences(name, found, index):
            yield text
        if repair:
            # Differences only: a comment that came meanwhile is in neither, and stays as it is.
            await _amend(writer, keys.site(name), found, index)
    totals = {page: visible for page, (_, visible) in site.totals.items()}
    stored = await reader.hgetall(keys.site("totals"))
    counted = {page.decode(): float(text.split()[1]) for page, text in stored.items()}
    stored = await reader.hgetall(keys.site("authors"))
    tallied = {author.decode(): float(n) for author, n in stored.items()}
    total = {"comments": float(await reader.get(keys.site("total")) or 0)}
    for name, found, now in (
        ("totals", counted, totals),
        ("authors", tallied, site.authors),
        ("total", total, {"comments": site.total}),
    ):
        for text in _differences(name, found, Counter(now)):
            yield text
    if repair:
        await _recount(store, site)


def _differences(
    name: str, found: Mapping[str, float], wanted: Mapping[str, float]
) -> Iterator[str]:
    for member in sorted(wanted.keys() | found.keys()):
        if member not in found:
            yield f"{name} lacks {member}"
        elif member not in wanted:
            yield f"{name} holds {member}, which does not belong there"
        elif found[member] != wanted[member]:
            yield f"{name} has {member} at {found[member]:.0f} instead of {wanted[member]:.0f}"


async def _amend(writer: Any, key: str, found: Index, wanted: Index) -> None:
    lacking = {id: at for id, at in wanted.items() if found.get(id) != at}
    surplus = found.keys() - wanted.keys()
    if lacking:
        await writer.zadd(key, lacking)
    if surplus:
        await writer.zrem(key, *surplus)


async def _recount(store: "Store", site: Site) -> None:
    pipeline = store.redis.client.pipeline(transaction=True)
    for name in ("totals", "authors", "total"):
        pipeline.delete(store.keys.site(name))
    if site.totals:
        totals = {page: f"{version} {n}" for page, (version, n) in site.totals.items()}
        pipeline.hset(store.keys.site("totals"), mapping=totals)
    if site.authors:
        pipeline.hset(store.keys.site("authors"), mapping=site.authors)
    pipeline.set(store.keys.site("total"), site.total)
    await pipeline.execute()
