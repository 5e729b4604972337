"""Finished pages: which are cached, and how many are made at a time."""

import asyncio

import pytest

from footfall.comments.rules import page_cache as pages_module
from footfall.comments.rules.page_cache import CachedAnswer, PageCache
from footfall.errors import Unavailable


def finished(body: bytes, version: int = 1) -> CachedAnswer:
    return CachedAnswer((version, 0), body, b'"tag"')


async def kept(pages: PageCache, key: str, page: CachedAnswer) -> bool:
    async def make() -> CachedAnswer:
        return page

    assert await pages.find_or_make((key,), page.versions, make) == page
    return pages.find((key,), page.versions) is page


async def test_a_page_that_fills_a_quarter_of_the_cache_is_sent_and_not_cached() -> None:
    pages = PageCache(max_bytes=100_000)
    assert await kept(pages, "small", finished(b"x" * 10_000))
    assert not await kept(pages, "big", finished(b"x" * 26_000))
    assert pages.find(("small",), (1, 0))


async def test_a_page_that_has_grown_too_big_leaves_nothing_behind() -> None:
    pages = PageCache(max_bytes=100_000)
    assert await kept(pages, "p", finished(b"x" * 10_000, 1))
    assert not await kept(pages, "p", finished(b"x" * 26_000, 2))
    assert pages.find(("p",), (1, 0)) is None
    assert pages.bytes == 0


async def test_the_size_of_the_cache_is_that_of_its_pages() -> None:
    pages = PageCache(max_bytes=100_000)
    for n in range(50):
        await kept(pages, str(n % 20), finished(b"x" * 1000 * (n % 20), n))
    assert pages.bytes <= 100_000
    assert pages.bytes == sum(pages_module._size(key, page) for key, page in pages._kept.items())


async def test_few_pages_are_made_at_a_time_and_one_only_once() -> None:
    pages, made, most = PageCache(), list[int](), 0
    under_way: set[int] = set()

    async def make(n: int) -> CachedAnswer:
        nonlocal most
        under_way.add(n)
        most = max(most, len(under_way))
        for _ in range(10):
            await asyncio.sleep(0)
        under_way.remove(n)
        made.append(n)
        return finished(b"page", n)

    wanted = [n % 100 for n in range(300)]
    found = await asyncio.gather(
        *(pages.find_or_make((n,), (n, 0), lambda n=n: make(n)) for n in wanted)  # type: ignore[misc]
    )
    assert [page.versions[0] for page in found] == wanted
    assert sorted(made) == list(range(100))
    assert most == pages_module.MAX_PAGES_AT_ONCE


async def test_a_request_that_waits_too_long_is_told_to_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages_module, "MAX_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(pages_module, "MAX_PAGES_AT_ONCE", 1)
    pages, has_begun, is_over = PageCache(), asyncio.Event(), asyncio.Event()

    async def slow() -> CachedAnswer:
        has_begun.set()
        await is_over.wait()
        return finished(b"slow")

    async def quick() -> CachedAnswer:
        return finished(b"quick")

    first = asyncio.create_task(pages.find_or_make(("slow",), (1, 0), slow))
    await has_begun.wait()
    with pytest.raises(Unavailable):
        await pages.find_or_make(("quick",), (1, 0), quick)
    is_over.set()
    assert (await first).body == b"slow"
    assert (await pages.find_or_make(("quick",), (1, 0), quick)).body == b"quick"


async def test_requests_share_the_first_page_while_it_is_made_unless_it_is_older() -> None:
    pages, made, goes_on = PageCache(), list[str](), asyncio.Event()

    async def first() -> CachedAnswer:
        made.append("first")
        await goes_on.wait()
        return finished(b"first", 2)

    async def again() -> CachedAnswer:
        made.append("again")
        return finished(b"again", 3)

    assert not pages.has(("p",))
    asked = [asyncio.create_task(pages.make_first(("p",), first)) for _ in range(3)]
    await asyncio.sleep(0)
    assert pages.has(("p",))
    asked += [
        asyncio.create_task(pages.find_or_make(("p",), (version, 0), again))
        for version in (1, 2, 3)
    ]
    await asyncio.sleep(0)
    goes_on.set()
    found = await asyncio.gather(*asked)
    assert [page.body for page in found] == [b"first"] * 5 + [b"again"]
    assert made == ["first", "again"]
    assert pages.has(("p",))


async def test_a_first_page_that_fails_is_made_again_by_the_next_request() -> None:
    pages = PageCache()

    async def fail() -> CachedAnswer:
        raise Unavailable()

    async def make() -> CachedAnswer:
        return finished(b"page")

    with pytest.raises(Unavailable):
        await pages.make_first(("p",), fail)
    assert not pages.has(("p",))
    assert (await pages.make_first(("p",), make)).body == b"page"


async def test_a_turn_goes_to_a_request_that_still_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_module, "MAX_WAIT_SECONDS", 60)
    monkeypatch.setattr(pages_module, "MAX_PAGES_AT_ONCE", 1)
    pages, taken = PageCache(), list[str]()

    async def take(name: str) -> None:
        async with pages.turn():
            taken.append(name)

    async with pages.turn():
        tasks = {name: asyncio.create_task(take(name)) for name in "abcd"}
        await asyncio.sleep(0)
        tasks["a"].cancel()
    # b has got the turn, and is cancelled before it learns that.
    tasks["b"].cancel()
    found = await asyncio.gather(*tasks.values(), return_exceptions=True)
    assert taken == ["c", "d"]
    assert [type(each) for each in found[:2]] == [asyncio.CancelledError] * 2
    async with pages.turn():
        late = asyncio.create_task(take("e"))
        await asyncio.sleep(0)
    await late
    assert taken == ["c", "d", "e"]


async def test_a_page_that_could_not_be_made_is_made_by_the_next_request() -> None:
    pages, tries = PageCache(), 0

    async def make() -> CachedAnswer:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise Unavailable()
        return finished(b"page")

    with pytest.raises(Unavailable):
        await pages.find_or_make(("p",), (1, 0), make)
    assert (await pages.find_or_make(("p",), (1, 0), make)).body == b"page"
