"""Strangers who want the counters to take all of Redis's memory, or one server's time."""

import asyncio
import os
from collections import Counter
from collections.abc import Mapping

import httpx
import pytest

from footfall.counting import limits
from footfall.counting.quota import FULL_FRESH_SECONDS, CounterQuota, NewCounters
from footfall.data.store import Store
from footfall.driver.keys import GROUPS, WEIGHT_UNIT_BYTES, Keys, weight
from footfall.driver.walks import walked
from tests.conftest import REAL, Site, Sites, server_of
from tests.support.servers import RealServer

ON = REAL


def paths_of_one_bucket(keys: Keys, number: int) -> list[str]:
    """Paths that are in one bucket, according to these keys."""
    wanted = keys.counts("time /0")
    tried = (f"/{n}" for n in range(10_000_000))
    found = (path for path in tried if keys.counts(f"time {path}") == wanted)
    return [next(found) for _ in range(number)]


async def test_counters_cannot_be_aimed_at_one_bucket(store: Store) -> None:
    """Who: somebody who has read this code and runs a copy of it. What: counts paths that are in
    one bucket there, to unpack it and to make it slow. Instead: a path's bucket depends on a seed
    of the data set, which no answer reveals, so the same paths are in many buckets, and on all
    nodes of a Cluster."""
    copy = Keys(store.keys.prefix, store.keys.buckets, b"whatever the copy's seed is")
    aimed = paths_of_one_bucket(copy, 100)
    await store.counters.add([(path, "time", 1) for path in aimed])
    found = [name async for name, _ in walked(store.redis, store.keys.every_counts())]
    assert len(found) > 60
    assert len({store.keys.group_of(name.encode()) for name in found}) > 60


async def test_no_two_data_sets_agree_where_a_path_lies(store: Store) -> None:
    """Who: somebody with a site of their own on the same version. What: learns there which bucket
    paths are in, to use it elsewhere. Instead: each data set draws its own seed when it is made,
    and keeps it."""
    other = Store(store.redis, prefix=f"{store.keys.prefix}x", buckets=store.keys.buckets)
    await other.create()
    assert len(store.keys.seed) == len(other.keys.seed) == 16
    names = [f"time /{n}" for n in range(2000)]
    bucket_of = {
        keys: [keys.counts(name).partition("{")[2] for name in names]
        for keys in (store.keys, other.keys)
    }
    same = sum(a == b for a, b in zip(*bucket_of.values(), strict=True))
    assert same < 40
    again = Store(store.redis, prefix=store.keys.prefix, buckets=512)
    await again.open()
    assert (again.keys.seed, again.keys.buckets) == (store.keys.seed, store.keys.buckets)


async def test_long_paths_unpack_no_bucket(
    store: Store, kind: str, servers: Mapping[str, RealServer]
) -> None:
    """Who: one address with a list of long paths. What: counts a path in each bucket that is too
    long for a packed hash, which would unpack the hash for good and double the memory of all
    counters. Instead: counters with long paths are in other hashes; with Redis's defaults every
    bucket stays packed."""
    lengths = [40, 54, 55, 58, 59, 60, 61, 64, 65, 66, 100, 129, 300, 511, 513, 1000, 2048]
    paths = [f"/{os.urandom(1024).hex()}"[:length] for length in lengths * 60]
    wide = [f"/{n}/" + "\N{GRINNING FACE}" * n for n in (1, 12, 500, 2030)]
    types = ("time", "reaction0")
    changes = [(path, type, 1) for path in paths + wide for type in types]
    for at in range(0, len(changes), 200):
        part = changes[at : at + 200]
        assert await store.counters.add(part) == [1] * len(part)
    names = store.counters.names(paths + wide, types)
    assert await store.counters.read(names) == [1] * len(names)
    encodings = Counter[str]()
    longest = 0
    with server_of(kind, servers).admin() as admin:
        async for name, counts in walked(store.redis, store.keys.every_counts()):
            if ":counts:" in name:
                encodings[admin.object("ENCODING", name).decode()] += 1
                longest = max(longest, *map(len, counts))
    assert (set(encodings), longest) == ({"listpack"}, 64)
    assert sum(encodings.values()) <= store.keys.buckets
    assert store.keys.buckets == GROUPS


