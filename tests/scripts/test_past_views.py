"""lua/views/import.lua and import_site.lua: views of the past are added once, and add up."""

import pytest

from footfall.data.store import Store
from footfall.statistics.calendar import HOUR_MS
from footfall.statistics.past_store import PageChange, PastDay, PastViews, SiteChange
from footfall.statistics.store import every_month
from tests.scripts.test_views import count, days, hash_of
from tests.support.past_logs import past_views

THIS, LAST, OLDER, OLDEST = every_month()[1:5]


@pytest.fixture
def past(store: Store) -> PastViews:
    return past_views(store, HOUR_MS, (LAST, THIS))


def a_view(month: int = LAST, day: int = 3, *, views: int = 5, path: str = "/a") -> PageChange:
    return PageChange(path, 100 * month + day, views, 2, {})


async def add(past: PastViews, *changes: PageChange, step: int = 0, counts: bool = False) -> bool:
    return await past.add(f"0123456789abcdef {step}", changes, counts=counts)


async def test_views_of_a_day_have_visitors_and_bots(store: Store, past: PastViews) -> None:
    change = PageChange("/a", 100 * LAST + 3, 9, 4, {"ai-crawler": 2, "seo": 1})
    assert await add(past, change)
    assert await days(store, "/a", LAST) == {"3": 9, "v3": 4, "base": 0, "undated": -9}
    (bots,) = await hash_of(store, store.keys.views("/a").bots(LAST))
    assert bots == {"3 ai-crawler": 2, "3 seo": 1}
    assert await count(store, "/a") == 0
    keys = (store.keys.views("/a").days(LAST), store.keys.views("/a").bots(LAST))
    left = await store.redis.ask_masters(*(("PTTL", key) for key in keys))
    assert all(0 < each <= HOUR_MS for each in left)


async def test_a_step_is_added_once(store: Store, past: PastViews) -> None:
    assert await add(past, a_view())
    assert not await add(past, a_view())
    assert await add(past, a_view(day=4), step=1)
    assert (await days(store, "/a", LAST))["3"] == 5


async def test_a_month_that_was_not_known_ends_with_the_count(
    store: Store, past: PastViews
) -> None:
    await counted(store, 20)
    await add(past, a_view())
    assert await days(store, "/a", LAST) == {"3": 5, "v3": 2, "base": 15}
    assert await count(store, "/a") == 20


async def test_views_of_a_known_month_are_taken_from_what_it_started_with(
    store: Store, past: PastViews
) -> None:
    await counted(store, 20)
    await month_of(store, THIS, base=8, undated=12)
    await add(past, a_view(THIS, 1))
    assert await days(store, "/a", THIS) == {"1": 5, "v1": 2, "base": 3, "undated": 12}
    await add(past, a_view(THIS, 1), step=1)
    assert await days(store, "/a", THIS) == {"1": 10, "v1": 2, "base": 0, "undated": 10}


async def test_an_earlier_month_ends_with_what_the_next_one_starts_with(
    store: Store, past: PastViews
) -> None:
    await month_of(store, THIS, base=30)
    await add(past, a_view())
    assert (await days(store, "/a", LAST))["base"] == 25


@pytest.mark.parametrize("month", [OLDER, LAST, THIS])
async def test_views_that_are_counted_raise_what_later_months_start_with(
    store: Store, past: PastViews, month: int
) -> None:
    await counted(store, 20)
    later = [each for each in (LAST, THIS) if each > month]
    for each in later:
        await month_of(store, each, base=20)
    await add(past, a_view(month), counts=True)
    assert await count(store, "/a") == 25
    assert await days(store, "/a", month) == {"3": 5, "v3": 2, "base": 20}
    assert [(await days(store, "/a", each))["base"] for each in later] == [25] * len(later)


