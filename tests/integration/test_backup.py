"""`footfall backup` and `footfall restore` on real servers: nothing is lost, and nothing is made
up.
"""

import asyncio
import gzip
import itertools
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest

from footfall.callbacks import awaited
from footfall.comments.store import deletions
from footfall.comments.store.codec import parse_body, root_of
from footfall.comments.store.comments import WalkStep
from footfall.comments.store.moderation import Actor
from footfall.comments.store.projections import UNDO_MS
from footfall.data.store import Mismatch, Store
from footfall.driver.client import connect
from footfall.errors import Duplicate
from footfall.ids import SHORT, IdGenerator, created_ms, digest
from footfall.maintenance import backup, page_walk
from footfall.maintenance import restore as restoring
from footfall.maintenance.archive import Damaged, Line, lines
from footfall.maintenance.backup import pages
from footfall.maintenance.restore import NotEmpty, verify
from footfall.maintenance.unsent import unsent
from footfall.model import Comment, Origin
from footfall.process.process import now_ms
from footfall.statistics.calendar import Calendar
from footfall.statistics.page_views import PageViews
from footfall.statistics.reports import Reports
from footfall.statistics.site_store import SiteNumbers
from footfall.statistics.source_views import Source
from footfall.stores import data_set
from tests.attacks.test_backups import HEADER, file_of, thread
from tests.conftest import ADMIN, BOB, MOMENTS, Site, Sites, server_of
from tests.support.backups import (
    back_up,
    busy,
    differences,
    everything,
    report,
    restored,
    silent,
    taken,
)
from tests.support.clusters import RealCluster
from tests.support.losing import lost_replies
from tests.support.servers import RealServer, programs, running

_prefixes = (f"restored{n}" for n in itertools.count())


@pytest.fixture
async def target(kind: str, servers: Mapping[str, RealServer]) -> AsyncIterator[Store]:
    """An empty store on the other server, of another make if there are two."""
    other = next((server for server in servers if server != kind), kind)
    redis = connect(server_of(other, servers).url, timeout=60)
    store = Store(redis, prefix=next(_prefixes), buckets=256, moment=MOMENTS)
    yield store
    await store.redis.close()


