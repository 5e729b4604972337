"""The protocol of Abacus and CountAPI: a counter is a key in a namespace."""

from typing import Any

import pytest

from footfall.model import NO_VIEWS
from tests.conftest import Site, Sites

# A protocol is a codec, and asks the store for what others ask.
ON = ("fake",)

NOT_FOUND = 404, {"error": "Key not found", "value": None}


@pytest.fixture
async def site(make_site: Sites) -> Site:
    return await make_site(COMPAT="abacus")


async def asked(site: Site, url: str, method: str = "GET", **headers: str) -> tuple[int, Any]:
    answer = await site.http.request(method, url, headers=headers)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["x-content-type-options"] == "nosniff"
    return answer.status_code, answer.json()


async def counted(site: Site, path: str) -> Any:
    return await site.get("/article", path=path, type=NO_VIEWS)


async def test_a_hit_counts_and_get_only_reads(site: Site) -> None:
    assert await asked(site, "/get/site.example/likes") == NOT_FOUND
    for number in (1, 2):
        assert await asked(site, "/hit/site.example/likes") == (200, {"value": number})
    assert await asked(site, "/get/site.example/likes") == (200, {"value": 2})
    # Waline's operations know it by its path and type.
    assert await site.count("site.example/likes", type=NO_VIEWS) == 3
    assert await asked(site, "/get/site.example/likes") == (200, {"value": 3})


async def test_keys_and_namespaces_are_kept_as_they_are(site: Site) -> None:
    await asked(site, "/hit/Site/key")
    await asked(site, "/hit/site/key")
    await asked(site, "/hit/site/index.html")
    assert await asked(site, "/get/site/key") == (200, {"value": 1})
    assert await counted(site, "site/index.html") == 1


async def test_what_is_known_of_a_counter_is_told(site: Site) -> None:
    never = {"is_genuine": True, "expires_in": -1, "expires_str": "never"}
    told = {"value": -1, "full_key": "site/key", "exists": False, **never}
    assert await asked(site, "/info/site/key") == (200, told)
    await asked(site, "/hit/site/key")
    assert await asked(site, "/info/site/key") == (200, {**told, "value": 1, "exists": True})


async def test_nothing_keeps_an_answer_of_what_counts(site: Site) -> None:
    for url in ("/hit/site/key", "/hit/site/key?callback=f", "/hit/site/key/shield", "/hit/a/b"):
        headers = (await site.http.get(url, headers={"if-none-match": "*"})).headers
        assert headers.get_list("cache-control") == ["no-store"]
        assert "etag" not in headers
    for url in ("/get/site/key", "/info/site/key", "/get/site/key/shield"):
        known = {"if-none-match": (await site.http.get(url)).headers["etag"]}
        assert (await site.http.get(url, headers=known)).status_code == 304


@pytest.mark.parametrize("name", ["f", "$", "_a", "jQuery.cb_1", "a.b.c", "A" * 64])
async def test_a_script_gets_the_number_handed(site: Site, name: str) -> None:
    answer = await site.http.get("/hit/site/key", params={"callback": name})
    assert answer.text == f'{name}({{"value":1}});'
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    read = await site.http.get("/get/site/key", params={"callback": name})
    assert read.text == answer.text


@pytest.mark.parametrize(
    "name",
    ["1a", "a b", "alert(1)", "a;b", "a[0]", "<x", "a\n", "é", "a\u2028", "A" * 65, ".a", "\x00"],
)
async def test_what_names_no_function_is_refused(site: Site, name: str) -> None:
    answer = await site.http.get("/hit/site/key", params={"callback": name})
    assert (answer.status_code, answer.headers["content-type"]) == (
        400,
        "application/json; charset=utf-8",
    )
    assert answer.json()["error"].startswith("callback ")
    assert await counted(site, "site/key") == 0


