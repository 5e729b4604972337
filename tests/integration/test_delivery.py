"""Notifications by a real mail server and web server, while the sender is killed or stopped."""

import contextlib
import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from footfall.notifications.rules.delivery import MAX_TASKS
from footfall.notifications.store.outbox import CONSUMER, GROUP
from tests.support.receivers import MailServer, Receiver
from tests.support.servers import RealServer, wait_until
from tests.support.serving import Serving, serving

COMMENTS = 12


@pytest.fixture
def settings(mails: MailServer, hook: Receiver, data_set: dict[str, str]) -> dict[str, str]:
    return {
        **data_set,
        "IPQPS": "0",
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(mails.port),
        "SENDER_EMAIL": "from@blog.example",
        "AUTHOR_EMAIL": "owner@blog.example",
        "NOTIFY_EVERY": "0",
        "SITE_URL": "https://blog.example",
        "WEBHOOK": hook.url,
    }


def post(served: Serving, text: str, **fields: str) -> str:
    draft = {"comment": text, "url": "/a", "nick": "Ann", "mail": "ann@example.com", **fields}
    answer = httpx.post(f"{served.url}/api/comment", json=draft, timeout=60).json()
    assert answer["errno"] == 0, answer
    id: str = answer["data"]["objectId"]
    return id


def sent(hook: Receiver) -> list[str]:
    """The comments that the web server was told of, in the order in which they came."""
    return [json.loads(body)["data"]["comment"]["rawComment"] for _, _, body in list(hook.came)]


def test_people_are_told_of_each_comment_once(
    own: Path, settings: dict[str, str], mails: MailServer, hook: Receiver
) -> None:
    with serving(own / "s", "--workers", "2", **settings) as served:
        for n in range(COMMENTS):
            post(served, f"number {n}")
        hook.wait(COMMENTS)
        mails.wait(COMMENTS)
        ready = httpx.get(f"{served.url}/readyz").json()
        _, output = served.end()
    assert sorted(sent(hook)) == sorted(f"number {n}" for n in range(COMMENTS))
    assert len(mails.came) == COMMENTS
    assert ready["outbox"]["undelivered"] == 0
    assert "notify by mail, webhook" in output


@pytest.mark.rare
def test_a_service_that_is_killed_while_it_delivers_loses_nothing(
    own: Path,
    settings: dict[str, str],
    servers: Mapping[str, RealServer],
    mails: MailServer,
    hook: Receiver,
) -> None:
    release = threading.Event()
    hook.answer = lambda path, body: (200 if release.wait(30) else 500, b"")
    with serving(own / "s", **settings) as served:
        for n in range(COMMENTS):
            post(served, f"number {n}")
        hook.wait(1)
        assert served.process is not None
        served.process.kill()
        served.process.wait()
    release.set()
    with serving(own / "s", **settings) as served:
        let_pass(servers["valkey"], settings["KEY_PREFIX"], seconds=60)
        wait_until(lambda: len({*sent(hook)}) == COMMENTS, "each comment")
        wait_until(lambda: len({str(mail["Message-ID"]) for _, mail in mails.came}) == COMMENTS, "")
        # Only what the killed service had started may have come twice.
        assert len(sent(hook)) <= COMMENTS + MAX_TASKS


def let_pass(server: RealServer, prefix: str, seconds: int) -> None:
    """Let time pass for tasks that some worker has started."""
    with server.admin() as client:
        key = f"{prefix}:{{site}}:outbox"
        started = [each["message_id"] for each in client.xpending_range(key, GROUP, "-", "+", 1000)]
        assert started
        client.xclaim(
            key, GROUP, CONSUMER, 0, started, idle=1000 * seconds, justid=True, retrycount=1
        )


@pytest.mark.rare
def test_a_worker_apart_delivers_and_hands_over_when_it_is_stopped(
    own: Path, settings: dict[str, str], mails: MailServer, hook: Receiver
) -> None:
    with serving(own / "s", OUTBOX_WORKER="false", **settings) as served:
        post(served, "one")
        with working(served) as worker:
            hook.wait(1)
            mails.wait(1)
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(20) == 0
        post(served, "two")
        # While no worker runs, it is seen that what it has to do waits, and for how long.
        waits = httpx.get(f"{served.url}/metrics").text
        assert 'footfall_outbox_tasks{state="waiting"} 1.0' in waits
        assert 0 < float(re.findall(r"^footfall_outbox_seconds (\S+)$", waits, re.M)[0]) < 60
        with working(served):
            hook.wait(2)
            mails.wait(2)
    assert sent(hook) == ["one", "two"]


@contextlib.contextmanager
def working(served: Serving) -> Iterator[subprocess.Popen[str]]:
    """`footfall worker`, beside the service."""
    with served.run("worker") as worker:
        try:
            yield worker
        finally:
            worker.kill()


@pytest.mark.rare
def test_tasks_that_were_given_up_are_listed_sent_again_and_dropped(
    own: Path, settings: dict[str, str], mails: MailServer, hook: Receiver
) -> None:
    hook.answer = lambda path, body: (410, b"no\x1b[31m more")
    with serving(own / "s", **settings) as served:
        assert "0 failed" in served.ask("outbox", "list")[1]
        assert served.ask("outbox", "retry", "1-1")[0] == 1
        assert served.ask("outbox", "drop", "--all")[0] == 3
        assert served.ask("outbox", "retry")[0] == 2
        assert served.ask("outbox", "drop", "nonsense")[0] == 2
        post(served, "one")
        post(served, "two")
        wait_until(lambda: "2 failed" in served.ask("outbox", "list")[1], "failed notifications")
        _, output = served.ask("outbox", "list", "--json")
        found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        assert [each["task_kind"] for each in found] == ["webhook"] * 2
        assert all("status 410" in each["error"] for each in found)
        assert "\x1b" not in served.ask("outbox", "list")[1]
        assert served.ask("outbox", "drop", found[0]["id"])[0] == 0
        hook.answer = lambda path, body: (200, b"")
        hook.came.clear()
        assert served.ask("outbox", "retry", "--all")[0] == 0
        hook.wait(1)
        assert sent(hook) == ["one"]


def test_notify_says_what_the_other_side_answered(
    own: Path, settings: dict[str, str], mails: MailServer, hook: Receiver
) -> None:
    hook.answer = lambda path, body: (418, b"I am a teapot")
    with serving(own / "s", **settings) as served:
        code, output = served.ask("notify", "test")
        assert code == 1
        assert "webhook: status 418: I am a teapot" in output
        assert "mail-owner: sent" in output
        assert "mail-reader" not in output
        assert [to for to, _ in mails.came] == ["owner@blog.example"]
        hook.answer = lambda path, body: (200, b"")
        code, output = served.ask("notify", "test", "--to", "ann@example.com")
        assert code == 0
        assert "mail-reader: sent" in output
        mails.answer = "554 not from you"
        assert "554 not from you" in served.ask("notify", "test")[1]


def test_commands_say_if_no_notifications_are_configured(own: Path) -> None:
    with serving(own / "s") as served:
        for words in (("worker",), ("notify", "test")):
            code, output = served.ask(*words)
            assert code == 1
            assert "set SMTP_HOST or SMTP_SERVICE, WEBHOOK" in output
