"""Workloads as data: which requests, in which order, over how many connections, with which headers.

A scenario is written in words of the domain; each peer turns them into its own requests (peers.py).
The draws are seeded, so every peer and every run gets the same sequence.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from footfall.loadtest.workload import zipf

PATHS = 10_000
ARTICLES = 500
ROOTS, REPLIES = 10, 4
# The comments of so few articles are liked that the sum of likes can be read quickly.
LIKED = 20
DEEP = 100_000
DEEPER = 1_000_000
# Requests prepared for a run, which wrk sends in turn: enough to have Zipf's tail.
POOL = 16_384


def path(n: int) -> str:
    """33 bytes, about as long as real paths."""
    return f"/posts/2024/a-few-words-on-{n:06d}"


def article(n: int) -> str:
    """A path that has comments."""
    return f"/notes/2024/with-comments-{n:06d}/"


def deep(n: int) -> str:
    """The article with so many comments."""
    return f"/notes/2024/the-long-thread-{n}/"


@dataclass(frozen=True, slots=True)
class Increment:
    path: str


@dataclass(frozen=True, slots=True)
class Read:
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Page `number` of ten roots."""

    article: str
    number: int = 1
    order: Literal["insertedAt_desc", "insertedAt_asc"] = "insertedAt_desc"


@dataclass(frozen=True, slots=True)
class Submit:
    article: str


@dataclass(frozen=True, slots=True)
class Like:
    """The n-th root of those that a peer knows."""

    n: int


