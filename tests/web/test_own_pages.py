"""What this service's own pages send to /ui/api: the same operations, logged in by a cookie."""

import pytest

from tests.conftest import Site, Sites
from tests.support.own_pages import OwnPage

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}


@pytest.fixture
async def site(make_site: Sites) -> Site:
    site = make_site.without_accounts()
    await site.send("POST", "/api/user", MARA)
    return site


@pytest.fixture
def page(site: Site) -> OwnPage:
    return OwnPage(site)


async def test_a_log_in_is_a_cookie_that_no_script_has(page: OwnPage) -> None:
    answer = await page.ask("POST", "token", MARA)
    name, *attributes = answer.headers["set-cookie"].split("; ")
    assert name.startswith("footfall=") and len(name) > 100
    assert attributes == ["Path=/ui", "HttpOnly", "SameSite=Strict"]
    assert answer.json()["data"]["token"] is None
    assert (await page("GET", "token"))["data"]["email"] == "mara@example.com"


async def test_a_log_in_lasts_as_it_is_asked_to(page: OwnPage) -> None:
    answer = await page.ask("POST", "token", {**MARA, "remember": True})
    assert answer.headers["set-cookie"].endswith("; Max-Age=2592000")


@pytest.mark.parametrize(
    ("environ", "headers"),
    [
        ({}, {"x_forwarded_proto": "https"}),
        ({}, {"origin": "https://site.test"}),
        ({"SERVER_URL": "https://talk.example/c"}, {"origin": "https://talk.example"}),
    ],
)
async def test_over_https_the_cookie_is_sent_over_nothing_else(
    make_site: Sites, environ: dict[str, str], headers: dict[str, str]
) -> None:
    site = make_site.without_accounts(**environ)
    await site.send("POST", "/api/user", MARA)
    page = OwnPage(site)
    line = (await page.ask("POST", "token", MARA, **headers)).headers["set-cookie"]
    path = "/c/ui" if environ else "/ui"
    assert line.startswith("__Secure-footfall=")
    assert line.endswith(f"; Path={path}; HttpOnly; SameSite=Strict; Secure")
    answer = await page.ask("GET", "token", **headers)
    assert answer.json()["data"]["email"] == "mara@example.com"
    # A cookie that came over a connection that anybody could write to is none.
    page.cookie = page.cookie.removeprefix("__Secure-")
    assert (await page.ask("GET", "token", **headers)).json()["data"] == {}


async def test_a_log_out_ends_the_session_and_the_cookie(page: OwnPage) -> None:
    await page.ask("POST", "token", MARA)
    kept = page.cookie
    answer = await page.ask("DELETE", "token")
    assert answer.headers["set-cookie"] == (
        "footfall=; Path=/ui; HttpOnly; SameSite=Strict; Max-Age=0"
    )
    page.cookie = kept
    assert (await page("GET", "token"))["data"] == {}


async def test_a_log_in_for_another_sites_page_is_handed_to_it(site: Site, page: OwnPage) -> None:
    token = (await page("POST", "token", {**MARA, "hand": True}))["data"]["token"]
    assert (await site.get("/api/token", by=token))["data"]["email"] == "mara@example.com"


async def test_the_api_does_not_know_the_cookie_and_the_pages_no_token(
    site: Site, page: OwnPage
) -> None:
    await page.ask("POST", "token", MARA)
    headers = {"cookie": page.cookie}
    for path in ("/api/token", "/token"):
        assert (await site.http.get(path, headers=headers)).json()["data"] == {}
    token = (await site.send("POST", "/api/token", MARA))["data"]["token"]
    page.cookie = ""
    answer = await page.ask("GET", "token", authorization=f"Bearer {token}")
    assert answer.json()["data"] == {}


async def test_every_operation_is_there_with_the_same_answer(site: Site, page: OwnPage) -> None:
    await page.ask("POST", "token", MARA)
    posted = (await page("POST", "comment", {"comment": "hello", "url": "/p"}))["data"]
    assert posted["type"] == "administrator"
    listed = (await page("GET", "comment?type=list"))["data"]
    assert [each["objectId"] for each in listed["data"]] == [posted["objectId"]]
    assert (await page("PUT", f"comment/{posted['objectId']}", {"sticky": 1}))["errno"] == 0
    assert (await page("GET", "comment?path=/p"))["data"]["data"][0]["sticky"]
    assert (await page("GET", "article?path=/p"))["data"] == [{"time": 0}]


async def test_no_other_site_reads_an_answer_and_nothing_keeps_it(page: OwnPage) -> None:
    await page.ask("POST", "token", MARA)
    for path in ("token", "comment?type=list", "comment?path=/p", "user?page=1", "comment?path="):
        answer = await page.ask("GET", path)
        assert "access-control-allow-origin" not in answer.headers, path
        assert answer.headers.get_list("cache-control") == ["no-store"], path
        assert "etag" not in answer.headers, path
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
