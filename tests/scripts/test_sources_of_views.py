"""From where the site and its pages are viewed: exactly, or with bounds that are said."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from footfall.counting.clients import NO_CLIENT
from footfall.data.store import Store
from footfall.driver.scripts import Script
from footfall.maintenance import view_lines
from footfall.model import Origin
from footfall.process.process import now_ms
from footfall.statistics.calendar import DAY_MS, HOUR_MS
from footfall.statistics.keeper import Keeper
from footfall.statistics.referrals import name_of
from footfall.statistics.reports import Reports
from footfall.statistics.source_views import Source, Sources
from tests.conftest import EVERYWHERE
from tests.support.backups import restored, taken
from tests.support.viewing import BOT, TODAY, Clock, in_another_group, person, today, view

NEWS, ITEM = Origin("news.example"), Origin("news.example/item")


async def test_sources_are_bounded_and_add_up(telling: Store, statistics: Reports) -> None:
    for n in range(350):
        await view(telling, "/a", [NO_CLIENT, NO_CLIENT], Origin(f"{n}.example"))
    found = await statistics.sources(TODAY, TODAY)
    assert sum(source.views for source in found) == 700
    assert len(found) <= 201
    assert Source("349.example", 2, 6) in found


async def test_made_up_sources_push_out_none_that_come_again(
    telling: Store, statistics: Reports
) -> None:
    """Who: a stranger who names another host with each view. What: fills the list, so that nobody
    learns where readers come from. Instead: the hosts with fewest views are dropped."""
    for n in range(600):
        await view(telling, "/a", [NO_CLIENT], Origin(f"{n}.made-up.example"))
        if n % 100 == 50:
            await view(telling, "/a", [NO_CLIENT] * 3, Origin("news.example"))
        if n >= 300 and n % 10 == 0:
            await view(telling, "/a", [NO_CLIENT] * 2, Origin("late.example"))
    found = await statistics.sources(TODAY, TODAY)
    assert found[:2] == [Source("late.example", 60, 62), Source("news.example", 18, 18)]
    assert sum(source.views for source in found) == 600 + 18 + 60
    assert len(found) <= 201


async def test_a_source_has_no_fewer_views_than_are_shown_and_no_more_than_it_may_have(
    telling: Store, statistics: Reports, keeper: Keeper, clock: Clock
) -> None:
    """Of one page and of another of another group, on two days, in any order."""
    drawn, truth = random.Random(7), Counter[str]()
    paths, hosts = ("/a", in_another_group(telling.keys, "/a")), range(1, 500)
    for day in range(2):
        clock.now += day * DAY_MS
        for _ in range(1500):
            (n,) = drawn.choices(hosts, [1 / host for host in hosts])
            views = drawn.randrange(1, 4)
            await view(telling, drawn.choice(paths), [NO_CLIENT] * views, Origin(f"{n}.example"))
            truth[f"{n}.example"] += views
    for _ in range(2):
        *found, others = await statistics.sources(TODAY, statistics.today())
        assert others.views + sum(source.views for source in found) == truth.total()
        for source in found:
            assert source.views <= truth[source.host] <= source.at_most, source
        # Two shares of 200 fields each, half of which say how many more there may be.
        assert max(source.at_most - source.views for source in found) <= truth.total() / 100
        assert {f"{n}.example" for n in range(1, 20)} <= {source.host for source in found}
        # The same from the sums of past days.
        clock.now += DAY_MS
        await keeper.keep_hours()


@pytest.mark.rare
async def test_a_year_of_sources_that_a_stranger_made_up_takes_no_longer_than_a_moment(
    telling: Store, statistics: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def made_up(days: Sequence[int]) -> list[Counter[str]]:
        return [Counter({f"{n}.{day}.example": 1 for n in range(1_000)}) for day in days]

    monkeypatch.setattr(telling.site_views.sources, "kept", made_up)
    # To copy what is there for each day would take half a minute.
    found = await statistics.sources(20251001, 20260930)
    assert (len(found), sum(source.views for source in found)) == (1_001, 365_000)


async def test_of_too_many_equal_sources_the_same_are_kept_again(
    telling: Store, statistics: Reports
) -> None:
    hosts = [f"{n}.example" for n in range(1_500)]
    for order in (hosts, hosts[::-1]):
        await telling.site_views.sources.keep(TODAY - 1, Sources([Counter(order)]).fields(), DAY_MS)
    (kept,) = await telling.site_views.sources.kept([TODAY - 1])
    hosts = [name for name in kept if name.strip()]
    assert (len(hosts), kept[""], kept[" "]) == (1_000, 500, 1)


async def test_lists_of_a_day_outlive_a_week_without_a_service(
    telling: Store, statistics: Reports, keeper: Keeper, clock: Clock
) -> None:
    """Who: an owner whose service stands still from Friday to Monday, or over a long weekend."""
    await view(telling, "/a", [NO_CLIENT], Origin("search.example"))
    group = telling.keys.group("/a")
    shares = telling.keys.read_in(group, TODAY), telling.keys.sources_in(group, TODAY)
    left = await telling.redis.ask(*(("PTTL", key) for key in shares))
    assert min(left) > 8 * DAY_MS
    clock.now += 8 * DAY_MS
    # Several services start at once: what one has read, another one removes.
    others = [Keeper(telling.site_views, statistics, clock, 25) for _ in range(4)]
    await asyncio.gather(*(each.keep_hours() for each in (keeper, *others)))
    assert await statistics.sources(TODAY, TODAY) == [Source("search.example", 1, 1)]
    assert [page.path for page in await statistics.top("views", 30, 10)] == ["/a"]
    # They are stored now, and need no room as shares.
    assert await telling.redis.ask(("ZCARD", shares[0]), ("HLEN", shares[1])) == [0, 0]


async def test_lists_of_the_last_days_are_stored_again_with_each_hour(
    telling: Store, statistics: Reports, keeper: Keeper, clock: Clock
) -> None:
    """A view of the day before may have been on its way."""
    await keeper.keep_hours()
    for ago in range(2):
        clock.now += DAY_MS
        await keeper.keep_hours()
        late = telling.keys.sources_in(telling.keys.group("/a"), TODAY)
        await telling.redis.change(("HINCRBY", late, "search.example", 1))
        clock.now += HOUR_MS
        await keeper.keep_hours()
        found = await statistics.sources(TODAY, TODAY)
        assert found == [Source("search.example", ago + 1, ago + 1)]


# Pages beside their sources.


@pytest.mark.parametrize("kind", EVERYWHERE)
async def test_a_page_has_sources_and_a_source_has_pages(
    telling: Store, statistics: Reports, keeper: Keeper, clock: Clock
) -> None:
    for n in range(2):
        clock.now += n * DAY_MS
        await view(telling, "/a", [NO_CLIENT, NO_CLIENT], ITEM)
        await view(telling, "/a", [NO_CLIENT, BOT], NEWS)
        await view(telling, "/b c", [person(1)], NEWS)
        await view(telling, "/b c", [person(2)], Origin("search.example"))
        await view(telling, "/b c", [person(2)])
    for _ in range(2):
        found = await statistics.referrals(TODAY, TODAY + 1)
        assert found.is_whole
        assert found.sources_of("/a") == [
            Source("news.example/item", 4, 4),
            Source("news.example", 2, 2),
        ]
        assert found.pages_of("news.example") == [Source("/a", 6, 6), Source("/b c", 2, 2)]
        assert found.origins_in("search.example") == [Source("search.example", 2, 2)]
        assert found.sources_of("/c") == found.pages_of("example") == []
        # The same from the sums of past days.
        clock.now += DAY_MS
        await keeper.keep_hours()
    # A host with its pages is one source of the site.
    assert await statistics.sources(TODAY, TODAY) == [
        Source("news.example", 4, 4),
        Source("search.example", 1, 1),
    ]


async def test_made_up_pages_of_sources_push_out_no_group_but_their_own(
    telling: Store, statistics: Reports, keeper: Keeper, clock: Clock
) -> None:
    """Who: a stranger who names another source with each view, and a page that is linked from
    many. What: pushes out true sources, or makes them look larger. Instead: those that come again
    stay, with bounds; and pages of other groups know theirs exactly."""
    other = in_another_group(telling.keys, "/a")
    drawn, truth = random.Random(7), Counter[str]()
    for _ in range(1_000):
        (n,) = drawn.choices(range(1, 500), [1 / host for host in range(1, 500)])
        views = drawn.randrange(1, 4)
        await view(telling, "/a", [NO_CLIENT] * views, Origin(f"{n}.example/made-up"))
        truth[f"{n}.example/made-up"] += views
    await view(telling, other, [NO_CLIENT], NEWS)
    for _ in range(2):
        found = await statistics.referrals(TODAY, TODAY)
        assert not found.is_whole
        assert found.sources_of(other) == [Source("news.example", 1, 1)]
        sources = found.sources_of("/a")
        assert len(sources) <= 200
        assert {f"{n}.example/made-up" for n in range(1, 10)} <= {each.host for each in sources}
        for source in sources:
            assert source.views <= truth[source.host] <= source.at_most, source
        clock.now += DAY_MS
        await keeper.keep_hours()


async def test_what_is_too_long_is_among_the_others(telling: Store, statistics: Reports) -> None:
    """Lists of names that strangers choose must not take more room than the counters."""
    host, long = ".".join(["a" * 60] * 3), "/" + 250 * "b"
    await view(telling, "/a", [NO_CLIENT], Origin(host + "/" + 99 * "c"))
    await view(telling, "/" + 99 * "d", [NO_CLIENT], Origin(host + "/" + 99 * "c"))
    await view(telling, long, [NO_CLIENT], Origin(host))
    found = await statistics.referrals(TODAY, TODAY)
    assert found.origins_in(host) == [Source(host, 1, 1), Source(host + "/" + 99 * "c", 1, 1)]
    assert (found.sources_of(long), found.is_whole) == ([], False)
    assert (await statistics.sources(TODAY, TODAY))[0] == Source(host, 3, 3)


@pytest.mark.parametrize("kind", EVERYWHERE)
async def test_sources_move_with_their_page_and_go_with_its_statistics(
    telling: Store, statistics: Reports, keeper: Keeper, clock: Clock
) -> None:
    # Shares are only looked for on the last days.
    clock.now = now_ms() - DAY_MS
    target = in_another_group(telling.keys, "/a")
    for n in range(2):
        clock.now += n * DAY_MS
        await view(telling, "/a", [NO_CLIENT], ITEM)
        await view(telling, target, [NO_CLIENT], ITEM)
        await keeper.keep_hours()
    last = statistics.today()
    first = statistics.days_before(last, 1)
    # What was interrupted is done again.
    for _ in range(2):
        await telling.views.relist("/a", target)
    clock.now += 60_000
    found = await statistics.referrals(first, last)
    assert found.pages_of("news.example") == [Source(target, 4, 4)]
    # And once more, out of the group that it does not belong to.
    await telling.views.relist(target, "/a")
    clock.now += 60_000
    assert (await statistics.referrals(first, last)).sources_of("/a")[0].views == 4
    await statistics.erase("/a")
    clock.now += 60_000
    found = await statistics.referrals(first, last)
    assert (found.listed, found.is_whole) == ([], False)
    # The site's numbers keep its views.
    assert await statistics.sources(first, last) == [Source("news.example", 4, 4)]


@pytest.mark.parametrize("target", ["", "/moved"])
async def test_a_sum_that_is_stored_while_a_page_is_renamed_has_each_view_once(
    telling: Store, statistics: Reports, clock: Clock, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """Who: an owner who erases a page, as another service stores the sums of the day before."""
    clock.now = now_ms() - DAY_MS
    day, lists = statistics.today(), telling.site_views.referrals
    await view(telling, "/a", [NO_CLIENT] * 3, NEWS)
    call = Script.through

    async def through(self: Script, *words: Any, **values: Any) -> Any:
        if self.name == "views/rename_referrals":
            await lists.keep(day, await lists.shares(day), DAY_MS)
        return await call(self, *words, **values)

    await lists.keep(day, await lists.shares(day), DAY_MS)
    monkeypatch.setattr(Script, "through", through)
    if target:
        await telling.views.relist("/a", target)
    else:
        await statistics.erase("/a")
    await lists.keep(day, await lists.shares(day), DAY_MS)
    (kept,) = await lists.kept([day])
    assert kept == {f"news.example {target}" if target else "": 3}


@pytest.mark.parametrize("length", range(270, 290))
async def test_a_name_is_as_long_as_an_import_takes_it(telling: Store, length: int) -> None:
    path = "/" + "\u00e9" * 60 + "b" * (length - 121)
    await view(telling, path, [NO_CLIENT], ITEM)
    shares = await telling.site_views.referrals.shares(TODAY)
    assert shares == {name_of(ITEM.source, path): 1}


async def test_sources_of_pages_are_in_a_backup(
    telling: Store, statistics: Reports, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A day is restored into shares while it is not over.
    monkeypatch.setattr(view_lines, "days_of_groups", lambda: [TODAY + 1, TODAY, TODAY - 1])
    for n in range(250):
        await view(telling, "/a", [NO_CLIENT], Origin(f"{n}.example"))
    await view(telling, in_another_group(telling.keys, "/a"), [NO_CLIENT] * 2, ITEM)
    before = await statistics.referrals(TODAY, TODAY)
    file = await taken(telling)
    assert await restored(telling, file, replaces=True) is not None
    clock.now += 60_000
    after = await statistics.referrals(TODAY, TODAY)
    assert sorted(after.listed) == sorted(before.listed)
    # And it goes on from there.
    await view(telling, "/a", [NO_CLIENT], ITEM)
    clock.now += 60_000
    assert (await statistics.referrals(TODAY, TODAY)).pages_of("news.example")[1].host == "/a"


async def test_a_damaged_share_of_referrals_hides_its_own_alone(
    telling: Store, statistics: Reports, keeper: Keeper, clock: Clock
) -> None:
    other, group = in_another_group(telling.keys, "/a"), telling.keys.group("/a")
    await view(telling, other, [NO_CLIENT], NEWS)
    key = telling.keys.referrals_in(group, TODAY)
    await telling.redis.change(("SET", key, "no hash"))
    await view(telling, "/a", [NO_CLIENT], NEWS)
    assert (await today(statistics, "/a")).views == 1
    found = await statistics.referrals(TODAY, TODAY)
    assert found.pages_of("news.example") == [Source(other, 1, 1)]
    clock.now += DAY_MS
    await keeper.keep_hours()
