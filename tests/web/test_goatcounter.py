"""GoatCounter's protocol: count.js reports views, the visitor counter shows them."""

from typing import Any

import pytest

from footfall.process.process import now_ms
from footfall.statistics.calendar import date_of
from tests.conftest import ADMIN, Site, Sites

# A protocol is a codec, and asks the store for what others ask.
ON = ("fake",)

STRANGER = "203.0.113.9"


@pytest.fixture
async def site(make_site: Sites) -> Site:
    return await make_site(COMPAT="goatcounter")


async def views(site: Site, path: str = "/a") -> Any:
    return await site.get("/article", path=path)


async def hit(site: Site, method: str = "GET", **params: Any) -> tuple[int, str]:
    """Status and reason of a report, which is answered by a GIF whatever becomes of it."""
    answer = await site.http.request(method, "/count", params=params)
    assert answer.headers["content-type"] == "image/gif"
    assert (answer.content[:6], len(answer.content)) == (b"GIF89a", 43)
    return answer.status_code, answer.headers.get("x-goatcounter", "")


async def number(site: Site, page: str, query: str = "") -> tuple[int, Any]:
    answer = await site.http.get(f"/counter/{page}.json{query}")
    return answer.status_code, answer.json()


def told(count: str) -> tuple[int, Any]:
    return 200, {"count": count, "count_unique": count}


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_picture_and_a_beacon_count_the_page(site: Site, method: str) -> None:
    sent = {"p": "/a", "t": "Title", "s": "1920,1080,1", "b": 0, "q": "?x=y", "rnd": "k2j1h"}
    assert await hit(site, method, **sent) == (200, "")
    assert await hit(site, method, **sent, ns="true") == (200, "")
    assert await views(site) == 2


async def test_events_are_answered_and_dropped(site: Site) -> None:
    assert await hit(site, p="/a", e="true") == (200, "")
    assert await hit(site, "POST", p="click-button", e="1") == (200, "")
    assert (await views(site), await views(site, "click-button")) == (0, 0)
    assert await hit(site, p="/a", e="false") == (200, "")
    assert await views(site) == 1


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({}, "p can not be blank"),
        ({"p": ""}, "p can not be blank"),
        ({"p": "/" + "a" * 2048}, "p should be at most 2048 characters long"),
        ({"p": ["/a", "/b"]}, "p need a string"),
        *(
            ({"p": "/a", "b": bot}, "b need 0, or 150 to 999")
            for bot in ("1", "149", "-1", "1e2", "x", "١٥٠", "+1", " 0")
        ),
        ({"p": "/a", "b": "15000"}, "b should be at most 3 characters long"),
        ({"p": "/a", "b": ["0", "0"]}, "b need a string"),
    ],
    ids=str,
)
async def test_what_is_wrong_is_named_beside_the_picture(
    site: Site, sent: dict[str, Any], reason: str
) -> None:
    assert await hit(site, **sent) == (400, reason)
    assert await hit(site, "POST", **sent) == (400, reason)
    assert await views(site) == 0


async def test_no_view_is_lost_because_of_an_odd_referrer(site: Site) -> None:
    for odd in ("x" * 9000, ["a", "b"], "http://[::", "null", "//" * 200, "\u202e", "javascript:1"):
        assert await hit(site, p="/a", r=odd) == (200, "")
    assert await views(site) == 7


@pytest.mark.parametrize(
    "body", [b"{", b"[1]", b'{"p": "/b"}', b"\xff\xfe", b"p=/b", b"null", b"[" * 100_000]
)
async def test_a_body_is_never_where_the_page_is_said(site: Site, body: bytes) -> None:
    for type in ("application/json", "text/plain", "application/x-www-form-urlencoded", "x/y"):
        headers = {"content-type": type}
        answer = await site.http.post("/count?p=/a", content=body, headers=headers)
        assert answer.status_code in (200, 400, 415), answer.text
        assert answer.headers["content-type"] == "image/gif"
    assert await views(site, "/b") == 0


async def test_the_host_that_led_there_and_bots_are_known(make_site: Sites) -> None:
    site = await make_site(STRANGER, COMPAT="goatcounter", STATISTICS="visitors")
    site.clock.now = now_ms()
    site.http.headers["user-agent"] = "Mozilla/5.0 (X11; Linux x86_64) Firefox/144.0"
    await hit(site, p="/a", r="https://www.search.example/?q=secret")
    await hit(site, p="/a", r="news.example", b=0)
    await hit(site, "POST", p="/a", b=153)
    await site.settled()
    statistics = site.service.statistics.reports
    today = statistics.today()
    assert (await statistics.report("/a", today, today)).bots == {"webdriver": 1}
    found = await statistics.sources(today, today)
    assert {source.host: source.views for source in found} == {
        "search.example": 1,
        "news.example": 1,
    }


async def test_the_number_is_text_of_digits(site: Site) -> None:
    await site.service.counting.counters.add([("/a", "time", 1234)])
    assert await number(site, "/a") == told("1234")


async def test_who_is_logged_in_is_told_the_same(site: Site) -> None:
    await hit(site, p="/a")
    assert await site.get("/counter/a.json", by=ADMIN) == told("1")[1]
    assert await site.get("/counter/none.json", by=ADMIN) == (await number(site, "none"))[1]


