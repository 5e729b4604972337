"""What an operation costs as the data grows: measured points for the claims O(1) and O(page).

One instance of this service runs by itself, with its own private Redis; sizes grow by tens. The
figures are CPU time per request at 64 connections, which does not depend on what else waits.
"""

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import repeat
from random import Random
from typing import Any

from redis import Redis

from footfall.config import Settings

from . import seed
from .machine import Cores
from .measure import Bout
from .peer import Peer
from .scenarios import (
    Draw,
    Increment,
    Like,
    Op,
    Page,
    Read,
    Scenario,
    Submit,
    deep,
    deep_page,
    path,
)

# As many changes as one request may have.
CHANGES = 200
Log = Callable[[str], None]


def sizes(greatest: int, least: int = 1_000) -> list[int]:
    found = []
    while least <= greatest:
        found.append(least)
        least *= 10
    return found


class Growth:
    def __init__(self, peer: Peer, cores: Cores, *, seconds: float, noise: float, log: Log) -> None:
        self._peer = peer
        self._noise = noise
        self._cores = cores
        self._seconds = seconds
        self._log = log
        self.rows: list[dict[str, Any]] = []
        self.memory: dict[str, float] = {}

    def of_paths(self, greatest: int) -> None:
        there, buckets = 0, Settings.from_env({}).counter_buckets
        start = self._used()
        for size in sizes(greatest):
            self._count(there, size)
            there = size
            self.memory[f"bytes per counter, {size:,} in {buckets:,} buckets"] = round(
                (self._used() - start) / size, 1
            )
            self._measure("paths", size, "increment", _increments(size))
            self._measure("paths", size, "read 10", _reads(size))

    def of_comments(self, greatest: int) -> None:
        for size in sizes(greatest):
            before = self._used()
            self._log(f"growth: {size:,} comments")
            roots = seed.into_service(self._peer.redis_url, seed.of_deep(size))
            used = (self._used() - before) / size
            written = self._written(size)
            self.memory[f"bytes per comment, {size:,} of one article"] = round(used, 1)
            self.memory[f"the same through its JSON of {written:.0f} bytes"] = round(
                used / written, 2
            )
            self._peer.roots = roots
            last, first = deep_page(size, is_last=True), deep_page(size, is_last=False)
            self._measure("comments", size, "first pages", first)
            self._measure("comments", size, "last pages", last)
            self._measure("comments", size, "like", _likes)
            self._measure("comments", size, "like, and page 1 again", _likes_and_pages(size))
            self._measure("comments", size, "submit", _submits(size))

    def _measure(self, of: str, size: int, operation: str, draw: Draw) -> None:
        self._log(f"growth: {operation} at {size:,} {of}")
        scenario = Scenario(f"growth {operation}", operation, draw, pool=8192)
        with Bout(scenario, self._peer, self._cores, self._noise).ready() as bout:
            run = bout.run(0, self._seconds)[-1]
        self.rows.append(
            {
                "of": of,
                "size": size,
                "operation": operation,
                "rate": run.played.rate,
                "server_us": run.server_us,
                "redis_us": run.redis_us,
                "is_discarded": run.is_discarded,
            }
        )

    def _count(self, first: int, end: int) -> None:
        """Count these paths once, over HTTP, as many as possible at a time."""
        self._log(f"growth: {end:,} paths")
        with closing(http.client.HTTPConnection(self._peer.host, timeout=30)) as connection:
            for at in range(first, end, CHANGES):
                changes = [{"path": path(n)} for n in range(at, min(at + CHANGES, end))]
                connection.request(
                    "POST",
                    "/api/article",
                    json.dumps(changes),
                    {"Content-Type": "application/json"},
                )
                answer = json.loads(connection.getresponse().read())
                if answer["errno"]:
                    raise RuntimeError(f"the service refused to count: {answer['errmsg']}")

    def _used(self) -> int:
        with closing(Redis.from_url(self._peer.redis_url)) as redis:
            used: int = redis.info("memory")["used_memory"]
            return used

    def _written(self, size: int) -> float:
        """The mean length of a comment's JSON, as an answer shows it."""
        page = self._peer.get(f"/api/comment?path={deep(size)}&pageSize=10")["data"]["data"]
        every = [each for root in page for each in (root, *root["children"])]
        lengths = [
            len(
                json.dumps(
                    {name: value for name, value in each.items() if name != "children"},
                    separators=(",", ":"),
                    ensure_ascii=False,
                ).encode()
            )
            for each in every
        ]
        return sum(lengths) / len(lengths)


def _increments(size: int) -> Draw:
    def draw(random: Random) -> Iterator[Op]:
        while True:
            yield Increment(path(random.randrange(size)))

    return draw


def _reads(size: int) -> Draw:
    def draw(random: Random) -> Iterator[Op]:
        while True:
            yield Read(tuple(path(random.randrange(size)) for _ in range(10)))

    return draw


def _likes(random: Random) -> Iterator[Op]:
    while True:
        yield Like(random.randrange(1 << 30))


def _likes_and_pages(size: int) -> Draw:
    """Every like changes the article, so the page that follows cannot be a cached one."""

    def draw(random: Random) -> Iterator[Op]:
        for like in _likes(random):
            yield like
            yield Page(deep(size))

    return draw


def _submits(size: int) -> Draw:
    return lambda random: repeat(Submit(deep(size)))
