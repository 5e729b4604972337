"""Every script on a one-node cluster with its rights declared, so that Redis itself checks them.

In production scripts are sent without a shebang line, and Redis lets them touch any slot. With one,
it refuses access outside the declared slot, and writes in a script that says it makes none.
"""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis import Redis

from footfall.data.store import Store
from footfall.driver import scripts
from footfall.driver.client import connect
from footfall.statistics.calendar import DAY_MS
from tests.conftest import ADMIN, BOB, REAL, Site, Sites
from tests.integration.test_import_past_views import Truth, imported, matches, visits
from tests.support import extent
from tests.support.backups import busy, everything, report, restored, taken
from tests.support.past_logs import lines, past_views
from tests.support.servers import free_port, program_of, running, wait_until


@pytest.fixture(scope="module", params=extent.servers(REAL, __name__))
def cluster(request: pytest.FixtureRequest, home: Path) -> Iterator[str]:
    """The URL of a cluster of one node."""
    port, bus = free_port(), free_port()
    options = [
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        str(bus),
    ]
    with (
        tempfile.TemporaryDirectory(dir=home) as name,
        running(program_of(request.param), Path(name), *options),
    ):
        with Redis(port=port) as client:
            client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            wait_until(
                lambda: client.execute_command("CLUSTER INFO")["cluster_state"] == "ok",
                "the cluster to be whole",
            )
        yield f"redis://127.0.0.1:{port}?cluster=true"


@pytest.fixture
async def store(cluster: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    sources = scripts.sources()

    def declared() -> dict[str, str]:
        return {
            name: f"#!lua{' flags=no-writes' if '-- FLAGS   no-writes' in text else ''}\n{text}"
            for name, text in sources.items()
        }

    monkeypatch.setattr(scripts, "sources", declared)
    parse = scripts.parse_header
    monkeypatch.setattr(scripts, "parse_header", lambda text: parse(text.partition("\n")[2]))
    store = Store(connect(cluster, timeout=60), prefix="t", buckets=1024)
    await store.create()
    yield store
    for node in store.redis.client.get_primaries():
        await node.execute_command("FLUSHALL")
    await store.redis.close()


@pytest.fixture
async def make_site(store: Store) -> AsyncIterator[Sites]:
    sites = Sites(store)
    yield sites
    await sites.close()


async def test_counters_of_all_slots_are_changed_and_read_in_order(site: Site) -> None:
    changes = [{"path": f"/{n}"} for n in range(100)] + [{"path": "/7"}] * 2
    assert await site.send("POST", "/article", changes) == [1] * 100 + [2, 3]
    paths = ",".join(f"/{n}" for n in range(6, 10))
    assert await site.get("/article", path=paths) == [1, 3, 1, 1]


async def test_everything_about_comments_works_across_slots(make_site: Sites) -> None:
    site = await make_site(LEVELS="0,1", COMMENT_AUDIT="true")
    roots = [await site.post(f"root {n}", url=f"/{n}", by=BOB) for n in range(5)]
    for root in roots:
        target = f"/comment/{root['objectId']}"
        await site.send("PUT", target, {"status": "approved"}, by=ADMIN)
        await site.send("PUT", target, {"like": True})
        await site.send("PUT", target, {"sticky": True}, by=ADMIN)
        await site.reply(root, "reply", url=root["url"], by=ADMIN)
    for viewer in (None, BOB, ADMIN):
        assert await site.get("/comment", by=viewer, type="count") == 10
        assert len(await site.get("/comment", by=viewer, type="recent", count=20)) == 10
        for order in ("insertedAt_desc", "insertedAt_asc", "like_desc"):
            page = await site.page("/3", by=viewer, sortBy=order)
            assert [len(root["children"]) for root in page["data"]] == [1]
    assert await site.get("/comment", type="count", url="/1,/2,/9") == [2, 2, 0]
    refused = await site.send("POST", "/api/comment", {"comment": "x", "url": "/1", "pid": "0"})
    assert refused["errno"] == 1000
    store = site.store
    for name in ("recent", "totals", "total", "authors"):
        await store.redis.client.delete(store.keys.site(name))
    assert len(await report(store, repair=True)) > 1
    assert await report(store) == ["5 pages, 10 approved comments, 0 held, 0 counters, 0 problems"]


async def test_a_backup_of_a_cluster_is_restored_on_it(make_site: Sites) -> None:
    site = await busy(make_site)
    before = await everything(site.store)
    file = await taken(site.store)
    await restored(site.store, file, replaces=True)
    assert await everything(site.store) == before


async def test_views_of_the_past_are_added_to_pages_of_all_slots(
    store: Store, tmp_path: Path
) -> None:
    path, requests = tmp_path / "access.log", visits()
    path.write_text(lines(requests))
    past = past_views(store, DAY_MS, (202610, 202611))
    for new in (300, 0):
        assert (await imported(past, path))[1].new == new
        await matches(store, Truth(requests))
