"""The pages that the server makes for a site's owner: /ui/ and /ui/statistics, and their forms."""

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urljoin

import httpx
import pytest

from footfall.callbacks import awaited
from footfall.driver.keys import GROUPS
from footfall.errors import StoreUnavailable
from footfall.http.params import MAX_URL
from footfall.markup import visible
from footfall.model import Origin
from footfall.owner.account_pages import PAGES
from footfall.owner.pages import MENU
from footfall.process.process import now_ms
from footfall.statistics import site_store
from footfall.statistics.most_read import TopPage
from tests.conftest import ADMIN, Site, Sites
from tests.support.admin_ui import AdminPage

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}
OWNER = {"cookie": "footfall=admin"}
SENT = {**OWNER, "origin": "http://site.test", "sec-fetch-site": "same-origin"}
# What a stranger may call a page.
HOSTILE = (
    "/<script>alert(1)</script>",
    '/"><img src=x onerror=alert(1)>',
    "/a\u202egpj.exe\u2066",
    "/a\x1b[31m\u200b",
    "/{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "/" + "x" * 2040,
)


@pytest.fixture
async def site(make_site: Sites) -> Site:
    """Where the store's clock, which counts views, is the site's."""
    site = await make_site(STATISTICS="views", SITE_URL="https://blog.example", TITLES="off")
    site.clock.now = now_ms()
    return site


async def opened(site: Site, path: str = "/ui/", **headers: str) -> httpx.Response:
    return await site.http.get(path, headers={**OWNER, **headers})


class Shape(HTMLParser):
    """Which elements and attributes a page has, as a browser reads it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags = list[str]()
        self.attributes = set[str]()
        self.links = list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]


def words_in(answer: httpx.Response) -> str:
    """What a reader sees of it, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


async def test_the_first_page_of_an_administrator_is_the_overview(site: Site) -> None:
    answer = await opened(site)
    assert answer.status_code == 200
    assert "<h1>Overview</h1>" in answer.text
    assert answer.headers["cache-control"] == "no-store"


async def test_anybody_else_gets_the_page_whose_script_leads_to_a_log_in(site: Site) -> None:
    def without_answers(text: str) -> str:
        return re.sub('data-early="[^"]*"', "", text)

    shell = without_answers((await site.http.get("/ui/queue")).text)
    for path in ("/ui/", "/ui/statistics", "/ui/statistics?path=/p"):
        for cookie in ("", "footfall=bob", "footfall=nobody", "footfall=admin; footfall=bob"):
            answer = await site.http.get(path, headers={"cookie": cookie})
            assert (answer.status_code, without_answers(answer.text)) == (200, shell), path


async def test_a_token_in_the_address_is_taken_out_of_it(site: Site) -> None:
    answer = await opened(site, "/ui/?token=s3cret&lng=de")
    assert (answer.status_code, answer.headers["location"]) == (307, "./?lng=de")


async def test_a_link_of_another_site_leads_here_once_more_with_the_cookie(site: Site) -> None:
    """Browsers leave the cookie out of the first request, also for logged-in users."""
    led = {"sec-fetch-site": "cross-site"}
    answer = await site.http.get("/ui/statistics?path=/a%26b%22", headers=led)
    (address,) = {unescape(each) for each in re.findall(r'(?:url=|href=")([^"]+)', answer.text)}
    assert address == "./statistics?path=%2Fa%26b%22&again=1"
    assert "script" not in Shape(answer.text).tags
    # Without a login, there is no redirect loop.
    again = await site.http.get(f"/ui/{address[2:]}", headers=led)
    assert "static/main." in again.text


async def test_nothing_from_elsewhere_runs_on_it_and_no_page_frames_it(site: Site) -> None:
    for path in ("/ui/", "/ui/statistics"):
        headers = (await opened(site, path)).headers
        rules = headers["content-security-policy"].split("; ")
        assert {"default-src 'none'", "script-src 'self'", "style-src 'self'"} < {*rules}
        assert {"base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"} < {*rules}
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


