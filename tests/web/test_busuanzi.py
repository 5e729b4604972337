"""busuanzi's, soxft's and Vercount's protocols: one counter for each page, whichever protocol
counts it."""

import gzip
from typing import Any

import httpx
import orjson
import pytest

from footfall.compat.vercount import MAX_ADDRESS
from footfall.http.params import MAX_BODY, MAX_PATH
from footfall.owner.files import COMPAT_SCRIPTS, UI
from footfall.statistics.reports import Day
from tests.conftest import Site, Sites

# A protocol is a codec, and asks the store for what others ask.
ON = ("fake",)

BLOG = "https://blog.example"
(NAME, PATHS) = COMPAT_SCRIPTS["busuanzi"]
LOGS = ("/log", "/api/v1/log", "/api/v2/log")
JSONP = ("/busuanzi?jsonpCallback", "/jsonp?callback")


@pytest.fixture
async def site(make_site: Sites) -> Site:
    return await make_site(COMPAT="busuanzi")


async def views(site: Site, path: str = "/a/") -> Any:
    return await site.get("/article", path=path)


async def log(site: Site, url: Any, path: str = "/api/v2/log", **headers: str) -> httpx.Response:
    return await site.http.post(path, json={"url": url}, headers=headers)


async def soxft(site: Site, url: str, method: str = "POST", **headers: str) -> httpx.Response:
    return await site.http.request(method, "/api", headers={"x-bsz-referer": url, **headers})


def called(answer: httpx.Response, function: str = "f") -> Any:
    """What the function in a script is called with."""
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    start, end = f"try{{{function}(", ");}catch(e){}"
    assert answer.text.startswith(start)
    assert answer.text.endswith(end)
    return orjson.loads(answer.text.removeprefix(start).removesuffix(end))


def told(answer: httpx.Response) -> str:
    """What a refusal says, in any of the protocols."""
    if answer.headers["content-type"].startswith("text/javascript"):
        words: str = orjson.loads(answer.text.split("console.error(")[1].split(")}catch")[0])
        return words.removeprefix("footfall: ")
    said = answer.json()
    assert said.keys() in ({"error"}, {"status", "message", "code"}, {"success", "message", "data"})
    words = said.get("error") or said["message"]
    return words


# Numbers.


async def test_every_protocol_counts_the_same_counter(site: Site) -> None:
    url = f"{BLOG}/a/?from=mail#end"
    for number, path in enumerate(LOGS, 1):
        answer = (await log(site, url, path)).json()
        assert answer.get("data", answer)["page_pv"] == number
    for number, method in ((4, "POST"), (5, "PUT")):
        assert (await soxft(site, url, method)).json()["data"]["page_pv"] == number
    for number, start in enumerate(JSONP, 6):
        answer = await site.http.get(f"{start}=f", headers={"referer": url})
        assert called(answer)["page_pv"] == number
    assert await site.count("/a/") == 8


async def test_answers_have_the_members_that_clients_read(site: Site) -> None:
    first = {"site_uv": 1, "site_pv": 1, "page_pv": 1}
    assert (await log(site, f"{BLOG}/a/", "/log")).json() == first
    assert (await log(site, f"{BLOG}/b/")).json() == {
        "status": "success",
        "message": "ok",
        "data": first,
    }
    wanted = {"url": f"{BLOG}/c/", "page_uv": True}
    assert (await site.send("POST", "/api/v2/log", wanted))["data"] == {**first, "page_uv": 0}
    read = await site.get("/api/v2/log", url=f"{BLOG}/c/", page_uv="true")
    assert read["data"] == {**first, "page_uv": 0}
    assert (await soxft(site, f"{BLOG}/d/")).json() == {
        "success": True,
        "message": "ok",
        "data": {**first, "page_uv": 0},
    }
    answers = [
        called(await site.http.get(f"{start}=f", headers={"referer": f"{BLOG}/{n}/"}))
        for n, start in enumerate(JSONP)
    ]
    assert answers == [{**first, "version": 2.4}, {**first, "page_uv": 0}]


