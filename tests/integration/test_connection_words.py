"""A Redis that cannot be used stops the start with its cause, and what to do, in one sentence.

What needs no server is in test_serve.py, certificates are in test_tls.py.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from footfall.cli.errors import errors_as_messages
from footfall.config import Settings
from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.server.opening import opened
from tests.support.servers import free_port, program_of, running
from tests.support.serving import Serving
from tests.support.sites import process_of

SECRET = "hunter2"


@pytest.fixture(scope="module")
def locked(home: Path) -> Iterator[int]:
    """The port of a server that wants a password."""
    port = free_port()
    options = ("--port", str(port), "--bind", "127.0.0.1")
    with (
        running(program_of("valkey"), home / "locked", *options) as server,
        # This connection stays the administrator's.
        server.admin() as admin,
    ):
        admin.acl_setuser("eve", enabled=True, passwords=[f"+{SECRET}"], commands=["+@all"])
        admin.acl_setuser("default", enabled=False)
        yield port
        admin.acl_setuser("default", enabled=True)


async def said_by_start(url: str) -> str:
    """What ends a start with this REDIS_URL."""
    settings = Settings.from_env({"REDIS_URL": url, "REDIS_WAIT": "0"})
    store = Store(connect(settings.redis_url, timeout=0.5), prefix="t", buckets=256)
    with pytest.raises(click.ClickException) as raised, errors_as_messages():
        await opened(process_of(store), store, settings, creates=True)
    await store.redis.close()
    return raised.value.message


@pytest.mark.rare
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://127.0.0.1:{port}", "NOAUTH Authentication required. (it requires a password"),
        ("redis://127.0.0.1:{port}/7", "Authentication required. (it requires a password"),
        (f"redis://eve:not{SECRET}@127.0.0.1:{{port}}", "(it rejects the name or the password of"),
        ("rediss://127.0.0.1:{port}", "answers without TLS: write redis://"),
        ("rediss://127.0.0.1:{port}?cluster=true", "answers without TLS: write redis://"),
        ("rediss+sentinel://127.0.0.1:{port}/main", "without TLS: write redis+sentinel://"),
        (
            f"redis+sentinel://eve:{SECRET}@127.0.0.1:{{port}}/main?sentinel_username=eve"
            f"&sentinel_password={SECRET}",
            "(this is a Redis, not a Sentinel",
        ),
        ("redis+sentinel://127.0.0.1:{port}/main", "the Sentinels refuse the password"),
        ("redis://nowhere.invalid", "(the host name cannot be resolved"),
        ("redis+sentinel://127.0.0.1:1/main", "no Sentinel answers: are they running"),
        (f"redis://eve:{SECRET}@127.0.0.1:{{port}}/99", "DB index is out of range (its setting"),
    ],
)
async def test_a_start_names_what_is_wrong_with_the_address(
    locked: int, url: str, words: str
) -> None:
    said = await said_by_start(url.format(port=locked))
    assert words in said
    assert SECRET not in said
    assert "\n" not in said


async def test_what_listens_and_is_no_redis_is_called_that() -> None:
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert "(this is not Redis" in await said_by_start(f"redis://127.0.0.1:{port}")


def test_a_command_does_not_wait_long_for_a_server_without_tls(own: Path, locked: int) -> None:
    code, output = Serving(own, REDIS_URL=f"rediss://127.0.0.1:{locked}").ask("check")
    assert (code, output.endswith("answers without TLS: write redis://\n")) == (1, True), output