async def test_other_methods_are_refused(site: Site) -> None:
    assert (await site.http.post("/ui/", headers=SENT)).status_code == 405
    head = await site.http.head("/ui/", headers=OWNER)
    assert (head.status_code, head.content) == (200, b"")
    assert (await site.http.get("/ui/people", headers=OWNER)).status_code == 405


async def test_what_waits_is_told_with_a_link_to_it(make_site: Sites) -> None:
    site = await make_site(COMMENT_AUDIT="true", SITE_URL="https://blog.example")
    site.clock.now = now_ms()
    held = [await site.post(text) for text in ("one", "two", "three")]
    for comment, status in zip(held, ("approved", "spam"), strict=False):
        path = f"/api/comment/{comment['objectId']}"
        await site.send("PUT", path, {"status": status}, by=ADMIN)
    await site.settled()
    answer = await opened(site)
    told = words_in(answer)
    assert "1 pending comment" in told
    assert "Spam since yesterday: 1" in told
    assert 'href="./queue?status=waiting"' in answer.text
    assert f'href="https://blog.example/p#{held[0]["objectId"]}"' in answer.text
    # What is held is for the queue.
    assert "one Reply" in told
    assert "two" not in told


async def test_spam_from_before_yesterday_is_no_news(site: Site) -> None:
    now = site.clock.now
    for days in (2, 1, 0):
        site.clock.now = now - days * 86_400_000
        comment = await site.post(f"{days}")
        await site.send("PUT", f"/api/comment/{comment['objectId']}", {"status": "spam"}, by=ADMIN)
    site.clock.now = now
    await site.settled()
    assert "Spam since yesterday: 2" in words_in(await opened(site))


async def test_the_views_of_a_day_are_a_bar_and_a_row_of_a_table(site: Site) -> None:
    for path in ("/a", "/a", "/b"):
        await site.count(path)
    answer = await opened(site)
    assert "Today 3 0 yesterday" in words_in(answer)
    assert answer.text.count("<g><title>") == 30
    assert re.search(r"<title>[^<]*: 3 views</title>", answer.text)
    assert re.search(r'<td class="count">3</td>', answer.text)


async def test_a_page_has_its_own_days_and_hours(site: Site) -> None:
    for path in ("/a", "/a", "/b"):
        await site.count(path)
    answer = await opened(site, "/ui/statistics?path=/a&days=90")
    told = words_in(answer)
    assert "2 views in total" in told
    assert "Last 90 days Views 2 none in that period" in told
    assert answer.text.count("<g><title>") == 90 + 72
    assert re.search(r"PM: 2 views|AM: 2 views", told)
    # The scale at the top, and below the hours one mark a day, and one for now.
    assert re.search(r"2 views (\w{3} \d+:00\s[AP]M ){4}Hours as a table", told)
    assert "Hours 2 " in told
    assert 'href="https://blog.example/a"' in answer.text


async def test_visitors_and_bots_are_told_where_they_are_kept(make_site: Sites) -> None:
    site = await with_bots(make_site)
    answer = await opened(site)
    told = words_in(answer)
    assert "Today 60 7 visitors 0 yesterday" in told
    assert "a visitor on three days counts three times" in told
    assert "AI collect text for models or answers 30 views Count as people" in told
    assert re.search(r": 60 views, 7 visitors, 40 by bots</title>", answer.text)


async def test_a_class_that_counts_as_people_is_shown_with_the_way_back(make_site: Sites) -> None:
    site = await with_bots(make_site)
    await sent(site, {"class": "ai-crawler", "as": "people"})
    told = words_in(await opened(site))
    assert "Today 90 7 visitors" in told
    assert "30 views · counts as people Count as bots" in told
    await sent(site, {"class": "ai-crawler", "as": "bots"})
    assert "Today 60 7 visitors" in words_in(await opened(site))


async def test_a_class_that_is_not_known_is_shown_as_text_without_a_button(
    make_site: Sites,
) -> None:
    """A later version may have kept it, or damage."""
    site = await with_bots(make_site)
    answer = await opened(site)
    assert "<b>\u202e" not in answer.text
    assert "<b>%E2%80%AE 10 views" in words_in(answer).replace("&lt;", "<")
    assert answer.text.count('name="class"') == 1


