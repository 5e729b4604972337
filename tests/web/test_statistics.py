"""GET /api/statistics: the views of each day or hour, of a page or of the site."""

from typing import Any

import pytest

from footfall.process.process import now_ms
from footfall.statistics.calendar import MINUTE_MS, date_of
from tests.conftest import ADMIN, Site, Sites


@pytest.fixture
async def viewed(make_site: Sites) -> Site:
    """Views of today: the store's clock is not the site's."""
    site = await make_site(STATISTICS="views")
    site.clock.now = now_ms()
    for path in ("/a", "/b", "/a", "/a"):
        await site.count(path)
    return site


async def asked(site: Site, **params: Any) -> Any:
    answer = await site.get("/api/statistics", by=ADMIN, **params)
    assert answer["errno"] == 0, answer
    return answer["data"]


def today(site: Site) -> str:
    return date_of(site.service.statistics.reports.today()).isoformat()


async def test_a_page_is_told_by_days(viewed: Site) -> None:
    found = await asked(viewed, path="/a")
    assert (found["path"], found["unit"], found["total"]) == ("/a", "day", 3)
    assert (found["to"], len(found["views"])) == (today(viewed), 14)
    assert found["views"][-1] == {"at": today(viewed), "views": 3, "people": 3, "visitors": 0}
    assert {each["views"] for each in found["views"][:-1]} == {0}


async def test_the_days_of_the_site_are_those_of_its_pages(viewed: Site) -> None:
    found = await asked(viewed, **{"from": today(viewed)})
    assert [(each["at"], each["views"]) for each in found["views"]] == [(today(viewed), 4)]
    assert (found["path"], found["from"], found["total"]) == (None, today(viewed), 4)


@pytest.mark.parametrize(("path", "views"), [("/a", 3), (None, 4), ("/none", 0)])
async def test_hours_without_a_view_are_left_out(
    viewed: Site, path: str | None, views: int
) -> None:
    found = await asked(viewed, unit="hour", **({"path": path} if path else {}))
    assert sum(each["views"] for each in found["views"]) == found["total"] == views
    assert all(each["at"].startswith(today(viewed)) for each in found["views"])


async def test_a_range_is_told_to_its_ends(viewed: Site) -> None:
    days = {"from": "2026-02-27", "to": "2026-03-02"}
    found = await asked(viewed, path="/a", **days)
    assert [each["at"] for each in found["views"]] == [
        "2026-02-27",
        "2026-02-28",
        "2026-03-01",
        "2026-03-02",
    ]


@pytest.mark.parametrize(
    "params",
    [
        {"from": "yesterday"},
        {"from": "2026-02-30"},
        {"from": "20261123"},
        {"from": "2026-W48-1"},
        {"from": "0001-01-01"},
        {"to": "9999-12-31"},
        {"to": "٢٠٢٦-11-23"},
        {"from": "2026-11-24", "to": "2026-11-23"},
        {"from": "1974-01-01", "to": "2026-11-23"},
        {"unit": "week"},
    ],
    ids=str,
)
async def test_what_is_no_day_or_range_is_refused_by_its_name(
    site: Site, params: dict[str, str]
) -> None:
    answer = await site.get("/api/statistics", by=ADMIN, **params)
    (name,) = answer["errmsg"]
    assert (answer["errno"], name) == (1001, next(iter(params)))
    assert answer["errmsg"][name].startswith(f"{name} ")


@pytest.mark.parametrize("now_ms", [-1, 0])
async def test_a_clock_that_is_far_off_refuses_nobody(make_site: Sites, now_ms: int) -> None:
    site = await make_site()
    site.clock.now = now_ms
    assert await site.count("/a") == 1
    for path in ("/statistics", "/statistics/top", "/statistics/totals"):
        assert (await site.get(f"/api{path}", by=ADMIN))["errno"] == 0


async def totals(site: Site) -> Any:
    # Answers are kept for the rest of their minute.
    site.clock.now += MINUTE_MS
    answer = await site.get("/api/statistics/totals")
    assert answer["errno"] == 0, answer
    return answer["data"]


async def test_views_ever_are_all_that_is_in_counters(viewed: Site) -> None:
    assert (await totals(viewed))["views"] == 4
    await viewed.store.counters.correct("/a", "time", 40)
    await viewed.send("DELETE", "/api/statistics?path=/b", by=ADMIN)
    assert (await totals(viewed))["views"] == 44


async def test_views_ever_are_known_without_statistics(viewed: Site, make_site: Sites) -> None:
    without = await make_site(STATISTICS="off")
    assert await without.count("/a") == 4
    viewed.clock.now += MINUTE_MS
    assert [(await totals(each))["views"] for each in (viewed, without)] == [5, 5]
    assert (await totals(without))["today"] is None


async def test_a_page_has_its_sources_and_a_source_its_pages(viewed: Site) -> None:
    for referrer in ("https://news.example/item?id=1", "https://news.example/", ""):
        fields = {"path": "/a", "type": "time", "action": "inc", "referrer": referrer}
        assert (await viewed.http.post("/api/article", json=fields)).status_code == 200
    sources = (await asked(viewed, path="/a"))["sources"]
    assert sources == [
        {"host": "news.example", "views": 1, "at_most": 1},
        {"host": "news.example/item", "views": 1, "at_most": 1},
    ]
    told = (await viewed.get("/api/statistics/source", by=ADMIN, host="news.example"))["data"]
    assert told == {
        "from": told["from"],
        "to": today(viewed),
        "is_whole": True,
        "pages": [{"path": "/a", "views": 2, "at_most": 2}],
        "sources": sources,
    }
    assert (await viewed.http.get("/api/statistics/source?host=news.example")).status_code == 401
