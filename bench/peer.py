"""A server under test: how to send it requests, and how to read its counts and its CPU time."""

import http.client
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import quote, urlsplit

from footfall.loadtest.exchange import MARK, request

from . import machine
from .scenarios import Headers, Increment, Like, Op, Page, Read, Submit
from .visitors import headers_of

# In every peer a request line has room for so many of our paths.
PATHS_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class CpuTime:
    """Seconds that a server has used, and its Redis or other database."""

    # In the server's own code, and in the kernel.
    user: float
    system: float
    base: float

    @property
    def server(self) -> float:
        return self.user + self.system

    def since(self, earlier: "CpuTime") -> "CpuTime":
        return CpuTime(
            self.user - earlier.user, self.system - earlier.system, self.base - earlier.base
        )


@dataclass
class Peer:
    """A running server. Templates and sums are those of the Waline API."""

    name: str
    title: str
    url: str
    pid: int
    version: str
    redis_pid: int = 0
    redis_url: str = ""
    offers: frozenset[type] = frozenset({Increment, Read})
    # Need -> the function that stores it; and the ids of roots, once there are any.
    seeds: dict[str, Callable[[], None]] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    def can(self, ops: Sequence[Op], needs: frozenset[str]) -> bool:
        return {type(op) for op in ops} <= self.offers and needs <= self.seeds.keys()

    def need(self, what: str) -> None:
        """Store these comments, once."""
        plant = self.seeds[what]
        plant()
        self.seeds[what] = nothing

    def templates(self, ops: Sequence[Op], headers: Headers) -> list[bytes]:
        random = Random("headers")
        made: list[bytes] = []
        for n, op in enumerate(ops):
            method, target, body = self.ask(op)
            page = op.paths[0] if isinstance(op, Read) else getattr(op, "path", "/")
            extra = headers_of(headers, n, random, page)
            made.append(request(method, target, self.host, extra, body))
        return made

    def ask(self, op: Op) -> tuple[str, str, bytes]:
        match op:
            case Increment(path):
                return "POST", "/api/article", json.dumps({"path": path, "action": "inc"}).encode()
            case Read(paths):
                return "GET", f"/api/article?path={quote(','.join(paths))}&type=time", b""
            case Page(article, number, order):
                query = f"path={quote(article)}&page={number}&pageSize=10&sortBy={order}"
                return "GET", f"/api/comment?{query}", b""
            case Submit(article):
                draft = {
                    "comment": f"A few words, {MARK.decode()} of them",
                    "url": article,
                    "nick": "Ann",
                    "mail": "ann@example.com",
                    "ua": "bench",
                }
                # A MARK must not be escaped.
                escaped = json.dumps(MARK.decode())[1:-1].encode()
                body = json.dumps(draft).encode().replace(escaped, MARK)
                return "POST", "/api/comment", body
            case Like(n):
                body = b'{"like":true}'
                return "PUT", f"/api/comment/{self.roots[n % len(self.roots)]}", body

    # The server's own counts.

    def views(self, paths: Sequence[str]) -> int:
        total = 0
        for at in range(0, len(paths), PATHS_AT_ONCE):
            some = ",".join(paths[at : at + PATHS_AT_ONCE])
            rows = self.get(f"/api/article?path={quote(some)}&type=time")["data"]
            total += sum(row["time"] or 0 for row in rows)
        return total

    def comments(self, articles: Sequence[str]) -> int:
        total = 0
        for at in range(0, len(articles), PATHS_AT_ONCE):
            some = quote(",".join(articles[at : at + PATHS_AT_ONCE]))
            counts = self.get(f"/api/comment?type=count&url={some}")["data"]
            total += sum(counts) if isinstance(counts, list) else counts
        return total

    def likes(self, articles: Sequence[str]) -> int:
        total = 0
        for article in articles:
            _, target, _ = self.ask(Page(article))
            total += sum(root["like"] or 0 for root in self.get(target)["data"]["data"])
        return total

    def comment_now(self, article: str, number: int) -> str:
        """Reply to an article's newest root; returns the words that its page must now show."""
        _, target, _ = self.ask(Page(article))
        root = self.get(target)["data"]["data"][0]
        text = f"A few words, {number:010d} of them"
        draft = {
            "comment": text,
            "url": article,
            "nick": "Ann",
            "mail": "ann@example.com",
            "pid": root["objectId"],
            "rid": root["objectId"],
            "at": root["nick"],
        }
        self._exchange("POST", "/api/comment", json.dumps(draft).encode())
        return text

    def shown(self, article: str) -> str:
        """The newest page as text."""
        _, target, _ = self.ask(Page(article))
        return json.dumps(self.get(target))

    def get(self, target: str) -> Any:
        return self._exchange("GET", target, b"")

    def post(self, op: Op, number: int) -> Any:
        """Carry out one operation by itself."""
        method, target, body = self.ask(op)
        return self._exchange(method, target, body.replace(MARK, b"%010d" % number))

    def _exchange(self, method: str, target: str, body: bytes) -> Any:
        connection = http.client.HTTPConnection(self.host, timeout=30)
        try:
            headers = {"Content-Type": "application/json"} if body else {}
            connection.request(method, target, body or None, headers)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def cpu(self) -> CpuTime:
        """The CPU time used so far."""
        server, base = self._processes()
        return CpuTime(
            user=sum(each.user for each in server),
            system=sum(each.system for each in server),
            base=sum(each.cpu for each in base),
        )

    def resident_mb(self) -> float:
        """The memory of the largest process, which is the worker."""
        server, _ = self._processes()
        return max((machine.resident_kb(each.pid) for each in server), default=0) / 1024

    def _processes(self) -> tuple[list[machine.Process], list[machine.Process]]:
        among = machine.processes()
        base = machine.family(self.redis_pid, among) if self.redis_pid else []
        apart = {each.pid for each in base}
        return [each for each in machine.family(self.pid, among) if each.pid not in apart], base


def nothing() -> None:
    """The step of a need that has been met already."""
