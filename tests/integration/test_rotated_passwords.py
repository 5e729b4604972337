"""Redis's password is changed while services run: new connections use the new one.

tests/integration/test_sentinels.py tries it with Sentinels.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from footfall.driver import credentials
from tests.support.clusters import RealCluster
from tests.support.rotating import Rotating, let_in, refused, rotating, takes_the_new_one, until
from tests.support.servers import RealServer, program_of, running, wait_until
from tests.support.serving import serving
from tests.support.workers import all_answer, ask, ask_plainly, workers


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[RealServer]:
    with running(program_of("valkey"), home / "rotating") as server:
        yield server


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "FRESH_SECONDS", 0.0)


async def test_of_one_server(server: RealServer) -> None:
    await takes_the_new_one(
        [server], lambda password: f"unix://rotating:{password}@{server.socket}"
    )


@pytest.mark.rare
async def test_of_a_cluster(cluster: RealCluster) -> None:
    _, _, hosts = cluster.url.partition("@")
    await takes_the_new_one(cluster.nodes, lambda password: f"redis://rotating:{password}@{hosts}")


async def test_a_password_beside_the_url_takes_its_place(server: RealServer) -> None:
    async with rotating([server], lambda _: f"unix://rotating:one@{server.socket}") as found:
        let_in([server], "two")
        await until(lambda: refused(found), "the old password to be refused")
        found.password = "two"
        await until(found.answers, "the new one to be used")


async def test_what_cannot_be_read_now_changes_nothing_and_is_said_once(
    server: RealServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with rotating([server], lambda word: f"unix://rotating:{word}@{server.socket}") as found:
        found.is_readable = False
        for _ in range(3):
            let_in([server], "one")
            await until(found.answers, "a new connection with the old password")
        (line,) = [line for line in caplog.messages if "REDIS_URL_FILE" in line]
        assert line == (
            "REDIS_URL_FILE='/f': this file is empty; new connections to Redis use what was read "
            "before"
        )


async def test_a_store_that_is_opened_later_needs_no_file_either(server: RealServer) -> None:
    """Such as that of a worker that takes the place of another."""
    let_in([server], "one")
    found = Rotating(lambda word: f"unix://rotating:{word}@{server.socket}")
    found.is_readable = False
    assert await found.answers()
    await found.store.redis.close()


async def test_no_other_servers_password_is_sent_to_this_one(
    server: RealServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with rotating([server], lambda word: f"unix://rotating:{word}@{server.socket}") as found:
        found.url = "redis://rotating:another@elsewhere"
        let_in([server], "one")
        await until(found.answers, "a new connection with the old password")
        (line,) = [line for line in caplog.messages if "REDIS_URL" in line]
        assert line.startswith("REDIS_URL is redis://elsewhere now, and was unix:///")
        assert "restart the service to use it" in line
        assert "another" not in line


@pytest.mark.rare
def test_workers_take_the_new_password_but_else_what_their_service_was_started_with(
    own: Path, server: RealServer
) -> None:
    let_in([server], "one")
    url, name = own / "url", own / "name"
    url.write_text(f"unix://rotating:one@{server.socket}\n")
    name.write_text("The first name")
    environ = {"REDIS_URL_FILE": str(url), "SITE_NAME_FILE": str(name)}
    with serving(own / "s", "--workers", "2", **environ) as served:
        all_answer(served)

        def statuses() -> set[int]:
            return {ask(served, "GET", "/article?path=/a")[0] for _ in range(8)}

        let_in([server], "two")
        wait_until(lambda: statuses() == {503}, "the old password to be refused")
        url.write_text(f"unix://rotating:two@{server.socket}\n")
        wait_until(lambda: statuses() == {200}, "both workers to use the new one")

        name.write_text("Another name")
        first, *_ = before = workers(served)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: workers(served) - before, "another worker")
        all_answer(served)
        assert all(b"The first name" in ask_plainly(served, "GET", "/") for _ in range(8))