async def with_bots(make_site: Sites) -> Site:
    """A site with a hundred views today, 40 of them by bots, as it is kept of days."""
    site = await make_site(STATISTICS="visitors")
    site.clock.now = now_ms()
    today = site.service.statistics.reports.today()
    key = site.store.keys.site_views(today // 100)
    words = (f"{today}00", 100, f"v{today}", 7)
    bots = (f"b{today} ai-crawler", 30, f"b{today} <b>\u202e", 10)
    await site.store.redis.change(("HSET", key, *words, *bots))
    return site


async def test_without_statistics_the_rest_is_shown_and_how_to_start(make_site: Sites) -> None:
    site = await make_site(STATISTICS="off")
    await site.post("hello")
    await site.settled()
    answer = await opened(site)
    assert "STATISTICS=views" in words_in(answer)
    assert "hello" in words_in(answer)
    assert "<svg class" not in answer.text
    assert "STATISTICS=views" in words_in(await opened(site, "/ui/statistics?path=/p"))


# What strangers have written.


async def top_of(site: Site, monkeypatch: pytest.MonkeyPatch, paths: tuple[str, ...]) -> None:
    async def top(by: str, days: int, count: int) -> list[TopPage]:
        return [TopPage(path, 1, 0, 0) for path in paths]

    monkeypatch.setattr(site.service.statistics.reports, "top", top)


async def test_a_pages_name_is_text_and_nothing_else(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await top_of(site, monkeypatch, ("/a",))
    plain = Shape((await opened(site)).text)
    await top_of(site, monkeypatch, HOSTILE)
    answer = await opened(site)
    shape = Shape(answer.text)
    assert ({*shape.tags}, shape.attributes) == ({*plain.tags}, plain.attributes)
    assert all(re.match(r"\./|static/|#main", link) for link in shape.links), shape.links
    assert "\u202e" not in answer.text
    assert "/a%E2%80%AEgpj.exe%E2%81%A6" in answer.text
    assert "{{ 7 * 7 }}" in unescape(answer.text)


@pytest.mark.parametrize("path", HOSTILE)
async def test_the_page_of_such_a_name_shows_it_whole_and_as_text(site: Site, path: str) -> None:
    plain = Shape((await opened(site, "/ui/statistics?path=/a")).text)
    answer = await site.http.get("/ui/statistics", params={"path": path}, headers=OWNER)
    shape = Shape(answer.text)
    assert {*shape.tags} <= {*plain.tags}
    assert shape.attributes <= plain.attributes
    assert all(re.match(r"\./|static/|#main|https://blog", link) for link in shape.links)
    assert (answer.status_code, "<h1" in answer.text) == (200, True)
    match = re.search(r"<h1[^>]*><bdi>(.*?)</bdi>", answer.text)
    assert match
    assert unescape(match[1]) == visible(path)


async def test_a_page_whose_address_would_be_too_long_is_named_without_a_link(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "/" + "\u6f22" * 2040
    await top_of(site, monkeypatch, (long, "/short"))
    links = Shape((await opened(site)).text).links
    assert "./statistics?path=%2Fshort" in links
    assert all(len(link) < MAX_URL for link in links)
    assert not any("%E6%BC%A2" in link for link in links)


async def test_a_comments_words_are_text_and_short(site: Site) -> None:
    nick = "\u202eMara"
    await site.post("x" * 3000, url="/x", nick=nick)
    await site.post("<b>a</b>\n\n<script>b</script>\u202e\x07", url="/i\u202e", nick=nick)
    await site.settled()
    answer = await opened(site)
    assert "<script>b" not in answer.text
    assert "\u202e" not in answer.text
    assert "x" * 201 not in answer.text
    assert "<b>a</b> <script>b</script>%E2%80%AE" in unescape(answer.text)


# What goes wrong.


async def test_what_is_damaged_hides_no_other_part(site: Site) -> None:
    await site.post("hello")
    await site.settled()
    keys = site.store.keys
    for name in ("spam", "undelivered"):
        await site.store.redis.change(("DEL", keys.site(name)), ("SET", keys.site(name), "x"))
    answer = await opened(site)
    assert answer.status_code == 200
    assert words_in(answer).count("Damaged data") == 2
    assert "hello" in words_in(answer)


async def test_a_redis_that_is_away_is_told_in_words(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> Any:
        raise StoreUnavailable()

    monkeypatch.setattr(site.service.statistics.reports, "report", away)
    for path in ("/ui/?lng=de", "/ui/statistics?lng=de"):
        answer = await opened(site, path)
        assert answer.status_code == 503
        assert "Der Server antwortet nicht" in words_in(answer)
        assert "Konten" not in words_in(answer)


# Languages.


@pytest.mark.parametrize(
    ("query", "header", "tag", "heading"),
    [
        ("", "", "en", "Overview"),
        ("", "fr, de-AT;q=0.8, en;q=0.5", "de", "Überblick"),
        ("?lng=zh-CN", "de", "zh-Hans", "概览"),
        ("?lng=../../x", "de", "en", "Overview"),
    ],
)
async def test_it_is_in_the_language_that_was_chosen_or_that_the_browser_prefers(
    site: Site, query: str, header: str, tag: str, heading: str
) -> None:
    answer = await opened(site, f"/ui/{query}", **{"accept-language": header})
    assert f'<html lang="{tag}">' in answer.text
    assert f"<h1>{heading}</h1>" in answer.text


def test_the_menu_is_that_of_the_other_pages() -> None:
    script = (PAGES / "main.js").read_text()
    (pages,) = re.findall(r"const PAGES = \{(.*?)\};", script)
    assert [name.strip("' ") for name in re.findall(r"('?\w*'?):", pages)] == [*MENU]


# What its forms change.


class Asked:
    """Remembers what was asked of the statistics."""

    def __init__(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = list[tuple[str, bool]]()
        monkeypatch.setattr(site.service.statistics.reports, "count_as_people", self)

    async def __call__(self, name: str, *, is_people: bool) -> None:
        self.calls.append((name, is_people))


@pytest.fixture
def asked(site: Site, monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(site, monkeypatch)


async def sent(site: Site, fields: dict[str, str], path: str = "people", **headers: Any) -> Any:
    lines = {**SENT, **{name.replace("_", "-"): value for name, value in headers.items()}}
    kept = {name: value for name, value in lines.items() if value is not None}
    return await site.http.post(f"/ui/{path}", data=fields, headers=kept)


async def test_a_class_of_bots_is_counted_as_people_and_back(site: Site, asked: Asked) -> None:
    for wanted in ("people", "bots"):
        answer = await sent(site, {"class": "feed-reader", "as": wanted})
        assert (answer.status_code, answer.headers["location"]) == (303, "./#bots")
    assert asked.calls == [("feed-reader", True), ("feed-reader", False)]
    answer = await sent(site, {"class": "seo", "as": "people"}, "people?lng=de")
    assert answer.headers["location"] == "./?lng=de#bots"


@pytest.mark.parametrize("cookie", [None, "footfall=bob", "footfall=nobody"])
async def test_only_administrators_say_who_counts(
    site: Site, asked: Asked, cookie: str | None
) -> None:
    answer = await sent(site, {"class": "seo", "as": "people"}, cookie=cookie)
    assert (answer.status_code, answer.headers["location"]) == (303, "./login")
    assert asked.calls == []


@pytest.mark.parametrize("body", [b"class=seo&as=people" * 10_000, b"\xff\x00", b'{"class":1}'])
async def test_a_body_that_no_form_sends_changes_nothing(
    site: Site, asked: Asked, body: bytes
) -> None:
    form = {**SENT, "content-type": "application/x-www-form-urlencoded"}
    answer = await site.http.post("/ui/people", content=body, headers=form)
    assert answer.status_code in (400, 404)
    assert asked.calls == []


async def test_a_note_on_a_day_is_shown_with_its_bar_and_removed(site: Site) -> None:
    await site.count("/a")
    today = datetime.fromtimestamp(site.clock.now / 1000, UTC).date()
    answer = await sent(site, {"day": f"{today}", "text": " On  <b>HN\u202e "}, "note")
    assert (answer.status_code, answer.headers["location"]) == (303, "./statistics#notes")
    page = await opened(site, "/ui/statistics?path=/a&days=7")
    assert "<b>HN%E2%80%AE Remove" in words_in(page).replace("&lt;", "<")
    assert page.text.count('class="mark"') == 1
    assert "1 view, On &lt;b&gt;HN%E2%80%AE</title>" in page.text
    await sent(site, {"day": f"{today}", "text": ""}, "note")
    assert "HN" not in (await opened(site, "/ui/statistics?days=7")).text


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"day": "2026-02-30", "text": "x"}, "day need a day such as 2026-11-23"),
        ({"text": "x"}, "day need a day such as 2026-11-23"),
        ({"day": "2026-02-03", "text": "x" * 201}, "text should be at most 200 characters long"),
        ({"day": "2026-02-03"}, "text should be at most 200 characters long"),
    ],
)
async def test_a_note_that_is_none_is_refused(
    site: Site, fields: dict[str, str], told: str
) -> None:
    assert told in (await sent(site, fields, "note")).text
    assert (await sent(site, fields, "note", cookie="footfall=bob")).status_code == 303
    assert await site.service.statistics.reports.notes(0, 99999999) == {}


async def test_there_are_a_thousand_notes_at_most(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_store, "MAX_NOTES", 1)
    for day, is_kept in (("2026-02-03", True), ("2026-02-04", False), ("2026-02-03", True)):
        answer = await sent(site, {"day": day, "text": "x"}, "note")
        assert (answer.status_code == 303) == is_kept
        assert is_kept or "there are" in answer.text


async def test_a_change_that_redis_did_not_take_is_told_in_words(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable()

    monkeypatch.setattr(site.service.statistics.reports, "count_as_people", away)
    answer = await sent(site, {"class": "seo", "as": "people"})
    assert answer.status_code == 503
    assert "The server is not responding" in words_in(answer)


async def test_a_log_out_by_a_form_ends_the_session(make_site: Sites) -> None:
    site = make_site.without_accounts()
    await site.send("POST", "/api/user", MARA)
    page = AdminPage(site)
    await page.ask("POST", "token", MARA)
    assert "<h1>Overview</h1>" in (await opened(site, cookie=page.cookie)).text
    answer = await sent(site, {}, "logout", cookie=page.cookie)
    assert (answer.status_code, answer.headers["location"]) == (303, "./login")
    assert answer.headers["set-cookie"].startswith("footfall=; Path=/ui; HttpOnly")
    assert (await page("GET", "token"))["data"] == {}


@pytest.mark.parametrize("path", ["/ui/nowhere", "/ui/queue/1", "/ui/a/b/c?lng=de", "/ui/%22%3Ca"])
async def test_an_address_without_a_page_is_said_on_one(site: Site, path: str) -> None:
    answer = await site.http.get(path, headers={"accept": "text/html,*/*"})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    (way,) = re.findall(r'class="button" href="([^"]+)"', answer.text)
    (sheet, *_) = re.findall(r'href="([^"]+\.css)"', answer.text)
    for link in (way, sheet):
        assert (await site.http.get(urljoin(path, link))).status_code == 200
    assert ("Seite nicht gefunden" in answer.text) == path.endswith("de")


@pytest.mark.parametrize("path", ["/ui/nowhere", "/ui/api/nowhere", "/ui/static/x.js", "/uix"])
async def test_a_program_is_told_in_json_that_nothing_is_there(site: Site, path: str) -> None:
    of_person = {} if path == "/ui/nowhere" else {"accept": "text/html"}
    answer = await site.http.get(path, headers=of_person)
    assert answer.json() == {"errno": 404, "errmsg": f"url `{path}` not found."}


async def test_a_new_site_is_told_how_to_count_until_something_is_counted(site: Site) -> None:
    waits = "No views yet"
    first = await opened(site)
    assert waits in words_in(first)
    assert '<script async src="http://site.test/count.js"></script>' in unescape(first.text)
    await site.count("/a")
    # Sums of the site are kept for a minute.
    site.clock.now += 61_000
    assert waits not in words_in(await opened(site))


async def test_the_overview_names_from_where_readers_come(site: Site) -> None:
    for source in ("old.reddit.com", "blog.example.org", "blog.example.org", ""):
        await view_from(site, "/a", source)
    told = "Sources Last 7 days blog.example.org 2 Reddit old.reddit.com 1 direct or unknown 1"
    assert told in words_in(await opened(site))


async def test_a_source_leads_to_its_pages_and_a_page_to_its_sources(site: Site) -> None:
    await view_from(site, "/a", "news.ycombinator.com/item%2Fb", 2)
    await view_from(site, "/a", "blog.example.org/<b>")
    await view_from(site, "/b", "news.ycombinator.com")
    await view_from(site, "/b", "")
    of_page = await opened(site, "/ui/statistics?path=/a&days=7")
    told = words_in(of_page)
    assert "Hacker News news.ycombinator.com/item%2Fb 2 blog.example.org/<b> 1 Download" in told
    (place,) = (at for at in Shape(of_page.text).links if "source?host=news" in at)
    assert "direct or unknown 1" in words_in(await opened(site, "/ui/statistics?path=/b&days=7"))
    told = words_in(await opened(site, urljoin("/ui/statistics", place)))
    assert "Hacker News news.ycombinator.com" in told
    assert "Pages Last 7 days /a 2 /b 1 Download as CSV Linked from" in told
    assert "news.ycombinator.com/item%2Fb 2 news.ycombinator.com 1" in told
    assert "may be missing" not in told
    for name in ("statistics", ""):
        assert place in Shape((await opened(site, f"/ui/{name}?days=7")).text).links
    table = await opened(site, "/ui/statistics.csv?table=source&host=news.ycombinator.com")
    assert table.text.splitlines() == ["path,views,at_most", "/a,2,2", "/b,1,1"]
    table = await opened(site, "/ui/statistics.csv?table=sources&path=/b")
    assert table.text.splitlines() == ["host,views,at_most", "news.ycombinator.com,1,1"]


@pytest.mark.parametrize("host", ["", "never.example", HOSTILE[0], "x" * 3_000, " ", "a b"])
async def test_a_source_without_a_page_is_said_to_have_none(site: Site, host: str) -> None:
    await view_from(site, "/a", "blog.example.org")
    answer = await opened(site, "/ui/source?" + urlencode({"host": host}))
    assert answer.status_code == 200
    assert "None in this period." in words_in(answer)
    assert "<script>alert" not in answer.text
    wrong = await opened(site, "/ui/source?host=a&from=2027-02-01&to=2027-01-01")
    assert 'role="alert"' in wrong.text


async def view_from(site: Site, path: str, source: str, times: int = 1) -> None:
    change = site.store.counters.change([(path, "time", 1)], Origin(source))
    for _ in range(times):
        await awaited(partial(site.store.counters.send, change))


async def test_what_is_viewed_now_is_asked_for_alone(site: Site) -> None:
    live = site.service.statistics.live
    await site.count("/a<b>")
    await live.keep_up()
    for _ in range(2):
        await site.count("/a<b>")
    answer = await opened(site, "/ui/live?lng=de")
    assert words_in(answer) == "Jetzt 2 Aufrufe in den letzten fünf Minuten /a<b> 2"
    assert "Now 2 views in the last five minutes /a<b> 2" in words_in(await opened(site))
    assert 'id="live"' not in (await site.http.get("/ui/live")).text


async def test_a_campaign_in_a_link_is_a_source_and_no_part_of_the_page(site: Site) -> None:
    for path in (
        "/a?utm_source=News%20letter&page=2",
        "/a?page=2&ref=mastodon.social",
        "/a?page=2",
    ):
        await site.count(path)
    answer = await opened(site, "/ui/statistics?days=7")
    assert "/a?page=2 3 +3 0" in words_in(answer)
    told = words_in(answer)
    assert "news-letter 1" in told
    assert "Mastodon mastodon.social 1" in told
    assert "direct or unknown 1" in told


async def test_visitors_are_shown_by_class_where_five_have_it(make_site: Sites) -> None:
    site = await make_site(STATISTICS="visitors")
    site.clock.now = now_ms()
    today = site.service.statistics.reports.today()
    fields = ("browser Firefox", 7, "browser Opera", 4, "language de", 11, "country AT", 11)
    key = site.store.keys.audience_in(0, today)
    await site.store.redis.change(("HSET", key, *fields, "size phone", 11))
    told = words_in(await opened(site, "/ui/statistics"))
    assert "Browsers Firefox 64% 7 Other 36% 4" in told
    assert "Devices Phone 100% 11 Countries Austria 100% 11 Languages German 100% 11" in told
    assert "Systems" not in told
    german = words_in(await opened(site, "/ui/statistics?lng=de"))
    assert "Länder Österreich" in german
    table = await opened(site, "/ui/statistics.csv?table=audience")
    assert table.text.splitlines()[:3] == ["kind,name,visitors", "browser,Firefox,7", "browser,,4"]


async def test_the_overview_marks_what_may_be_more(site: Site) -> None:
    """Of a source that may have dropped out, and of a list in which a page may be missing."""
    keys, today = site.store.keys, site.service.statistics.reports.today()
    await site.count("/a")
    # In its own group it would be the page that is missing.
    other = (keys.group("/a") + 1) % GROUPS
    sources, read = keys.sources_in(other, today), keys.read_in(other, today)
    await site.store.redis.change(
        ("HSET", sources, "news.example", 7, " ", 3, " news.example", 3),
        ("ZADD", read, *(word for n in range(64) for word in (40, f"/{n}"))),
    )
    words = words_in(await opened(site))
    assert "Sources Last 7 days news.example ≥ 7" in words
    assert "Pages with few views may be missing." in words


async def test_days_are_shown_from_one_date_to_another(site: Site) -> None:
    await site.count("/a")
    today = datetime.fromtimestamp(site.clock.now / 1000, UTC).date()
    for first, days, hours in ((today - timedelta(days=9), 10, 72), (today, 1, 24)):
        query = f"path=/a&from={first}&to={today}"
        answer = await opened(site, f"/ui/statistics?{query}")
        assert days < answer.text.count("<g><title>") <= days + hours, query
        assert "Views 1 none in that period" in words_in(answer)
        assert f'value="{first}"' in answer.text
    answer = await opened(site, "/ui/statistics?days=7")
    assert answer.text.count("<g><title>") == 7 + 24
    assert "Hours of the day" in words_in(answer)
    oldest = await opened(site, "/ui/statistics?path=/a&from=2000-01-01&to=2000-01-05")
    assert oldest.text.count("<g><title>") == 5
    assert "Hours of a page are kept for three days." in words_in(oldest)


async def test_wrong_dates_are_named_and_answered_by_no_numbers(site: Site) -> None:
    await site.count("/a")
    for place in ("", "&path=/a"):
        answer = await opened(site, f"/ui/statistics?from=2026-01-01{place}")
        assert answer.status_code == 200
        assert "“To” is missing." in words_in(answer)
        assert "<g><title>" not in answer.text
        assert 'value="2026-01-01"' in answer.text


async def test_a_page_is_found_however_its_address_is_typed(site: Site) -> None:
    for path in ("/a/", "/2020/\u4f60", "key"):
        await site.count(path)
    for typed, path in (
        ("/a/", "/a/"),
        ("/a", "/a/"),
        ("a", "/a/"),
        (" https://blog.example/a/?utm_source=x ", "/a/"),
        ("https://blog.example/2020/%E4%BD%A0", "/2020/\u4f60"),
        ("key", "key"),
    ):
        params = {"path": typed}
        answer = await site.http.get("/ui/statistics", params=params, headers=OWNER)
        assert f"<bdi>{path}</bdi></h1>" in answer.text, typed
        assert "Last 30 days Views 1" in words_in(answer), typed


async def test_what_names_no_page_is_said_and_offers_those_that_match(site: Site) -> None:
    for path in ("/notes/one", "/notes/two", "/other"):
        await site.count(path)
    answer = await opened(site, "/ui/statistics?path=NOTES")
    told = words_in(answer)
    assert "“NOTES” has never been viewed." in told
    assert "Pages with “NOTES” in their path" in told
    assert "<g><title>" not in answer.text
    links = {link for link in Shape(answer.text).links if "path=" in link and "%2Fnotes" in link}
    assert links == {
        "./statistics?path=%2Fnotes%2Fone&days=30",
        "./statistics?path=%2Fnotes%2Ftwo&days=30",
    }
    none = words_in(await opened(site, "/ui/statistics?path=/nowhere"))
    assert "“/nowhere” has never been viewed." in none
    assert "None in this period. Search all counters" in none


async def test_pages_are_listed_with_their_numbers_in_the_order_of_a_column(site: Site) -> None:
    for path in ("/a", "/b", "/b", "/c"):
        await site.count(path)
    await site.post("hello", url="/c")
    await site.settled()
    answer = await opened(site, "/ui/statistics?days=7")
    assert "Page Views Change Comments /b 2 +2 0 /a 1 +1 0 /c 1 +1 1 Download" in words_in(answer)
    answer = await opened(site, "/ui/statistics?days=7&by=comments")
    assert "Comments /c 1 +1 1 /a 1 +1 0 /b 2 +2 0 Download" in words_in(answer)
    assert (
        'aria-sort="descending"><a href="./statistics?days=7&amp;by=comments#pages"' in answer.text
    )
    # The overview has the first of them.
    assert "Pages in the last 7 days Page Views Change Comments /b 2 +2 0" in words_in(
        await opened(site)
    )


async def test_a_long_list_of_pages_is_shown_in_parts(site: Site) -> None:
    for n in range(30):
        await site.count(f"/{n:02}")
    answer = await opened(site, "/ui/statistics?by=path")
    assert "/24" in words_in(answer)
    assert "/25" not in words_in(answer)
    (older,) = [link for link in Shape(answer.text).links if "first=" in link]
    rest = await opened(site, f"/ui/{older[2:]}")
    assert "/24" not in words_in(rest)
    assert "/29" in words_in(rest)
    for wrong in ("-1", "99999999", "x", "\u0663"):
        params = {"first": wrong}
        answer = await site.http.get("/ui/statistics", params=params, headers=OWNER)
        assert answer.status_code == 200


async def test_each_table_can_be_had_as_a_file(site: Site) -> None:
    for path in ("=1+1", "/b", "/b"):
        await site.count(path)
    today = datetime.fromtimestamp(site.clock.now / 1000, UTC)
    page = await opened(site, "/ui/statistics?days=7")
    files = {
        re.findall(r"table=(\w+)", link)[0]: await opened(site, f"/ui/{link[2:]}")
        for link in Shape(page.text).links
        if ".csv" in link
    }
    pages = files["pages"]
    assert pages.headers["content-type"] == "text/csv; charset=utf-8"
    assert pages.headers["content-disposition"] == 'attachment; filename="pages.csv"'
    assert pages.text.splitlines() == [
        "path,views,people,visitors,comments,before,title",
        "/b,2,2,0,0,0,",
        # No cell is a formula.
        "'=1+1,1,1,0,0,0,",
    ]
    head, *_, last = files["days"].text.splitlines()
    assert (head, last) == ("day,views,people,visitors", f"{today.date()},3,3,0")
    assert files["hours"].text.splitlines() == ["hour,views", f"{today:%Y-%m-%dT%H},3"]
    of_page = await opened(site, "/ui/statistics.csv?path=/b&days=7")
    assert of_page.text.splitlines()[-1] == f"{today.date()},2,2,0"


async def test_a_file_of_wrong_dates_says_what_is_wrong(site: Site) -> None:
    answer = await opened(site, "/ui/statistics.csv?from=2026-01-01")
    assert (answer.status_code, answer.text) == (400, "“To” is missing. Enter both dates.")


async def test_a_file_is_for_administrators(site: Site) -> None:
    for cookie in ("", "footfall=bob"):
        answer = await site.http.get("/ui/statistics.csv", headers={"cookie": cookie})
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
