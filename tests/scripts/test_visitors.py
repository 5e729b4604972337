"""Who has viewed a page and the site on a day: each visitor once, exactly up to a number that is
said, and bots by their class."""

import asyncio
from functools import partial
from ipaddress import ip_network
from itertools import count
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from footfall.callbacks import awaited
from footfall.counting.clients import NO_CLIENT, Bot, Clients, Person
from footfall.counting.limits import RateLimits
from footfall.counting.unknown_proxies import UnknownProxies
from footfall.data.store import Store
from footfall.driver.commands import pack_word
from footfall.driver.keys import GROUPS
from footfall.errors import StoreUnavailable
from footfall.ids import digest
from footfall.maintenance import view_lines
from footfall.model import Origin
from footfall.netaddr import Networks, Proxies, place_of
from footfall.process.process import now_ms
from footfall.statistics import most_read, page_list, visits
from footfall.statistics.agents import CLASSES
from footfall.statistics.audience import Audience, told
from footfall.statistics.calendar import DAY_MS, HOUR_MS, Calendar, datable
from footfall.statistics.keeper import Keeper
from footfall.statistics.live_views import LIVE_MINUTES, LivePage, LiveViews
from footfall.statistics.moments import Moments
from footfall.statistics.page_list import ListedPage
from footfall.statistics.reports import Day, Reports
from footfall.statistics.salts import Salts
from footfall.statistics.source_views import Source
from footfall.statistics.visitors import agent_part
from tests.conftest import EVERYWHERE
from tests.support.backups import report, restored, taken
from tests.support.viewing import BOT, TODAY, Clock, in_another_group, person, send, today, view


@pytest.mark.parametrize("kind", EVERYWHERE)
async def test_a_visitor_counts_once_on_each_page_and_once_on_the_site(
    telling: Store, statistics: Reports
) -> None:
    ann, ben = person(1), person(2)
    await view(telling, "/a", [ann, ben, ann])
    await view(telling, "/a", [ann])
    await view(telling, "/b", [ann])
    assert await today(statistics, "/a") == Day(4, 2, {})
    assert await today(statistics, "/b") == Day(1, 1, {})
    assert await today(statistics, None) == Day(5, 2, {})


@pytest.mark.parametrize("kind", EVERYWHERE)
async def test_each_visitor_has_one_class_of_each_kind(
    telling: Store, statistics: Reports, clock: Clock, keeper: Keeper, salts: Salts
) -> None:
    classing, other = await classing_of(telling), await classing_of(telling)
    phones = [seen(n, PHONE, b"de-AT,de;q=0.9") for n in range(6)]
    await view(classing, "/a", [*phones, *phones, seen(9, b"curl/8")])
    # Another page, another service, and another hour: they are known.
    await view(classing, "/b", phones)
    await view(other, "/a", phones)
    clock.now += HOUR_MS
    await view(classing, "/a", phones)
    assert (await today(statistics, None)).visitors == 7
    wanted = {
        "browser": {"Chrome": 6, "": 1},
        "system": {"Android": 6, "": 1},
        "size": {"phone": 6, "desktop": 1},
        "country": {"AT": 6, "": 1},
        "language": {"de": 6, "": 1},
    }
    assert await statistics.audience(None, TODAY, TODAY) == wanted
    # What is stored of a day that is over, and what still comes.
    clock.now += DAY_MS
    await salts.keep_up(telling.site_views)
    await keeper.keep_hours()
    assert await statistics.audience(None, TODAY, TODAY) == wanted
    await view(classing, "/a", phones)
    both = await statistics.audience(None, TODAY, TODAY + 1)
    assert both["size"] == {"phone": 12, "desktop": 1}
    clock.now += 3 * DAY_MS
    await keeper.keep_hours()
    assert await statistics.audience(None, TODAY, TODAY) == wanted
    # A class of fewer visitors could be one person.
    assert told(both["size"]) == [("phone", 12), ("", 1)]


