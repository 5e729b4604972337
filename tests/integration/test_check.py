"""`footfall check` is silent about what the service did, and names what somebody else did."""

from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest

from footfall.data.store import Store
from footfall.maintenance.check import check
from footfall.statistics.calendar import Calendar
from footfall.statistics.moments import Moments
from footfall.stores import data_set
from tests.conftest import ADMIN, BOB, EVERYWHERE, Site, Sites
from tests.support.backups import report

ON = EVERYWHERE


def this_month() -> int:
    return int(f"{datetime.now(UTC):%Y%m}")


async def problems(store: Store) -> list[str]:
    check_ = check(data_set(store), repair=False)
    return [str(line) async for line in check_ if line.is_problem]


@pytest.fixture
async def busy(make_site: Sites) -> Site:
    """A site in every state that it can have."""
    site = await make_site(COMMENT_AUDIT="true")
    for n in range(4):
        root = await site.post(f"root {n}", by=BOB if n == 3 else None, url=f"/{n % 2}")
        reply = await site.reply(root, f"reply {n}", url=f"/{n % 2}")
        for each in (root, reply)[: n % 3]:
            target = f"/comment/{each['objectId']}"
            await site.send("PUT", target, {"status": "approved"}, by=ADMIN)
            await site.send("PUT", target, {"like": True})
    await site.send("PUT", f"/comment/{root['objectId']}", {"sticky": True}, by=ADMIN)
    await site.send("PUT", f"/comment/{reply['objectId']}", {"status": "spam"}, by=ADMIN)
    await site.count("/a")
    await site.count("/b", type="reaction1")
    return site


async def test_what_the_service_did_agrees_with_itself(busy: Site) -> None:
    assert await report(busy.store) == [
        "2 pages, 3 approved comments, 5 held, 2 counters, 0 problems"
    ]


async def test_days_that_do_not_add_up_are_named_and_repaired(busy: Site) -> None:
    store = busy.store
    redis, keys = store.redis.client, store.keys
    for path in ("/few", "/many", "/none"):
        for _ in range(3):
            await busy.count(path)
    # By hand: two views of the open hour are lost, and others are added to a day.
    month = keys.views("/few").days(this_month())
    hour, before = (await redis.hget(month, "open")).split()
    await redis.hset(month, "open", b"%b %d" % (hour, int(before) + 2))
    await redis.hincrby(keys.views("/many").days(this_month()), 1, 7)
    await redis.delete(*keys.views("/none").of_months([this_month()]))
    expected = {
        "views of '/few': 2 views without a day",
        "views of '/many': the days have 7 views too many",
    }
    assert set(await problems(store)) == expected
    assert {*(await report(store, repair=True))[:-1]} == {f"{each} (repaired)" for each in expected}
    assert await problems(store) == []
    assert await busy.count("/few") == 4
    assert await busy.count("/none") == 4
    assert await problems(store) == []


async def test_views_around_a_months_end_have_their_days_whichever_clock_is_ahead(
    store: Store,
) -> None:
    """Two services whose clocks are eight seconds apart."""
    starts = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    services = []
    for seconds in (-4, 4):
        clock = partial(int, (starts.timestamp() + seconds) * 1000)
        moments = Moments(Calendar(ZoneInfo("UTC")), clock, 25)
        service = Store(store.redis, prefix=store.keys.prefix, buckets=256, moment=moments)
        await service.open()
        services.append(service)
    for behind in (0, 1, 0, 0, 1):
        await services[behind].counters.add([("/a", "time", 1)])
    assert await problems(services[0]) == []
    # A view that was lost is found as before.
    await store.redis.client.hincrby(store.keys.views("/a").days(this_month()), "undated", -1)
    assert await problems(services[0]) == ["views of '/a': 1 view without a day"]


