"""Logs whose truth is known become days, hours, visitors, bots and sources, and never twice."""

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from footfall.data.store import Store
from footfall.errors import StoreUnavailable
from footfall.maintenance.check_views import _impossible
from footfall.statistics.calendar import DAY_MS, Calendar
from footfall.statistics.past_store import OtherImport, PastDay, PastViews
from footfall.transfer import view_import, view_staging
from footfall.transfer.goatcounter import EVENT, GOATCOUNTER, goatcounter_log
from footfall.transfer.goatcounter_totals import totals_log
from footfall.transfer.page_views import ViewReport
from footfall.transfer.past_log import ACCESS_LOG, PastLog, access_logs
from footfall.transfer.source import Damaged, Source
from footfall.transfer.view_import import (
    COUNTED,
    INTERRUPTED,
    OLD,
    TODAY,
    PastImport,
    PastReport,
    Period,
    run,
)
from tests.scripts.test_views import count, days, hash_of
from tests.support.past_logs import (
    CHROME,
    FIREFOX,
    GPTBOT,
    PastRequest,
    caddy,
    combined,
    lines,
    past_views,
    with_host,
)

MONTH = 202611
PERIOD = Period(20241001, 20261123)
START = datetime(2026, 11, 3, 6, tzinfo=UTC)
PATHS = [f"/posts/{n}/" for n in range(12)]


@pytest.fixture
def past(store: Store) -> PastViews:
    return past_views(store, 26 * 31 * DAY_MS, (MONTH - 1, MONTH))


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_staging, "MAX_HELD", 40)
    monkeypatch.setattr(view_import, "STEP_CHANGES", 2)


async def imported(
    past: PastViews,
    *paths: Path,
    own: Iterable[str] = (),
    zone: str = "UTC",
    today: int = PERIOD.today,
    **wanted: Any,
) -> tuple[ViewReport, PastReport]:
    read, report = ViewReport(), PastReport()
    logs = access_logs(map(Source, paths), frozenset(own), read)
    await run(
        past,
        Calendar(ZoneInfo(zone)),
        PERIOD._replace(today=today),
        logs,
        PastImport(ACCESS_LOG, **wanted),
        report,
        lambda label, share: None,
    )
    return read, report


def visits(number: int = 300, seed: int = 1) -> list[PastRequest]:
    """Of some people and one bot over three days, in order."""
    chance = random.Random(seed)
    return [
        PastRequest(
            START + timedelta(minutes=13 * n),
            chance.choice(PATHS),
            f"192.0.2.{chance.randrange(6)}",
            chance.choice([FIREFOX, CHROME, GPTBOT]),
            chance.choice(["", "https://www.google.com/", "https://example.org/"]),
        )
        for n in range(number)
    ]


class Truth:
    """What statistics should have of some requests."""

    def __init__(self, requests: Sequence[PastRequest]) -> None:
        people = [request for request in requests if request.agent != GPTBOT]
        self.views = Counter((request.target, request.at.day) for request in requests)
        self.bots = Counter((e.target, e.at.day) for e in requests if e.agent == GPTBOT)
        self.hours = Counter(f"{request.at:%Y%m%d%H}" for request in requests)
        who = {(person.target, person.at.day, person.address, person.agent) for person in people}
        self.visitors = Counter((path, day) for path, day, *_ in who)
        self.site_visitors = Counter(day for _, day, *_ in {("", *each[1:]) for each in who})


async def matches(store: Store, truth: Truth) -> None:
    for path in {path for path, _ in truth.views}:
        month = await days(store, path, MONTH)
        (bots,) = await hash_of(store, store.keys.views(path).bots(MONTH))
        shown = {day for where, day in truth.views if where == path}
        assert {day: month[str(day)] for day in shown} == {d: truth.views[path, d] for d in shown}
        assert {day: month.get(f"v{day}", 0) for day in shown} == {
            day: truth.visitors[path, day] for day in shown
        }
        assert bots == {
            f"{day} ai-crawler": truth.bots[path, day] for day in shown if truth.bots[path, day]
        }
        sums = (number for field, number in month.items() if not field.startswith("v"))
        assert sum(sums) == await count(store, path)
    (site,) = await hash_of(store, store.keys.site_views(MONTH))
    assert {field: n for field, n in site.items() if field.isdigit()} == truth.hours
    found = {int(field[-2:]): n for field, n in site.items() if field.startswith("v")}
    assert found == truth.site_visitors
    bots_of_site = sum(n for field, n in site.items() if field.startswith("b"))
    assert bots_of_site == truth.bots.total()
    counts = [await count(store, path) for path in {path for path, _ in truth.views}]
    # Nobody vouches for the sum in a data set that was made by hand.
    assert await store.views_ever.total() in (None, sum(counts))