async def test_visitors_of_a_sketch_are_counted_without_a_class(
    telling: Store, statistics: Reports
) -> None:
    classing = await classing_of(telling)
    ann = seen(1, PHONE, b"de")
    await view(classing, "/a", [ann])
    share = ann.number % visits.SHARES * (GROUPS // visits.SHARES)
    key = telling.keys.visitors_in(share, TODAY)
    await telling.redis.change(("DEL", key), ("PFADD", key, 1))
    later = next(
        each for n in range(2, 1_000) if renewed(each := seen(n, PHONE, b"de"), telling) == share
    )
    await view(classing, "/a", [later])
    assert (await statistics.audience(None, TODAY, TODAY))["size"] == {"phone": 1}


PHONE = b"Mozilla/5.0 (Linux; Android 10; K) Chrome/140.0.0.0 Mobile Safari/537.36"


def seen(name: int, agent: bytes, language: bytes = b"") -> Person:
    return Person("", f"192.0.2.{name}", agent_part(agent), language)


def renewed(person: Person, store: Store) -> int:
    """The group in which the site distinguishes this visitor today."""
    assert store.moment is not None
    person.renew(store.moment())
    return person.number % visits.SHARES * (GROUPS // visits.SHARES)


async def classing_of(store: Store) -> Store:
    """Another service of the same data set, which classes visitors; most are in Austria."""
    keys = store.keys
    audience = Audience(lambda address: "" if address.endswith(".9") else "AT")
    classing = Store(
        store.redis,
        prefix=keys.prefix,
        buckets=keys.buckets,
        moment=store.moment,
        audience=audience,
    )
    await classing.open()
    return classing


async def test_services_that_see_the_same_visitor_count_one(
    telling: Store, statistics: Reports
) -> None:
    keys = telling.keys
    other = Store(telling.redis, prefix=keys.prefix, buckets=keys.buckets, moment=telling.moment)
    await other.open()
    await asyncio.gather(*(view(each, "/a", [person(1)]) for each in (telling, other)))
    assert await today(statistics, "/a") == Day(2, 1, {})
    assert await today(statistics, None) == Day(2, 1, {})


async def test_a_view_without_a_visitor_is_a_view(telling: Store, statistics: Reports) -> None:
    await view(telling, "/a", [NO_CLIENT, person(1), NO_CLIENT])
    assert await today(statistics, "/a") == Day(3, 1, {})


async def test_bots_are_counted_by_class_and_are_no_visitors(
    telling: Store, statistics: Reports
) -> None:
    await view(telling, "/a", [BOT, person(1), BOT])
    await view(telling, "/a", [person(2)], Origin(bot="webdriver"))
    for path in ("/a", None):
        assert await today(statistics, path) == Day(4, 1, {"seo": 2, "webdriver": 1})


async def test_lists_of_most_read_pages_are_of_what_people_read(
    telling: Store, statistics: Reports, clock: Clock
) -> None:
    await view(telling, "/a", [person(1), person(2), BOT])
    await view(telling, "/b", [person(3), *[BOT] * 9])
    await view(telling, "/crawled", [BOT] * 5)
    # Now each hour and each day has its own.
    clock.now += 2 * HOUR_MS
    await view(telling, "/a", [person(1), BOT])
    for by, days in (("views", 1), ("views", 7), ("rising", 1)):
        pages = await statistics.most_read.top(by, days, 10)
        assert [page[:3] for page in pages] == [("/a", 5, 3), ("/b", 10, 1)], (by, days)
    assert await statistics.most_read.series(["/b"], 2) == [[0, 1]]
    await statistics.count_as_people("seo", is_people=True)
    for by, days in (("views", 1), ("views", 7), ("rising", 1)):
        pages = await statistics.most_read.top(by, days, 10)
        by_path = {page.path: page.people for page in pages}
        assert by_path == {"/b": 10, "/a": 5, "/crawled": 5}, (by, days)


async def test_pages_that_bots_crawl_keep_no_page_that_people_read_out_of_a_list(
    telling: Store, statistics: Reports, keeper: Keeper
) -> None:
    await asyncio.gather(*(view(telling, f"/crawled/{n}", [BOT] * 40) for n in range(300)))
    read = [f"/read/{n}" for n in range(10)]
    await asyncio.gather(*(view(telling, path, [person(1), BOT]) for path in read))
    await keeper.keep_hours()
    for by, days in (("views", 1), ("views", 7), ("visitors", 7), ("rising", 1)):
        found = await statistics.most_read.top(by, days, 100)
        assert [page.path for page in found] == read, (by, days)


async def test_of_many_pages_that_are_read_nearly_as_often_the_best_are_found(
    telling: Store, statistics: Reports
) -> None:
    best = [f"/best/{n:02}" for n in range(75)]
    others = [f"/{n}" for n in range(400)]
    for n in range(8):
        paths = best if n == 7 else [*others, *best]
        await asyncio.gather(*(view(telling, path, [person(n)]) for path in paths))
    for by, days in (("views", 1), ("views", 7), ("visitors", 7)):
        found = await statistics.most_read.top(by, days, 100)
        assert [page.path for page in found[:75]] == best, (by, days)


@pytest.mark.parametrize("people", [False, True], ids=["", "a class of bots counts as people"])
@pytest.mark.parametrize("is_kept", [False, True], ids=["today", "past"])
async def test_a_list_says_where_a_page_that_was_not_compared_may_have_more(
    telling: Store,
    statistics: Reports,
    keeper: Keeper,
    clock: Clock,
    *,
    is_kept: bool,
    people: bool,
) -> None:
    """Who: an owner whose site has more pages than lists have room for."""
    await view(telling, "/a", map(person, range(110)))
    await view(telling, "/b", map(person, range(90)))
    if people:
        await statistics.count_as_people("seo", is_people=True)
    # A group that has no room for a page that was viewed 40 times, or nearly twice as often.
    others = {*range(GROUPS)} - {telling.keys.group(path) for path in ("/a", "/b")}
    full = telling.keys.read_in(min(others), TODAY)
    scores = [word for n in range(64) for word in (40, f"/full/{n}")]
    await telling.redis.change(("ZADD", full, *scores))
    if is_kept:
        clock.now += 3 * DAY_MS
        await keeper.keep_hours()
        assert await telling.redis.ask(("ZCARD", full)) == [0]
    for by in ("views", "visitors"):
        found = await statistics.most_read.top(by, 7, 10)
        assert [(page.path, page.is_exact) for page in found] == [("/a", not people), ("/b", False)]
    for by, days in (("views", 0), ("comments", 7)):
        assert all(page.is_exact for page in await statistics.most_read.top(by, days, 10))


async def test_bots_that_count_as_people_are_looked_for_beyond_the_first_candidates(
    telling: Store, statistics: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(most_read, "CANDIDATES_A_TRIP", 1)
    await view(telling, "/a", map(person, range(150)))
    await view(telling, "/crawled", [BOT] * 200)
    for is_people, best in ((False, "/a"), (True, "/crawled")):
        await statistics.count_as_people("seo", is_people=is_people)
        found = await statistics.most_read.top("views", 7, 1)
        assert [(page.path, page.is_exact) for page in found] == [(best, True)]


async def test_a_list_of_a_day_that_is_full_says_so(
    telling: Store, statistics: Reports, clock: Clock
) -> None:
    clock.now += DAY_MS
    await view(telling, "/a", map(person, range(90)))
    await view(telling, "/b", map(person, range(50)))
    listed = dict.fromkeys(["/a", "/b", *(f"/{n}" for n in range(998))], 30)
    await telling.site_views.keep_read(TODAY, listed, DAY_MS)
    found = await statistics.most_read.top("views", 7, 10)
    assert [(page.path, page.is_exact) for page in found] == [("/a", True), ("/b", False)]


async def test_pages_of_a_period_stand_beside_the_days_before_it(
    telling: Store, statistics: Reports, clock: Clock, salts: Salts
) -> None:
    await view(telling, "/a", [person(1), person(2), BOT])
    await view(telling, "/gone", [person(1)])
    clock.now += DAY_MS
    await salts.keep_up(telling.site_views)
    await view(telling, "/a", [person(1), person(1), BOT])
    await view(telling, "/crawled", [BOT])
    found = await statistics.pages(TODAY + 1, TODAY + 1, (TODAY, TODAY))
    assert found.is_whole
    assert found.chosen("views") == [
        ListedPage("/a", views=3, people=2, visitors=1, comments=0, before=2),
        ListedPage("/crawled", views=1, people=0, visitors=0, comments=0, before=0),
    ]
    both = await statistics.pages(TODAY, TODAY + 1, None)
    assert [page[:4] for page in both.chosen("visitors")] == [
        ("/a", 6, 4, 3),
        ("/gone", 1, 1, 1),
        ("/crawled", 1, 0, 0),
    ]
    assert [page.path for page in both.chosen("path", "A")] == ["/a", "/crawled"]
    assert all(page.before is None for page in both.pages)


async def test_a_list_of_pages_says_whether_it_has_them_all(
    telling: Store,
    statistics: Reports,
    keeper: Keeper,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await view(telling, "/a", [person(1)])
    clock.now += 3 * DAY_MS
    await keeper.keep_hours()
    clock.now += 40 * DAY_MS
    await view(telling, "/b", [person(1)])
    today = statistics.today()
    assert (await statistics.pages(today, today, None)).is_whole
    # The list of a day is gone after a month; the pages most viewed ever are known.
    long = await statistics.pages(TODAY, today, None)
    assert ([page.path for page in long.chosen("path")], long.is_whole) == (["/a", "/b"], False)
    past = await statistics.pages(TODAY, TODAY, None)
    assert [page.path for page in past.pages] == ["/a"]
    monkeypatch.setattr(page_list, "MAX_PAGE_MONTHS", 2)
    clock.now += HOUR_MS
    short = await statistics.pages(TODAY, today, (20260101, 20260201))
    assert (len(short.pages), short.is_whole) == (0, False)


async def test_pages_that_were_never_viewed_here_may_have_more_views_ever(
    telling: Store, statistics: Reports
) -> None:
    await view(telling, "/a", map(person, range(5)))
    await telling.views.correct("time /imported", 3)
    assert [page.is_exact for page in await statistics.most_read.top("views", 0, 10)] == [True]
    await telling.views.correct("time /also-imported", 3)
    assert [page.is_exact for page in await statistics.most_read.top("views", 0, 10)] == [False]


async def test_views_by_bots_are_in_a_list_of_days_without_visitors(
    telling: Store, clock: Clock
) -> None:
    calendar = Calendar(ZoneInfo("Europe/Berlin"))
    views = Reports(telling.views, telling.site_views, calendar, clock, 25, kept="views")
    await view(telling, "/a", [BOT, BOT, person(1)])
    assert [each[:3] for each in await views.top("views", 7, 10)] == [("/a", 3, None)]


async def test_bots_of_an_hour_are_kept_as_long_as_the_hour(telling: Store, clock: Clock) -> None:
    bots = [Bot("", pack_word(name)) for name in CLASSES]
    for _ in range(80):
        await view(telling, "/a", bots)
        clock.now += HOUR_MS
    kept = await telling.redis.ask_masters(("HLEN", telling.keys.views("/a").hours))
    # The last hour is still open.
    assert kept == [72 * (1 + len(CLASSES))]
    (hours,) = await telling.views.in_hours(["/a"], [2026112617], frozenset())
    assert hours == [(len(CLASSES), 0)]


async def test_reactions_have_no_visitors(telling: Store, statistics: Reports) -> None:
    change = telling.counters.change([("/a", "reaction0", 1)])
    await awaited(partial(send, telling, change, person(1)))
    await telling.background.finished()
    assert await today(statistics, "/a") == Day(0, 0, {})
    assert await today(statistics, None) == Day(0, 0, {})


async def test_several_pages_in_one_request_have_the_visitor_each(
    telling: Store, statistics: Reports
) -> None:
    change = telling.counters.change([("/a", "time", 1), ("/b", "time", 1), ("/a", "time", 1)])
    sent = (awaited(partial(send, telling, change, each)) for each in (person(1), person(2), BOT))
    await asyncio.gather(*sent)
    await telling.background.finished()
    found = [await today(statistics, path) for path in ("/a", "/b", None)]
    # A bot that is named twice in a request is counted twice: so are its views.
    assert found == [Day(6, 2, {"seo": 2}), Day(3, 2, {"seo": 1}), Day(9, 2, {"seo": 3})]


async def test_beyond_the_most_visitors_are_estimated_and_it_is_said(
    telling: Store, statistics: Reports
) -> None:
    for behind in (500, 512, 520, 1_000, 11_000):
        await view(telling, "/a", map(person, range(behind)))
        day = await today(statistics, "/a")
        assert day.visitors == behind if behind <= 512 else day.visitors > 512
        assert day.visitors == pytest.approx(behind, rel=0.04)
        is_exact = (await statistics.report("/a", TODAY, TODAY)).is_exact
        assert is_exact == (behind <= 512)
    assert (await today(statistics, None)).visitors == 11_000
    # Who comes again is known there, too.
    await view(telling, "/a", map(person, range(500)))
    assert (await today(statistics, "/a")).visitors == day.visitors
    (bytes_used,) = await telling.redis.ask(
        ("MEMORY", "USAGE", telling.keys.views("/a").visitors(TODAY), "SAMPLES", 0)
    )
    assert bytes_used < 20_000


@pytest.mark.parametrize("kind", ["valkey"])
async def test_who_was_not_noted_for_the_site_is_when_they_come_again(
    telling: Store, statistics: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = telling.counters.send.__self__  # type: ignore[attr-defined]
    visits, ann, ben = batch._dating.visits, person(1), person(2)

    async def away(*_: object, more: int) -> None:
        raise StoreUnavailable()

    with monkeypatch.context() as patch:
        patch.setattr(visits, "_visit", SimpleNamespace(packed=away))
        await view(telling, "/a", [ann])
        await view(telling, "/a", [ben])
    for each in (ann, ben, ann):
        await view(telling, "/b", [each])
    assert (await today(statistics, None)).visitors == 2


async def test_visitors_of_a_day_that_was_restored_become_no_fewer(
    telling: Store, statistics: Reports
) -> None:
    await view(telling, "/a", [NO_CLIENT])
    days = telling.keys.views("/a").days(202611)
    shares = [telling.keys.share(group) for group in range(GROUPS)]
    await telling.redis.change(
        ("HSET", days, "v23", 12_000), *(("HSET", key, f"v{TODAY}", 5_000) for key in shares)
    )
    for name in range(1, 10):
        await view(telling, "/a", [person(name)])
    for path, least in (("/a", 12_000), (None, GROUPS * 5_000)):
        assert (await today(statistics, path)).visitors > least


async def test_tomorrow_nobody_is_known_any_more(
    telling: Store, statistics: Reports, clock: Clock, salts: Salts
) -> None:
    ann = person(1)
    await view(telling, "/a", [ann])
    (before,) = await everything_about_visitors(telling, TODAY)
    assert before
    clock.now += 6 * HOUR_MS
    await salts.keep_up(telling.site_views)
    assert sorted(salts) == [TODAY, TODAY + 1]
    clock.now += HOUR_MS
    await salts.keep_up(telling.site_views)
    await view(telling, "/a", [ann])
    report = await statistics.report("/a", TODAY, TODAY + 1)
    assert [day.visitors for day in report.days.values()] == [1, 1]
    assert TODAY not in salts
    assert not any(
        before in everything_about_visitor
        for everything_about_visitor in await everything_about_visitors(telling, TODAY + 1)
    )


async def everything_about_visitors(store: Store, day: int) -> list[bytes]:
    keys = [store.keys.visitor_salt(day), store.keys.views("/a").visitors(day)]
    salt, _ = await store.redis.ask(*(("GET", keys[0]), ("SMISMEMBER", keys[1], 0)))
    return [salt or b""]


async def test_what_tells_visitors_apart_ends_within_26_hours(
    telling: Store, clock: Clock, salts: Salts
) -> None:
    await view(telling, "/a", [person(1)])
    shares = [telling.keys.visitors_in(group, TODAY) for group in range(GROUPS)]
    keys = [telling.keys.visitor_salt(TODAY), telling.keys.views("/a").visitors(TODAY), *shares]
    left = await telling.redis.ask(*(("PTTL", key) for key in keys))
    # It is half past five in the evening in Berlin, and what is kept is said once an hour.
    assert left[0] == pytest.approx(6.5 * HOUR_MS, abs=60_000)
    assert left[1] == pytest.approx(6.5 * HOUR_MS, abs=60_000)
    assert sorted(left[2:])[-1] == pytest.approx(6.5 * HOUR_MS, abs=60_000)
    assert all(each == -2 for each in sorted(left[2:])[:-1])
    clock.now += DAY_MS - 7 * HOUR_MS
    await salts.keep_up(telling.site_views)
    for day in salts:
        (left_ms,) = await telling.redis.ask(("PTTL", telling.keys.visitor_salt(day)))
        assert left_ms <= 26 * HOUR_MS


async def test_redis_is_told_of_a_visitor_once_an_hour_and_again_after_a_failure(
    telling: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = telling.keys.views("/a").visitors(TODAY)

    async def is_told() -> bool:
        await view(telling, "/a", [person(1)])
        (number,) = await telling.redis.change(("DEL", key))
        return bool(number)

    assert [await is_told() for _ in range(3)] == [True, False, False]
    clock.now += HOUR_MS
    assert [await is_told() for _ in range(2)] == [True, False]
    # Another server may have become the master.
    telling.redis.stats.connections += 1
    assert [await is_told() for _ in range(2)] == [True, False]
    with monkeypatch.context() as patched:
        patched.setattr(telling.redis.data_set_ids, "problem", "another one")
        with pytest.raises(StoreUnavailable):
            await view(telling, "/a", [person(1)])
    assert [await is_told() for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("senders", "most"), [(["192.0.2.1"], 5), ([f"2001:db8:1:{n:x}::/64" for n in range(99)], 160)]
)
async def test_one_home_or_network_is_a_limited_number_of_visitors(
    telling: Store,
    statistics: Reports,
    monkeypatch: pytest.MonkeyPatch,
    senders: list[str],
    most: int,
) -> None:
    monkeypatch.setattr(visits, "MAX_BROWSERS", 5)
    browsers = [Person("", each, b"%d" % n) for each in senders for n in range(9)]
    for path in ("/a", "/b"):
        await view(telling, path, browsers)
    of_page, of_site = [await today(statistics, path) for path in ("/a", None)]
    assert (of_page.views, of_site.views) == (len(browsers), 2 * len(browsers))
    for day in (of_page, of_site):
        assert most // 2 < day.visitors <= most
    # Somebody else is counted, who has no place in common with them, as one in 100,000 does.
    taken = {place_of(sender, visits.SENDERS) for sender in senders}
    others = (person(n) for n in count() if place_of(f"sender {n}", visits.SENDERS) not in taken)
    await view(telling, "/a", [next(others)])
    assert (await today(statistics, "/a")).visitors == of_page.visitors + 1


async def test_who_comes_each_hour_is_one_browser_of_their_home(
    telling: Store, statistics: Reports, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits, "MAX_BROWSERS", 3)
    clock.now -= 12 * HOUR_MS
    home = [Person("", "192.0.2.1", b"%d" % n) for n in range(3)]
    for _ in range(6):
        await view(telling, "/a", home[:2])
        # What was told is told again after an outage, too.
        telling.redis.stats.connections += 1
        await view(telling, "/a", home[:2])
        clock.now += HOUR_MS
    await view(telling, "/b", home)
    assert (await today(statistics, "/b")).visitors == 3
    assert (await today(statistics, None)).visitors == 3


async def test_the_memory_of_visitors_of_pages_is_known_and_has_a_limit(
    telling: Store, statistics: Reports, salts: Salts, clock: Clock
) -> None:
    """Who: strangers from many addresses, each of which views many pages. What: fill Redis with
    who has viewed what. Instead: beyond COUNTER_LIMIT they are views alone."""
    for path, people, number in (("/a", 1, 208), ("/a", 3, 224), ("/b", 3, 448), ("/a", 3, 448)):
        await view(telling, path, map(person, range(people)))
        assert (await telling.numbers.total()).visitor_bytes == number
    await view(telling, "/c", map(person, range(1_000)))
    with_sketch = (await telling.numbers.total()).visitor_bytes
    assert 448 + 200 + 8 * 900 < with_sketch <= 448 + 200 + 8 * 1_000
    clock.now += DAY_MS
    await salts.keep_up(telling.site_views)
    await view(telling, "/a", [person(1)])
    assert (await telling.numbers.total()).visitor_bytes == 208
    visits_of(telling).are_full = True
    await view(telling, "/a", [person(1), person(2)])
    day = await statistics.report("/a", statistics.today(), statistics.today())
    assert (day.views, day.visitors) == (3, 1)


def visits_of(store: Store) -> visits.Visits:
    assert store._dating
    return store._dating.visits


async def test_one_home_is_a_limited_number_of_visitors_of_pages(
    telling: Store, statistics: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits, "MAX_PAGES", 5)
    for number in range(9):
        await view(telling, f"/{number}", [person(1)])
    found = [(await today(statistics, f"/{number}")).visitors for number in range(9)]
    assert found == [1] * 5 + [0] * 4
    assert (await today(statistics, None)).visitors == 1


async def test_the_visitors_after_a_restore_are_forgotten_with_their_day_too(
    telling: Store,
) -> None:
    """The day has a number of visitors, and no set."""
    days = telling.keys.views("/a").days(TODAY // 100)
    await telling.redis.change(("HSET", days, f"v{TODAY % 100}", 7))
    await view(telling, "/a", [person(1)])
    (left_ms,) = await telling.redis.ask(("PTTL", telling.keys.views("/a").visitors(TODAY)))
    assert left_ms > 0


async def test_who_comes_late_is_known_to_the_site_no_longer_than_the_others(
    telling: Store, clock: Clock
) -> None:
    await view(telling, "/a", [person(1)])
    clock.now += 5 * HOUR_MS
    await view(telling, "/a", [person(name) for name in range(2, 100)])
    shares = [telling.keys.visitors_in(group, TODAY) for group in range(GROUPS)]
    left = await telling.redis.ask(*(("PTTL", key) for key in shares))
    # It is half past ten in the evening in Berlin. One share may have nobody but the first.
    assert sorted(left)[-2] <= 2.5 * HOUR_MS


async def test_services_agree_on_a_salt(telling: Store, clock: Clock, salts: Salts) -> None:
    others = [Salts(Calendar(ZoneInfo("Europe/Berlin")), clock, "ff") for _ in range(5)]
    await asyncio.gather(*(other.keep_up(telling.site_views) for other in others))
    known = [{day: each[day].digest() for day in each} for each in (salts, *others)]
    assert known[0]
    assert all(each == known[0] for each in known)


async def test_without_a_salt_views_count_and_visitors_do_not(
    telling: Store, statistics: Reports, salts: Salts
) -> None:
    salts.clear()
    await view(telling, "/a", [person(1), BOT])
    assert await today(statistics, "/a") == Day(2, 0, {"seo": 1})


@pytest.mark.parametrize("damaged", ["visitors", "days", "bots", "read", "site"])
async def test_damaged_statistics_stop_no_view(
    telling: Store, statistics: Reports, damaged: str
) -> None:
    keys = telling.keys
    group = int(keys.views("/a").hours.partition("c:")[2][:2], 16)
    key = {
        "visitors": keys.views("/a").visitors(TODAY),
        "days": keys.views("/a").days(202611),
        "bots": keys.views("/a").bots(202611),
        "read": keys.read_in(group, TODAY),
        "site": keys.share(group),
    }[damaged]
    await telling.redis.change(("SET", key, "no hash, set or list"))
    await view(telling, "/a", [person(1), BOT], Origin("example.org"))
    assert await telling.counters.read(["time /a"]) == [2]


@pytest.mark.parametrize("damaged", ["days", "hours", "counts", "read", "read of the site"])
async def test_a_damaged_key_hides_only_its_own_page_from_lists(
    telling: Store, statistics: Reports, damaged: str
) -> None:
    keys = telling.keys
    other = in_another_group(keys, "/a")
    await view(telling, "/a", [person(1)])
    await view(telling, other, [person(1), person(2)])
    key = {
        "days": keys.views("/a").days(202611),
        "hours": keys.views("/a").hours,
        "counts": keys.counts("time /a"),
        "read": keys.views("/a").read(TODAY),
        "read of the site": keys.most_read(TODAY),
    }[damaged]
    await telling.redis.change(("DEL", key), ("SET", key, "no hash or zset"))
    for by, days in (("views", 0), ("views", 1), ("views", 7), ("visitors", 7), ("rising", 1)):
        assert other in [page.path for page in await statistics.top(by, days, 10)], (by, days)


@pytest.mark.parametrize("score", ["inf", "-inf"])
async def test_a_score_that_is_no_number_of_views_is_left_out(
    telling: Store, statistics: Reports, keeper: Keeper, score: str
) -> None:
    await view(telling, "/b", [person(1)])
    for key in (telling.keys.views("/a").read(TODAY), telling.keys.most_read(TODAY)):
        await telling.redis.change(("ZADD", key, score, "/a"))
    assert [page.path for page in await statistics.top("views", 7, 10)] == ["/b"]
    await keeper.keep_hours()


async def test_a_damaged_share_hides_only_its_own_numbers(
    telling: Store, statistics: Reports, keeper: Keeper
) -> None:
    keys = telling.keys
    await view(telling, "/a", [NO_CLIENT], Origin("a.example"))
    await view(telling, in_another_group(keys, "/a"), [NO_CLIENT], Origin("b.example"))
    group = keys.group("/a")
    for key in (keys.share(group), keys.sources_in(group, TODAY)):
        await telling.redis.change(("DEL", key), ("SET", key, "no hash"))
    assert (await today(statistics, None)).views == 1
    assert await statistics.sources(TODAY, TODAY) == [Source("b.example", 1, 1)]
    await keeper.keep_hours()


@pytest.mark.parametrize("damaged", ["views", "sources", "read", "share"])
async def test_damage_stops_nothing_else_that_is_kept(
    telling: Store, keeper: Keeper, clock: Clock, damaged: str
) -> None:
    keys = telling.keys
    await view(telling, "/a", [NO_CLIENT], Origin("a.example"))
    await view(telling, in_another_group(keys, "/a"), [NO_CLIENT], Origin("b.example"))
    key = {
        "views": keys.site_views(202611),
        "sources": keys.sources(TODAY),
        "read": keys.most_read(TODAY),
        "share": keys.share(keys.group("/a")),
    }[damaged]
    await telling.redis.change(("DEL", key), ("SET", key, "no hash or zset"))
    clock.now += DAY_MS
    await keeper.keep_hours()
    kept = {
        "views": ("HLEN", keys.site_views(202611)),
        "sources": ("HLEN", keys.sources(TODAY)),
        "read": ("ZCARD", keys.most_read(TODAY)),
    }
    kept.pop(damaged, None)
    assert all(await telling.redis.ask(*kept.values()))


@pytest.mark.parametrize("now", [-1, 0, 10**18, -(10**30)])
async def test_a_clock_that_is_far_off_costs_no_view(store: Store, now: int) -> None:
    calendar, clock = Calendar(ZoneInfo("Pacific/Kiritimati")), datable(lambda: now)
    salts = Salts(calendar, clock, "ff")
    moments, keys = Moments(calendar, clock, 120, salts), store.keys
    far_off = Store(store.redis, prefix=keys.prefix, buckets=keys.buckets, moment=moments)
    await far_off.open()
    await salts.keep_up(far_off.site_views)
    await view(far_off, "/a", [person(1)])
    told = Reports(far_off.views, far_off.site_views, calendar, clock, 120)
    day = told.today()
    assert (await told.report("/a", day, day)).days == {day: Day(1, 1, {})}
    assert [page.path for page in await told.top("views", 30, 10)] == ["/a"]
    await Keeper(far_off.site_views, told, clock, 120, salts).keep_hours()


async def test_a_clock_that_is_put_back_stops_no_hour_from_being_kept(
    telling: Store, keeper: Keeper, clock: Clock
) -> None:
    clock.now += 1000 * DAY_MS
    await keeper.keep_hours()
    clock.now -= 1000 * DAY_MS
    await view(telling, "/a", [NO_CLIENT])
    clock.now += HOUR_MS
    await keeper.keep_hours()
    assert (await telling.site_views.kept([202611])).hours == {2026112317: 1}


@pytest.mark.parametrize("salt", [b"", b"short", b"x" * 65])
async def test_a_damaged_salt_costs_no_view(
    telling: Store, statistics: Reports, salts: Salts, salt: bytes
) -> None:
    salts.clear()
    await telling.redis.change(("SET", telling.keys.visitor_salt(TODAY), salt))
    await salts.keep_up(telling.site_views)
    await view(telling, "/a", [person(1)])
    assert (await today(statistics, "/a")).views == 1


async def test_views_from_own_addresses_are_a_class_that_may_count_as_people(
    telling: Store, statistics: Reports
) -> None:
    own = Networks([ip_network("192.0.2.0/24"), ip_network("2001:db8::/32")])
    limits, proxies = RateLimits(0, 0, Networks(())), Proxies(Networks([ip_network("10.0.0.0/8")]))
    clients = Clients(limits, proxies, UnknownProxies(proxies), tells_visitors=True, own=own)
    agent = b"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0"
    seen = [
        clients.meet((peer, forwarded, agent, b""), b"")
        for peer, forwarded in (
            ("192.0.2.7", b""),
            ("10.0.0.1", b"192.0.2.7"),
            ("10.0.0.1", b"2001:db8::7"),
            ("10.0.0.1", b"::ffff:192.0.2.7"),
            ("198.51.100.7", b""),
            ("10.0.0.1", b"198.51.100.7"),
            ("10.0.0.1", b"no address"),
        )
    ]
    assert [type(client) for client in seen] == [*[Bot] * 4, *[Person] * 3]
    await view(telling, "/a", seen)
    assert await today(statistics, "/a") == Day(7, 2, {"own": 4})
    assert (await statistics.report("/a", TODAY, TODAY)).people == 3
    await statistics.count_as_people("own", is_people=True)
    assert (await statistics.report("/a", TODAY, TODAY)).people == 7


async def test_a_day_that_is_over_is_forgotten_while_redis_is_away(
    statistics: Reports, keeper: Keeper, telling: Store, clock: Clock, salts: Salts
) -> None:
    limits = RateLimits(0, 0, Networks(()))
    clients = Clients(limits, Proxies(), UnknownProxies(Proxies()), tells_visitors=True)
    clients.forget_others_than(statistics.today())
    assert clients.meet(("192.0.2.1", b"", b"", b""), b"")
    clients.forget_others_than(statistics.today())
    assert len(clients) == 1
    clock.now += DAY_MS
    clients.forget_others_than(statistics.today())
    keeper.forget_salts()
    assert (len(clients), salts) == (0, {})


async def test_a_page_whose_statistics_are_erased_keeps_its_counter(
    telling: Store, statistics: Reports, clock: Clock, salts: Salts
) -> None:
    # Numbers of visitors are only looked for on the last days.
    clock.now = now_ms()
    await salts.keep_up(telling.site_views)
    await view(telling, "/a", [person(1), BOT])
    await view(telling, "/b", [person(1)])
    await statistics.erase("/a")
    assert await telling.counters.read(["time /a"]) == [2]
    assert await today(statistics, "/a") == Day(0, 0, {})
    assert [page.path for page in await statistics.top("views", 7, 10)] == ["/b"]
    left = [key async for keys in telling.redis.scan(telling.keys.every_key) for key in keys]
    # But the count at which the hour goes on.
    month = telling.keys.views("/a").days(statistics.today() // 100)
    assert [key for key in left if digest("/a").encode() in key] == [month.encode()]
    assert await telling.redis.ask(("HLEN", month), ("HGET", month, "base")) == [2, b"2"]
    await view(telling, "/a", [person(1)])
    assert await today(statistics, "/a") == Day(1, 1, {})
    assert await today(statistics, None) == Day(4, 1, {"seo": 1})


@pytest.mark.parametrize(
    ("key", "field", "number", "says"),
    [
        ("days", "v{day}", 4, "4 visitors had 2 views"),
        ("bots", "{day} seo", 3, "bots had 1 view more than there were"),
    ],
)
async def test_more_visitors_or_bots_than_views_are_reported(
    telling: Store,
    statistics: Reports,
    clock: Clock,
    salts: Salts,
    key: str,
    field: str,
    number: int,
    says: str,
) -> None:
    # Only the last months are looked at.
    clock.now = now_ms()
    await salts.keep_up(telling.site_views)
    await view(telling, "/a", [person(1), person(2), BOT])
    day = statistics.today()
    month = getattr(telling.keys.views("/a"), key)(day // 100)
    await telling.redis.change(("HSET", month, field.format(day=day % 100), number))
    assert any(line.endswith(f"views of '/a': on {day} {says}") for line in await report(telling))


@pytest.mark.parametrize("damaged", ["days", "hours", "bots", "share", "site"])
async def test_a_damaged_key_of_statistics_is_named_and_stops_no_backup(
    telling: Store, statistics: Reports, clock: Clock, salts: Salts, damaged: str
) -> None:
    # Only the last months are looked at.
    clock.now = now_ms()
    await salts.keep_up(telling.site_views)
    for path in ("/a", "/b"):
        await view(telling, path, [person(1), BOT])
    keys, day = telling.keys, statistics.today()
    key, named = {
        "days": (keys.views("/a").days(day // 100), "views of '/a': they cannot be read"),
        "hours": (keys.views("/a").hours, "views of '/a': they cannot be read"),
        "bots": (keys.views("/a").bots(day // 100), "views of '/a': they cannot be read"),
        "share": (keys.share(7), f"{keys.share(7)}: it is not a hash"),
        "site": (keys.site_views(day // 100), f"{keys.site_views(day // 100)}: it is not a hash"),
    }[damaged]
    await telling.redis.change(("DEL", key), ("SET", key, "no hash"))
    assert [line for line in await report(telling) if line.endswith(named)]
    file = await taken(telling)
    assert file.getvalue()


async def test_a_sketch_is_counted_often_enough_by_visitors_who_come_one_by_one(
    telling: Store, statistics: Reports
) -> None:
    await view(telling, "/a", map(person, range(2_000)))
    for n in range(2_000, 3_000):
        await view(telling, "/a", [person(n)])
    assert (await today(statistics, "/a")).visitors == pytest.approx(3_000, rel=0.05)


async def test_classes_of_visitors_and_notes_are_in_a_backup(
    telling: Store, statistics: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A day is restored into a share while it is not over.
    monkeypatch.setattr(view_lines, "days_of_groups", lambda: [TODAY + 1, TODAY, TODAY - 1])
    await view(await classing_of(telling), "/a", [seen(n, PHONE, b"de") for n in range(6)])
    assert await telling.site_views.note(TODAY, "the new theme \U0001f463")
    before = await statistics.audience(None, TODAY, TODAY)
    file = await taken(telling)
    assert await restored(telling, file, replaces=True) is not None
    assert await statistics.audience(None, TODAY, TODAY) == before
    assert await statistics.notes(TODAY, TODAY) == {TODAY: "the new theme \U0001f463"}


async def test_what_is_viewed_now_is_what_counts_have_grown_by(
    telling: Store, statistics: Reports, clock: Clock
) -> None:
    def service() -> LiveViews:
        return LiveViews(telling.views, telling.site_views, statistics.most_read, clock)

    live, other = service(), service()
    await view(telling, "/a", [person(1), BOT])
    await view(telling, "/old", [person(1)])
    await live.keep_up()
    assert await live.pages() == []
    await view(telling, "/a", [person(1), person(2), BOT])
    # It is not known how much of it is older than a minute.
    await view(telling, "/b", [person(1)])
    assert await other.pages() == [LivePage("/a", 3)]
    for _ in range(4):
        clock.now += 60_000
        await asyncio.gather(live.keep_up(), other.keep_up())
    await view(telling, "/b", [person(2)])
    assert await live.pages() == [LivePage("/a", 3), LivePage("/b", 1)]
    clock.now += 2 * 60_000
    assert await live.pages() == [LivePage("/b", 1)]
    clock.now += 60_000
    await live.keep_up()
    (minutes,) = await telling.redis.ask(("HLEN", telling.keys.live))
    assert minutes <= LIVE_MINUTES + 1


async def test_damaged_counts_of_a_minute_are_left_out(
    telling: Store, statistics: Reports, clock: Clock
) -> None:
    live = LiveViews(telling.views, telling.site_views, statistics.most_read, clock)
    minute = clock.now // 60_000
    damaged = (minute, "{", minute - 1, "[1]", minute - 2, '{"/a": "x"}', "x", "{}")
    await telling.redis.change(("HSET", telling.keys.live, *damaged))
    assert await live.pages() == []