async def test_the_limit_bounds_bytes_and_not_only_numbers(
    store: Store, kind: str, servers: Mapping[str, RealServer]
) -> None:
    """Who: one address with few, but very long paths. What: fills Redis's memory with as many
    counters as COUNTER_LIMIT allows, of two kilobytes each. Instead: a counter with a long path
    counts as many units, so that all counters together take no more than the limit says, whatever
    their paths are."""
    limit = 30_000
    # What is kept of when pages are viewed has bounds of its own.
    store = Store(store.redis, prefix=store.keys.prefix, buckets=store.keys.buckets)
    await store.open()
    room = store.quota = CounterQuota(store.redis, store.keys, store.numbers, limit)
    await room.read()
    with server_of(kind, servers).admin() as admin:
        before = admin.info("memory")["used_memory"]
        started = 0
        for length in (300, 2048, 100, 60, 2048, 513):
            for _ in range(limit):
                paths = [f"/{os.urandom(1024).hex()}"[:length] for _ in range(50)]
                if not await room.allows([f"time {path}" for path in paths]):
                    break
                started += len(await store.counters.add([(path, "time", 1) for path in paths]))
                if started % 1000 == 0:
                    # As a service does once a minute.
                    await room.read()
        taken = admin.info("memory")["used_memory"] - before
    counted = await store.numbers.total()
    assert counted.number == started
    # The last counter exceeded the limit.
    assert limit <= counted.weight <= limit + 50 * weight("time /" + "x" * 2047)
    assert 0.3 * limit * WEIGHT_UNIT_BYTES < taken < 1.1 * limit * WEIGHT_UNIT_BYTES
    assert not await room.allows(["time /new"])


async def test_who_flips_a_reaction_does_not_use_up_the_limit(store: Store) -> None:
    """Who: somebody who takes a reaction back and gives it again, for hours. What: lets services
    believe that counters start, so that they refuse everybody else's. Instead: before anybody is
    refused the number of all counters is read again, but at most once a second."""
    room = CounterQuota(store.redis, store.keys, store.numbers, 50)
    store.new_counters = NewCounters(room, store.buckets)
    await room.read()
    for _ in range(60):
        await store.counters.add([("/a", "reaction0", 1), ("/a", "reaction0", -1)])
    assert room.is_full
    room._read_at -= FULL_FRESH_SECONDS
    assert await room.allows(["time /new"])
    assert not room.is_full


@pytest.mark.usefixtures("no_allowance")
async def test_new_counters_come_slowly_and_known_ones_go_on(make_site: Sites) -> None:
    """Who: one address with a list of words, within the rate of views. What: counts paths that no
    site has, a hundred a second, each of which takes memory for good. Instead: after two hundred
    new counters it gets 429 with Retry-After for further ones, then one a second; known pages are
    counted as before, and others may start new counters."""
    site = await make_site("203.0.113.9", COUNTER_RATE="0", NEW_COUNTER_RATE="0.01")
    for n in range(200):
        assert await site.count(f"/{n}") == 1
    refused = await first_refused(site)
    assert (refused.status_code, refused.json()["errno"]) == (429, 429)
    assert refused.json()["errmsg"] == "Too many new pages are counted from this address"
    assert 90 <= int(refused.headers["retry-after"]) <= 300
    assert await site.count("/7") == 2
    assert await site.count("/7", type="reaction0") == {
        "errno": 429,
        "errmsg": "Too many new pages are counted from this address",
    }
    # All or none.
    both = await site.http.post("/article", json=[{"path": "/8"}, {"path": "/more/9"}])
    assert both.status_code == 429
    assert await site.get("/article", path="/8,/more/9") == [1, 0]
    neighbour = await make_site("203.0.113.10", COUNTER_RATE="0", NEW_COUNTER_RATE="0.01")
    assert await neighbour.count("/more/9") == 1
    proxy = await make_site("127.0.0.1", NEW_COUNTER_RATE="0.01")
    for n in range(210):
        assert await proxy.count(f"/proxied/{n}") == 1