@pytest.fixture
def in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walk pages in many steps, and write files of many lines, with few comments."""
    for module in (backup, page_walk):
        monkeypatch.setattr(module, "WALK_STEP_COMMENTS", 4)
        monkeypatch.setattr(module, "LINE_BYTES", 2_000)


async def fill(store: Store, number: int, *, path: str = "/long", text: str = "x" * 300) -> None:
    """Publish comments on one page, roots with four replies each."""
    generator, root = IdGenerator(), ""
    for n in range(number):
        id = generator.new(1_700_000_000_000 + n, path)
        root = id if n % 5 == 0 else root
        above = "" if n % 5 == 0 else root
        comment = Comment(
            id, path, created_ms(id), text, text, nick="Ann", parent=above, root=above, author="a"
        )
        await store.comments.publish(comment, "approved" if n % 7 else "waiting", f"f{n}")


async def answers(site: Site) -> list[Any]:
    """The answers to visitors, an author and an administrator about everything."""
    paths = ["/1", "/2", "/über}{uns/ a,b"]
    told: list[Any] = [await site.get("/article", path=[*paths, "/many/3"], type="time,reaction1")]
    for viewer in (None, BOB, ADMIN):
        for order, path in itertools.product(("insertedAt_desc", "like_desc"), paths):
            told.append(await site.page(path, by=viewer, sortBy=order))
        for what in ("count", "recent"):
            told.append(await site.get("/comment", by=viewer, type=what, count=50))
    return told


async def test_a_restored_site_is_the_same_to_the_byte(make_site: Sites, target: Store) -> None:
    site = await busy(make_site)
    source = site.store
    file = await taken(source)
    await restored(target, file)
    assert await everything(target) == await everything(source)
    assert await report(target) == await report(source)
    assert await differences(target, file) == []
    sites = Sites(target)
    assert await answers(await sites("127.0.0.1", COMMENT_AUDIT="true")) == await answers(site)
    await sites.close()
    # And back again, replacing what is there.
    await restored(source, await taken(target), replaces=True)
    assert await everything(source) == await everything(target)


async def test_when_pages_were_viewed_is_restored(make_site: Sites, target: Store) -> None:
    site = await make_site()
    views = site.store.views
    for path, times in (("/a", 3), ("/b", 1), (f"/long/{'x' * 200}", 2)):
        for _ in range(times):
            await site.count(path)
    await site.store.counters.correct("/a", "time", 40)
    # What was counted in hours that are over, and kept.
    kept = SiteNumbers({2026010100: 7}, {20260101: 5}, {20260101: Counter({"seo": 2})})
    await site.store.site_views.keep(kept, 10**9)
    shares = await site.store.site_views.shares()
    await restored(target, await taken(site.store))
    assert await target.site_views.shares() == shares
    assert await target.site_views.kept([202601]) == kept
    months = await site.store.site_views.known_months()
    pages = ["/a", "/b", f"/long/{'x' * 200}"]
    assert await target.views.of_pages(pages, months) == await views.of_pages(pages, months)
    assert (await report(target))[-1].endswith(" 0 problems")
    # The next view is one of the same day, and of the same hour.
    file = await taken(site.store)
    assert await differences(target, file) == []
    after = await Sites(target)("127.0.0.1")
    assert await after.count("/a") == 44
    hours = (await target.site_views.shares()).hours
    assert sum(hours.values()) == sum(shares.hours.values()) + 1
    assert (await report(target))[-1].endswith(" 0 problems")
    assert "the site's views, visitors and bots differ" in await differences(target, file)


async def test_sources_of_the_day_of_a_restore_add_up(store: Store, target: Store) -> None:
    for each, views in ((store, 30), (target, 20)):
        if each is target:
            await restored(target, await taken(store))
        change = each.counters.change([("/a", "time", views)], Origin("news.example"))
        await awaited(partial(each.counters.send, change))
    statistics = Reports(target.views, target.site_views, Calendar(ZoneInfo("UTC")), now_ms, 25)
    today = statistics.today()
    assert await statistics.sources(today, today) == [Source("news.example", 50, 50)]


async def test_a_site_that_is_viewed_during_its_backup_was_viewed_today_as_often_as_its_pages(
    store: Store, target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And never more often than ever."""
    for n in range(120):
        await store.counters.add([(f"/{n}", "time", 1)])
    of_pages = store.views.of_pages

    async def viewed_meanwhile(paths: Sequence[str], months: Sequence[int]) -> list[PageViews]:
        found = await of_pages(paths, months)
        # Of these, and of those that were read before.
        await store.counters.add([(f"/{n}", "time", 1) for n in range(120)])
        return found

    monkeypatch.setattr(store.views, "of_pages", viewed_meanwhile)
    await restored(target, await taken(store))
    ever = await target.views_ever.total()
    today = sum((await target.site_views.shares()).hours.values())
    assert 240 <= today == ever
    assert (await report(target))[-1].endswith(" 0 problems")


async def test_how_often_a_restored_site_was_viewed_is_known_at_once(
    make_site: Sites, target: Store
) -> None:
    """Also of a backup without statistics, and if what is replaced had other views."""
    source = (await make_site()).store
    keys = source.keys
    undated = Store(source.redis, prefix=keys.prefix, buckets=keys.buckets)
    await undated.open()
    await undated.counters.add([("/a", "time", 7), ("/a", "reaction0", 3), ("/b", "time", 2)])
    await target.counters.add([("/a", "time", 5)])
    for _ in range(2):
        await restored(target, await taken(undated), replaces=True)
        assert await target.views_ever.total() == 9
        await target.counters.add([("/c", "time", 1)])
        assert await target.views_ever.total() == 10
    assert (await report(target))[-1].endswith(" 0 problems")


async def test_a_restored_site_goes_on(make_site: Sites, target: Store) -> None:
    site = await busy(make_site)
    await restored(target, await taken(site.store))
    sites = Sites(target)
    after = await sites("127.0.0.1")
    # After more than a minute, the same text is a duplicate and not a repetition.
    after.clock.now += 3_600_000
    same = {"comment": "root 1 <b>&</b>", "url": "/1", "nick": "Ann", "mail": "ann@example.com"}
    assert (await after.send("POST", "/api/comment", same))["errmsg"] == Duplicate.text
    root = await after.post("new", url="/1")
    await after.reply(root, "and a reply", url="/1")
    assert await after.count("/1") == 5
    assert (await report(target))[-1].endswith(" 0 problems")
    await sites.close()


