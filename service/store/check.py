"""Do the keys agree with each other? What the scripts keep true, read back and compared.

Pages are the truth and the site's indexes are derived from them. A page's own keys change only in
one script each, so a page that disagrees with itself was damaged from outside, and is reported. The
site's indexes may have missed a step (a crash between two); `repair` applies the differences.

On a service that is taking comments, an index may be reported that is merely a step behind, and
`repair` puts each comment where it belongs by then. Tallies of authors (LEVELS) alone need quiet.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import TYPE_CHECKING

from ..model import STATUSES, Shown
from . import codec
from .comments import Change
from .counters import walked
from .ids import SHORT, born, is_id, split
from .keys import Keys, digest
from .replies import answering
from .site import RECENT

if TYPE_CHECKING:
    from . import Store

STRINGS = ("path", "version", "longest")
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
    client, keys = store.redis.client, store.keys
    async with answering(None):
        async for key in client.scan_iter(match=keys.every_page, count=1000):
            page = await _Page.read(store, Keys.page_of(key.decode()))
            for text in page.problems(site):
                problems += 1
                yield Problem(f"page {page.digest}: {text}")
        async for names in store.redis.scan(keys.every_counter_key, type="hash"):
            found = (name.decode() for name in set(names) if b"}:trial:" not in name)
            async for key, counts in walked(store.redis, found):
                counters += len(counts)
                for text in _counter_problems(keys, key, counts):
                    problems += 1
                    yield Problem(f"counters {key}: {text}")
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
    # Bytes; none where it is not known.
    longest: int | None
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
            path, version, longest, *rest, version_after = await pipeline.execute()
            if version == version_after:
                break
        hashes = [{key.decode(): value for key, value in each.items()} for each in rest[:5]]
        indexes = [{member.decode(): score for member, score in each} for each in rest[5:]]
        return cls(
            page,
            path.decode(),
            int(version or 0),
            None if longest is None else int(longest),
            dict(zip(HASHES, hashes, strict=True)),
            dict(zip(INDEXES, indexes, strict=True)),
        )

    def problems(self, site: Site) -> Iterator[str]:
        """What is wrong; adds what is here to the site on the way."""
        if digest(self.path) != self.digest:
            yield f"its path {self.path!r} has another digest"
        longest = max(map(len, self.hashes["bodies"].values()), default=0)
        if self.longest is not None and longest > self.longest:
            yield (
                f"its longest body has {longest} bytes, and is said to have {self.longest}; "
                "without the key that says so its lengths are asked one by one"
            )
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
        belongs = keys.counts(name.decode(errors="replace"))
        if not count.isdigit():
            yield f"{name!r} is {count!r}, not a count"
        if belongs != key:
            yield f"{name!r} belongs in {belongs}"


async def _site_problems(store: "Store", site: Site, *, repair: bool) -> AsyncIterator[str]:
    """The site's indexes against what the pages say."""
    client, keys = store.redis.client, store.keys
    scanned = client.scan_iter(match=keys.own("*"), count=1000)
    accounts = {key.decode().rpartition(":")[2] async for key in scanned}
    wanted = {
        "recent": nlargest(RECENT, site.visible),
        **site.held,
        **{f"own:{account}": site.own[account] for account in accounts | site.own.keys()},
    }
    for name, ids in wanted.items():
        members = await client.zrange(keys.site(name), 0, -1, withscores=True)
        found = {id.decode(): at for id, at in members}
        index = {id: float(born(id)) for id in ids}
        if name == "recent" and found and not repair:
            # Withdrawn comments leave gaps at the far end, which is no fault.
            index = {id: at for id, at in index.items() if id >= min(found)}
        for text in _differences(name, found, index):
            yield text
        if repair:
            for id in sorted({id for id in found.keys() | index if found.get(id) != index.get(id)}):
                await _mend(store, id, name.partition(":")[2])
    async for text in _total_problems(store, site, repair=repair):
        yield text


async def _total_problems(store: "Store", site: Site, *, repair: bool) -> AsyncIterator[str]:
    client, keys = store.redis.client, store.keys
    stored = await client.hgetall(keys.site("totals"))
    totals = {page.decode(): float(text.split()[1]) for page, text in stored.items()}
    visible = {page: float(visible) for page, (_, visible) in site.totals.items()}
    for text in _differences("totals", totals, visible):
        yield text
    stored = await client.hgetall(keys.site("authors"))
    authors = {author.decode(): float(n) for author, n in stored.items()}
    for text in _differences("authors", authors, site.authors):
        yield text
    total = {"comments": float(await client.get(keys.site("total")) or 0)}
    for text in _differences("total", total, {"comments": site.total}):
        yield text
    if repair:
        for page in totals.keys() | visible:
            if totals.get(page) != visible.get(page):
                await store.site.settle(page, *site.totals.get(page, (0, -1)))
        await store.site.settle()
        # By their differences, so that what is tallied meanwhile stays.
        for author in authors.keys() | site.authors:
            missing = site.authors[author] - int(authors.get(author, 0))
            if missing:
                await client.hincrby(keys.site("authors"), author, missing)


async def _mend(store: "Store", id: str, account: str) -> None:
    """Place a comment where it belongs now: it may have moved since the pages were read."""
    found, version = [], 0
    if is_id(id):
        # The version first: a change since then has a newer one, and is announced by who made it.
        (text,) = await store.redis.ask(("GET", store.keys.page(split(id)[1], "version")))
        found, version = await store.comments.by_ids([id]), int(text or 0)
    if not found:
        await store.site.forget(id, account)
        return
    (shown,) = found
    change = Change(id, shown.status, version, -1, shown.body.account, "", 0)
    await store.site.announce(change, version)


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
