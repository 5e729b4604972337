"""How many trips to Redis a request takes: a number for each endpoint, whatever the number of
paths.
"""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from footfall.comments.rules import queue
from footfall.comments.rules.queue import Wanted
from footfall.driver.connection import Connection
from footfall.driver.pipeline import MAX_SENDS_A_WRITE
from footfall.model import STATUSES, Ban, Viewer
from tests.conftest import ADMIN, BOB, Site, Sites, server_of
from tests.support.accounts import save_account
from tests.support.servers import RealServer


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts what is written to Redis."""
    count = [0]
    send = Connection._send

    def counting(wire: Connection, *args: Any) -> None:
        count[0] += 1
        send(wire, *args)

    monkeypatch.setattr(Connection, "_send", counting)
    return count


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/article?path=/a", None, 1),
        ("GET", "/article?path=" + ",".join(map(str, range(200))), None, 1),
        ("POST", "/article", {"path": "/a"}, 1),
        ("POST", "/article", [{"path": str(n)} for n in range(200)], 1),
        ("GET", "/comment?path=/p&pageSize=100", None, 1),
        ("GET", "/comment?type=count&url=" + ",".join(map(str, range(200))), None, 1),
        ("GET", "/comment?type=count", None, 1),
        ("GET", "/comment?type=recent&count=50", None, 1),
        # Check, store, follow; behind the request, cut the journal.
        ("POST", "/comment", {"comment": "new", "url": "/p"}, 4),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_an_endpoint_has_a_fixed_number_of_round_trips(
    site: Site, trips: list[int], method: str, path: str, body: object, expected: int
) -> None:
    for n in range(20):
        await site.post(str(n))
    # One request before counting, so that connections are open and scripts are loaded.
    await site.http.request(method, path, json=body)
    if method == "POST" and isinstance(body, dict) and "comment" in body:
        body = body | {"comment": "another"}
    await site.settled()
    before = trips[0]
    response = await site.http.request(method, path, json=body)
    await site.settled()
    assert response.status_code == 200
    assert trips[0] - before == expected


async def test_another_counters_numbers_of_the_site_take_no_trip_of_their_own_within_a_minute(
    make_site: Sites, trips: list[int]
) -> None:
    site = await make_site(COMPAT="busuanzi", STATISTICS="visitors")
    body = {"url": "https://blog.example/a/"}
    for method, target in (("POST", "/api/v2/log"), ("GET", "/log?url=https://blog.example/a/")):
        await site.http.request(method, target, json=body)
        before = trips[0]
        assert (await site.http.request(method, target, json=body)).status_code == 200
        assert trips[0] - before == 1


async def test_the_newest_comments_are_read_only_when_they_have_changed(
    site: Site, trips: list[int]
) -> None:
    async def look() -> int:
        await site.settled()
        before = trips[0]
        await site.get("/comment", type="recent")
        return trips[0] - before

    id = (await site.post("first"))["objectId"]
    # The ids; the versions of their pages; everything about each; the bodies.
    assert await look() == 4
    assert await look() == 1
    await site.send("PUT", f"/comment/{id}", {"like": True})
    assert [await look(), await look()] == [3, 1]
    await site.post("second")
    assert [await look(), await look()] == [4, 1]


async def test_a_page_with_accounts_and_levels_takes_one_step_more(
    make_site: Sites, trips: list[int]
) -> None:
    site = await make_site(LEVELS="0,10")
    await site.post("by Bob", by=BOB)
    await site.post("by Ann")
    await site.page()
    await site.settled()
    before = trips[0]
    await site.page()
    # The page; then accounts and counts of comments, at the same time.
    assert trips[0] - before == 3


async def test_a_page_that_has_changed_is_read_in_one_trip_more(
    site: Site, trips: list[int]
) -> None:
    roots = [(await site.post(str(n)))["objectId"] for n in range(3)]
    for root in roots:
        await site.post(f"to {root}", pid=root, rid=root)
    await site.page()
    await site.send("PUT", f"/comment/{roots[0]}", {"like": True})
    await site.settled()
    before = trips[0]
    assert len((await site.page())["data"]) == 3
    # The versions; then ids and bodies at once.
    assert trips[0] - before == 2
    await site.page()
    assert trips[0] - before == 3


@pytest.mark.rare
async def test_a_page_costs_the_same_whatever_the_number_of_comments(
    site: Site, kind: str, servers: dict[str, RealServer]
) -> None:
    """This counts the commands that Redis runs inside the script, on a short article and a long
    one."""

    async def cost(path: str, **params: Any) -> dict[str, int]:
        admin.config_resetstat()
        page = await site.page(path, pageSize=5, **params)
        assert len(page["data"]) == 5
        stats = admin.info("commandstats")
        return {name: facts["calls"] for name, facts in stats.items() if "config" not in name}

    for path, roots in (("/short", 10), ("/long", 2000)):
        for n in range(roots):
            await site.post(str(n), url=path)
    await site.page("/short")
    with server_of(kind, servers).admin() as admin:
        for order in ("insertedAt_desc", "insertedAt_asc", "like_desc"):
            short = await cost("/short", sortBy=order)
            assert await cost("/long", sortBy=order) == short
            assert await cost("/long", sortBy=order, page=400) == short
            assert sum(short.values()) < 25


async def test_a_page_that_was_read_in_one_trip_is_cached_until_an_account_changes(
    site: Site, trips: list[int]
) -> None:
    await save_account(site.store, BOB)
    await site.post("by Bob", by=BOB)

    async def read() -> tuple[str, int]:
        await site.settled()
        before = trips[0]
        (root,) = (await site.page())["data"]
        return root["nick"], trips[0] - before

    # The page, and its authors; then only the version.
    assert [await read(), await read()] == [("Bob", 2), ("Bob", 1)]
    await save_account(site.store, replace(BOB, nick="Robert"))
    # The version, the page, and its authors.
    assert [await read(), await read()] == [("Robert", 3), ("Robert", 1)]


async def test_pages_that_have_changed_leave_in_few_writes(site: Site, trips: list[int]) -> None:
    paths = [f"/p{n}" for n in range(8)]
    for path in paths:
        await site.post("first", url=path)
        await site.page(path)
        await site.post("second", url=path)
    await site.settled()
    before = trips[0]
    pages = await asyncio.gather(*map(site.page, paths))
    assert [len(page["data"]) for page in pages] == [2] * len(paths)
    # The versions of all; then the pages, some at a time.
    assert trips[0] - before == 1 + len(paths) // MAX_SENDS_A_WRITE


@pytest.mark.parametrize("is_kept", [False, True], ids=["new", "changed"])
async def test_requests_for_the_same_page_share_a_trip(
    site: Site, kind: str, servers: dict[str, RealServer], *, is_kept: bool
) -> None:
    await site.post("first")
    if is_kept:
        await site.page()
    await site.post("second")
    await site.settled()
    with server_of(kind, servers).admin() as admin:
        admin.config_resetstat()
        pages = await asyncio.gather(*(site.page() for _ in range(20)))
        scripts = admin.info("commandstats")["cmdstat_evalsha"]["calls"]
    assert [len(page["data"]) for page in pages] == [2] * 20
    assert scripts == 1


async def test_a_status_and_a_pin_change_a_page_in_one_step(site: Site, trips: list[int]) -> None:
    target = f"/comment/{(await site.post('a'))['objectId']}"
    # They are read once a minute.
    await site.service.accounts.lookalikes.administrators(Viewer(ADMIN))
    for status in ("spam", "waiting"):
        version = await site.store.comments.version("/p")
        await site.settled()
        before = trips[0]
        await site.send("PUT", target, {"status": status, "sticky": 1}, by=ADMIN)
        await site.settled()
        # Both halves, the change, what the site makes of it, the result; what administrators see
        # besides; and the journal is cut.
        assert trips[0] - before == 7
        assert await site.store.comments.version("/p") > version


async def test_moderation_takes_few_trips_and_the_queue_as_many_on_every_page(
    site: Site, kind: str, servers: dict[str, RealServer], trips: list[int]
) -> None:
    ids = [(await site.post(str(n)))["objectId"] for n in range(120)]
    await site.service.accounts.lookalikes.administrators(Viewer(ADMIN))

    async def spent(method: str, path: str, body: Any = None) -> int:
        await site.settled()
        before = trips[0]
        answer = await site.send(method, path, body, by=ADMIN)
        await site.settled()
        assert answer["errno"] == 0
        return trips[0] - before

    async def turn_to(page: int) -> int:
        await site.settled()
        with server_of(kind, servers).admin() as admin:
            admin.config_resetstat()
            # The ids; the comments; what administrators see of them; how many are held.
            path = f"/api/comment?type=list&page={page}&pageSize=5"
            assert await spent("GET", path) == 4
            stats = admin.info("commandstats")
        return sum(facts["calls"] for name, facts in stats.items() if "config" not in name)

    assert await turn_to(1) == await turn_to(24)
    # The same for the owner's list, which is read on behind a comment: wherever that is.
    for after in (ids[-1], ids[50]):
        await site.settled()
        before = trips[0]
        wanted, admin = Wanted(STATUSES), Viewer(ADMIN)
        found = await queue.part(site.service.comments, wanted, admin, size=5, after=after)
        assert (len(found.comments), trips[0] - before) == (5, 4)
    # Both halves; the script; what the site makes of it; the comment as it is now, and its other
    # half; behind the request, the journal.
    assert await spent("PUT", f"/comment/{ids[0]}", {"status": "spam"}) == 7
    assert await spent("PUT", f"/comment/{ids[1]}", {"comment": "other"}) == 7
    # Both halves; the script; what the site makes of it; the journal.
    assert await spent("DELETE", f"/comment/{ids[2]}") == 5


async def test_bans_and_known_authors_cost_a_comment_no_trip(
    make_site: Sites, trips: list[int]
) -> None:
    site = await make_site(COMMENT_AUDIT="true", TRUST_AFTER="5")

    async def cost(method: str, path: str, body: Any, **by: Any) -> int:
        await site.settled()
        before = trips[0]
        assert (await site.send(method, path, body, **by))["errno"] == 0
        await site.settled()
        return trips[0] - before

    async def post(n: int, **by: Any) -> int:
        return await cost("POST", "/api/comment", {"comment": str(n), "url": "/p"}, **by)

    id = (await site.post("first"))["objectId"]
    await site.send("PUT", f"/api/comment/{id}", {"status": "approved"}, by=ADMIN)
    target, like = f"/api/comment/{id}", {"like": True}
    free = [await post(1), await post(2, by=BOB), await cost("PUT", target, like)]
    for n in range(300):
        ban = Ban(f"198.51.{n // 256}.{n % 256}")
        await site.store.bans.change(ban.value, None, ban, n)
    await site.service.accounts.bans.refresh()
    # Check, store, follow, cut the journal; an account is also noted on the page.
    banned = [await post(3), await post(4, by=BOB), await cost("PUT", target, like)]
    assert (free, banned) == ([4, 5, 1], [4, 5, 1])


async def test_only_a_token_of_ours_costs_a_trip(make_site: Sites, trips: list[int]) -> None:
    site = make_site.without_accounts()
    person = {"display_name": "Tom", "email": "tom@example.com", "password": "tom's own"}
    await site.send("POST", "/api/user", person)
    token = (await site.send("POST", "/api/token", person))["data"]["token"]

    async def cost(by: str) -> int:
        await site.settled()
        # The login gives back what it took, in a batch that nobody waits for.
        while not all(batch.is_idle for batch in site.store.batches.values()):
            await asyncio.sleep(0)
        before = trips[0]
        await site.get("/article", path="/a", by=by)
        return trips[0] - before

    assert [await cost(by) for by in ("", "undefined", "a.b.c", token)] == [1, 1, 1, 2]