Op = Increment | Read | Page | Submit | Like
# See visitors.py.
Headers = Literal["plain", "browser", "proxied", "known", "quarter-new"]
Counted = Literal["views", "comments", "likes", "nothing"]
# When a change is on disk: before it is acknowledged, within a second, or never.
Durability = Literal["always", "everysec", "none"]
Draw = Callable[[Random], Iterator[Op]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """`needs` names the comments that must be there; `counted` what the verdict counts."""

    name: str
    title: str
    draw: Draw
    connections: int = 64
    headers: Headers = "plain"
    counted: Counted = "nothing"
    needs: frozenset[str] = frozenset()
    pool: int = POOL
    # Of the Redis of each peer that has one.
    durability: Durability = "always"
    # Somebody comments on article 0 once a second meanwhile, and checks that the comment shows at
    # once.
    is_live: bool = False
    is_long: bool = False
    peers: tuple[str, ...] = ()

    def is_for(self, peer: str) -> bool:
        """Also for other checkouts of this service, which are called footfall:NAME."""
        return peer.partition(":")[0] in self.peers

    def ops(self) -> list[Op]:
        drawn = self.draw(Random(self.name.partition("@")[0]))
        return [next(drawn) for _ in range(self.pool)]


def _increments(random: Random) -> Iterator[Op]:
    return (Increment(path(n)) for n in zipf(random, PATHS))


def _one_path_raised(random: Random) -> Iterator[Op]:
    while True:
        yield Increment(path(0))


def _one_path_read(random: Random) -> Iterator[Op]:
    while True:
        yield Read((path(0),))


def _reads(size: int) -> Draw:
    def draw(random: Random) -> Iterator[Op]:
        ranks = zipf(random, PATHS)
        while True:
            yield Read(tuple(path(next(ranks)) for _ in range(size)))

    return draw


def _pages(random: Random) -> Iterator[Op]:
    while True:
        yield Page(article(random.randrange(ARTICLES)))


def _one_page(random: Random) -> Iterator[Op]:
    while True:
        yield Page(article(0))


def _cold_pages(random: Random) -> Iterator[Op]:
    # In turn, so that a cache that drops the oldest entry has always just dropped the next one.
    pages = range(1, DEEP // (ROOTS * (1 + REPLIES)) + 1)
    while True:
        for number in pages:
            yield Page(deep(DEEP), number)
        for number in pages:
            yield Page(deep(DEEP), number, "insertedAt_asc")


def deep_page(comments: int, *, is_last: bool) -> Draw:
    last = comments // (ROOTS * (1 + REPLIES))

    def draw(random: Random) -> Iterator[Op]:
        while True:
            # Neighbouring pages, so that depth is measured and not a cache.
            n = random.randrange(min(last, 200))
            yield Page(deep(comments), last - n if is_last else 1 + n)

    return draw


def _submits(random: Random) -> Iterator[Op]:
    while True:
        # Not the articles whose pages are read, which would grow.
        yield Submit(article(ARTICLES + random.randrange(ARTICLES)))


def _likes(random: Random) -> Iterator[Op]:
    while True:
        yield Like(random.randrange(LIKED * ROOTS))


def _as_a_real_site(random: Random) -> Iterator[Op]:
    """A visit reads its article's count and raises it; one in ten reads the comments."""
    ranks = zipf(random, PATHS)
    while True:
        kind, rank = random.random(), next(ranks)
        if kind < 0.475:
            yield Increment(path(rank))
        elif kind < 0.95:
            yield Read((path(rank),))
        elif kind < 0.995:
            yield Page(article(rank % ARTICLES))
        else:
            yield Submit(article(ARTICLES + rank % ARTICLES))


HAS_ARTICLES = frozenset({"articles"})
HAS_DEEP = frozenset({"deep"})
HAS_DEEPER = frozenset({"deeper"})
# Peers for the main rows; the slow ones run once for each kind of work.
SWIFT = ("footfall", "nginx", "webdis", "ioredis")
# Those for one counter a request.
FRONT = ("footfall", "nginx", "least")
COUNTERS = (*SWIFT, "least")
EVERY = (*COUNTERS, "plain", "waline", "waline-pg")
PAGERS = ("footfall", "nginx", "nginx-joined")
WRITERS = ("footfall", "waline", "waline-pg")

INC = Scenario(
    "inc", "POST article, 10,000 paths by Zipf", _increments, counted="views", peers=EVERY
)
READ1 = Scenario("read1", "GET article, 1 path", _reads(1), peers=(*EVERY, "floor"))
PAGE = Scenario(
    "page",
    "GET comment page, 10 × (1+4), 500 articles, hot",
    _pages,
    pool=4096,
    needs=HAS_ARTICLES,
    peers=(*PAGERS, "waline", "waline-pg"),
)
DEEP_PAGE = replace(PAGE, needs=HAS_DEEP, peers=PAGERS)

INCREMENTS = (
    INC,
    replace(
        INC,
        name="inc-browser",
        title=f"{INC.title}, browser headers",
        headers="browser",
        peers=(*COUNTERS, "plain"),
    ),
    replace(
        INC,
        name="inc-proxied",
        title=f"{INC.title}, browser headers, behind a proxy",
        headers="proxied",
        peers=FRONT,
    ),
)


INC_256 = replace(
    INC,
    name="inc@256",
    title=f"{INC.title}, 256 connections",
    connections=256,
    peers=(*COUNTERS, "plain"),
)

# All visitors are on one article, so each batch has the same counter many times.
INC_HOT = replace(
    INC,
    name="inc-hot",
    title="POST article, all on one path",
    draw=_one_path_raised,
    peers=COUNTERS,
)
READ1_HOT = replace(
    READ1,
    name="read1-hot",
    title="GET article, all on one path",
    draw=_one_path_read,
    peers=COUNTERS,
)


def _at_1000(scenario: Scenario) -> Scenario:
    return replace(
        scenario,
        name=f"{scenario.name}@1000",
        title=f"{scenario.title}, 1,000 connections",
        connections=1000,
    )


def _stored(durability: Durability, scenario: Scenario) -> Scenario:
    """The same where the server's core is the limit, and not the disk."""
    when = {"everysec": "on disk within a second", "none": "never on disk"}[durability]
    return replace(
        scenario,
        name=f"{scenario.name}-{durability}",
        title=f"{scenario.title}, {when}",
        durability=durability,
        peers=tuple(peer for peer in scenario.peers if peer in COUNTERS),
    )


SCENARIOS = (
    *INCREMENTS,
    *(_stored("everysec", each) for each in (*INCREMENTS, INC_256)),
    *(_stored("none", each) for each in (INC, INC_256)),
    INC_HOT,
    _at_1000(INC_HOT),
    _stored("everysec", INC_HOT),
    _stored("everysec", _at_1000(INC_HOT)),
    READ1_HOT,
    _at_1000(READ1_HOT),
    READ1,
    replace(
        READ1,
        name="read1-browser",
        title=f"{READ1.title}, browser headers",
        headers="browser",
        peers=COUNTERS,
    ),
    replace(
        READ1,
        name="read1-proxied",
        title=f"{READ1.title}, browser headers, behind a proxy",
        headers="proxied",
        peers=FRONT,
    ),
    replace(READ1, name="read10", title="GET article, 10 paths", draw=_reads(10), peers=SWIFT),
    replace(
        READ1,
        name="read50",
        title="GET article, 50 paths, always others",
        draw=_reads(50),
        pool=4096,
        peers=(*SWIFT, "plain"),
    ),
    replace(
        READ1,
        name="read50-front",
        title="GET article, 50 paths, of 64 front pages",
        draw=_reads(50),
        pool=64,
        peers=SWIFT,
    ),
    replace(
        READ1,
        name="read50-same",
        title="GET article, 50 paths, always the same",
        draw=_reads(50),
        pool=1,
        peers=SWIFT,
    ),
    PAGE,
    replace(
        PAGE,
        name="page-live",
        title="GET one page that is commented on once a second",
        draw=_one_page,
        is_live=True,
        pool=16,
        peers=PAGERS,
    ),
    replace(
        DEEP_PAGE, name="page-cold", title="GET comment page, every page cold", draw=_cold_pages
    ),
    replace(
        DEEP_PAGE,
        name="deep-first",
        title="first pages of 100,000 comments",
        draw=deep_page(DEEP, is_last=False),
    ),
    replace(
        DEEP_PAGE,
        name="deep-last",
        title="last pages of 100,000 comments",
        draw=deep_page(DEEP, is_last=True),
    ),
    replace(
        DEEP_PAGE,
        name="deeper-first",
        title="first pages of 1,000,000 comments",
        draw=deep_page(DEEPER, is_last=False),
        needs=HAS_DEEPER,
        is_long=True,
    ),
    replace(
        DEEP_PAGE,
        name="deeper-last",
        title="last pages of 1,000,000 comments",
        draw=deep_page(DEEPER, is_last=True),
        needs=HAS_DEEPER,
        is_long=True,
    ),
    Scenario("submit", "POST comment", _submits, counted="comments", peers=WRITERS),
    Scenario(
        "like", "PUT comment, like", _likes, counted="likes", needs=HAS_ARTICLES, peers=WRITERS
    ),
    Scenario(
        "mixed",
        "95 % article GET and POST, 5 % comments",
        _as_a_real_site,
        counted="views",
        needs=HAS_ARTICLES,
        peers=WRITERS,
    ),
    replace(INC, name="inc@1", title=f"{INC.title}, 1 connection", connections=1, peers=COUNTERS),
    INC_256,
    replace(_at_1000(INC), peers=(*COUNTERS, "plain")),
    replace(
        READ1, name="read1@1", title=f"{READ1.title}, 1 connection", connections=1, peers=COUNTERS
    ),
    replace(_at_1000(READ1), peers=FRONT),
)

# What a release has to be measured by, in the order of docs/benchmarks.md; the others show how that
# changes with everything else.
MAIN = (
    "inc-browser",
    "inc",
    "inc-proxied",
    "inc-browser-everysec",
    "inc-everysec",
    "inc-proxied-everysec",
    "read1-browser",
    "read1",
    "read1-proxied",
    "read50",
    "read50-front",
    "read50-same",
    "page",
    "page-live",
    "page-cold",
    "mixed",
    "inc@1",
    "read1@1",
    "inc@256",
    "inc@1000",
    "read1@1000",
    "inc-hot",
    "inc-hot@1000",
    "read1-hot",
    "read1-hot@1000",
)
# The rows for work on the path of a counter.
QUICK = (
    "inc-everysec",
    "inc-browser-everysec",
    "inc-proxied-everysec",
    "read1",
    "read1-browser",
    "read1-proxied",
)
