"""This service's own pages: their requests to /ui/api, logged in by a cookie, and their files."""

import base64
import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import jwt
import pytest
from babel import Locale

from footfall.config import Settings
from footfall.environment import meanings
from footfall.errors import StoreUnavailable
from footfall.http import page_words
from footfall.owner import day_table, demo, link_pages, overview_page, periods, statistics_page
from footfall.owner.account_pages import PAGE_NAMES, PAGES
from footfall.owner.files import UI
from tests.conftest import Site, Sites
from tests.support.admin_ui import AdminPage

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}


@pytest.fixture
async def site(make_site: Sites) -> Site:
    site = make_site.without_accounts()
    await site.send("POST", "/api/user", MARA)
    return site


@pytest.fixture
def page(site: Site) -> AdminPage:
    return AdminPage(site)


def lines_of(answer: httpx.Response) -> list[str]:
    return answer.headers.get_list("set-cookie")


async def test_a_log_in_is_a_cookie_that_no_script_can_read(page: AdminPage) -> None:
    answer = await page.ask("POST", "token", MARA)
    for line, expected in zip(lines_of(answer), ("footfall=", "footfall-device="), strict=True):
        name, *attributes = line.split("; ")
        assert name.startswith(expected)
        assert len(name) > 100
        assert attributes == ["Path=/ui", "HttpOnly", "SameSite=Strict"]
    assert answer.json()["data"]["token"] is None
    assert (await page("GET", "token"))["data"]["email"] == "mara@example.com"


async def test_a_log_in_lasts_as_long_as_was_asked_for(page: AdminPage) -> None:
    answer = await page.ask("POST", "token", {**MARA, "remember": True})
    lines = lines_of(answer)
    assert lines
    assert all(line.endswith("; Max-Age=2592000") for line in lines)


@pytest.mark.parametrize(
    ("environ", "headers"),
    [
        ({}, {"x_forwarded_proto": "https"}),
        ({}, {"origin": "https://site.test"}),
        ({"SERVER_URL": "https://talk.example/c"}, {"origin": "https://talk.example"}),
    ],
)
async def test_over_https_the_cookie_is_sent_over_https_only(
    make_site: Sites, environ: dict[str, str], headers: dict[str, str]
) -> None:
    site = make_site.without_accounts(**environ)
    await site.send("POST", "/api/user", MARA)
    page = AdminPage(site)
    lines = lines_of(await page.ask("POST", "token", MARA, **headers))
    path = "/c/ui" if environ else "/ui"
    for line, name in zip(lines, ("footfall=", "footfall-device="), strict=True):
        assert line.startswith(f"__Secure-{name}")
        assert line.endswith(f"; Path={path}; HttpOnly; SameSite=Strict; Secure")
    answer = await page.ask("GET", "token", **headers)
    assert answer.json()["data"]["email"] == "mara@example.com"
    # A cookie that could have been set over plain HTTP does not count.
    page.cookie = page.cookie.removeprefix("__Secure-")
    assert (await page.ask("GET", "token", **headers)).json()["data"] == {}


async def test_a_log_out_ends_the_session_and_the_cookie(page: AdminPage) -> None:
    await page.ask("POST", "token", MARA)
    kept = page.cookie
    answer = await page.ask("DELETE", "token")
    assert answer.headers["set-cookie"] == (
        "footfall=; Path=/ui; HttpOnly; SameSite=Strict; Max-Age=0"
    )
    page.cookie = kept
    assert (await page("GET", "token"))["data"] == {}


DEVICE = "footfall-device"


async def told(page: AdminPage, before: str = "") -> tuple[str, str]:
    """What a login with this cookie leaves in the browser: the cookie, and the browser's name."""
    sent = f"{DEVICE}={before}" if before else None
    answer = await page.ask("POST", "token", MARA, cookie=sent)
    (line,) = [line for line in lines_of(answer) if line.startswith(f"{DEVICE}=")]
    cookie = line.partition(";")[0].partition("=")[2]
    return cookie, jwt.decode(cookie, options={"verify_signature": False})["device"]