async def test_hostile_names_are_put_back_and_not_shown(make_site: Sites, target: Store) -> None:
    source, path = (await make_site()).store, '/"><script>alert(1)</script>'
    id = IdGenerator().new(1_700_000_000_000, path)
    comment = Comment(
        id, path, created_ms(id), "<p>a</p>", "a", nick="<img src=x onerror=alert(1)>"
    )
    await source.comments.publish(comment, "approved", "f")
    await restored(target, await taken(source))
    assert await everything(target) == await everything(source)
    sites = Sites(target)
    (shown,) = await (await sites()).get("/comment", type="recent")
    assert not {*"<>"} & {*shown["nick"]}
    assert not {*'<>"'} & {*shown["url"]}
    await sites.close()


async def test_what_a_client_kept_of_a_page_is_good_if_a_restored_one_says_the_same(
    make_site: Sites, target: Store
) -> None:
    site = await busy(make_site)
    target_url = "/api/comment?path=/1"
    etag = (await site.http.get(target_url)).headers["etag"]
    await restored(target, await taken(site.store))
    sites = Sites(target)
    after = await sites("127.0.0.1", COMMENT_AUDIT="true")
    answer = await after.http.get(target_url, headers={"if-none-match": etag})
    assert answer.status_code == 304
    posted = await after.post("another", url="/1")
    await after.send("PUT", f"/comment/{posted['objectId']}", {"status": "approved"}, by=ADMIN)
    answer = await after.http.get(target_url, headers={"if-none-match": etag})
    assert answer.status_code == 200
    await sites.close()


@pytest.mark.rare
@pytest.mark.usefixtures("in_small_steps")
async def test_long_pages_are_walked_in_steps(store: Store, target: Store) -> None:
    await fill(store, 700)
    steps = [line async for _, line in pages(data_set(store), pytest.fail)]
    assert len(steps) > 50
    assert [step["end"] for step in steps] == [False] * (len(steps) - 1) + [True]
    file = await taken(store)
    assert len(list(lines(file))) > 100
    await restored(target, file)
    assert {k: v for k, v in (await everything(target)).items() if k.startswith("{p:")} == {
        k: v for k, v in (await everything(store)).items() if k.startswith("{p:")
    }
    assert (await report(target))[-1].endswith(" 0 problems")