async def test_spellings_of_a_page_are_added(site: Site) -> None:
    """Slashes at its ends may be left out, and small letters stand for capital ones."""
    await hit(site, p="/a/")
    for page in ("a", "/a", "/a/", "a/", "%2Fa", "//a//", "A", "/A/"):
        assert await number(site, page) == told("1")
    for _ in range(2):
        await hit(site, p="/a")
    for page in ("/a", "/a/", "/A"):
        assert await number(site, page) == told("3")
    await hit(site, p="/A")
    for page in ("/A", "/A/"):
        assert await number(site, page) == told("4")
    await hit(site, p="/")
    assert await number(site, "/") == told("1")


async def test_a_page_without_a_counter_is_404_that_pages_can_read(site: Site) -> None:
    answer = await site.http.get("/counter/none.json")
    assert answer.status_code == 404
    zeros = {"count": "0", "count_unique": "0"}
    assert answer.json() == {"error": "page has no counter", **zeros}
    assert answer.headers["access-control-allow-origin"] == "*"
    assert (await site.http.get("/counter/none.txt")).status_code == 404
    assert (await number(site, "a" * 2049))[0] == 400


async def test_what_is_read_is_told_unchanged(site: Site) -> None:
    await hit(site, p="/a")
    for ending in ("json", "svg", "html"):
        url = f"/counter/a.{ending}"
        known = {"if-none-match": (await site.http.get(url)).headers["etag"]}
        assert (await site.http.get(url, headers=known)).status_code == 304
    assert await views(site) == 1


async def test_pictures_show_the_number_also_of_a_page_without_one(site: Site) -> None:
    await hit(site, p="/a")
    for page, count in (("a", 1), ("none", 0)):
        svg = await site.http.get(f"/counter/{page}.svg")
        assert f"<title>views: {count}</title>" in svg.text
        html = await site.http.get(f"/counter/{page}.html?style=%3C/style%3E%3Cscript%3E")
        assert html.text.endswith(f"<p>Views: {count}")
        assert "sandbox" in html.headers["content-security-policy"]


# Periods, and the whole site.


@pytest.fixture
async def counted(make_site: Sites) -> Site:
    """Two views of a page, a spelling each, and one of another, today.

    The store's clock is not the site's.
    """
    site = await make_site(COMPAT="goatcounter", STATISTICS="views", STATISTICS_PUBLIC="all")
    site.clock.now = now_ms()
    for page in ("/a/", "/a", "/b"):
        await hit(site, p=page)
    return site


@pytest.mark.parametrize("start", ["week", "month", "year", "2026-01-01", "today", ""])
async def test_a_period_is_of_the_statistics(counted: Site, start: str) -> None:
    today = date_of(counted.service.statistics.reports.today()).isoformat()
    query = f"?start={today if start == 'today' else start}&end={today}"
    assert await number(counted, "a", query) == told("2")
    assert await number(counted, "TOTAL", query) == told("3")


async def test_before_the_first_view_there_was_none(counted: Site) -> None:
    query = "?start=2020-01-01&end=2020-12-31"
    assert (await number(counted, "a", query))[0] == 404
    assert (await number(counted, "TOTAL", query))[0] == 404
    assert "views: 0" in (await counted.http.get(f"/counter/a.svg{query}")).text


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?start=yesterday", "start"),
        ("?start=2026-02-30", "start"),
        ("?start=0001-01-01", "start"),
        ("?start=1974-01-01", "start"),
        ("?start=2026-11-24&end=2026-11-23", "start"),
        ("?start=week&start=year", "start"),
        ("?end=week", "end"),
        ("?end=9999-12-31", "end"),
        ("?end=2026-11-23x", "end"),
    ],
)
async def test_a_wrong_day_is_refused_by_its_name(counted: Site, query: str, field: str) -> None:
    status, answer = await number(counted, "a", query)
    assert (status, answer["error"].startswith(field)) == (400, True), answer


async def test_the_whole_site_is_all_its_counters(counted: Site) -> None:
    assert await number(counted, "TOTAL") == told("3")


async def test_only_what_is_public_is_told(make_site: Sites) -> None:
    closed = await make_site(COMPAT="goatcounter", STATISTICS="views", STATISTICS_PUBLIC="none")
    closed.clock.now = now_ms()
    await hit(closed, p="/a")
    assert await number(closed, "a") == told("1")
    assert await number(closed, "a", "?start=week") == (
        403,
        {"error": "start and end need STATISTICS_PUBLIC=all"},
    )
    assert await number(closed, "TOTAL") == (403, {"error": "TOTAL need STATISTICS_PUBLIC=totals"})
    assert await closed.get("/counter/a.json?start=week", by=ADMIN) == told("1")[1]
    off = await make_site(COMPAT="goatcounter", STATISTICS="off")
    for url in ("TOTAL.json", "a.svg?start=week"):
        answer = await off.http.get(f"/counter/{url}")
        assert (answer.status_code, "STATISTICS" in answer.json()["error"]) == (403, True)


# Limits.
