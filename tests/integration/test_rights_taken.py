"""What fails without each right: the table that the service has, as it is seen here."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.driver.rights import (
    COMMENTS,
    COUNTS,
    FOR_VISITORS,
    LIKES,
    LOGINS,
    MODERATION,
    PAGES,
    RECENT,
    RIGHTS,
    UPKEEP,
    VIEWS,
)
from footfall.statistics.calendar import Calendar
from footfall.statistics.moments import Moments
from footfall.statistics.salts import Salts
from tests.conftest import Clock, Site, Sites
from tests.support.servers import RealServer
from tests.support.sites import safety_of

from .test_failures import server as server

HOUR_MS = 3_600_000
PERSON = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"}
BOT = {"user-agent": "Googlebot/2.1 (+http://www.google.com/bot.html)"}
LOGIN = {"email": "a@example.com", "password": "secret password"}
READS = {
    COUNTS: ("/api/article?path=/p",),
    PAGES: (
        "/api/comment?path=/p",
        "/api/comment?path=/p&sortBy=like_desc",
        "/api/comment?path=/p&sortBy=insertedAt_asc",
        "/api/comment?type=count&url=/p",
    ),
    RECENT: ("/api/comment?type=recent", "/api/comment/rss"),
}


class Visitors:
    """Those of one site, who do all that visitors and moderators can do again and again."""

    def __init__(self, site: Site, server: RealServer, moments: Moments, clock: Clock) -> None:
        self.site, self.server, self.moments, self.clock = site, server, moments, clock
        self.numbers = itertools.count()
        self.failed = False

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        number = next(self.numbers)
        headers = PERSON | headers | {"x-forwarded-for": f"10.{number >> 8}.{number & 255}.1"}
        answer = await self.site.http.request(method, path, json=body, headers=headers)
        data = answer.json() if "json" in answer.headers["content-type"] else {}
        if answer.status_code != 200 or data.get("errno"):
            self.failed = True
        return data.get("data")

    async def fail(self) -> set[str]:
        """What fails now."""
        assert self.moments.salts is not None
        await self.moments.salts.keep_up(self.site.store.site_views)
        return {what for what in EACH if await self._fails(what)}

    async def _fails(self, what: str) -> bool:
        self.failed = False
        if what in READS:
            for path in READS[what]:
                await self.ask("GET", path)
        else:
            await CHANGES[what](self)
        await self.site.settled()
        return self.failed

    async def views(self) -> None:
        """Views by people and bots, in a new hour, of pages that have all that a page can have."""
        keys, day = self.site.store.keys, self.moments().day
        views, sources = keys.views("/p"), keys.sources_in(keys.group("/p"), day)
        with self.server.admin() as admin:
            admin.delete(sources, views.visitors(day))
            admin.hset(sources, mapping={f"{n}.example": 1 for n in range(200)})
            admin.sadd(views.visitors(day), *range(1, 520))
            admin.hset(views.days(day // 100), f"v{day % 100}", 519)
        new = next(self.numbers)
        seen = [
            (f"/new{new}", PERSON),
            ("/p", {"referer": f"https://{new}.example/"}),
            ("/p", PERSON),
            ("/p", BOT),
        ]
        for path, headers in seen:
            await self.ask("POST", "/api/article", {"path": path, "type": "time"}, **headers)
        for more in ({}, {"action": "desc"}):
            await self.ask("POST", "/api/article", {"path": "/p", "type": "reaction0", **more})
        self.clock.now += HOUR_MS

    async def comment(self, **fields: str) -> str:
        draft = {
            "url": "/p",
            "comment": f"number {next(self.numbers)}",
            "nick": "Ann",
            "mail": LOGIN["email"],
            **fields,
        }
        data = await self.ask("POST", "/api/comment", draft)
        return str((data or {}).get("objectId", ""))

    async def comments(self) -> None:
        if root := await self.comment():
            await self.comment(pid=root, rid=root, at="Ann")
        await self.comment(url=f"/new{next(self.numbers)}", mail="b@example.com")

    async def likes(self) -> None:
        for like in (True, False):
            await self.ask("PUT", f"/api/comment/{self.root}", {"like": like})

    async def logins(self) -> None:
        number = next(self.numbers)
        account = {"display_name": "Ann", **LOGIN, "email": f"{number}@example.com"}
        await self.ask("POST", "/api/user", account)
        token = ((await self.ask("POST", "/api/token", LOGIN)) or {}).get("token")
        for method in ("GET", "DELETE") if token else ():
            await self.ask(method, "/api/token", authorization=f"Bearer {token}")

    async def moderation(self) -> None:
        by = {"authorization": f"Bearer {self.token}"}
        id = await self.comment()
        # That it may fail is not of interest here.
        self.failed = False
        for body in ({"status": "spam"}, {"status": "approved"}, {"comment": "other"}):
            if id:
                await self.ask("PUT", f"/api/comment/{id}", body, **by)
        if id:
            await self.ask("DELETE", f"/api/comment/{id}", **by)
        await self.ask("GET", "/api/comment?type=list&owner=all&status=approved", **by)

    async def start(self) -> None:
        await self.ask("POST", "/api/user", {"display_name": "Ann", **LOGIN})
        self.token = (await self.ask("POST", "/api/token", LOGIN))["token"]
        self.root = await self.comment()


CHANGES: dict[str, Callable[[Visitors], Awaitable[None]]] = {
    VIEWS: Visitors.views,
    COMMENTS: Visitors.comments,
    LIKES: Visitors.likes,
    LOGINS: Visitors.logins,
    MODERATION: Visitors.moderation,
}
EACH = (*READS, *CHANGES)


@pytest.fixture
def clock() -> Clock:
    return Clock(1_795_000_000_000)


@pytest.fixture
def moments(clock: Clock) -> Moments:
    calendar = Calendar(ZoneInfo("UTC"))
    return Moments(calendar, clock, 25, Salts(calendar, clock, "t"))


@pytest.fixture
async def store(server: RealServer, moments: Moments) -> AsyncIterator[Store]:
    store = Store(connect(server.url, timeout=60), prefix="t", buckets=256, moment=moments)
    await store.create()
    yield store
    await store.redis.close()


@pytest.fixture
async def visitors(
    make_site: Sites, server: RealServer, moments: Moments, clock: Clock
) -> Visitors:
    visitors = Visitors(make_site.without_accounts(LEVELS="0,5"), server, moments, clock)
    await visitors.start()
    return visitors


async def test_without_each_right_fails_what_the_table_says(
    visitors: Visitors, server: RealServer
) -> None:
    safety = safety_of(visitors.site.store)
    assert await visitors.fail() == set()
    with server.admin() as admin:
        for name, right in RIGHTS.items():
            admin.execute_command("ACL", "SETUSER", "footfall", f"-{name[1:]}")
            await safety.check(logs=False)
            assert (name, await visitors.fail()) == (name, {*right.fails} - {UPKEEP})
            is_serious = not FOR_VISITORS.isdisjoint(right.fails)
            problem = safety.problems["rights" if is_serious else "rights_minor"]
            assert problem.text.startswith(f"Redis does not allow {name} ("), problem
            assert problem.is_fatal == is_serious, problem
            admin.execute_command("ACL", "SETUSER", "footfall", name)
        admin.acl_log_reset()