async def test_months_that_come_after_older_ones_put_them_in_order(
    store: Store, past: PastViews
) -> None:
    await counted(store, 60)
    for step, month in enumerate((OLDEST, OLDER, LAST)):
        await add(past, a_view(month, views=25), step=step)
    await past.put_in_order(["/a"], [OLDEST, OLDER, LAST, THIS])
    found = [await days(store, "/a", month) for month in (OLDEST, OLDER, LAST)]
    assert [each["base"] for each in found] == [0, 10, 35]
    assert [each.get("undated", 0) for each in found] == [-15, 0, 0]


async def test_a_counter_that_starts_with_the_past_is_among_the_groups_numbers(
    store: Store, past: PastViews
) -> None:
    await add(past, a_view(), counts=True)
    (numbers,) = await hash_of(store, store.keys.numbers(past.group("/a")))
    assert (await count(store, "/a"), numbers) == (5, {"counts": 1, "views": 5})


@pytest.mark.parametrize("field", ["base", "3", "v3"])
async def test_what_is_damaged_is_left_as_it_is(store: Store, past: PastViews, field: str) -> None:
    key = store.keys.views("/a").days(LAST)
    await store.redis.change(("HSET", key, field, "text"))
    other = next(path for n in range(9999) if past.group(path := f"/{n}") == past.group("/a"))
    assert await add(past, a_view(), a_view(path=other))
    assert (await days(store, other, LAST))["3"] == 5
    await store.redis.change(("DEL", key), ("SET", key, "text"))
    assert await add(past, a_view(), a_view(path=other), step=1)
    assert (await days(store, other, LAST))["3"] == 10


# The site.


async def test_the_site_has_hours_bots_visitors_and_sources(store: Store, past: PastViews) -> None:
    day = 100 * LAST + 3
    changes = [
        SiteChange("add", day, f"{day}16", 7),
        SiteChange("add", day, f"b{day} seo", 2),
        SiteChange("most", day, f"v{day}", 5),
        SiteChange("source", day, "example.org", 3),
    ]
    for step in ("a 0", "a 1"):
        assert await past.add_to_site(step, changes)
    assert not await past.add_to_site("a 0", changes)
    views, sources = await hash_of(store, store.keys.site_views(LAST), store.keys.sources(day))
    assert views == {f"{day}16": 14, f"b{day} seo": 4, f"v{day}": 5}
    assert sources == {"example.org": 6}


async def test_a_day_has_a_thousand_sources_and_the_rest(store: Store, past: PastViews) -> None:
    day = 100 * LAST + 3
    hosts = [SiteChange("source", day, f"{n}.example.org", 1) for n in range(1010)]
    await past.add_to_site("a 0", [*hosts, SiteChange("source", day, "0.example.org", 1)])
    sources = await store.redis.ask_masters(
        ("HLEN", store.keys.sources(day)),
        ("HGET", store.keys.sources(day), ""),
        ("HGET", store.keys.sources(day), "0.example.org"),
    )
    assert sources == [1001, b"10", b"2"]


async def test_a_day_is_of_the_import_that_started_it(store: Store, past: PastViews) -> None:
    day = 100 * LAST + 3
    started, other = PastDay("access-log", "a" * 32), PastDay("access-log", "b" * 32)
    for _ in range(2):
        assert await past.start(day, started)
        assert not await past.start(day, other)
        assert await past.days([OLDEST, LAST]) == {day: started}
    await past.finish([day], "access-log")
    assert await past.days([LAST]) == {day: PastDay("access-log")}
    assert not await past.start(day, started)


async def test_the_most_viewed_pages_have_all_that_is_known_of_the_day(
    store: Store, past: PastViews
) -> None:
    day = 100 * LAST + 3
    await month_of(store, LAST, base=0, **{"3": 8})
    await past.note_most_read(day, ["/a", "/none"], HOUR_MS)
    assert await store.site_views.read([day]) == [{"/a": 8}]


async def counted(store: Store, number: int) -> None:
    """A count that nobody knows the days of."""
    await store.redis.change(("HSET", store.keys.counts("time /a"), "time /a", number))


async def month_of(store: Store, month: int, **fields: int) -> None:
    words = [word for item in fields.items() for word in item]
    await store.redis.change(("HSET", store.keys.views("/a").days(month), *words))
