"""Bulk actions, and their undo, while Redis is frozen or killed, or the service is: what is not
stored is in the bin, and an undo brings back all of it."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from tests.chaos.relay import Relay, Trouble
from tests.support.servers import RealServer, program_of, running, wait_until
from tests.support.serving import Serving, serving
from tests.support.workers import workers

Fault = Callable[..., None]
OVER = "This can no longer be undone"
OWNER = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}
NAME = "0123456789abcdef"
COMMENTS, PAGES = 80, 16


@pytest.fixture
def server(own: Path) -> Iterator[RealServer]:
    options = ("--port", "0", "--appendfsync", "always")
    with running(program_of("valkey"), own / "r", *options) as server:
        yield server


@pytest.fixture
def hop(own: Path, server: RealServer) -> Iterator[Relay]:
    with Relay([server.socket]).listening(own / "hop") as hop:
        yield hop


@pytest.fixture
def served(own: Path, server: RealServer, hop: Relay) -> Iterator[Serving]:
    url = f"unix://{server.entry}@{own / 'hop'}"
    environ = {"REDIS_URL": url, "IPQPS": "0", "REDIS_TIMEOUT": "1", "DURABILITY": "fsync"}
    with serving(own / "s", "--workers", "2", **environ) as served:
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
            part = self.ask("GET", f"{path}pageSize=100&after={after}")["data"]
            found |= {of(each) for each in part["data"]}
            after = part["after"]
            if not after:
                return found

    def public(self) -> set[str]:
        return self.listed("queue?status=approved&", lambda each: each["objectId"])

    def away(self) -> set[str]:
        """In the bin, or spam."""
        spam = self.listed("queue?status=spam&", lambda each: each["objectId"])
        binned = self.listed("queue/bin?", lambda each: each["comment"]["objectId"])
        assert not spam & binned
        return spam | binned

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


def kill_workers(served: Serving, server: RealServer, hop: Relay, is_over: threading.Event) -> None:
    for pid in workers(served):
        os.kill(pid, signal.SIGKILL)
    assert is_over.wait(60)


def cut_replies(served: Serving, server: RealServer, hop: Relay, is_over: threading.Event) -> None:
    with hop.troubled(Trouble(cut_replies=0.05)):
        assert is_over.wait(60)


def delete(desk: Desk, ids: list[str]) -> Any:
    return desk.ask("DELETE", "comment", {"ids": ids, "action": NAME})


def mark_as_spam(desk: Desk, ids: list[str]) -> Any:
    return desk.ask("PUT", "comment", {"ids": ids, "status": "spam", "action": NAME})


def delete_what_a_ban_would_catch(desk: Desk, ids: list[str]) -> Any:
    of_all = {"status": "", "ban": "127.0.0.1", "newest": max(ids)}
    answer = desk.ask("POST", "queue/bulk", {"do": "deleted", "action": NAME, **of_all})
    while answer["errno"] == 0 and answer["data"]["isRunning"]:
        answer = desk.ask("GET", f"queue/bulk?name={NAME}")
    return answer


def undo(desk: Desk) -> Any:
    return desk.ask("PUT", "comment", {"undo": NAME})


def under(
    fault: Fault, ask: Callable[[], Any], has_started: Callable[[], bool], *between: Any
) -> Any:
    """The answer to a request during which this happens; None if there was none."""
    answers, is_over = list[Any](), threading.Event()

    def asked() -> None:
        try:
            answers.append(ask())
        except httpx.HTTPError:
            pass
        finally:
            is_over.set()

    asking = threading.Thread(target=asked)
    asking.start()
    wait_until(has_started, "the first changes")
    fault(*between, is_over)
    asking.join()
    return answers[0] if answers else None


def by_action(admin: Redis) -> Iterator[bool]:
    """Of each comment that was changed: whether the action was the last to do it."""
    for key in admin.scan_iter("*:decided"):
        yield from (NAME in str(last) for last in admin.hvals(key))


FAULTS = [freeze, kill_redis, kill_service, kill_workers, cut_replies]


@pytest.mark.rare
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("do", [delete, mark_as_spam, delete_what_a_ban_would_catch])
def test_what_is_done_under_a_fault_can_be_undone(
    served: Serving, server: RealServer, hop: Relay, do: Any, fault: Fault
) -> None:
    desk, ids = Desk(served), post(served)
    with server.admin() as admin:

        def has_started() -> bool:
            return sum(by_action(admin)) > COMMENTS // 10

        answer = under(fault, lambda: do(desk, ids), has_started, served, server, hop)
    wait_until(desk.answers, "the service to work again")
    # Other services have followed what the site had not yet been told.
    wait_until(lambda: desk.public() | desk.away() == {*ids}, "the site to follow")
    public, away = desk.public(), desk.away()
    assert not public & away
    results = ((answer or {}).get("data") or {}).get("results", {})
    assert {id for id, result in results.items() if result == "done"} <= away
    assert {id for id, result in results.items() if result in ("missing", "changed")} == set()
    # By its name, whatever became of its answer; once its process is seen to have ended.
    wait_until(lambda: undo(desk)["errno"] == 0, "the undo")
    wait_until(lambda: desk.public() == {*ids}, "all to be restored")
    assert desk.away() == set()


@pytest.mark.rare
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("do", [delete, mark_as_spam])
def test_an_undo_under_a_fault_can_be_repeated(
    served: Serving, server: RealServer, hop: Relay, do: Any, fault: Fault
) -> None:
    desk, ids = Desk(served), post(served)
    assert {*do(desk, ids)["data"]["results"].values()} == {"done"}
    with server.admin() as admin:

        def has_started() -> bool:
            return not all(by_action(admin))

        under(fault, lambda: undo(desk), has_started, served, server, hop)
    wait_until(desk.answers, "the service to work again")
    wait_until(lambda: undo(desk)["errmsg"] == OVER, "nothing to be left to undo")
    wait_until(lambda: desk.public() == {*ids}, "all to be restored")
    assert desk.away() == set()
