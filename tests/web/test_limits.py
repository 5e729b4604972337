"""How much strangers may change: so many counters a second, and so many counters in total."""

import asyncio

import pytest

from footfall.counting import limits as rate_limit
from footfall.counting.quota import DATED_WEIGHT, FULL_FRESH_SECONDS
from footfall.counting.unknown_proxies import MANY
from footfall.limits.allowance import ALLOWANCE_TOKENS
from tests.conftest import Site, Sites

STRANGER = "203.0.113.9"


without_allowance = pytest.mark.usefixtures("no_allowance")


@without_allowance
async def test_an_address_changes_so_many_counters_and_then_has_to_wait(make_site: Sites) -> None:
    site = await make_site(STRANGER, COUNTER_RATE="0.01")
    answers = await asyncio.gather(
        *(site.http.post("/api/article", json={"path": "/a"}) for _ in range(230))
    )
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) == 30
    assert refused[0].json() == {"errno": 429, "errmsg": "Too Many Requests"}
    assert 99 <= int(refused[0].headers["retry-after"]) <= 100
    assert await site.get("/article", path="/a") == 200


async def test_the_first_changes_of_an_address_take_no_trip_to_redis(make_site: Sites) -> None:
    site = await make_site(STRANGER, COUNTER_RATE="0.01")
    keys, client = site.store.keys, site.store.redis.client
    for n in range(ALLOWANCE_TOKENS):
        assert await site.count("/a") == n + 1
    assert await client.get(keys.tokens(STRANGER)) is None
    # Further changes take tokens for the first ones, too.
    await site.count("/a")
    assert await client.get(keys.tokens(STRANGER)) is not None
    changes = [{"path": "/b"}] * (rate_limit.MIN_BURST_CHANGES - ALLOWANCE_TOKENS - 1)
    assert (await site.http.post("/article", json=changes)).status_code == 200
    for n in range(ALLOWANCE_TOKENS):
        assert await site.count("/c") == n + 1
    refused = await site.http.post("/article", json={"path": "/c"})
    assert refused.status_code == 429
    # It has to wait until there are tokens for its allowance, too.
    assert int(refused.headers["retry-after"]) > 100 * ALLOWANCE_TOKENS


async def test_an_allowance_is_no_way_around_a_bucket(make_site: Sites) -> None:
    site = await make_site(STRANGER, COUNTER_RATE="0.01")

    async def count() -> int:
        return (await site.http.post("/article", json={"path": "/a"})).status_code

    # Many changes at once, and then one after the other.
    answers = await asyncio.gather(*(count() for _ in range(300)))
    answers += [await count() for _ in range(2 * ALLOWANCE_TOKENS)]
    assert (
        rate_limit.MIN_BURST_CHANGES
        <= answers.count(200)
        <= rate_limit.MIN_BURST_CHANGES + ALLOWANCE_TOKENS
    )
    assert answers[-1] == 429


@without_allowance
async def test_many_changes_in_one_request_take_as_many_tokens(make_site: Sites) -> None:
    site = await make_site(STRANGER, COUNTER_RATE="0.01")
    changes = [{"path": f"/{n}"} for n in range(150)]
    assert await site.send("POST", "/article", changes) == [1] * 150
    assert (await site.http.post("/article", json=changes)).status_code == 429
    assert await site.send("POST", "/article", changes[:50]) == [2] * 50
    # All are counted or none: of those that were refused none was.
    assert await site.get("/article", path="/0,/149") == [2, 1]


@without_allowance
async def test_each_address_has_its_own_bucket_and_a_household_with_many_has_one(
    make_site: Sites,
) -> None:
    changes = [{"path": f"/{n}"} for n in range(200)]
    for address in ("2001:db8::1", STRANGER):
        site = await make_site(address, COUNTER_RATE="0.01")
        assert (await site.http.post("/article", json=changes)).status_code == 200
    neighbour = await make_site("2001:db8::2", COUNTER_RATE="0.01")
    assert (await neighbour.http.post("/article", json=changes)).status_code == 429


async def test_a_proxys_visitors_take_tokens_and_the_proxy_takes_none(make_site: Sites) -> None:
    site = await make_site(COUNTER_RATE="0.01")
    changes = [{"path": f"/{n}"} for n in range(200)]

    async def ask(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return (await site.http.post("/article", json=changes, headers=named)).status_code

    assert await ask(x_forwarded_for=STRANGER) == 200
    assert await ask(x_forwarded_for=f"198.51.100.1, {STRANGER}") == 429
    assert [await ask(), await ask()] == [200, 200]


async def test_at_the_limit_old_counters_are_counted_and_new_ones_refused(site: Site) -> None:
    room = site.store.quota
    room._limit = 3 * (1 + DATED_WEIGHT)
    await room.read()
    assert await site.send("POST", "/article", [{"path": "/a"}, {"path": "/b"}]) == [1, 1]
    assert await site.count("/a", type="reaction0") == 1
    refused = await site.send("POST", "/api/article", {"path": "/c"})
    assert refused == {"errno": 1000, "errmsg": "Counter limit reached; this path is not counted"}
    assert await site.count("/a") == 2
    # All are counted or none.
    both = await site.send("POST", "/api/article", [{"path": "/a"}, {"path": "/c"}])
    assert both["errno"] == 1000
    assert await site.get("/article", path="/a,/c") == [2, 0]
    # A counter that has come down to zero has left room for another.
    assert await site.count("/a", type="reaction0", action="desc") == 0
    room._read_at -= FULL_FRESH_SECONDS
    assert await site.count("/c") == 1
    assert (await site.store.numbers.total()).number == 3
    refused = await site.send("POST", "/api/article", {"path": "/a", "type": "reaction0"})
    assert refused["errno"] == 1000


async def test_a_reaction_that_is_taken_back_can_be_given_again_at_the_limit(site: Site) -> None:
    room = site.store.quota
    room._limit = 1
    await room.read()
    assert await site.count("/a", type="reaction0") == 1
    assert await site.count("/a", type="reaction0", action="desc") == 0
    room._read_at -= FULL_FRESH_SECONDS
    assert await site.count("/a", type="reaction0") == 1


async def test_without_a_limit_counters_are_not_counted(site: Site) -> None:
    room = site.store.quota
    assert not room.is_full
    await room.read()
    assert room._read_at < 0
    for n in range(50):
        assert await site.count(f"/{n}") == 1


@pytest.mark.parametrize("path", ["/api/comment?path=/p", "/api/article?path=/p"])
async def test_a_trusted_proxy_that_names_nobody_is_a_warning(make_site: Sites, path: str) -> None:
    site = await make_site(CLIENT_ADDRESS_HEADER="X-Real-IP")
    for n in range(MANY):
        headers = {"user-agent": f"browser {n}", "x-forwarded-for": f"192.0.2.{n}"}
        await site.http.get(path, headers=headers)
    (warning,) = (each for each in (await site.get("/readyz"))["warnings"] if "proxy" in each)
    assert "named none of them in x-real-ip" in warning
    await site.http.get(path, headers={"x-real-ip": "192.0.2.1"})
    assert not [each for each in (await site.get("/readyz"))["warnings"] if "proxy" in each]