@pytest.mark.parametrize("path", LOGS)
async def test_a_read_counts_nothing_and_is_told_unchanged(site: Site, path: str) -> None:
    await site.count("/a/")
    target = f"{path}?url={BLOG}/a/"
    read = await site.http.get(target)
    assert read.json().get("data", read.json())["page_pv"] == 1
    again = await site.http.get(target, headers={"if-none-match": read.headers["etag"]})
    assert (again.status_code, await views(site)) == (304, 1)
    assert (await soxft(site, f"{BLOG}/a/", "GET")).json()["data"]["page_pv"] == 1
    assert await views(site) == 1


async def test_a_page_that_nobody_has_viewed_has_zeros(site: Site) -> None:
    answer = await site.get(f"/log?url={BLOG}/new/")
    assert answer == {"site_uv": 0, "site_pv": 0, "page_pv": 0}


@pytest.mark.parametrize(
    ("url", "page"),
    [
        (BLOG, "/"),
        (f"{BLOG}?a", "/"),
        (f"{BLOG}#a", "/"),
        ("HTTP://blog.example:8080/a?b", "/a"),
        ("https://user:pass@blog.example/a", "/a"),
        ("https://[2001:db8::1]/a", "/a"),
        (f"{BLOG}//a//b", "//a//b"),
        (f"{BLOG}/%zz", "/%zz"),
        (f"{BLOG}/a%2Fb", "/a%2Fb"),
    ],
)
async def test_the_page_is_the_path_of_an_address(site: Site, url: str, page: str) -> None:
    assert (await log(site, url)).json()["data"]["page_pv"] == 1
    assert await views(site, page) == 1


async def test_half_a_character_is_counted_as_the_sign_of_one(site: Site) -> None:
    body = b'{"url":"https://blog.example/\\ud800"}'
    assert (await site.http.post("/log", content=body)).json()["page_pv"] == 1
    assert await views(site, "/\ufffd") == 1


async def test_rules_of_the_site_for_paths_hold(make_site: Sites) -> None:
    site = await make_site(COMPAT="busuanzi", PATHS="index,slash")
    await log(site, f"{BLOG}/a/index.html")
    await log(site, f"{BLOG}/a")
    assert await views(site, "/a") == 2


async def test_what_a_client_says_of_itself_is_ignored(site: Site) -> None:
    body = {"url": f"{BLOG}/a/", "isNewUv": True, "time": 1000, "page_pv": 7, "type": "reaction0"}
    answer = await site.send("POST", "/api/v2/log", body)
    assert answer["data"] == {"site_uv": 1, "site_pv": 1, "page_pv": 1}
    for token in ("Bearer x.y.z", "Bearer admin", "\xff"):
        headers = [(b"x-bsz-referer", BLOG.encode()), (b"authorization", token.encode("latin-1"))]
        answered = await site.http.post("/api", headers=headers)
        assert answered.headers["set-bsz-identity"] == "footfall"
        assert answered.headers["access-control-expose-headers"] == "Set-Bsz-Identity"


@pytest.mark.parametrize(
    ("settings", "site_pv", "visitors"),
    [
        ({"STATISTICS": "off"}, 3, 0),
        ({"STATISTICS": "views"}, 3, 0),
        ({"STATISTICS": "visitors"}, 3, 2),
        ({"STATISTICS": "visitors", "STATISTICS_PUBLIC": "none"}, 2, 0),
    ],
)
async def test_what_is_not_kept_or_not_for_everybody_is_no_number_of_the_site(
    make_site: Sites,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    site_pv: int,
    visitors: int,
) -> None:
    async def total(self: Any) -> int:
        return 3

    async def days(self: Any, path: str | None, first: int, last: int) -> dict[int, Day]:
        assert first < last
        return {first: Day(2, 1, {}), last: Day(1, 1, {"seo": 1})}

    monkeypatch.setattr("footfall.statistics.ever_store.EverStore.total", total)
    monkeypatch.setattr("footfall.statistics.reports.Reports._days", days)
    site = await make_site(COMPAT="busuanzi", **settings)
    await site.count("/a/")
    answer = (await soxft(site, f"{BLOG}/a/")).json()["data"]
    uv = {"site_uv": visitors, "page_uv": visitors}
    assert answer == {"site_pv": site_pv, "page_pv": 2, **uv}