@pytest.mark.parametrize(
    ("days", "is_right"),
    [((0, 1), True), ((0, 2), False), ((0, -1), False)],
    ids=["the next day", "a day later", "the day before"],
)
async def test_a_visitor_of_midnight_may_have_viewed_a_page_on_the_next_day(
    store: Store, days: tuple[int, int], is_right: bool
) -> None:
    starts = datetime.now(UTC).replace(day=1)
    visited, viewed = (starts + timedelta(day - 1) for day in days)
    counts = store.keys.counts("time /a")
    await store.redis.change(("HSET", counts, "time /a", 1), ("HSET", store.keys.share(0), "x", 1))
    for at, field in ((visited, f"v{visited.day}"), (viewed, f"{viewed.day}")):
        key = store.keys.views("/a").days(at.year * 100 + at.month)
        await store.redis.change(("HSET", key, field, 1, "base", 0))
    found = [line for line in await problems(store) if "visitor" in line]
    assert found == (
        [] if is_right else [f"views of '/a': on {visited:%Y%m%d} 1 visitor had 0 views"]
    )


async def test_views_of_a_time_without_statistics_are_no_problem(
    make_site: Sites, store: Store
) -> None:
    site = await make_site()
    await site.count("/a")
    without = Store(store.redis, prefix=store.keys.prefix, buckets=store.keys.buckets)
    await without.open()
    await without.views_ever.note_undated()
    await without.counters.add([("/a", "time", 1)])
    assert await site.count("/a") == 3
    assert await problems(site.store) == []
    # What the days have too many is none of that.
    await store.redis.client.hincrby(store.keys.views("/a").days(this_month()), 1, 7)
    assert await problems(site.store) == ["views of '/a': the days have 7 views too many"]


async def test_every_damage_is_named(busy: Site) -> None:
    store = busy.store
    redis, keys = store.redis.client, store.keys
    damages = 0
    async for key in redis.scan_iter(match=keys.every_page):
        page = keys.page_of(key.decode())
        for name in (
            "newest",
            "liked",
            "replies",
            "heldroots",
            "heldliked",
            "heldreplies",
            "pinned",
        ):
            await redis.zadd(keys.page(page, name), {"stranger": 1})
            damages += 1
        for name in ("likes", "held"):
            await redis.hset(keys.page(page, name), "stranger", "1")
            damages += 1
        bodies = (await redis.hscan(keys.page(page, "bodies"), count=10_000))[1]
        await redis.hdel(keys.page(page, "private"), *bodies)
        await redis.set(keys.page(page, "longest"), 1)
        damages += 2
    for name in ("recent", "waiting", "spam"):
        await redis.zadd(keys.site(name), {"stranger": 1})
    await redis.zadd(keys.own("eve"), {"stranger": 1})
    await redis.set(keys.site("total"), 99)
    await redis.hset(keys.site("totals"), "nowhere", "1 1")
    await redis.zadd(keys.site("authors"), {"stranger": 7})
    await redis.hset(keys.counts("time /a"), "time /a", -5)
    await redis.hset(keys.counts("\ufffd"), b"\xff", 1)
    found = await problems(store)
    assert len(found) >= damages + 9
    for name in (
        "newest",
        "liked",
        "replies",
        "heldroots",
        "heldliked",
        "heldreplies",
        "pinned",
        "likes",
        "held",
        "private",
        "recent",
        "waiting",
        "spam",
        "own:eve",
        "total ",
        "totals",
        "authors",
        "counters",
        "is not UTF-8",
        "longest",
    ):
        assert any(name in problem for problem in found), name


@pytest.mark.rare
async def test_repair_rebuilds_the_sites_indexes_from_the_pages(busy: Site) -> None:
    store = busy.store
    redis, keys = store.redis.client, store.keys
    before = {name: await busy.get("/comment", by=ADMIN, type=name) for name in ("recent", "count")}
    for name in ("recent", "waiting", "spam", "totals", "total", "authors"):
        await redis.delete(keys.site(name))
    await redis.zadd(keys.own("eve"), {"stranger": 1})
    assert await problems(store)
    assert all(line.endswith("(repaired)") for line in (await report(store, repair=True))[:-1])
    assert await problems(store) == []
    after = {name: await busy.get("/comment", by=ADMIN, type=name) for name in before}
    assert after == before
    await busy.post("and it goes on", by=ADMIN)
    assert await problems(store) == []