@pytest.mark.usefixtures("in_small_steps")
async def test_a_backup_of_a_busy_service_is_a_state_that_it_could_have_had(
    make_site: Sites, target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site()
    source = site.store
    await fill(source, 400)
    before = {
        row[0]: row
        for _, step in [x async for x in pages(data_set(source), pytest.fail)]
        for row in step["comments"]
    }
    await site.count("/long")
    is_over, written = asyncio.Event(), asyncio.Event()
    copy = source.comments.copy

    async def paced(*args: Any) -> WalkStep:
        """Do a step of the walk, and then let somebody write."""
        step = await copy(*args)
        written.clear()
        async with asyncio.timeout(60):
            await written.wait()
        return step

    monkeypatch.setattr(source.comments, "copy", paced)

    async def write(n: int) -> None:
        # As many threads as writers; each reply is to the one before it.
        parent = await site.post(f"root {n}", url="/long", mail=f"{n}@example.com")
        for number in itertools.count():
            if is_over.is_set():
                return
            root = parent.get("rid", parent["objectId"])
            parent = await site.post(
                f"reply {number}",
                url="/long",
                pid=parent["objectId"],
                rid=root,
                mail=f"{n}@example.com",
            )
            old = next(iter(before)) + parent["objectId"][SHORT:]
            status = "waiting" if number % 2 else "approved"
            await site.send("PUT", f"/comment/{old}", {"status": status}, by=ADMIN)
            await site.send("PUT", f"/comment/{parent['objectId']}", {"like": True})
            await site.count("/long")
            written.set()

    writers = [asyncio.create_task(write(n)) for n in range(4)]
    file = await taken(source)
    is_over.set()
    await asyncio.gather(*writers)
    count = await site.get("/article", path="/long")

    assert any(line.get("moved") for line in lines(file))
    await restored(target, file)
    assert (await report(target))[-1].endswith(" 0 problems")
    assert await differences(target, file) == []
    there = {
        row[0]: row
        for _, step in [x async for x in pages(data_set(target), pytest.fail)]
        for row in step["comments"]
    }
    assert before.keys() <= there.keys()
    assert {id: row[1] for id, row in there.items() if id in before} == {
        id: row[1] for id, row in before.items()
    }
    late = there.keys() - before.keys()
    assert late, "nothing that was written meanwhile is in it"
    for row in there.values():
        body = parse_body(row[1].encode())
        if root := root_of(body):
            parent = orjson.loads(b"{" + body.content + b"}")["pid"]
            assert {root[:SHORT], parent[:SHORT]} <= there.keys()
    sites = Sites(target)
    assert 1 <= await (await sites("127.0.0.1")).get("/article", path="/long") <= count
    await sites.close()


async def test_marks_of_held_comments_are_in_a_backup(make_site: Sites, target: Store) -> None:
    site = await busy(make_site)
    await restored(target, await taken(site.store))
    found = await everything(target)
    held = [words for name in found if name.endswith(":held") for words in found[name].values()]
    assert {*held} == {b"waiting", b"waiting 1", b"waiting 0", b"spam", b"spam 1"}
    assert [name for name in found if name.endswith((":nested", ":mine", "by:bob"))]


async def deleted(site: Site) -> list[str]:
    """Delete a thread and a reply of another thread, which both have replies; their ids."""
    root = await site.post("deleted root", url="/1")
    below = await site.reply(root, "deleted below it", url="/1", by=BOB)
    last = await site.reply(below, "deleted below that", url="/1")
    kept = await site.post("a root that stays", url="/1")
    reply = await site.reply(kept, "deleted reply", url="/1")
    under = await site.reply(reply, "deleted below the reply", url="/1", by=BOB)
    for each in (root, reply):
        assert (await site.send("DELETE", f"/api/comment/{each['objectId']}", by=ADMIN))[
            "errno"
        ] == 0
    await site.settled()
    return [each["objectId"] for each in (root, below, last, reply, under)]


async def removed(site: Site) -> None:
    """Wait until what is deleted cannot be restored."""
    site.clock.now += UNDO_MS + 1
    await site.kept_up()


def is_left_out(file: BytesIO, ids: list[str]) -> bool:
    shorts = {id[:SHORT] for id in ids}
    found = [line for line in lines(file) if "path" in line]
    named = {row[0] for line in found for row in line["comments"]}
    named |= {id for line in found for id in line["fingerprints"].values()}
    return b"deleted " not in gzip.decompress(file.getvalue()) and not shorts & named


async def test_what_the_site_has_not_followed_is_in_a_backup_but_who_is_to_be_told(
    make_site: Sites, target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await busy(make_site)
    source, data = site.store, data_set(site.store)
    source.outbox.is_on = True
    # As if the service had crashed after each of these.
    with lost_replies(monkeypatch, "journal/apply", is_done=False):
        root = await site.post("told to nobody", url="/1")
        await site.send("PUT", f"/comment/{root['objectId']}", {"status": "approved"}, by=ADMIN)
        await site.send("PUT", f"/comment/{root['objectId']}", {"sticky": True}, by=ADMIN)
        await site.settled()
        file = await taken(source)
        assert (await unsent(data, is_told=True), await unsent(data, is_told=False)) == (2, 0)
    assert [page async for page in source.journal.pages()] == [digest("/1")]
    await source.journal.follow(digest("/1"))
    assert (await unsent(data, is_told=True), await unsent(data, is_told=False)) == (2, 2)
    await restored(target, file)
    assert not await unsent(data_set(target), is_told=True)
    found, wanted = map(without_versions, (await everything(target), await everything(source)))
    assert {name for name in wanted if found.get(name) != wanted[name]} == {
        "{site}:outbox",
        "{site}:changing",
        "{site}:log",
    }


async def test_what_is_deleted_is_left_out_with_its_fingerprint(
    make_site: Sites, target: Store
) -> None:
    site = await busy(make_site)
    ids = await deleted(site)
    file = await taken(site.store)
    assert is_left_out(file, ids)
    assert await differences(site.store, file) == []
    await restored(target, file)
    await removed(site)
    assert await everything(target) == await everything(site.store)


@pytest.mark.parametrize("walk", ["whole", "in small steps"])
async def test_so_is_what_a_crash_has_left_half_deleted(
    make_site: Sites, target: Store, monkeypatch: pytest.MonkeyPatch, walk: str
) -> None:
    async def crash(*args: object) -> None:
        """Nobody goes on with what was started."""

    site = await busy(make_site)
    source = site.store
    with monkeypatch.context() as patched:
        patched.setattr(deletions, "STEP_REPLIES", 1)
        patched.setattr(source.deletions, "_go_on", crash)
        ids = await deleted(site)
        assert await source.comments.by_ids(ids), "all of it was deleted in one step"
        if walk != "whole":
            patched.setattr(page_walk, "WALK_STEP_COMMENTS", 4)
            patched.setattr(page_walk, "LINE_BYTES", 2_000)
        file = await taken(source)
    assert is_left_out(file, ids)
    assert await differences(source, file) == []
    await restored(target, file)
    # The first sweep hides the rest, and the site has that to follow before the next one.
    await removed(site)
    await removed(site)
    assert without_versions(await everything(target)) == without_versions(await everything(source))


def without_versions(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if not name.endswith("}:version")}


@pytest.mark.rare
@pytest.mark.usefixtures("in_small_steps")
async def test_comments_may_be_deleted_and_put_back_during_a_backup(
    store: Store, target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "STEP_REPLIES", 1)
    await fill(store, 300)
    threads = await threads_of(store)
    roots = sorted({*threads.values()})
    before, back, after, stays = (set(roots[n::4]) for n in range(4))
    now = itertools.count(1_800_000_000_000)
    by = Actor("moderator", "a" * SHORT)

    async def delete(id: str) -> None:
        for shown in await store.comments.by_ids([id]):
            await store.deletions.delete(shown, next(now), by)

    for id in before:
        await delete(id)
    copy, changes = store.comments.copy, itertools.cycle(back)

    async def paced(*args: Any) -> WalkStep:
        """Do a step of the walk. Threads of which it read replies are deleted before their root is
        read, and others are deleted or restored."""
        step = await copy(*args)
        roots = {root_of(parse_body(body)) for _, body, *_ in step.comments}
        for id in roots & after:
            await delete(id)
        id = next(changes)
        if await store.deletions.is_undoable(id, next(now)):
            await store.deletions.restore(id, next(now), by)
        else:
            await delete(id)
        await store.deletions.sweep(id[SHORT:], next(now), 0)
        return step

    monkeypatch.setattr(store.comments, "copy", paced)
    file = await taken(store)
    monkeypatch.setattr(store.comments, "copy", copy)
    (said,) = await restored(target, file)
    assert "replies without a thread" in said
    assert (await report(target))[-1].endswith(" 0 problems")
    there = await threads_of(target)
    assert there.items() <= threads.items()
    assert {*there.values()} <= {id for id, root in there.items() if id == root}
    # What had to be read twice is one comment.
    contents = verify(file, on_progress=silent)
    assert f"{len(there) + len(contents.strays):,} comments" in str(contents.totals)
    assert {id for id in threads if threads[id] in stays} <= there.keys()
    assert before.isdisjoint(there.values())


async def threads_of(store: Store) -> dict[str, str]:
    """Every comment on a page, and the root of its thread."""
    found = dict[str, str]()
    async for page, line in pages(data_set(store), pytest.fail):
        for short, body, *_ in line["comments"]:
            found[short + page] = root_of(parse_body(body.encode())) or short + page
    return found


@pytest.mark.parametrize("steps", ["one", "many"])
async def test_replies_that_lost_their_root_are_named_and_left_out(
    store: Store, target: Store, monkeypatch: pytest.MonkeyPatch, steps: str
) -> None:
    await fill(store, 20)
    threads = await threads_of(store)
    root = min(threads)
    await store.redis.change(("HDEL", store.keys.page(digest("/long"), "bodies"), root[:SHORT]))
    if steps == "many":
        monkeypatch.setattr(page_walk, "WALK_STEP_COMMENTS", 4)
    file, left_out = BytesIO(), list[str]()
    await back_up(store, file, complain=left_out.append)
    assert len(left_out) == 4
    assert all(text.endswith("its root is missing") for text in left_out)
    assert await restored(target, file) == [
        "left out, since they could not be shown: 4 replies without a thread"
    ]
    assert await threads_of(target) == {id: of for id, of in threads.items() if of != root}
    assert (await report(target))[-1].endswith(" 0 problems")


async def test_of_a_comment_that_comes_twice_the_later_place_counts(target: Store) -> None:
    first, second = "1" * SHORT, "2" * SHORT
    early = thread((first, "", ""), (second, "", ""), end=False, moved=True)
    late = thread((second, first, first), moved=True)
    await restored(target, file_of(HEADER, early, late, pages=1, comments=3))
    found = await everything(target)
    whole = thread((first, "", ""), (second, first, first))
    await restored(target, file_of(HEADER, whole, pages=1, comments=2), replaces=True)
    assert found == await everything(target)


@pytest.mark.usefixtures("in_small_steps")
async def test_a_server_that_is_started_again_in_the_middle_of_a_page_loses_nothing(
    kind: str, home: Path, servers: Mapping[str, RealServer]
) -> None:
    server_of(kind, servers)
    with running(programs()[kind], home / f"again-{kind}") as server:
        store = Store(connect(server.url, timeout=60), prefix="t", buckets=256)
        await store.create()
        await fill(store, 400)
        found, walk = set[str](), pages(data_set(store), pytest.fail)
        async for n, (_, line) in _numbered(walk):
            found |= {row[0] for row in line["comments"]}
            if n == 20:
                await asyncio.to_thread(server.stop)
                await asyncio.to_thread(server.start)
                # The connection notices, and the next step has a new one.
                while not await _answers(store):
                    pass
        assert len(found) == 400
        await store.redis.close()


async def _numbered(walk: AsyncIterator[Any]) -> AsyncIterator[tuple[int, Any]]:
    n = 0
    async for each in walk:
        yield n, each
        n += 1


async def _answers(store: Store) -> bool:
    try:
        await store.redis.ask(("GET", store.keys.site("total")))
    except Exception:
        return False
    return True


@pytest.mark.rare
async def test_memory_is_bounded_whatever_the_size(store: Store, target: Store) -> None:
    await fill(store, 1_500, text="y" * 8_000)
    file = await taken(store)
    assert len(gzip.decompress(file.getvalue())) > 24_000_000
    tracemalloc.start()
    try:
        await taken(store)
        _, backup_peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        await restored(target, file)
        _, restore_peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert max(backup_peak, restore_peak) < 20_000_000


@pytest.mark.usefixtures("in_small_steps")
async def test_an_interrupted_restore_starts_over(
    make_site: Sites, target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restoring, "BATCH_COMMANDS", 1)
    site = await busy(make_site)
    source = site.store
    await fill(source, 300)
    file = await taken(source)
    await target.create()
    await target.redis.change(("HSET", target.keys.counts("/old"), "time /old", 1))
    write = target.redis.change
    for stop in (2, 3, 4, 20, 60):
        left = itertools.count(stop, -1)

        async def change(*commands: Any, left: Any = left) -> Any:
            """Make so many writes, and then fail as if the power were gone."""
            if next(left) <= 0:
                raise KeyboardInterrupt
            return await write(*commands)

        with monkeypatch.context() as patched:
            patched.setattr(type(target.redis), "change", staticmethod(change))
            # Once the old data is marked it is to be replaced, with or without the option.
            with pytest.raises(KeyboardInterrupt):
                await restored(target, file, replaces=stop == 2)
        with pytest.raises(Mismatch, match="is being restored"):
            await target.open()
    await restored(target, file)
    await target.open()
    assert _of_pages(await everything(target)) == _of_pages(await everything(source))
    assert (await report(target))[-1].endswith(" 0 problems")


def _of_pages(found: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in found.items() if k.startswith(("{p:", "counters", "{accounts"))}


async def test_of_two_restores_at_once_the_later_one_wins(make_site: Sites, target: Store) -> None:
    site = await busy(make_site)
    file = await taken(site.store)
    others = list[asyncio.Task[list[str]]]()

    def tell(label: str, share: float) -> None:
        if label == "indexes" and not others:
            again = restored(target, BytesIO(file.getvalue()), replaces=True)
            others.append(asyncio.create_task(again))

    with pytest.raises((NotEmpty, Damaged)):
        # In the end fewer things are there than it has written, or it finds another's mark.
        await restored(target, file, on_progress=tell)
    await asyncio.gather(*others)
    await target.open()
    assert await everything(target) == await everything(site.store)


async def test_a_restore_does_not_mix(make_site: Sites, target: Store) -> None:
    site = await busy(make_site)
    file = await taken(site.store)
    other = await Sites(target)()
    await other.post("already here")
    await other.count("/elsewhere")
    before = await everything(target)
    with pytest.raises(NotEmpty, match="there is data under KEY_PREFIX restored"):
        await restored(target, file)
    assert await everything(target) == before
    assert await differences(target, file) != []
    await restored(target, file, replaces=True)
    assert await everything(target) == await everything(site.store)


@pytest.mark.usefixtures("in_small_steps")
async def test_whoever_writes_during_a_restore_is_noticed(make_site: Sites, target: Store) -> None:
    site = await busy(make_site)
    file = await taken(site.store)
    stranger = ("HSET", target.keys.counts("time /stranger"), "time /stranger", 1)
    writing: list[asyncio.Task[Any]] = []

    def tell(label: str, share: float) -> None:
        writing.append(asyncio.create_task(target.redis.change(stranger)))

    with pytest.raises(NotEmpty, match="somebody else is writing"):
        await restored(target, file, on_progress=tell)
    await asyncio.gather(*writing)
    with pytest.raises(Mismatch, match="is being restored"):
        await target.open()
    await restored(target, file, replaces=True)
    await target.open()


@pytest.mark.rare
async def test_comparing_tells_every_difference(make_site: Sites, target: Store) -> None:
    site = await busy(make_site)
    file = await taken(site.store)
    await restored(target, file)
    redis, keys = target.redis.client, target.keys
    page = (await anext(aiter(pages(data_set(target), pytest.fail))))[0]
    ids = sorted((await redis.hscan(keys.page(page, "bodies"), count=10_000))[1])
    damages: list[tuple[Any, ...]] = [
        ("HINCRBY", keys.counts("time /1"), "time /1", 1),
        ("HSET", keys.counts("time /new"), "time /new", 1),
        ("HINCRBY", keys.page(page, "likes"), ids[0], 5),
        ("HDEL", keys.page(page, "bodies"), ids[1]),
        ("HSET", keys.page(page, "private"), ids[2], "{}"),
        ("HDEL", keys.accounts, "bob"),
        (
            "HSET",
            keys.page(page, "bodies"),
            "0" * 16,
            await redis.hget(keys.page(page, "bodies"), ids[3]),
        ),
    ]
    for damage in damages:
        await target.redis.change(damage)
        found = await differences(target, file)
        assert found, damage
        await restored(target, file, replaces=True)
        assert await differences(target, file) == []


async def test_damaged_entries_are_left_out_and_named(make_site: Sites, target: Store) -> None:
    site = await busy(make_site)
    store = site.store
    page = (await anext(aiter(pages(data_set(store), pytest.fail))))[0]
    await store.redis.change(
        ("HSET", store.keys.counts("time /1"), "time /1", "many"),
        ("HSET", store.keys.counts("\ufffd\ufffd"), b"\xff\xfe", "1"),
        ("HSET", store.keys.page(page, "bodies"), "stranger", "{}"),
        ("SET", store.keys.page("0" * 16, "path"), "/another"),
        ("SET", store.keys.page("stranger", "path"), "/another"),
        ("HSET", store.keys.accounts, "stranger", "{}"),
        ("HSET", store.keys.account("credentials"), "stranger", "no JSON"),
        ("HSET", store.keys.site("bans"), "192.0.2.1", b"\xff"),
        ("HSET", store.keys.site("closed"), "/a", "later"),
        ("SADD", store.keys.site("unsubscribed"), "ann@example.com"),
    )
    file, left_out = BytesIO(), list[str]()
    await back_up(store, file, complain=left_out.append, has_secrets=True)
    assert len(left_out) == 9
    site_keys = map(store.keys.site, ("bans", "closed", "unsubscribed"))
    keys = (store.keys.accounts, store.keys.account("credentials"), *site_keys)
    named = ("counters ", "page ", *(f"{key}: " for key in keys))
    assert all(text.startswith(named) for text in left_out), left_out
    assert "no JSON" not in str(left_out)
    await restored(target, file)
    assert (await report(target))[-1].endswith(" 0 problems")


def is_damaged_or_the_same(file: bytes, whole: list[Line]) -> bool:
    """Is the file refused, or its content unchanged? Some bits of gzip's headers mean nothing."""
    try:
        found = list(lines(BytesIO(file)))
    except Damaged:
        return True
    assert found == whole
    return False


@pytest.mark.rare
@pytest.mark.usefixtures("in_small_steps")
async def test_a_file_that_was_damaged_anywhere_is_refused(make_site: Sites) -> None:
    site = await busy(make_site)
    await fill(site.store, 200)
    file = (await taken(site.store)).getvalue()
    whole = list(lines(BytesIO(file)))
    places = sorted({*range(0, len(file), len(file) // 150), *range(len(file) - 12, len(file))})
    refused = [
        is_damaged_or_the_same(file[:at] + bytes([file[at] ^ 0x10]) + file[at + 1 :], whole)
        for at in places
    ]
    assert sum(refused) > 0.9 * len(refused)
    for at in places:
        with pytest.raises(Damaged):
            verify(BytesIO(file[:at]), on_progress=silent)
    for wrong in (file + b"x", file + file, b"", b"text", gzip.compress(b"text")):
        with pytest.raises(Damaged):
            verify(BytesIO(wrong), on_progress=silent)


@pytest.mark.usefixtures("in_small_steps")
async def test_lines_that_were_edited_are_refused(make_site: Sites) -> None:
    site = await busy(make_site)
    whole = gzip.decompress((await taken(site.store)).getvalue()).splitlines(keepends=True)
    edits = [
        [*whole[:5], *whole[6:]],
        [*whole[:5], whole[6], whole[5], *whole[7:]],
        [*whole[:5], whole[4], *whole[5:]],
        whole[:-1],
        whole[:-2],
        [whole[-1]],
        whole[1:],
        [*whole, whole[-1]],
        [*whole, b"\n"],
        [*whole[:-2], whole[-1]],
        [each.replace(b"Ann", b"Eve") for each in whole],
    ]
    for edited in edits:
        with pytest.raises(Damaged):
            verify(BytesIO(gzip.compress(b"".join(edited))), on_progress=silent)
    # Decompressed and compressed again, the file is what it was.
    verify(BytesIO(gzip.compress(b"".join(whole))), on_progress=silent)


async def test_a_file_of_a_later_format_is_refused_by_name(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(backup, "FORMAT", 8)
        file = await taken(store)
    with pytest.raises(Damaged, match="it has format 8 and was made by Footfall test"):
        verify(file, on_progress=silent)


@pytest.mark.rare
async def test_from_one_server_to_a_cluster_and_back(
    make_site: Sites, target: Store, cluster: RealCluster
) -> None:
    site = await busy(make_site)
    whole = await everything(site.store)
    on_cluster = Store(connect(cluster.url, timeout=60), prefix=next(_prefixes), buckets=512)
    await restored(on_cluster, await taken(site.store))
    assert await everything(on_cluster) == whole
    assert (await report(on_cluster))[-1].endswith(" 0 problems")
    file = await taken(on_cluster)
    await restored(target, file)
    assert await everything(target) == whole
    assert (await report(target))[-1].endswith(" 0 problems")
    await restored(on_cluster, file, replaces=True)
    assert await differences(on_cluster, file) == []
    await on_cluster.redis.close()


MARA = {"display_name": "Mara", "email": "Mara@example.com", "password": "mara's own"}


@pytest.mark.parametrize("has_secrets", [False, True])
async def test_accounts_are_restored_and_their_secrets_if_asked_for(
    make_site: Sites, target: Store, *, has_secrets: bool
) -> None:
    site = make_site.without_accounts()
    await site.send("POST", "/api/user", MARA)
    await site.send("POST", "/api/user", {**MARA, "email": "tom@example.com"})
    token = (await site.send("POST", "/api/token", MARA))["data"]["token"]
    file = await taken(site.store, has_secrets=has_secrets)
    assert (b"argon2id" in gzip.decompress(file.getvalue())) == has_secrets
    await restored(target, file)
    assert await differences(target, file) == []
    there = Sites(target)
    again = there.without_accounts()
    assert len(await target.accounts.administrators()) == 1
    assert (await again.get("/api/token", by=token))["data"] == {}, "a log-in is in no backup"
    answer = await again.send("POST", "/api/token", {**MARA, "email": "mara@EXAMPLE.com"})
    assert (answer["errno"] == 0) == has_secrets
    taken_mail = await again.send("POST", "/api/user", MARA)
    assert taken_mail["errmsg"] == "USER_EXIST"
    await there.close()
    if has_secrets:
        await target.redis.change(("HDEL", target.keys.account("credentials"), *await ids(target)))
        assert len(await differences(target, file)) == 2


async def ids(store: Store) -> list[str]:
    return [each.id for each in (await store.accounts.listed(0, 9))[1]]


async def test_unsubscribed_readers_are_in_a_backup(store: Store, target: Store) -> None:
    who, root = "a" * 16, "0" * 32
    await store.unsubscribed.add(who, root)
    await store.unsubscribed.add("b" * 16, "")
    file = await taken(store)
    await restored(target, file)
    assert await differences(target, file) == []
    assert await target.unsubscribed.has(who, root)
    assert await target.unsubscribed.has("b" * 16, root)
    assert not await target.unsubscribed.has(who, "1" * 32)
    await target.redis.change(("DEL", target.keys.site("unsubscribed")))
    assert len(await differences(target, file)) == 2
