"""A client that writes comments, one after the other, and checks afterwards where they all are."""

import contextlib
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx

from footfall.loadtest.exchange import RESPONSE_SECONDS

from ..support.servers import wait_until

PAGES = [f"/faults/{n}" for n in range(3)]
PAUSE_SECONDS = 0.05


class Writer:
    """`accepted` has ids by text; every text is sent once."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._is_over = threading.Event()
        self.accepted: dict[str, str] = {}
        self.unknown: set[str] = set()
        self.hung = 0
        self.refusals: list[str] = []

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        thread = threading.Thread(target=self._write, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def wait_for_more(self) -> None:
        wanted = len(self.accepted) + 1
        wait_until(lambda: len(self.accepted) >= wanted, "another comment to be accepted")

    def _write(self) -> None:
        # A new connection for each comment, so that behind a load balancer every service gets some.
        fresh = httpx.Limits(max_keepalive_connections=0)
        with httpx.Client(timeout=RESPONSE_SECONDS, limits=fresh) as client:
            for number in count():
                if self._is_over.wait(PAUSE_SECONDS):
                    return
                self._post(client, f"Comment {number}", PAGES[number % len(PAGES)])

    def _post(self, client: httpx.Client, text: str, page: str) -> None:
        draft = {"comment": text, "url": page, "nick": "Ann", "mail": "ann@example.com"}
        try:
            response = client.post(f"{self._url}/api/comment", json=draft)
        except httpx.ConnectError:
            # The service got nothing of it.
            return
        except httpx.HTTPError as error:
            self.hung += isinstance(error, httpx.TimeoutException)
            self.unknown.add(text)
            return
        if response.status_code >= 500:
            self.unknown.add(text)
        elif (answer := response.json())["errno"] == 0:
            self.accepted[text] = answer["data"]["objectId"]
        else:
            self.refusals.append(f"{text} was refused: {answer}")

    def problems(self) -> Iterator[str]:
        """Every accepted comment must exist once and in its place, and besides these only unknown
        ones."""
        yield from self.refusals
        found: dict[str, str] = {}
        times = 0
        with httpx.Client(base_url=self._url, timeout=RESPONSE_SECONDS) as client:
            for page in PAGES:
                comments = _all_of(client, page)
                times += len(comments)
                found |= {comment["orig"]: comment["objectId"] for comment in comments}
                moments = [comment["time"] for comment in comments]
                if moments != sorted(moments):
                    yield f"{page} is out of order"
        if times != len(found):
            yield f"{times - len(found)} comments are there twice"
        for text, id in self.accepted.items():
            if found.get(text) != id:
                yield f"{text} was accepted as {id} and is there as {found.get(text)}"
        for text in found.keys() - self.accepted - self.unknown:
            yield f"{text} was neither accepted nor unknown, and is there"


def _all_of(client: httpx.Client, page: str) -> list[dict[str, Any]]:
    comments: list[dict[str, Any]] = []
    for number in count(1):
        query = f"path={page}&page={number}&pageSize=100&sortBy=insertedAt_asc"
        answer = client.get(f"/api/comment?{query}").json()["data"]
        comments += answer["data"]
        if number >= answer["totalPages"]:
            return comments
    raise AssertionError