@pytest.mark.parametrize("form", [combined, with_host, caddy])
@pytest.mark.parametrize("is_packed", [False, True])
async def test_a_log_of_each_server_tells_the_same(
    store: Store,
    past: PastViews,
    tmp_path: Path,
    form: Callable[[PastRequest], str],
    *,
    is_packed: bool,
) -> None:
    path, requests = tmp_path / "log", visits()
    written = lines(requests, form).encode()
    path.write_bytes(gzip.compress(written) if is_packed else written)
    read, report = await imported(past, path)
    assert (read.views, report.new, report.left_out) == (300, 300, {})
    assert (report.pages, report.days) == (12, [20261103, 20261104, 20261105])
    assert report.bots == {"ai-crawler": sum(request.agent == GPTBOT for request in requests)}
    await matches(store, Truth(requests))


async def test_a_dry_run_says_the_same_and_stores_nothing(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_text(lines(visits()))
    _, dry = await imported(past, path, is_dry=True)
    assert await hash_of(store, store.keys.site_views(MONTH), store.keys.site_files(MONTH)) == [
        {},
        {},
    ]
    _, report = await imported(past, path)
    assert dry == report


def rotated(requests: Sequence[PastRequest], directory: Path) -> list[Path]:
    """As access.log, access.log.1 and access.log.2.gz, cut in the middle of days."""
    new, old, oldest = (directory / f"access.log{end}" for end in ("", ".1", ".2.gz"))
    oldest.write_bytes(gzip.compress(lines(requests[:90]).encode()))
    old.write_text(lines(requests[90:170]))
    new.write_text(lines(requests[170:]))
    return [new, old, oldest]


async def test_visitors_of_a_day_that_is_in_two_files_are_counted_once(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    requests = visits()
    await imported(past, *rotated(requests, tmp_path))
    await matches(store, Truth(requests))


async def test_a_file_that_is_named_twice_is_read_once(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    requests, log = visits(), tmp_path / "access.log"
    log.write_text(lines(requests))
    packed, start = tmp_path / "access.log.gz", tmp_path / "start"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    # As it was before it has grown.
    start.write_text(lines(requests[:150]))
    await imported(past, start, log, packed)
    await matches(store, Truth(requests))


async def test_a_day_is_imported_once(store: Store, past: PastViews, tmp_path: Path) -> None:
    requests, log = visits(), tmp_path / "access.log"
    before = [request for request in requests if request.at.day < 5]
    log.write_text(lines(before))
    await imported(past, log)
    log.write_text(lines(requests))
    _, report = await imported(past, log)
    assert (report.days, report.left_out) == ([20261105], {COUNTED: len(before)})
    await matches(store, Truth(requests))


def breaking_off(
    past: PastViews, monkeypatch: pytest.MonkeyPatch, calls: int, is_lost: bool
) -> None:
    """After so many script calls; with `is_lost` the last one was carried out."""
    add, left = past.add, calls

    async def fails(*args: Any, **more: Any) -> bool:
        nonlocal left
        left -= 1
        if left < 0 and not is_lost:
            raise StoreUnavailable
        done = await add(*args, **more)
        if left < 0:
            raise StoreUnavailable
        return done

    monkeypatch.setattr(past, "add", fails)


# An import has three calls for each group of pages: 36, or fewer where pages share a group.
@pytest.mark.parametrize("calls", [0, 1, 7, 20])
@pytest.mark.parametrize("is_lost", [False, True])
async def test_an_import_that_was_broken_off_is_whole_when_it_is_repeated(
    store: Store,
    past: PastViews,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    calls: int,
    *,
    is_lost: bool,
) -> None:
    requests, log = visits(), tmp_path / "access.log"
    log.write_text(lines(requests))
    with monkeypatch.context() as patched:
        breaking_off(past, patched, calls, is_lost)
        with pytest.raises(StoreUnavailable):
            await imported(past, log)
    # Nobody can have come without a view.
    for page in await store.views.of_pages(PATHS, [MONTH]):
        assert not [*_impossible(page.months.values())]
    for new in (300, 0):
        _, report = await imported(past, log)
        assert (report.new, report.left_out) == (new, {} if new else {COUNTED: 300})
        await matches(store, Truth(requests))


async def test_an_import_that_was_broken_off_takes_no_other_views(
    store: Store, past: PastViews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, log = visits(), tmp_path / "access.log"
    log.write_text(lines(requests))
    with monkeypatch.context() as patched:
        breaking_off(past, patched, 7, is_lost=False)
        with pytest.raises(StoreUnavailable):
            await imported(past, log)
    (started,) = await past.days([MONTH])
    log.write_text(lines(requests[1:]))
    _, report = await imported(past, log)
    of_that_day = sum(request.at.day == started % 100 for request in requests[1:])
    assert report.left_out == {INTERRUPTED: of_that_day}
    log.write_text(lines(requests))
    await imported(past, log)
    await matches(store, Truth(requests))


async def test_of_two_imports_of_a_day_at_once_one_is_refused(
    past: PastViews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, add = tmp_path / "access.log", past.add
    log.write_text(lines(visits(seed=3)))
    is_first = True

    async def overtaken(*args: Any, **more: Any) -> bool:
        nonlocal is_first
        if is_first:
            is_first = False
            await past.start(20261104, PastDay(ACCESS_LOG, "0" * 32))
        return await add(*args, **more)

    monkeypatch.setattr(past, "add", overtaken)
    with pytest.raises(OtherImport):
        await imported(past, log)


async def test_lines_may_be_in_any_order(store: Store, past: PastViews, tmp_path: Path) -> None:
    requests, log = visits(), tmp_path / "access.log"
    random.Random(2).shuffle(requests)
    log.write_text(lines(requests))
    await imported(past, log)
    await matches(store, Truth(requests))


async def test_days_start_in_the_sites_time_zone(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    log.write_text(lines([PastRequest(datetime(2026, 11, 3, 23, 30, tzinfo=UTC), "/a")]))
    await imported(past, log, zone="Europe/Berlin")
    assert (await days(store, "/a", MONTH))["4"] == 1
    (site,) = await hash_of(store, store.keys.site_views(MONTH))
    assert site == {"2026110400": 1, "v20261104": 1}


async def test_today_and_what_is_too_old_are_left_out(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    times = [(2024, 9, 30), (2024, 10, 1), (2026, 11, 22), (2026, 11, 23), (2026, 11, 24)]
    log.write_text(lines(PastRequest(datetime(*time, tzinfo=UTC), "/a") for time in times))
    _, report = await imported(past, log)
    assert (report.new, report.left_out) == (2, {TODAY: 2, OLD: 1})
    assert report.left_days == {TODAY: (20261123, 20261124), OLD: (20240930, 20240930)}
    assert (await days(store, "/a", 202410))["1"] == 1
    # The day is remembered for as long as any month is kept.
    month = 202611
    (left,) = await store.redis.ask_masters(("PTTL", store.keys.site_files(month)))
    assert left > 25 * 28 * DAY_MS


async def test_days_that_the_service_has_counted_are_left_out(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    await store.redis.change(("HSET", store.keys.site_views(MONTH), "2026110410", 3))
    requests = visits()
    log.write_text(lines(requests))
    _, report = await imported(past, log)
    of_that_day = sum(request.at.day == 4 for request in requests)
    assert report.left_out == {COUNTED: of_that_day}
    (site,) = await hash_of(store, store.keys.site_views(MONTH))
    assert sum(n for hour, n in site.items() if hour.startswith("20261104")) == 3
    assert {day for path in PATHS for day in await days(store, path, MONTH)}.isdisjoint({"4"})


async def test_two_servers_logs_in_one_import_are_one(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    first, second = visits(seed=3), visits(seed=4)
    for name, requests in (("first", first), ("second", second)):
        (tmp_path / name).write_text(lines(requests))
    for _ in range(2):
        await imported(past, tmp_path / "second", tmp_path / "first")
    await matches(store, Truth([*first, *second]))


async def test_two_servers_that_a_monitor_asks_in_the_same_second_have_two_logs(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    asked = PastRequest(START, "/health", agent="monitor/1.0")
    first, second = visits(seed=3), visits(seed=4)
    for name, requests in (("first", first), ("second", second)):
        (tmp_path / name).write_text(lines([asked, *requests]))
    for _ in range(2):
        await imported(past, tmp_path / "second", tmp_path / "first")
    await matches(store, Truth([*first, *second]))


async def test_counters_rise_only_if_that_is_said(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    requests, log = visits(), tmp_path / "access.log"
    log.write_text(lines(requests))
    await store.redis.change(("HSET", store.keys.counts("time /posts/1/"), "time /posts/1/", 7))
    await store.views_ever.restore()
    for _ in range(2):
        await imported(past, log, counts=True)
    views = Counter(request.target for request in requests)
    assert await count(store, "/posts/1/") == 7 + views["/posts/1/"]
    assert await count(store, "/posts/2/") == views["/posts/2/"]
    await matches(store, Truth(requests))


async def test_visitors_are_told_apart_only_if_that_is_wanted(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    log.write_text(lines(visits()))
    await imported(past, log, tells_visitors=False)
    found = await hash_of(
        store, store.keys.site_views(MONTH), *(store.keys.views(path).days(MONTH) for path in PATHS)
    )
    assert not [field for fields in found for field in fields if field.startswith("v")]


async def test_sources_are_hosts_other_than_the_sites_own(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    referers = ["https://www.google.com/?q=a", "https://example.org/b", "nonsense", ""]
    requests = [PastRequest(START, "/a", referer=referer) for referer in referers]
    log.write_text(lines([*requests, requests[0]._replace(agent=GPTBOT)]))
    await imported(past, log, own={"example.org"})
    (sources,) = await hash_of(store, store.keys.sources(20261103))
    assert sources == {"google.com": 1}


async def test_what_strangers_have_sent_is_no_page_or_a_page_like_others(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    targets = ["/a\\x22b", "/%00", "/<script>", "/%F0%9F%90%88", "/" + "a" * 3000, "/\\xff", "*"]
    good = lines(PastRequest(START, target) for target in targets)
    log.write_bytes(good.encode() + b'\x00\xff"""\n{"ts": 1e400}\n' + b"{" * 200_000 + b"\n")
    read, report = await imported(past, log)
    assert (read.views, read.unreadable.total()) == (report.new, 3)
    assert (await days(store, "/🐈", MONTH))["3"] == 1


async def test_the_most_viewed_pages_of_recent_days_are_known(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    at = datetime(2026, 11, 21, 6, tzinfo=UTC)
    targets = ["/a"] * 3 + ["/b"] * 2 + ["/c"]
    old = [PastRequest(at - timedelta(60), "/old")]
    log.write_text(lines([*old, *(PastRequest(at, target) for target in targets)]))
    await store.redis.change(("HSET", store.keys.counts("time /old"), "time /old", 7))
    for _ in range(2):
        await imported(past, log)
    key = store.keys.most_read(20261121)
    replies = await store.redis.ask_masters(("ZRANGE", key, 0, -1), ("PTTL", key))
    assert (replies[0], 30 * DAY_MS < replies[1] <= 31 * DAY_MS) == ([b"/c", b"/b", b"/a"], True)
    assert await store.redis.ask_masters(("ZCARD", store.keys.most_read(20260922))) == [0]
    assert await store.site_views.read([0]) == [{"/old": 7}]


# GoatCounter.

HEADER = (
    "2Path,Title,Event,User-Agent,Browser,System,Session,Bot,Referrer,Referrer scheme,"
    "Screen size,Location,FirstVisit,Date\n"
)
OLD_HEADER = (
    "1Path,Title,Event,Bot,Session,FirstVisit,Referrer,Referrer scheme,Browser,Screen size,"
    "Location,Date\n"
)


def hit(path: str, session: str = "s1", **fields: object) -> str:
    found = {"event": "false", "bot": 0, "first": "true", "ref": "", "scheme": ""} | fields
    date = found.get("date", "2026-11-03T06:00:00Z")
    return (
        f'{path},"A ""title"",\nin two lines",{found["event"]},,Firefox 144,Linux,{session},'
        f"{found['bot']},{found['ref']},{found['scheme']},,DE,{found['first']},{date}\n"
    )


async def from_goatcounter(past: PastViews, path: Path) -> tuple[ViewReport, PastReport]:
    read, report = ViewReport(), PastReport()
    await past_run(past, goatcounter_log(Source(path), frozenset({"example.org"}), read), report)
    return read, report


async def past_run(past: PastViews, logs: Iterator[PastLog], report: PastReport) -> None:
    calendar = Calendar(ZoneInfo("UTC"))
    wanted = PastImport(GOATCOUNTER)
    await run(past, calendar, PERIOD, logs, wanted, report, lambda label, share: None)


TABLES: dict[str, list[object]] = {
    "paths.jsonl": [
        {"id": 1, "path": "/kettle", "title": "Kettle"},
        {"id": 2, "path": "/about?id=2&utm_source=x", "title": "About"},
        {"id": 3, "path": "signup", "title": "", "event": True},
    ],
    "refs.jsonl": [
        {"id": 1, "ref": "", "ref_scheme": "o"},
        {"id": 2, "ref": "news.example/item", "ref_scheme": "h"},
    ],
    "hit_stats.jsonl": [
        {"hour": "2026-11-04 15:00:00", "path_id": 2, "ref_id": 1, "count": 1},
        {"hour": "2026-11-03 15:00:00", "path_id": 1, "ref_id": 1, "count": 2},
        {"hour": "2026-11-03 15:00:00", "path_id": 1, "ref_id": 2, "count": 1},
        {"hour": "2026-11-03 15:00:00", "path_id": 3, "ref_id": 1, "count": 9},
        {"hour": "2026-11-03 15:00:00", "path_id": 7, "ref_id": 1, "count": 1},
        {"hour": "soon", "path_id": 1, "ref_id": 1, "count": 1},
        {"hour": "2026-11-03 15:00:00", "path_id": 1, "ref_id": 1, "count": 1 << 60},
        ["no row"],
    ],
}


async def test_goatcounters_totals_are_views_of_their_hours(
    past: PastViews, store: Store, tmp_path: Path
) -> None:
    for name, rows in TABLES.items():
        (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    files = [Source(tmp_path / name) for name in TABLES]
    for new in (4, 0):
        read, report = ViewReport(), PastReport()
        logs = totals_log(files, frozenset({"tin.example"}), read)
        await past_run(past, logs, report)
        assert (read.views, read.excluded[EVENT], read.unreadable.total()) == (4, 9, 4)
        assert (read.samples[EVENT], report.new) == (["signup"], new)
        assert {"3": 3}.items() <= (await days(store, "/kettle", MONTH)).items()
        assert {"4": 1}.items() <= (await days(store, "/about?id=2", MONTH)).items()
    with pytest.raises(Damaged, match=r"has no refs\.jsonl"):
        list(totals_log([*files[:1], *files[2:]], frozenset(), read))


async def test_goatcounters_sessions_are_visitors_and_its_bots_are_classed(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    path = tmp_path / "export.csv.gz"
    rows = [
        hit("/a"),
        hit("/a", first="false"),
        hit("/a", "s2", ref="www.google.com/search", scheme="h"),
        hit("/b", ref="example.org/a", scheme="h"),
        hit("/b", "s2", ref="Hacker News", scheme="g"),
        hit("/a?utm_source=x", "s3", bot=5),
        hit("/a", "s4", bot=151, ref="spam.example", scheme="h"),
        hit("click", event="true"),
        hit("/a", date="2026-11-04T06:00:00+01:00"),
        hit("/a", date="soon"),
        hit("/a", bot="many"),
    ]
    path.write_bytes(gzip.compress((HEADER + "".join(rows)).encode()))
    for new in (8, 0):
        read, report = await from_goatcounter(past, path)
        assert (read.views, read.excluded.total(), read.unreadable.total()) == (8, 1, 2)
        assert report.new == new
        found = await days(store, "/a", MONTH)
        assert {"3": 5, "v3": 2, "4": 1, "v4": 1}.items() <= found.items()
        bots, site, sources = await hash_of(
            store,
            store.keys.views("/a").bots(MONTH),
            store.keys.site_views(MONTH),
            store.keys.sources(20261103),
        )
        assert bots == {"3 other-bot": 1, "3 webdriver": 1}
        assert (site["v20261103"], site["2026110306"], site["2026110405"]) == (2, 7, 1)
        assert sources == {"google.com": 1}


async def test_goatcounters_first_version_is_read_too(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    path = tmp_path / "export.csv"
    row = "/a,A,false,0,,true,www.google.com/,h,Firefox,,DE,2026-11-03T06:00:00Z\n"
    path.write_text(OLD_HEADER + row * 3)
    _, report = await from_goatcounter(past, path)
    assert report.new == 3
    # A row without a session is a visitor of its own.
    assert (await days(store, "/a", MONTH))["v3"] == 3


async def test_days_of_goatcounter_are_not_taken_from_a_log_too(
    store: Store, past: PastViews, tmp_path: Path
) -> None:
    export, log = tmp_path / "export.csv", tmp_path / "access.log"
    export.write_text(HEADER + hit("/a"))
    log.write_text(lines([PastRequest(START, "/a"), PastRequest(START + timedelta(1), "/a")]))
    await from_goatcounter(past, export)
    _, report = await imported(past, log)
    assert (report.new, report.left_out) == (1, {COUNTED: 1})