async def test_the_sites_numbers_are_asked_for_once_a_minute(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site(COMPAT="busuanzi", STATISTICS="visitors")
    asked = set[str]()

    async def total(self: Any) -> int:
        asked.add("total")
        return 70

    async def visitors(self: Any, path: str | None) -> int:
        asked.add(path or "site")
        return 5 if path else 50

    monkeypatch.setattr("footfall.statistics.views_ever.ViewsEver.total", total)
    monkeypatch.setattr("footfall.statistics.reports.Reports.visitors", visitors)
    first = (await soxft(site, f"{BLOG}/a/")).json()["data"]
    assert first == {"site_pv": 70, "site_uv": 50, "page_pv": 1, "page_uv": 5}
    assert asked == {"total", "site", "/a/"}
    asked.clear()
    again = (await soxft(site, f"{BLOG}/a/")).json()["data"]
    assert (again, asked) == (first | {"page_pv": 2}, set())
    # A page's visitors are found where they are shown.
    await log(site, f"{BLOG}/b/")
    assert asked == set()
    await soxft(site, f"{BLOG}/b/")
    assert asked == {"/b/"}
    site.clock.now += 60_000
    await soxft(site, f"{BLOG}/a/")
    assert asked == {"total", "site", "/a/", "/b/"}


async def test_no_page_has_more_than_its_site(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site(COMPAT="busuanzi", STATISTICS="visitors")

    async def visitors(self: Any, path: str | None) -> int:
        return 2 if path else 1

    monkeypatch.setattr("footfall.statistics.reports.Reports.visitors", visitors)
    answer = (await soxft(site, f"{BLOG}/a/")).json()["data"]
    assert answer == {"site_pv": 1, "site_uv": 2, "page_pv": 1, "page_uv": 2}


# Refusals.


WRONG = [
    ({}, "url can not be blank"),
    ([], "url can not be blank"),
    ([{"url": f"{BLOG}/a/"}], "url can not be blank"),
    ("text", "url can not be blank"),
    ({"url": ""}, "url can not be blank"),
    ({"url": None}, "url can not be blank"),
    ({"url": 7}, "url need a string"),
    ({"url": [f"{BLOG}/a/"]}, "url need a string"),
    ({"url": {"href": BLOG}}, "url need a string"),
    ({"url": True}, "url need a string"),
    ({"url": "/a/"}, "url need a whole address, with http:// or https://"),
    ({"url": "//blog.example/a/"}, "url need a whole address, with http:// or https://"),
    ({"url": "https:///a/"}, "url need a whole address, with http:// or https://"),
    ({"url": "javascript:alert(1)"}, "url need a whole address, with http:// or https://"),
    ({"url": "file:///a/"}, "url need a whole address, with http:// or https://"),
    ({"url": BLOG + "/" * MAX_ADDRESS}, f"url should be at most {MAX_ADDRESS} characters long"),
    (
        {"url": f"{BLOG}/{'a' * MAX_PATH}"},
        f"url should have a path of at most {MAX_PATH} characters",
    ),
]


@pytest.mark.parametrize("path", LOGS)
async def test_an_address_that_is_none_is_refused(site: Site, path: str) -> None:
    for body, words in WRONG:
        answer = await site.http.post(path, json=body)
        assert (answer.status_code, told(answer)) == (400, words), body
        assert answer.headers["access-control-allow-origin"] == "*"


async def test_the_longest_path_is_counted(site: Site) -> None:
    path = "/" + "你" * (MAX_PATH // 9)
    assert len((await log(site, f"{BLOG}{path}")).json()["data"]) == 3
    assert await views(site, path) == 1


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe", b"[" * 100_000, b'{"url":', b"x" * (MAX_BODY + 1), b"null", b"1"]
)
async def test_a_body_that_is_no_json_is_refused(site: Site, body: bytes) -> None:
    for path in LOGS:
        answer = await site.http.post(path, content=body)
        assert answer.status_code == 400
        assert told(answer)


HEADERS = [None, "", "/a/", "about:client", "https://", "android-app://x/", "x" * 9_000]


@pytest.mark.parametrize("value", HEADERS)
async def test_a_header_without_a_page_is_refused_and_named(site: Site, value: str | None) -> None:
    for method in ("GET", "POST", "PUT"):
        headers = {} if value is None else {"x-bsz-referer": value}
        answer = await site.http.request(method, "/api", headers=headers)
        assert (answer.status_code, answer.json()["success"]) == (200, False)
        assert told(answer).startswith("x-bsz-referer ")
        assert answer.headers["access-control-allow-origin"] == "*"
    for start in JSONP:
        headers = {} if value is None else {"referer": value}
        answer = await site.http.get(f"{start}=f", headers=headers)
        assert (answer.status_code, told(answer)[:8]) == (200, "referer ")


@pytest.mark.parametrize(
    "callback", ["f", "$", "_a.b$", "BusuanziCallback_1099511627776", "a" * 64]
)
@pytest.mark.parametrize("start", JSONP)
async def test_a_script_calls_the_function_that_was_named(
    site: Site, start: str, callback: str
) -> None:
    answer = await site.http.get(f"{start}={callback}", headers={"referer": f"{BLOG}/a/"})
    assert called(answer, callback)["page_pv"] == 1
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "callback",
    [
        "",
        "1a",
        "f()",
        "a-b",
        "f%0A",
        "%E4%BD%A0",
        "a" * 65,
        "f;alert(1)",
        "[f]",
        "f&jsonpCallback=g",
    ],
)
async def test_a_name_that_is_none_is_not_written_into_a_script(site: Site, callback: str) -> None:
    target = f"/busuanzi?jsonpCallback={callback}"
    answer = await site.http.get(target, headers={"referer": f"{BLOG}/a/"})
    assert (answer.status_code, told(answer)[:13]) == (200, "jsonpCallback")
    assert "alert" not in answer.text
    assert await views(site) == 0


async def test_a_preflight_may_send_what_clients_send(site: Site) -> None:
    asked = "x-bsz-referer, authorization"
    answer = await site.http.options("/api", headers={"access-control-request-headers": asked})
    assert answer.headers["access-control-allow-headers"] == asked
    assert "PUT" in answer.headers["access-control-allow-methods"]


async def test_only_pages_of_the_sites_hosts_count(make_site: Sites) -> None:
    """Whatever address they send."""
    site = await make_site(COMPAT="busuanzi", SECURE_DOMAINS="blog.example")
    own, other = {"referer": f"{BLOG}/a/"}, {"referer": "https://other.example/a/"}
    for path in LOGS:
        refused = await log(site, f"{BLOG}/a/", path, **other)
        assert (refused.status_code, told(refused)) == (403, "Forbidden")
        assert (await log(site, "https://other.example/b/", path, **own)).status_code == 200
    assert told(await soxft(site, f"{BLOG}/a/", **other)) == "Forbidden"
    for start in JSONP:
        assert told(await site.http.get(f"{start}=f", headers=other)) == "Forbidden"
        assert called(await site.http.get(f"{start}=f", headers=own))["page_pv"]


# Where it is.


async def test_the_demonstration_stays_at_the_root(site: Site) -> None:
    assert "demonstration" in (await site.http.get("/?jsonpCallback=f")).text


@pytest.mark.parametrize("path", PATHS)
async def test_the_script_is_kept_for_a_day_and_told_unchanged(site: Site, path: str) -> None:
    answer = await site.http.get(path)
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=86400"
    assert answer.content == (UI / NAME).read_bytes()
    again = await site.http.get(path, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_script_is_smaller_than_a_kilobyte_and_a_half() -> None:
    """As a proxy that compresses sends it."""
    assert len(gzip.compress((UI / NAME).read_bytes())) < 1500
