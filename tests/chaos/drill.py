"""What an operator does to a live service: a backup that is restored beside it.

A client counts paths of its own meanwhile. What existed when the backup started must be in the
target, and nothing that did not exist when it ended.
"""

import contextlib
import threading
from collections.abc import Iterator

import httpx

from ..support.servers import wait_until
from ..support.serving import Serving
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


def _ask(serving: Serving, *words: str) -> None:
    code, output = serving.ask(*words)
    assert code == 0, f"footfall {' '.join(words)}: {output}"


def _counts(url: str) -> list[int]:
    counts = httpx.get(f"{url}/article", params={"path": PATHS})
    comments = httpx.get(f"{url}/comment", params={"type": "count", "url": PAGES})
    return [*counts.json(), *comments.json()]


class _Counting(threading.Thread):
    """Counts every path again and again, and notes how often that was accepted, and how often it is
    unknown."""

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
