"""What watchers of pages are told, without HTTP."""

from collections.abc import AsyncIterator, Coroutine
from functools import partial
from typing import Any

import pytest

from footfall.comments.api.live import seen
from footfall.comments.rules import live
from footfall.comments.rules.live import LivePages
from tests.conftest import ADMIN, Site, Sites

ON = ("fake",)


@pytest.fixture
async def pages(site: Site, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LivePages]:
    monkeypatch.setattr(live, "PERIOD_SECONDS", 0.01)
    service, is_ending = site.service, list[bool]()
    yield LivePages(
        service.counting.counters,
        service.comments.store,
        service.process,
        partial(seen, service.comments),
        lambda path, views, comments: b"%s %d" % (path.encode(), views),
        lambda: bool(is_ending),
    )
    is_ending.append(True)
    await site.settled()


async def test_who_comes_as_another_leaves_has_no_second_reader(
    pages: LivePages, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, start = list[Coroutine[Any, Any, None]](), pages._start

    def noted(work: Coroutine[Any, Any, None]) -> None:
        started.append(work)
        start(work)

    monkeypatch.setattr(pages, "_start", noted)
    for _ in range(3):
        watcher = pages.watch("/a")
        assert await anext(watcher) == b"/a 0"
        await watcher.aclose()
    assert len(started) == 1


async def test_a_damaged_page_spoils_no_other(pages: LivePages, site: Site) -> None:
    key_of = site.store.keys.counts
    key = key_of("time /a")
    # Two pages may share a hash, by chance.
    other = next(page for page in ("/b", "/c", "/d", "/e", "/f") if key_of(f"time {page}") != key)
    ann, ben = pages.watch("/a"), pages.watch(other)
    assert (await anext(ann), await anext(ben)) == (b"/a 0", f"{other} 0".encode())
    await site.store.redis.change(("DEL", key), ("SET", key, "damaged"))
    await site.count(other)
    assert await anext(ben) == f"{other} 1".encode()
    await ann.aclose()
    await ben.aclose()


async def test_watchers_learn_nothing_of_what_nobody_may_read(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that a comment waits, nor when it came, nor that it was removed."""
    monkeypatch.setattr(live, "PERIOD_SECONDS", 0.01)
    site = await make_site(COMMENT_AUDIT="true")
    service, is_ending = site.service, list[bool]()
    pages = LivePages(
        service.counting.counters,
        service.comments.store,
        service.process,
        partial(seen, service.comments),
        lambda path, views, comments: b"%d %d" % (views, comments),
        lambda: bool(is_ending),
    )
    watcher = pages.watch("/p")
    told = [await anext(watcher)]
    for then in ({"status": "approved"}, {"sticky": True}, {"status": "spam"}):
        held = await site.post("held")
        await site.count("/p")
        told.append(await anext(watcher))
        assert told[-1].split()[1] == told[-2].split()[1]
        shown = await site.post(f"shown, {then}")
        await site.send("PUT", f"/comment/{shown['objectId']}", {"status": "approved"}, by=ADMIN)
        told.append(await anext(watcher))
        await site.send("DELETE", f"/comment/{held['objectId']}", by=ADMIN)
        await site.send("PUT", f"/comment/{shown['objectId']}", then, by=ADMIN)
        if then != {"status": "approved"}:
            told.append(await anext(watcher))
        site.clock.now += 3_600_000
    numbers = [int(each.split()[1]) for each in told]
    # None is a time in ms.
    assert max(numbers) < 2**48
    is_ending.append(True)
    await watcher.aclose()
    await site.settled()
