"""Redis's password is changed while services run: new connections use the new one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from footfall.driver import credentials
from footfall.driver.client import connect
from footfall.errors import StoreUnavailable
from footfall.store import Store
from tests.support.clusters import RealCluster
from tests.support.sentinels import NAME, Group, group
from tests.support.servers import RealServer, program_of, running, wait_until
from tests.support.serving import serving
from tests.support.workers import ask, both_answer

Url = Callable[[str], str]


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[RealServer]:
    with running(program_of("valkey"), home / "rotating") as server:
        yield server


@pytest.fixture(scope="module")
def watched(home: Path) -> Iterator[Group]:
    with group(program_of("valkey"), home / "rotating-group") as watched:
        yield watched


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "FRESH_SECONDS", 0.0)


def let_in(servers: Sequence[RealServer], password: str, name: str = "rotating") -> None:
    """From now on this is the only password, and nobody who used another stays connected."""
    for server in servers:
        with server.admin() as admin:
            admin.execute_command(
                "ACL", "SETUSER", name, "on", "resetpass", f">{password}", "~*", "+@all"
            )
            admin.execute_command("CLIENT", "KILL", "USER", name)


class Rotating:
    """A store whose source of credentials a test changes."""

    def __init__(self, url: Url) -> None:
        self.url = url("one")
        self.password = ""
        self.is_readable = True
        self.store = Store(connect(self.source, timeout=1.5), prefix="rotating", buckets=256)

    def source(self, anew: bool) -> tuple[str, str]:
        if anew and not self.is_readable:
            raise ValueError("REDIS_URL_FILE='/f': this file is empty")
        return self.url, self.password

    async def answers(self) -> bool:
        try:
            await self.store.redis.ask(("GET", "rotating:{x}:a"), ("GET", "rotating:{y}:b"))
        except StoreUnavailable:
            return False
        return True


@asynccontextmanager
async def rotating(servers: Sequence[RealServer], url: Url) -> AsyncIterator[Rotating]:
    let_in(servers, "one")
    found = Rotating(url)
    try:
        assert await found.answers()
        yield found
    finally:
        await found.store.close()


async def takes_the_new_one(servers: Sequence[RealServer], url: Url) -> None:
    async with rotating(servers, url) as found:
        let_in(servers, "two")
        await until(lambda: refused(found), "the old password to be refused")
        found.url = url("two")
        await until(found.answers, "the new one to be used")


async def refused(found: Rotating) -> bool:
    return not await found.answers()


async def until(is_so: Callable[[], object], what: str) -> None:
    for _ in range(500):
        if await is_so():  # type: ignore[misc]
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"waited in vain for {what}")


async def test_of_one_server(server: RealServer) -> None:
    await takes_the_new_one(
        [server], lambda password: f"unix://rotating:{password}@{server.socket}"
    )


async def test_of_a_cluster(cluster: RealCluster) -> None:
    _, _, hosts = cluster.url.partition("@")
    await takes_the_new_one(cluster.nodes, lambda password: f"redis://rotating:{password}@{hosts}")


async def test_of_a_master_and_its_sentinels(watched: Group) -> None:
    hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in watched.sentinels)
    both = [watched.master, *watched.sentinels]
    await takes_the_new_one(
        both,
        lambda password: (
            f"redis+sentinel://rotating:{password}@{hosts}/{NAME}"
            f"?sentinel_username=rotating&sentinel_password={password}"
        ),
    )


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
    await found.store.close()


async def test_no_other_servers_password_is_sent_to_this_one(
    server: RealServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with rotating([server], lambda word: f"unix://rotating:{word}@{server.socket}") as found:
        found.url = "redis://rotating:another@elsewhere"
        let_in([server], "one")
        await until(found.answers, "a new connection with the old password")
        (line,) = [line for line in caplog.messages if "REDIS_URL" in line]
        assert line.startswith("REDIS_URL is now redis://elsewhere: start the service again")
        assert "another" not in line


def test_all_workers_of_a_service_take_what_its_file_has(own: Path, server: RealServer) -> None:
    let_in([server], "one")
    file = own / "secret"
    file.write_text(f"unix://rotating:one@{server.socket}\n")
    with serving(own / "s", "--workers", "2", REDIS_URL_FILE=str(file)) as served:
        both_answer(served)

        def statuses() -> set[int]:
            return {ask(served, "GET", "/article?path=/a")[0] for _ in range(8)}

        let_in([server], "two")
        wait_until(lambda: statuses() == {503}, "the old password to be refused")
        file.write_text(f"unix://rotating:two@{server.socket}\n")
        wait_until(lambda: statuses() == {200}, "both workers to use the new one")
