"""/statistics: what a site's owner shows to everybody, and to those who have a link."""

import re
from html import unescape

import httpx
import pytest

from footfall.errors import StoreUnavailable
from footfall.process.process import now_ms
from tests.conftest import Site, Sites

OWNER = {"cookie": "footfall=admin"}
SENT = {**OWNER, "origin": "http://site.test", "sec-fetch-site": "same-origin"}


async def made(make_site: Sites, **environ: str) -> Site:
    # Views by a program count as all others.
    settings = {"SITE_URL": "https://blog.example", "STATISTICS": "views", **environ}
    site = await make_site(**settings)
    site.clock.now = now_ms()
    for path in ("/a", "/a", "/b"):
        await site.count(path)
    return site


def words_in(answer: httpx.Response) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


async def link_of(site: Site) -> str:
    page = await site.http.get("/ui/statistics", headers=OWNER)
    return "".join(re.findall(r'value="(http[^"]*token=[^"]*)"', page.text))


async def share(site: Site, kind: str) -> httpx.Response:
    return await site.http.post("/ui/share", data={"as": kind}, headers=SENT)


@pytest.mark.parametrize(
    ("level", "has_pages", "has_days"),
    [("totals", False, False), ("top", True, False), ("all", True, True)],
)
async def test_it_has_what_is_public_and_nothing_else(
    make_site: Sites, level: str, *, has_pages: bool, has_days: bool
) -> None:
    site = await made(make_site, STATISTICS_PUBLIC=level)
    answer = await site.http.get("/statistics")
    told = words_in(answer)
    assert answer.status_code == 200
    assert "Today 3" in told
    assert "Views in total 3" in told
    assert "Comments 0" in told
    assert ("https://blog.example/a" in answer.text) == has_pages
    assert ("<g><title>" in answer.text) == has_days


async def test_it_is_kept_for_a_minute_and_in_no_index(make_site: Sites) -> None:
    site = await made(make_site)
    answer = await site.http.get("/statistics")
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert answer.headers["vary"] == "accept-language"
    assert '<meta name="robots" content="noindex">' in answer.text
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    # Nothing of the admin UI.
    assert "<nav" not in answer.text
    assert "<form" not in answer.text
    await site.count("/a")
    assert "Today 3" in words_in(await site.http.get("/statistics"))
    site.clock.now += 60_000
    assert "Today 4" in words_in(await site.http.get("/statistics"))
    german = await site.http.get("/statistics", headers={"accept-language": "de"})
    assert "Aufrufe insgesamt 4" in words_in(german)


async def test_statistics_that_are_not_public_are_not_there(make_site: Sites) -> None:
    site = await made(make_site, STATISTICS_PUBLIC="none")
    for query in ("", "?token=", "?token=x", "?token=%ff"):
        answer = await site.http.get(f"/statistics{query}")
        assert answer.status_code == 404, query
        assert "Page not found" in words_in(answer)


async def test_a_link_shows_all_until_it_is_withdrawn(make_site: Sites) -> None:
    site = await made(make_site, STATISTICS_PUBLIC="none")
    assert await link_of(site) == ""
    answer = await share(site, "link")
    assert (answer.status_code, answer.headers["location"]) == (303, "./statistics#share")
    first = await link_of(site)
    answer = await site.http.get(first)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.text.count("<g><title>") == 30
    # A new link ends the old one.
    await share(site, "link")
    second = await link_of(site)
    assert (first == second, (await site.http.get(first)).status_code) == (False, 404)
    assert (await site.http.get(second)).status_code == 200
    await share(site, "none")
    assert (await site.http.get(second)).status_code == 404
    assert await link_of(site) == ""


async def test_only_administrators_share(make_site: Sites) -> None:
    site = await made(make_site)
    for cookie in ("", "footfall=bob"):
        headers = {**SENT, "cookie": cookie}
        answer = await site.http.post("/ui/share", data={"as": "link"}, headers=headers)
        assert answer.headers["location"] == "./login"
    assert await site.service.statistics.site_views.shared() == ""


async def test_without_statistics_it_has_the_counts(make_site: Sites) -> None:
    site = await made(make_site, STATISTICS="off", STATISTICS_PUBLIC="all")
    told = words_in(await site.http.get("/statistics"))
    assert "Views in total 3" in told
    assert "Today" not in told


async def test_a_redis_that_is_away_is_told_in_words(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await made(make_site)

    async def away() -> None:
        raise StoreUnavailable()

    monkeypatch.setattr(site.service.statistics.reports, "today_of_site", away)
    answer = await site.http.get("/statistics")
    assert (answer.status_code, answer.headers["cache-control"]) == (503, "no-store")
    assert "The server is not responding" in words_in(answer)


async def test_other_methods_are_refused(make_site: Sites) -> None:
    site = await made(make_site)
    assert (await site.http.post("/statistics")).status_code == 405
    head = await site.http.head("/statistics")
    assert (head.status_code, head.content) == (200, b"")
