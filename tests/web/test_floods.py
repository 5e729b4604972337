"""Who floods: what owners are told, on the state page, in the log and by `footfall doctor`."""

import asyncio
from collections import Counter

import pytest

from footfall.data.store import Store
from footfall.limits.floods import ADVICE, FLOOD, MOST_SHOWN
from footfall.server import watch
from tests.conftest import ADMIN, EVERYWHERE, Sites
from tests.support.admin_ui import SENT

ON = EVERYWHERE
MINUTE = 60_000
HOT = ("192.0.2.1", "COUNTER_RATE")


async def test_all_processes_are_added_up_and_two_minutes_are_told(store: Store) -> None:
    now = 1_000 * MINUTE
    await store.floods.add(Counter({HOT: FLOOD, ("192.0.2.2", "IPQPS"): FLOOD - 1}), now)
    await store.floods.add(Counter({HOT: 5}), now + MINUTE)
    assert [str(flood) for flood in await store.floods.lately(now + MINUTE)] == [
        "192.0.2.1: 65 refusals in two minutes, 65 by COUNTER_RATE"
    ]
    await store.floods.add(Counter({("192.0.2.1", "pages"): 100}), now + MINUTE)
    assert [str(flood) for flood in await store.floods.lately(now + MINUTE)] == [
        "192.0.2.1: 165 refusals in two minutes, 100 by pages, 65 by COUNTER_RATE"
    ]
    assert await store.floods.lately(now + 3 * MINUTE) == []


async def test_the_list_is_short_and_expires(store: Store) -> None:
    now = 1_000 * MINUTE
    for part in range(20):
        many = Counter({(f"10.0.{part}.{n}", "IPQPS"): 100 + n for n in range(250)})
        await store.floods.add(many, now)
    assert len(await store.floods.lately(now)) == MOST_SHOWN
    key = store.keys.site("refused:1000")
    assert await store.redis.client.zcard(key) <= 1000
    assert 0 < await store.redis.client.pttl(key) <= 180_000


async def test_an_address_that_is_refused_is_on_the_state_page_and_in_the_log(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site = await make_site("192.0.2.1", COUNTER_RATE="0.01")
    counts = (site.http.post("/api/article", json={"path": "/a"}) for _ in range(300))
    refused = sum(answer.status_code == 429 for answer in await asyncio.gather(*counts))
    assert refused >= FLOOD
    process, floods = site.service.process, site.service.data.floods
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0)
    looking = asyncio.create_task(watch.keep_looking(process, floods))
    async with asyncio.timeout(60):
        while not await floods.lately(process.clock()):
            await asyncio.sleep(0)
    looking.cancel()
    line = f"192.0.2.1: {refused} refusals in two minutes, {refused} by COUNTER_RATE"
    owner = await site.http.get("/ui/api/state", headers={**SENT, "cookie": f"footfall={ADMIN.id}"})
    assert owner.json()["data"]["floods"] == [line, ADVICE]
    await watch.tell_floods(floods, process.clock())
    assert [record.getMessage() for record in caplog.records if "floods" in record.message] == [
        f"who floods: {line}. {ADVICE}"
    ]
