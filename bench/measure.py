"""One run of one scenario against one peer: its figures from wrk, its costs, and its verdict."""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from footfall.loadtest.ledger import Verdict

from .machine import Cores, Watch
from .peer import Peer
from .scenarios import ARTICLES, LIKED, PATHS, Increment, Like, Scenario, Submit, article, path
from .stats import NOISE, is_noisy
from .wrk import Played, Requests

WARM_SECONDS = 1
TRIES = 3
# Numbers in requests are never repeated, also not in another run.
_numbers = itertools.count(int(time.time()) % 1_000 * 1_000_000, 20_000_000)


@dataclass(frozen=True, slots=True)
class Run:
    scenario: str
    peer: str
    round: int
    connections: int
    played: Played
    # A request's CPU time: of the server, in its own code and in the kernel; and of Redis.
    server_us: float
    user_us: float
    system_us: float
    redis_us: float
    foreign: float
    verdict: str
    is_exact: bool | None
    # Discarded, since other processes used these cores meanwhile.
    is_discarded: bool
    stale: int | None = None

    def as_json(self) -> dict[str, Any]:
        fields = asdict(self)
        played: dict[str, Any] = fields.pop("played")
        rate = round(self.played.rate, 1)
        return fields | played | {"rate": rate, "errors": self.played.errors}


def next_number() -> int:
    return next(_numbers)


def counting(scenario: Scenario, peer: Peer) -> Callable[[], int]:
    """The server's counts of what this scenario changes."""
    match scenario.counted:
        case "views":
            paths = [path(n) for n in range(PATHS)]
            return lambda: peer.views(paths)
        case "comments":
            articles = [article(ARTICLES + n) for n in range(ARTICLES)]
            return lambda: peer.comments(articles)
        case "likes":
            articles = [article(n) for n in range(LIKED)]
            return lambda: peer.likes(articles)
        case "nothing":
            return lambda: 0


CHANGES = {"views": Increment, "comments": Submit, "likes": Like}


class Bout:
    """A scenario that is prepared for one peer, to be run several times."""

    def __init__(self, scenario: Scenario, peer: Peer, cores: Cores, noise: float = NOISE) -> None:
        self.scenario = scenario
        self._noise = noise
        self.peer = peer
        self._cores = cores
        ops = scenario.ops()
        kind = CHANGES.get(scenario.counted)
        self._is_change = [isinstance(op, kind) if kind else False for op in ops]
        self._ops = ops

    @contextmanager
    def ready(self) -> Iterator["Bout"]:
        for need in sorted(self.scenario.needs):
            self.peer.need(need)
        with Requests(self.peer.templates(self._ops, self.scenario.headers)) as requests:
            self._requests = requests
            self._play(WARM_SECONDS)
            wait_until_idle(self.peer)
            yield self

    def _play(self, seconds: float) -> Played:
        return self._requests.play(
            self.peer.url,
            connections=self.scenario.connections,
            seconds=seconds,
            cores=self._cores,
            first=next_number(),
        )

    def run(self, round: int, seconds: float) -> list[Run]:
        """The run, after those that other processes disturbed."""
        done: list[Run] = []
        for _ in range(TRIES):
            done.append(self._once(round, seconds))
            if not done[-1].is_discarded:
                break
        return done

    def _once(self, round: int, seconds: float) -> Run:
        count = counting(self.scenario, self.peer)
        before = settled(count)
        if self._noise < 1:
            wait_for_calm(self._cores)
        with ExitStack() as stack:
            live = None
            if self.scenario.is_live:
                live = stack.enter_context(Commentator(self.peer))
            watch = Watch(self._cores)
            before_playing = self.peer.cpu()
            played = self._play(seconds)
            used = self.peer.cpu().since(before_playing)
            foreign = watch.foreign()
        wait_until_idle(self.peer)
        counted = settled(count) - before
        verdict = self._verdict(played, counted)
        n = max(played.accepted + played.refused, 1)
        return Run(
            scenario=self.scenario.name,
            peer=self.peer.name,
            round=round,
            connections=self.scenario.connections,
            played=played,
            server_us=round_to(1e6 * used.server / n),
            user_us=round_to(1e6 * used.user / n),
            system_us=round_to(1e6 * used.system / n),
            redis_us=round_to(1e6 * used.base / n),
            foreign=round_to(foreign),
            verdict=str(verdict) if verdict else "",
            is_exact=verdict.is_exact if verdict else None,
            is_discarded=is_noisy(foreign, self._noise),
            stale=live.stale if live else None,
        )

    def _verdict(self, played: Played, counted: int) -> Verdict | None:
        if self.scenario.counted == "nothing":
            return None
        # When wrk stops, up to one request a connection is under way; one that failed may have been
        # counted before.
        unknown = played.in_flight + played.refused
        if all(self._is_change):
            return Verdict(played.accepted, counted, unknown)
        sent = changes_among(self._is_change, played.sent)
        return Verdict(max(sent - unknown, 0), counted, min(unknown, sent))


class Patience:
    """How many seconds to wait for other processes in total, since a bench must also end on a busy
    machine."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds


PATIENCE = Patience(240.0)


def wait_for_calm(cores: Cores, patience: Patience = PATIENCE, at_most: float = 15.0) -> None:
    """Other processes may soon be done, and a moment's wait costs less than a discarded run."""
    start = time.monotonic()
    while patience.left > 0 and time.monotonic() - start < at_most:
        watch = Watch(cores)
        time.sleep(0.25)
        if not is_noisy(watch.foreign()):
            break
        patience.left -= 0.25


def wait_until_idle(peer: Peer, at_most: float = 20.0) -> None:
    """Slow servers continue with requests of disconnected clients, on the core that the next peer
    needs."""
    deadline = time.monotonic() + at_most
    while time.monotonic() < deadline:
        before = peer.cpu()
        time.sleep(0.1)
        used = peer.cpu().since(before)
        if used.server + used.base <= 0.02:
            break


def changes_among(is_change: list[bool], sent: int) -> int:
    """How many of the first `sent` requests were changes; the list is sent repeatedly."""
    rounds, rest = divmod(sent, len(is_change))
    return rounds * sum(is_change) + sum(is_change[:rest])


def settled(count: Callable[[], int], patience: float = 5.0) -> int:
    """The count when it has stopped rising, so that all requests under way have arrived."""
    deadline = time.monotonic() + patience
    last = count()
    while time.monotonic() < deadline:
        time.sleep(0.02)
        now = count()
        if now == last:
            break
        last = now
    return last


def round_to(value: float) -> float:
    return float(f"{value:.4g}")


class Commentator:
    """Replies on article 0 once a second and checks at once whether the page shows it."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.stale = 0
        self.written = 0

    def __enter__(self) -> "Commentator":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(5)

    def _work(self) -> None:
        while not self._stop.wait(1.0 if self.written else 0.2):
            self.written += 1
            number = next_number()
            expected = self._peer.comment_now(article(0), number)
            if expected not in self._peer.shown(article(0)):
                self.stale += 1


def tally(runs: list[Run]) -> Counter[str]:
    """For a line at the end: how many runs were exact, inexact and discarded."""
    kinds = {True: "exact", False: "inexact", None: "no counts"}
    return Counter("discarded" if run.is_discarded else kinds[run.is_exact] for run in runs)