async def test_a_hit_may_be_a_picture(site: Site) -> None:
    for url in (
        "/hit/site/key?img",
        "/hit/site/key?img=1",
        "/get/site/key?img",
        "/get/a-b/c-d?img",
    ):
        answer = await site.http.get(url)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/gif")
        assert len(answer.content) == 43
    assert await counted(site, "site/key") == 2


async def test_a_hit_may_be_a_badge(site: Site) -> None:
    hit = await site.http.get("/hit/site/key/shield?label=%3Chearts%3E&color=red")
    assert "<title>&lt;hearts&gt;: 1</title>" in hit.text
    read = await site.http.get("/get/site/key/shield")
    assert "<title>hits: 1</title>" in read.text
    assert read.headers["content-type"] == "image/svg+xml"
    assert await asked(site, "/hit/site/key/shield?color=%22") == (
        400,
        {"error": "color need 3 to 20 letters and digits"},
    )


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("ab/key", "ns"),
        ("site/ab", "key"),
        ("s" * 65 + "/key", "ns"),
        ("site/" + "k" * 9000, "key"),
        ("si%20te/key", "ns"),
        ("site/k%00ey", "key"),
        ("site/%E4%BD%A0%E5%A5%BD%E5%91%80", "key"),
        ("site/%FF%FE%FD", "key"),
        ("site/:HOST", "key"),
        (":host:/key", "ns"),
        ("site/%D9%A1%D9%A2%D9%A3", "key"),
        ("site/key%0A", "key"),
    ],
)
async def test_a_name_that_is_none_is_refused_by_its_field(
    site: Site, path: str, field: str
) -> None:
    for verb in ("hit", "get", "info"):
        status, answer = await asked(site, f"/{verb}/{path}")
        assert (status, answer["error"].startswith(f"{field} ")) == (400, True), answer


# The page that asks.


async def test_words_stand_for_the_page_that_asks(site: Site) -> None:
    page = {"referer": "https://user:secret@Blog.example:8443/post/a?q=1#top"}
    assert await asked(site, "/hit/:HOST:/:PATHNAME:", **page) == (200, {"value": 1})
    assert await counted(site, "blog.example/post/a") == 1
    assert await asked(site, "/hit/mine/:PATHNAME:", **page) == (200, {"value": 1})
    assert await counted(site, "mine/post/a") == 1
    assert await asked(site, "/hit/:HOST:/visits", **page) == (200, {"value": 1})
    assert await asked(site, "/get/:HOST:/visits", **page) == (200, {"value": 1})
    assert await asked(site, "/get/blog.example/visits") == (200, {"value": 1})


@pytest.mark.parametrize(
    "referer", ["", "nothing", "https://", "http://[::1", "/a", "//", f"https://x/{'a' * 2100}"]
)
async def test_without_a_page_there_is_no_counter(site: Site, referer: str) -> None:
    headers = {"referer": referer} if referer else {}
    for url in ("/hit/site/:PATHNAME:", "/get/:HOST:/:PATHNAME:", "/hit/site/:PATHNAME:/shield"):
        status, answer = await asked(site, url, **headers)
        assert (status, answer) == (400, {"error": "key need a Referer with the page's address"})
    assert (await site.store.numbers.total()).number == 0


# What sets a counter.


@pytest.mark.parametrize("command", ["create", "set", "reset", "update", "delete"])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "named",
    ["/site/key?value=7&amount=7", "?namespace=site&key=key&value=7", "/", "/site", "/a/b/c"],
)
async def test_what_sets_a_counter_is_left_to_the_command_line(
    site: Site, command: str, method: str, named: str
) -> None:
    await asked(site, "/hit/site/key")
    key = {"authorization": "Bearer 0b1e7d5e-0000-4000-8000-000000000000"}
    status, answer = await asked(site, f"/{command}{named}", method, **key)
    assert (status, "footfall import" in answer["error"]) == (405, True)
    assert await counted(site, "site/key") == 1


# Limits.
