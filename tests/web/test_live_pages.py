"""What watchers of pages are told, without HTTP."""

from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest

from footfall.domain import live
from footfall.domain.live import LivePages
from tests.conftest import Site

ON = ("fake",)


@pytest.fixture
async def pages(site: Site, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LivePages]:
    monkeypatch.setattr(live, "PERIOD_SECONDS", 0.01)
    service, is_ending = site.service, list[bool]()
    yield LivePages(
        service.counting.counters,
        service.comments,
        service.process,
        lambda path, views, version: b"%s %d" % (path.encode(), views),
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
