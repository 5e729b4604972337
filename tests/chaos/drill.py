"""What an operator does to a live service: a backup that is put back beside it, and other buckets.

Trials are in no backup and no bucket, so somebody counts paths that are the site's own meanwhile.
What was there at the begin of a backup must be in the target, and nothing that was not there at the
end.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from operator import gt

import httpx

from ..servers import wait_until
from ..serving import Serving
from .writer import PAGES

PATHS = [f"/drill/{n}" for n in range(50)]


class Drill:
    """`least` and `most` are the counts of the paths, and the comments of the pages."""

    def __init__(self, source: Serving, url: str) -> None:
        self._source = source
        self._url = url
        self._file = source.directory / "backup"
        own = {**source.environ, "PORT": "0", "KEY_PREFIX": "drill"}
        self._target = Serving(source.directory, **own)
        self.least: list[int] = []
        self.most: list[int] = []

    def back_up(self) -> None:
        self._file.unlink(missing_ok=True)
        with _counting(self._url):
            wait_until(lambda: min(_counts(self._url)) > 0, "every path to be counted")
            self.least = _counts(self._url)
            _ask(self._source, "backup", str(self._file))
            self.most = _counts(self._url)

    def restore(self) -> None:
        for words in (["restore", "--replace"], ["restore", "--compare"]):
            _ask(self._target, *words, str(self._file))
        _ask(self._target, "check")
        self._target.start()
        found = _counts(self._target.url)
        self._target.stop()
        bounds = list(zip(self.least, found, self.most, strict=True))
        assert all(least <= count <= most for least, count, most in bounds), bounds
        assert sum(self.least) < sum(self.most), "nobody counted meanwhile"


def rebucket(source: Serving, urls: list[str], buckets: int, is_amid: Callable[[], bool]) -> None:
    """Move the counters of services to other buckets, killed amid and run again; each counts on."""
    before = _counts(urls[0])[: len(PATHS)]
    with contextlib.ExitStack() as stack:
        counting = [stack.enter_context(_counting(url)) for url in urls]
        first = source.run("rebucket", str(buckets))
        wait_until(lambda: is_amid() and all(each.accepted for each in counting), "amid a move")
        first.kill()
        first.communicate()
        _ask(source, "rebucket", str(buckets))
        so_far = [each.accepted for each in counting]
        wait_until(
            lambda: all(map(gt, (each.accepted for each in counting), so_far)),
            "every service to count on",
        )
    least = sum(each.accepted for each in counting)
    most = least + sum(each.unknown for each in counting)
    for url in urls:
        found = zip(before, _counts(url), strict=False)
        assert all(least <= count - old <= most for old, count in found), (url, least, most)


def _ask(serving: Serving, *words: str) -> None:
    code, output = serving.ask(*words)
    assert code == 0, f"footfall {' '.join(words)}: {output}"


def _counts(url: str) -> list[int]:
    counts = httpx.get(f"{url}/article", params={"path": PATHS})
    comments = httpx.get(f"{url}/comment", params={"type": "count", "url": PAGES})
    return [*counts.json(), *comments.json()]


class _Counting(threading.Thread):
    """Counts every path again and again: how often that was accepted, and how often who knows."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self.is_over = threading.Event()
        self.accepted = self.unknown = 0

    def run(self) -> None:
        changes = [{"path": path} for path in PATHS]
        with httpx.Client() as client:
            while not self.is_over.wait(0.01):
                try:
                    client.post(f"{self._url}/article", json=changes).raise_for_status()
                    self.accepted += 1
                except httpx.HTTPError:
                    self.unknown += 1


@contextlib.contextmanager
def _counting(url: str) -> Iterator[_Counting]:
    counting = _Counting(url)
    counting.start()
    try:
        yield counting
    finally:
        counting.is_over.set()
        counting.join()