async def test_a_browser_keeps_its_name_for_an_account_that_comes_back(page: AdminPage) -> None:
    cookie, name = await told(page)
    again, same = await told(page, cookie)
    assert (same, (await told(page, again))[1]) == (name, name)


async def test_a_browser_is_forgotten_after_thirty_days(site: Site, page: AdminPage) -> None:
    cookie, name = await told(page)
    site.clock.now += 29 * 86_400_000
    assert (await told(page, cookie))[1] == name
    site.clock.now += 2 * 86_400_000
    assert (await told(page, cookie))[1] != name


@pytest.mark.parametrize("cookie", ["x", "a.b.c", "x" * 2000, "a=b; footfall-device=c"])
async def test_a_cookie_that_tells_no_browser_is_as_none(page: AdminPage, cookie: str) -> None:
    answer = await page.ask("POST", "token", MARA, cookie=f"{DEVICE}={cookie}")
    assert answer.json()["errno"] == 0


async def test_a_log_in_for_another_sites_page_is_handed_to_it(site: Site, page: AdminPage) -> None:
    token = (await page("POST", "token", {**MARA, "hand": True}))["data"]["token"]
    assert (await site.get("/api/token", by=token))["data"]["email"] == "mara@example.com"


async def test_the_api_ignores_the_cookie_and_the_pages_ignore_tokens(
    site: Site, page: AdminPage
) -> None:
    await page.ask("POST", "token", MARA)
    headers = {"cookie": page.cookie}
    for path in ("/api/token", "/token"):
        assert (await site.http.get(path, headers=headers)).json()["data"] == {}
    token = (await site.send("POST", "/api/token", MARA))["data"]["token"]
    page.cookie = ""
    answer = await page.ask("GET", "token", authorization=f"Bearer {token}")
    assert answer.json()["data"] == {}


async def test_every_operation_has_the_same_answer_there(site: Site, page: AdminPage) -> None:
    await page.ask("POST", "token", MARA)
    posted = (await page("POST", "comment", {"comment": "hello", "url": "/p"}))["data"]
    assert posted["type"] == "administrator"
    listed = (await page("GET", "comment?type=list"))["data"]
    assert [each["objectId"] for each in listed["data"]] == [posted["objectId"]]
    assert (await page("PUT", f"comment/{posted['objectId']}", {"sticky": 1}))["errno"] == 0
    assert (await page("GET", "comment?path=/p"))["data"]["data"][0]["sticky"]
    assert (await page("GET", "article?path=/p"))["data"] == [{"time": 0}]


async def test_no_other_site_reads_an_answer_and_nothing_caches_it(page: AdminPage) -> None:
    await page.ask("POST", "token", MARA)
    for path in ("token", "comment?type=list", "comment?path=/p", "user?page=1", "comment?path="):
        answer = await page.ask("GET", path)
        assert "access-control-allow-origin" not in answer.headers, path
        assert answer.headers.get_list("cache-control") == ["no-store"], path
        assert "etag" not in answer.headers, path
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


async def test_a_second_factor_is_shown_as_a_picture_that_needs_no_script(page: AdminPage) -> None:
    await page.ask("POST", "token", MARA)
    shown = (await page("GET", "token/2fa"))["data"]
    assert shown["qr"].startswith("data:image/svg+xml")
    assert "<svg" in unquote(shown["qr"]) or b"<svg" in base64.b64decode(shown["qr"].split(",")[1])
    assert (await page("GET", "token/2fa?email=nobody@example.com"))["data"] == {"enable": False}


async def test_all_addresses_of_administrators_pages_serve_one_file(site: Site) -> None:
    answer = await site.http.get("/ui?lng=de")
    assert (answer.status_code, answer.headers["location"]) == (307, "ui/?lng=de")
    first = await site.http.get("/ui/")
    assert first.headers["cache-control"] == "no-store"
    for name in PAGE_NAMES:
        assert (await site.http.get(f"/ui/{name}")).text == first.text
        assert (PAGES / f"{name}.js").is_file()
    assert (await site.http.get("/ui/nowhere")).status_code == 404


