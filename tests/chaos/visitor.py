"""A client that wants nothing of the node with the fault, and should not notice it.

It reads and counts paths whose counters are on other nodes, one request after the other, and
records how long each answer took.
"""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle

import httpx

from bench.stats import percentile
from footfall.loadtest.exchange import RESPONSE_SECONDS

PAUSE_SECONDS = 0.002


@dataclass
class Visit:
    """`took` is in seconds; `failures` are answers other than counts."""

    took: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def p99_ms(self) -> float:
        return 1000 * percentile(self.took, 0.99)


@contextlib.contextmanager
def visiting(url: str, paths: Sequence[str]) -> Iterator[Visit]:
    """Visits as long as the block lasts."""
    visit, is_over = Visit(), threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=url, timeout=RESPONSE_SECONDS) as client:
            for path in cycle(paths):
                for request in (
                    client.build_request("GET", "/article", params={"path": path}),
                    client.build_request("POST", "/article", json={"path": path}),
                ):
                    if is_over.wait(PAUSE_SECONDS):
                        return
                    _ask(client, request, visit)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield visit
    finally:
        is_over.set()
        thread.join()


def _ask(client: httpx.Client, request: httpx.Request, visit: Visit) -> None:
    started = time.monotonic()
    try:
        response = client.send(request)
    except httpx.HTTPError as error:
        visit.failures.append(repr(error))
        return
    visit.took.append(time.monotonic() - started)
    if response.status_code != 200:
        visit.failures.append(f"{request.method} {request.url}: {response.status_code}")
