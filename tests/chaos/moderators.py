"""A storm of moderators: people who post, hold, approve, edit, delete and undo the same comments at
the same time, and read between that.

Each remembers what it was told had been done. Afterwards the log has each of these actions, and
besides them only those whose answers were lost.
"""

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import httpx

from footfall.errors import NotOver
from footfall.loadtest.exchange import RESPONSE_SECONDS

from ..support.servers import wait_until

PAGES = [f"/storm/{n}" for n in range(4)]
OWNER = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}
STATUSES = ("approved", "waiting", "spam")
# The log has 10,000 actions, and a storm must have fewer.
PAUSE_SECONDS = 0.15
# Comments that moderators know, and choose from.
KNOWN = 60

# What the log says of an action: what was done, and to which comment.
Logged = tuple[str, str]


@dataclass
class Moderators:
    """`done` counts what was answered; `unknown` what had no answer, or "failed"."""

    url: str
    number: int
    token: str = ""
    known: list[str] = field(default_factory=list)
    done: Counter[Logged] = field(default_factory=Counter)
    unknown: Counter[Logged] = field(default_factory=Counter)
    actions: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    refusals: list[str] = field(default_factory=list)

    def settle(self) -> None:
        """Make the account by which all of them work, if there is anybody."""
        if not self.number:
            return
        with self._client() as client:
            client.post("/api/user", json=OWNER).raise_for_status()
            self.token = client.post("/api/token", json=OWNER).json()["data"]["token"]

    @contextlib.contextmanager
    def moderating(self) -> Iterator[None]:
        is_over = threading.Event()
        people = [
            threading.Thread(target=self._moderate, args=(Random(n), is_over), daemon=True)
            for n in range(self.number)
        ]
        for person in people:
            person.start()
        try:
            yield
        finally:
            is_over.set()
            for person in people:
                person.join()

    def wait_for_more(self) -> None:
        wanted = self.actions + self.number
        wait_until(lambda: self.actions >= wanted, "moderators to go on")

    def problems(self, logged: Counter[Logged]) -> Iterator[str]:
        """What the log lacks, or has too often."""
        yield from self.refusals
        for action, times in self.done.items():
            if logged[action] < times:
                yield f"{action} was done {times} times, and is in the log {logged[action]} times"
        for action, times in logged.items():
            most = self.done[action] + self.unknown[action]
            if times > most:
                yield f"{action} is in the log {times} times, and was done {most} times at most"

    def _client(self) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=RESPONSE_SECONDS)

    def _moderate(self, random: Random, is_over: threading.Event) -> None:
        acts = (
            self._post,
            self._reply,
            self._reply,
            self._decide,
            self._decide,
            self._delete,
            self._edit,
            self._read,
        )
        with self._client() as client:
            for number in count():
                if is_over.wait(PAUSE_SECONDS):
                    return
                random.choice(acts)(client, random, f"{threading.get_ident()} {number}")
                self.actions += 1

    def _ask(self, client: httpx.Client, method: str, path: str, **body: Any) -> Any:
        """The answer's data; None if there was none, or Redis was unreachable."""
        try:
            response = client.request(method, path, json=body or None)
        except httpx.HTTPError:
            return None
        if response.status_code >= 500:
            return None
        answer = response.json()
        if answer["errmsg"] == NotOver.text:
            # All replies to the end of the action were lost.
            return None
        if answer["errno"]:
            self.refusals.append(f"{method} {path} {body}: {answer}")
            return None
        return answer["data"]

    def _post(self, client: httpx.Client, random: Random, text: str) -> None:
        draft = {"comment": text, "url": random.choice(PAGES), "nick": "Ann"}
        draft["mail"] = f"{random.choice('abc')}@example.com"
        if posted := self._ask(client, "POST", "/api/comment", **draft):
            self.known = [*self.known[-KNOWN:], posted["objectId"]]

    def _reply(self, client: httpx.Client, random: Random, text: str) -> None:
        """To a root that somebody may be deleting: what becomes of it nobody is told."""
        page = random.choice(PAGES)
        found = self._ask(client, "GET", f"/api/comment?path={page}&pageSize=50")
        roots = [each["objectId"] for each in found["data"]] if found else []
        for root in roots and [random.choice(roots)]:
            draft = {"comment": text, "url": page, "nick": "Ann", "mail": "d@example.com"}
            with contextlib.suppress(httpx.HTTPError):
                client.post("/api/comment", json={**draft, "pid": root, "rid": root})

    def _some(self, random: Random) -> list[str]:
        known = self.known
        return random.sample(known, min(len(known), random.randint(1, 5)))

    def _decide(self, client: httpx.Client, random: Random, text: str) -> None:
        status = random.choice(STATUSES)
        self._change(client, random, "PUT", self._some(random), "moderate", status=status)

    def _delete(self, client: httpx.Client, random: Random, text: str) -> None:
        self._change(client, random, "DELETE", self._some(random)[:2], "delete")

    def _edit(self, client: httpx.Client, random: Random, text: str) -> None:
        self._change(client, random, "PUT", self._some(random)[:1], "edit", comment=text)

    def _change(
        self,
        client: httpx.Client,
        random: Random,
        method: str,
        ids: list[str],
        did: str,
        **fields: str,
    ) -> None:
        if not ids:
            return
        data = self._ask(client, method, "/api/comment", ids=ids, **fields)
        self._note(did, data, ids)
        if data and data["undo"] and random.random() < 0.3:
            undone = self._ask(client, "PUT", "/api/comment", undo=data["undo"])
            self._note("restore" if did == "delete" else did, undone, list(data["results"]))

    def _note(self, did: str, data: Any, ids: list[str]) -> None:
        results = data["results"] if data else dict.fromkeys(ids, "failed")
        with self.lock:
            self.done.update((did, id) for id, result in results.items() if result == "done")
            self.unknown.update((did, id) for id, result in results.items() if result == "failed")

    def _read(self, client: httpx.Client, random: Random, text: str) -> None:
        self._ask(client, "GET", f"/api/comment?path={random.choice(PAGES)}")
        self._ask(client, "GET", "/api/comment?type=count")
