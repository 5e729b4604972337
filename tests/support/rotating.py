"""A store at a Redis whose password a test changes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.errors import StoreUnavailable

from .servers import RealServer

Url = Callable[[str], str]


def let_in(servers: Sequence[RealServer], password: str) -> None:
    """From now on this is the only password, and nobody who used another stays connected."""
    for server in servers:
        with server.admin() as admin:
            admin.execute_command(
                "ACL", "SETUSER", "rotating", "on", "resetpass", f">{password}", "~*", "+@all"
            )
            admin.execute_command("CLIENT", "KILL", "USER", "rotating")


class Rotating:
    """A store whose source of credentials a test changes."""

    def __init__(self, url: Url) -> None:
        self.url = url("one")
        self.password = ""
        self.is_readable = True
        self.store = Store(connect(self.source, timeout=60), prefix="rotating", buckets=256)

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
        await found.store.redis.close()


async def takes_the_new_one(servers: Sequence[RealServer], url: Url) -> None:
    async with rotating(servers, url) as found:
        let_in(servers, "two")
        await until(lambda: refused(found), "the old password to be refused")
        found.url = url("two")
        await until(found.answers, "the new one to be used")


async def refused(found: Rotating) -> bool:
    return not await found.answers()


async def until(is_so: Callable[[], Awaitable[bool]], what: str) -> None:
    for _ in range(500):
        if await is_so():
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"waited in vain for {what}")
