"""A bulk deletion while Redis is frozen or killed, or the service is: what is not stored is in the
bin, and an undo brings back all of it."""

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.chaos.relay import Relay, Trouble
from tests.support.servers import RealServer, program_of, running, wait_until
from tests.support.serving import Serving, serving

OWNER = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}
NAME = "0123456789abcdef"
COMMENTS, PAGES = 80, 16


@pytest.fixture
def server(kind: str, own: Path) -> Iterator[RealServer]:
    options = ("--port", "0", "--appendfsync", "always")
    with running(program_of(kind), own / "r", *options) as server:
        yield server


@pytest.fixture
def hop(own: Path, server: RealServer) -> Iterator[Relay]:
    with Relay([server.socket]).listening(own / "hop") as hop:
        yield hop


@pytest.fixture
def served(own: Path, server: RealServer, hop: Relay) -> Iterator[Serving]:
    url = f"unix://{server.entry}@{own / 'hop'}"
    environ = {"REDIS_URL": url, "IPQPS": "0", "REDIS_TIMEOUT": "1", "DURABILITY": "fsync"}
    with serving(own / "s", **environ) as served:
        yield served


class Desk:
    """A moderator's requests."""

    def __init__(self, served: Serving) -> None:
        self._served = served
        self._headers = {"x-footfall-page": "1"}
        with self._client() as http:
            http.post("/ui/api/user", json=OWNER).raise_for_status()
            http.post("/ui/api/token", json=OWNER).raise_for_status()
            self._headers["cookie"] = f"footfall={http.cookies['footfall']}"

    def _client(self) -> httpx.Client:
        url = self._served.url
        return httpx.Client(base_url=url, headers={**self._headers, "origin": url}, timeout=60)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        with self._client() as http:
            return http.request(method, f"/ui/api/{path}", json=body).json()

    def listed(self, path: str, of: Callable[[Any], str]) -> set[str]:
        found, after = set[str](), ""
        while True:
            part = self.ask("GET", f"{path}?pageSize=100&after={after}")["data"]
            found |= {of(each) for each in part["data"]}
            after = part["after"]
            if not after:
                return found

    def stored(self) -> set[str]:
        return self.listed("queue", lambda each: each["objectId"])

    def binned(self) -> set[str]:
        return self.listed("queue/bin", lambda each: each["comment"]["objectId"])

    def answers(self) -> bool:
        try:
            return bool(self.ask("GET", "queue/bin")["errno"] == 0)
        except httpx.HTTPError:
            return False


def post(served: Serving) -> list[str]:
    with httpx.Client(base_url=served.url, timeout=60) as http:
        drafts = ({"comment": f"text {n}", "url": f"/{n % PAGES}"} for n in range(COMMENTS))
        return [http.post("/api/comment", json=d).json()["data"]["objectId"] for d in drafts]


def freeze(served: Serving, server: RealServer, hop: Relay, is_over: threading.Event) -> None:
    server.signal(signal.SIGSTOP)
    # Every reply of the rest is missing.
    assert is_over.wait(60)
    server.signal(signal.SIGCONT)


def kill_redis(served: Serving, server: RealServer, hop: Relay, is_over: threading.Event) -> None:
    server.kill()
    assert is_over.wait(60)
    server.start()


def kill_service(served: Serving, server: RealServer, hop: Relay, is_over: threading.Event) -> None:
    served.end_at_once()
    assert served.process is not None
    assert served.process.stdout is not None
    served.process.stdout.close()
    assert is_over.wait(60)
    served.start()


def cut_replies(served: Serving, server: RealServer, hop: Relay, is_over: threading.Event) -> None:
    with hop.troubled(Trouble(cut_replies=0.05)):
        assert is_over.wait(60)


@pytest.mark.rare
@pytest.mark.parametrize("fault", [freeze, kill_redis, kill_service, cut_replies])
def test_what_is_deleted_under_a_fault_can_be_restored(
    served: Serving, server: RealServer, hop: Relay, fault: Any
) -> None:
    desk, ids, answers, is_over = Desk(served), post(served), list[Any](), threading.Event()

    def delete() -> None:
        try:
            answers.append(desk.ask("DELETE", "comment", {"ids": ids, "action": NAME}))
        except httpx.HTTPError:
            pass
        finally:
            is_over.set()

    deleting = threading.Thread(target=delete)
    with server.admin() as admin:
        deleting.start()
        wait_until(lambda: admin.zcard("ff:{site}:bin") > COMMENTS // 10, "the first deletions")
    fault(served, server, hop, is_over)
    deleting.join()
    wait_until(desk.answers, "the service to work again")

    def is_told() -> bool:
        """Other services have followed what the site had not yet been told."""
        return desk.stored() | desk.binned() == {*ids}

    wait_until(is_told, "the site to follow")
    stored, binned = desk.stored(), desk.binned()
    assert not stored & binned
    assert stored or fault is cut_replies
    for answer in answers:
        results = answer["data"]["results"] if answer["errno"] == 0 else {}
        assert {id for id, result in results.items() if result == "done"} <= binned
        assert {id for id, result in results.items() if result in ("missing", "changed")} == set()
    # By its name, whatever became of its answer; once its process is seen to have ended.
    wait_until(lambda: desk.ask("PUT", "comment", {"undo": NAME})["errno"] == 0, "the undo")
    wait_until(lambda: desk.stored() == {*ids}, "all to be restored")
    assert desk.binned() == set()