async def test_a_page_comes_with_the_answers_that_its_script_asks_for_first(
    site: Site, page: AdminPage
) -> None:
    await page.ask("POST", "token", MARA)

    async def answers(name: str, **headers: str) -> Any:
        shown = await site.http.get(f"/ui/{name}", headers=headers)
        assert shown.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in shown.headers
        (early,) = re.findall('data-early="([^"]*)"', shown.text)
        return json.loads(html.unescape(early))

    mine, path = {"cookie": page.cookie}, "queue?status=waiting&pageSize=20"
    # After a link, an address that is typed, or from an older browser.
    for sent in ({"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}, {}):
        found = await answers("queue?lng=de", **mine, **sent)
        assert [*found] == ["token", path]
        for asked in found:
            assert found[asked]["data"] == (await page("GET", asked))["data"]
    assert [*await answers("queue?status=spam", **mine)] == ["token"]
    assert [*await answers("log", **mine)] == ["token"]
    assert await answers("queue") == {}
    ended = await answers("queue", cookie="footfall=nonsense")
    assert {**ended, "token": ended["token"]["data"]} == {"token": {}}


async def test_the_first_answers_are_left_out_while_redis_does_not_answer(
    site: Site, page: AdminPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await page.ask("POST", "token", MARA)

    async def away(*words: object) -> None:
        raise StoreUnavailable()

    monkeypatch.setattr(site.store.accounts, "of_session", away)
    shown = await site.http.get("/ui/queue", headers={"cookie": page.cookie})
    assert 'data-early="{}"' in shown.text


async def test_the_first_page_says_who_becomes_the_administrator(make_site: Sites) -> None:
    for registration, vacant in (("open", "true"), ("invited", "true"), ("closed", "")):
        site = make_site.without_accounts(REGISTRATION=registration)
        facts = f'data-vacant="{vacant}" data-setup="" data-open="{vacant}"'
        assert facts in (await site.http.get("/ui/register")).text
    site = make_site.without_accounts(SETUP_CODE="1234")
    assert 'data-vacant="true" data-setup="true"' in (await site.http.get("/ui/register")).text
    await site.send("POST", "/api/user", MARA | {"setup_code": "1234"})
    for registration, is_open in (("open", "true"), ("invited", ""), ("closed", "")):
        site = make_site.without_accounts(REGISTRATION=registration, SETUP_CODE="1234")
        facts = f'data-vacant="" data-setup="" data-open="{is_open}"'
        assert facts in (await site.http.get("/ui/register")).text


@pytest.mark.parametrize("page", ["login", "forgot", "confirm"])
async def test_who_logs_in_sees_at_which_site(make_site: Sites, page: str) -> None:
    site = await make_site(SITE_NAME="Tea & <notes>")
    answer = (await site.http.get(f"/ui/{page}")).text
    assert '<p class="site">Tea &amp; &lt;notes&gt;</p>' in answer
    assert " · Tea &amp; &lt;notes&gt;</title>" in answer


async def test_every_file_that_the_pages_name_is_served(site: Site) -> None:
    named = {f"static/{path.name}" for path in PAGES.glob("*.json")}
    for path in PAGES.iterdir():
        text = path.read_text()
        named |= set(re.findall(r'(?:href|src)="(static/[^"]+)"', text))
        named |= {f"static/{name}" for name in re.findall(r"from '\./([\w.]+)'", text)}
    # What is joined has its digest in its name.
    queue = (await site.http.get("/ui/queue")).text
    joined = set(re.findall(r'(?:href|src)="(static/\w+\.[0-9a-f]+\.\w+)"', queue))
    (tables,) = re.findall('data-tables="([^"]*)"', queue)
    joined |= {f"static/{name}" for name in json.loads(html.unescape(tables)).values()}
    assert len(joined) == 5
    for name in joined:
        answer = await site.http.get(f"/ui/{name}")
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    named = {name for name in named if "{" not in name} | joined
    assert len(named) > 10
    for name in named:
        answer = await site.http.get(f"/ui/{name}")
        assert answer.status_code == 200, name
        assert answer.headers["x-content-type-options"] == "nosniff"


def languages() -> dict[str, dict[str, dict[str, str]]]:
    """Language -> name -> plural category -> words; words without plural have the category
    "other"."""
    tables = {path.stem: json.loads(path.read_text()) for path in PAGES.glob("??.json")}
    return {
        language: {
            name: {"other": words} if isinstance(words, str) else words
            for name, words in table.items()
        }
        for language, table in tables.items()
    }


def test_every_language_has_every_text() -> None:
    tables = languages()
    assert tables.keys() == {"en", "de", "zh"}
    for name, table in tables.items():
        assert table.keys() == tables["en"].keys(), name
        for key, forms in table.items():
            expected = sorted(re.findall(r"{\w+}", tables["en"][key]["other"]))
            for words in forms.values():
                assert words, (name, key)
                assert sorted(re.findall(r"{\w+}", words)) == expected, (name, key)
            # Without a number no form can be chosen.
            assert forms.keys() == {"other"} or "{count}" in expected, (name, key)
            categories = {"other", *Locale.parse(name).plural_form.tags}
            assert forms.keys() in ({"other"}, categories), (name, key)


@pytest.mark.parametrize("language", ["de", "zh"])
def test_every_setting_is_described_in_every_language(language: str) -> None:
    described = json.loads((PAGES / f"settings.{language}.json").read_text())
    english = {name: meaning for name, _, _, meaning in Settings().table({})}
    assert list(described) == list(english) == list(meanings())
    # What has a name in the program has it in every language, and numbers are the same.
    for name, meaning in english.items():
        assert described[name] != meaning
        for word in re.findall(r"[A-Z0-9]+_[A-Z0-9_]+|[a-z+]+://|\b\d{2,}\b", meaning):
            assert word in described[name], (name, word)


def test_the_pages_write_numbers_as_their_language_does_and_choose_by_them() -> None:
    """`say` does both, so its caller passes the number itself."""
    pages = list(PAGES.glob("*.js"))
    assert pages
    for path in pages:
        for said in re.findall(r"say\([^)]*", path.read_text()):
            assert "number(" not in said, (path.name, said)


def test_every_text_that_the_pages_use_is_in_the_tables() -> None:
    pages = [each for each in PAGES.iterdir() if each.suffix in (".js", ".html")]
    pages += [UI / "demo.html", UI / "demo.js"]
    # Some are made by the server, in Python's spelling.
    modules = (day_table, demo, link_pages, overview_page, page_words, periods, statistics_page)
    made = [Path(each.__file__ or "") for each in modules]
    text = "".join(each.read_text() for each in pages)
    text += "".join(each.read_text().replace('"', "'") for each in made)
    said = set(re.findall(r"say\('([\w.]+)'[,)]", text) + re.findall(r'data-word="([^"]+)"', text))
    words = languages()["en"].keys()
    assert said <= words
    # And the tables have no text that no page uses, by its name or by a composed one.
    for word in words - said:
        stem = word.partition(".")[0]
        composed = (f"`{stem}.$", f"'{stem}.'", f"f'{stem}.{{")
        assert f"'{word}'" in text or any(each in text for each in composed), word


async def test_the_addresses_of_walines_pages_lead_to_ours(make_site: Sites) -> None:
    # A setting of Waline's that would have named the script of its own pages changes nothing.
    site = make_site.without_accounts(WALINE_ADMIN_MODULE_ASSET_URL="https://cdn.example/admin.js")
    for name in ("login", "register", "forgot", "profile"):
        page = await site.http.get(f"/ui/{name}")
        assert (page.status_code, "cdn.example" in page.text) == (200, False), name
    for old, name in (("user", "accounts"), ("migration", "moving")):
        answer = await site.http.get(f"/ui/{old}?lng=de&token=s3cret")
        assert (answer.status_code, answer.headers["location"]) == (307, f"./{name}?lng=de")
        assert answer.headers["cache-control"] == "no-store"
        assert (await site.http.get(f"/ui/{name}")).status_code == 200