async def first_refused(site: Site) -> httpx.Response:
    """What the first new counters hear that are too many; the answers of some may be under way."""
    for n in range(5):
        answer = await site.http.post("/api/article", json={"path": f"/more/{n}"})
        if answer.status_code != 200:
            break
    return answer


@pytest.mark.usefixtures("no_allowance")
async def test_who_has_started_many_counters_starts_more_ever_more_slowly(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: one address, or a /48 with all of its addresses, that counts invented paths all day at
    the rate that it has. What: fills COUNTER_LIMIT within half a day. Instead: after the first
    thousands it gets a twentieth of the rate, until it has started none for about a day."""
    monkeypatch.setattr(limits, "LATER_SECONDS", 0.5)
    site = await make_site("203.0.113.9", COUNTER_RATE="0", NEW_COUNTER_RATE="100")
    for n in range(2):
        many = [{"path": f"/{n}/{i}"} for i in range(200)]
        assert (await site.http.post("/article", json=many)).status_code == 200
    refused = await first_refused(site)
    # A bucket of 250, five a second: that of a hundred a second would need two seconds.
    assert 5 <= int(refused.headers["retry-after"]) <= 31


@pytest.mark.usefixtures("no_allowance")
async def test_the_last_of_the_limit_is_for_who_has_started_none(
    store: Store, make_site: Sites
) -> None:
    """Who: the same, from many addresses. What: what is left is used up by them, and the owner's
    next article cannot be counted. Instead: an address that has started a counter starts no second
    one then."""
    assert store._dating
    visits = store._dating.visits
    store.quota = CounterQuota(store.redis, store.keys, store.numbers, 2_000, visits)
    store.new_counters = NewCounters(store.quota, store.buckets)
    proxy = await make_site("127.0.0.1", COUNTER_RATE="0", NEW_COUNTER_RATE="1")
    await proxy.http.post("/article", json=[{"path": f"/{n}"} for n in range(200)])
    stranger = await make_site("203.0.113.9", COUNTER_RATE="0", NEW_COUNTER_RATE="1")
    assert [await stranger.count(f"/first/{n}") for n in range(3)] == [1, 1, 1]
    await proxy.http.post("/article", json=[{"path": f"/known/{n}"} for n in range(60)])
    await store.quota.read()
    assert store.quota.is_reserved
    # They have started three, and this is one more.
    assert await stranger.count("/second/0") == 1
    refused = await first_refused(stranger)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 60
    assert await stranger.count("/first/0") == 2
    reader = await make_site("203.0.113.10", COUNTER_RATE="0", NEW_COUNTER_RATE="1")
    assert await reader.count("/the-next-article") == 1


@pytest.mark.usefixtures("no_allowance")
async def test_tokens_that_are_owed_have_to_be_paid(make_site: Sites) -> None:
    """Who: one address that counts two hundred new paths in each of many simultaneous requests.
    What: starts them before the first ones have taken tokens. Instead: all of them take tokens, and
    the address has to wait until these are paid."""
    site = await make_site("203.0.113.9", COUNTER_RATE="0", NEW_COUNTER_RATE="1")
    many = [[{"path": f"/{n}/{i}"} for i in range(200)] for n in range(5)]
    answers = await asyncio.gather(*(site.http.post("/article", json=each) for each in many))
    started = sum(len(answer.json()) for answer in answers if answer.status_code == 200)
    assert started > 200
    refused = await first_refused(site)
    owed = int(refused.headers["retry-after"])
    # Some seconds pass, and the last tries have added to the debt.
    assert started - 260 <= owed <= started - 195
