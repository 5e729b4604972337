"""Finished pages: which are cached, and how many are made at a time."""

import asyncio

import pytest

from footfall.errors import TooManyAtOnce, Unavailable
from footfall.limits import answer_cache
from footfall.limits.answer_cache import AnswerCache, CachedAnswer
from footfall.limits.clients import BACKGROUND, known_client
from footfall.limits.pool import Pool
from footfall.limits.pools import Pools

POOL = Pools().pages


def finished(body: bytes, version: int = 1) -> CachedAnswer:
    return CachedAnswer((version, 0), body, b'"tag"')


async def kept(pages: AnswerCache, key: str, page: CachedAnswer) -> bool:
    async def make() -> CachedAnswer:
        return page

    assert await pages.find_or_make((key,), page.versions, make, POOL, BACKGROUND) == page
    return pages.find((key,), page.versions) is page


async def test_a_page_that_fills_a_quarter_of_the_cache_is_sent_and_not_cached() -> None:
    pages = AnswerCache(max_bytes=100_000)
    assert await kept(pages, "small", finished(b"x" * 10_000))
    assert not await kept(pages, "big", finished(b"x" * 26_000))
    assert pages.find(("small",), (1, 0))


async def test_a_page_that_has_grown_too_big_leaves_nothing_behind() -> None:
    pages = AnswerCache(max_bytes=100_000)
    assert await kept(pages, "p", finished(b"x" * 10_000, 1))
    assert not await kept(pages, "p", finished(b"x" * 26_000, 2))
    assert pages.find(("p",), (1, 0)) is None
    assert pages.bytes == 0


async def test_the_size_of_the_cache_is_that_of_its_pages() -> None:
    pages = AnswerCache(max_bytes=100_000)
    for n in range(50):
        await kept(pages, str(n % 20), finished(b"x" * 1000 * (n % 20), n))
    assert pages.bytes <= 100_000
    assert pages.bytes == sum(answer_cache._size(key, page) for key, page in pages._kept.items())


async def test_few_pages_are_made_at_a_time_and_one_only_once() -> None:
    pages, made, most = AnswerCache(), list[int](), 0
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
        *(pages.find_or_make((n,), (n, 0), lambda n=n: make(n), POOL, BACKGROUND) for n in wanted)  # type: ignore[misc]
    )
    assert [page.versions[0] for page in found] == wanted
    assert sorted(made) == list(range(100))
    assert most == POOL.at_once


async def test_requests_share_the_first_page_while_it_is_made_unless_it_is_older() -> None:
    pages, made, goes_on = AnswerCache(), list[str](), asyncio.Event()

    async def first() -> CachedAnswer:
        made.append("first")
        await goes_on.wait()
        return finished(b"first", 2)

    async def again() -> CachedAnswer:
        made.append("again")
        return finished(b"again", 3)

    assert not pages.has(("p",))
    asked = [
        asyncio.create_task(pages.make_first(("p",), first, POOL, BACKGROUND)) for _ in range(3)
    ]
    await asyncio.sleep(0)
    assert pages.has(("p",))
    asked += [
        asyncio.create_task(pages.find_or_make(("p",), (version, 0), again, POOL, BACKGROUND))
        for version in (1, 2, 3)
    ]
    await asyncio.sleep(0)
    goes_on.set()
    found = await asyncio.gather(*asked)
    assert [page.body for page in found] == [b"first"] * 5 + [b"again"]
    assert made == ["first", "again"]
    assert pages.has(("p",))


async def test_a_first_page_that_fails_is_made_again_by_the_next_request() -> None:
    pages = AnswerCache()

    async def fail() -> CachedAnswer:
        raise Unavailable()

    async def make() -> CachedAnswer:
        return finished(b"page")

    with pytest.raises(Unavailable):
        await pages.make_first(("p",), fail, POOL, BACKGROUND)
    assert not pages.has(("p",))
    assert (await pages.make_first(("p",), make, POOL, BACKGROUND)).body == b"page"


async def test_a_page_that_could_not_be_made_is_made_by_the_next_request() -> None:
    pages, tries = AnswerCache(), 0

    async def make() -> CachedAnswer:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise Unavailable()
        return finished(b"page")

    with pytest.raises(Unavailable):
        await pages.find_or_make(("p",), (1, 0), make, POOL, BACKGROUND)
    assert (await pages.find_or_make(("p",), (1, 0), make, POOL, BACKGROUND)).body == b"page"


async def test_who_waits_for_what_is_being_made_needs_no_place() -> None:
    pages, pool, goes_on = AnswerCache(), Pool(at_once=1, capacity=9, each=1), asyncio.Event()
    school, other = known_client("school"), known_client("other")

    async def make() -> CachedAnswer:
        await goes_on.wait()
        return finished(b"page")

    asked = [asyncio.create_task(pages.make_first(("p",), make, pool, school)) for _ in range(99)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyAtOnce):
        await pages.make_first(("q",), make, pool, school)
    asked += [asyncio.create_task(pages.make_first(("q",), make, pool, other))]
    await asyncio.sleep(0)
    # What another client has started is theirs, too; and who goes away ends it for nobody.
    asked += [asyncio.create_task(pages.make_first(("q",), make, pool, school))]
    asked[0].cancel()
    goes_on.set()
    _, *found = await asyncio.gather(*asked, return_exceptions=True)
    assert {each.body for each in found if isinstance(each, CachedAnswer)} == {b"page"}
    assert (len(found), pool.taken) == (100, 0)
