"""Logging in by other services: off unless configured, of both kinds, to the end."""

import html
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pyotp
import pytest

from footfall.config import BadSettings, Settings
from footfall.errors import IdentityTaken
from tests.conftest import Site, Sites
from tests.support.admin_ui import AdminPage
from tests.support.logging_in import HERE, Browser, settings, ticket_in
from tests.support.providers import OCTA, Provider
from tests.support.sites import site_of

# What depends on the server is tested in tests/scripts and tests/integration.
ON = ("fake",)

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
MARAS = {"current_password": MARA["password"]}


@pytest.fixture
async def site(make_site: Sites, other: Provider) -> Site:
    site = make_site.without_accounts(**settings(other))
    assert (await site.send("POST", "/api/user", MARA))["errno"] == 0
    return site


@pytest.fixture
def browser(site: Site) -> Browser:
    return Browser(site)


async def mara(site: Site) -> str:
    token: str = (await site.send("POST", "/api/token", MARA))["data"]["token"]
    return token


async def test_it_is_off_unless_configured(make_site: Sites) -> None:
    site = make_site.without_accounts()
    for prefix in ("", "/api"):
        answer = await site.http.get(f"{prefix}/oauth?type=github", headers={"accept": "text/html"})
        assert (answer.status_code, answer.json()["errno"]) == (404, 404)


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"OAUTH_URL": "https://auth.example"}, "SERVER_URL"),
        ({"OIDC_ISSUER": "https://id.example"}, "SERVER_URL"),
        ({"OIDC_ISSUER": "https://id.example", "SERVER_URL": HERE}, "OIDC_CLIENT_ID"),
    ],
)
def test_a_missing_setting_is_named_at_the_start(
    make_site: Sites, environ: dict[str, str], name: str
) -> None:
    with pytest.raises(BadSettings, match=name):
        site_of(Settings.from_env(environ), make_site.store)


@pytest.mark.parametrize("prefix", ["", "/api"])
async def test_a_browser_is_sent_to_the_service_with_an_address_to_return_to(
    site: Site, other: Provider, prefix: str
) -> None:
    sent = await site.http.get(
        f"{prefix}/oauth?type=github&redirect=/ui&lang=en", headers={"host": "evil.example"}
    )
    address, query = sent.headers["location"].split("?")
    assert address == f"{other.url}/github"
    asked = parse_qs(query)
    assert asked.keys() == {"redirect", "state"}
    assert asked["redirect"][0].startswith(f"{HERE}/api/oauth?type=github&")
    assert "HttpOnly; SameSite=Lax" in sent.headers["set-cookie"]


async def test_a_head_starts_no_log_in(site: Site) -> None:
    answer = await site.http.head("/api/oauth?type=github")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert not {"location", "set-cookie"} & answer.headers.keys()


async def test_over_https_only_this_host_gets_the_cookie(make_site: Sites, other: Provider) -> None:
    site = make_site.without_accounts(**settings(other) | {"SERVER_URL": "https://c.example/w"})
    sent = await site.http.get("/api/oauth?type=github")
    assert sent.headers["set-cookie"].startswith("__Host-footfall-flow=")
    assert sent.headers["set-cookie"].endswith(
        "Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"
    )
    asked = parse_qs(sent.headers["location"].partition("?")[2])
    assert asked["redirect"][0].startswith("https://c.example/w/api/oauth?")


async def test_a_new_person_gets_an_account(browser: Browser) -> None:
    data = await browser.token("github")
    shown = ("display_name", "email", "url", "avatar", "type", "github", "oidc", "2fa", "password")
    assert {name: data[name] for name in shown} == {
        "display_name": "Octa b",
        "email": "octa@example.com",
        "url": "https://octa.example",
        "avatar": "https://octa.example/a.png",
        "type": "guest",
        "github": "octa",
        "oidc": None,
        "2fa": None,
        "password": None,
    }
    again = await browser.token("github")
    assert (again["objectId"], again["token"] != data["token"]) == (data["objectId"], True)
    who = await browser.site.get("/api/token", by=again["token"])
    assert who["data"]["github"] == "octa"


async def test_openid_connect_makes_an_account(browser: Browser, other: Provider) -> None:
    other.claims = {"email": "sub@example.com", "email_verified": True}
    other.more = {"name": "Sub", "picture": "https://id.example/p.png", "website": "javascript:1"}
    data = await browser.token("oidc")
    shown = {name: data[name] for name in ("display_name", "email", "url", "avatar", "oidc")}
    assert shown == {
        "display_name": "Sub",
        "email": "sub@example.com",
        "url": "",
        "avatar": "https://id.example/p.png",
        "oidc": f"{other.issuer} s1",
    }
    assert (await browser.token("oidc"))["objectId"] == data["objectId"]
    # The provider's metadata and keys are cached.
    assert [other.asked.count(f"/issuer{each}") for each in ("/keys", "/token")] == [1, 2]


async def test_a_mail_that_the_provider_has_not_verified_is_not_used(
    browser: Browser, other: Provider
) -> None:
    other.claims = {"email": "mara@example.com", "name": "Eve"}
    data = await browser.token("oidc")
    assert data["email"] == f"{data['objectId']}@mail.oidc"


async def test_a_log_in_does_not_take_over_the_account_of_its_mail(
    browser: Browser, other: Provider
) -> None:
    other.people["github"]["email"] = "Mara@EXAMPLE.com"
    answer = await browser.log_in("github")
    assert answer.json() == {"errno": 1000, "errmsg": "USER_EXIST"}
    other.claims = {"email": "mara@example.com", "email_verified": True, "name": "Mara"}
    assert (await browser.log_in("oidc")).json()["errmsg"] == "USER_EXIST"


async def test_an_account_adds_a_service_and_removes_it(browser: Browser, other: Provider) -> None:
    site = browser.site
    token = await mara(site)
    other.people["github"]["email"] = MARA["email"]
    asked = {"type": "github", "redirect": "/ui/x", **MARAS}
    sent = await site.send("POST", "/oauth", asked, by=token)
    back = await browser.get(sent["data"]["url"])
    ended = await browser.get(back.headers["location"])
    assert ended.headers["location"] == f"{HERE}/ui/x"
    data = await browser.token("github")
    who = (await site.get("/api/token", by=token))["data"]
    assert (data["email"], data["objectId"]) == (MARA["email"], who["objectId"])
    assert (data["avatar"], data["github"]) == (OCTA["avatar"], "octa")
    # An identity that was added already has an account of its own.
    tom = {**MARA, "email": "tom@example.com"}
    await site.send("POST", "/api/user", tom)
    by = (await site.send("POST", "/api/token", tom))["data"]["token"]
    sent = await site.send("POST", "/oauth", {"type": "github", **MARAS}, by=by)
    back = await browser.get(sent["data"]["url"])
    taken = await browser.get(back.headers["location"])
    assert taken.json()["errmsg"] == IdentityTaken.text
    gone = {"github": "", **MARAS}
    assert (await site.send("PUT", "/api/user", gone, by=token))["errno"] == 0
    assert (await site.get("/api/token", by=token))["data"]["github"] is None
    other.people["github"]["email"] = ""
    assert (await browser.token("github"))["objectId"] != who["objectId"]


async def test_the_last_way_to_log_in_cannot_be_removed(browser: Browser) -> None:
    data = await browser.token("github")
    answer = await browser.site.send("PUT", "/api/user", {"github": ""}, by=data["token"])
    assert answer["errmsg"] == "Set a password first. Otherwise you could no longer log in."
    await browser.site.send("PUT", "/api/user", {"password": "octa's own"}, by=data["token"])
    login = {"email": data["email"], "password": "octa's own"}
    token = (await browser.site.send("POST", "/api/token", login))["data"]["token"]
    gone = {"github": "", "current_password": "octa's own"}
    assert (await browser.site.send("PUT", "/api/user", gone, by=token))["errno"] == 0


async def test_a_password_may_take_the_place_of_the_last_service(browser: Browser) -> None:
    data = await browser.token("github")
    changes = {"github": "", "password": "octa's own"}
    assert (await browser.site.send("PUT", "/api/user", changes, by=data["token"]))["errno"] == 0
    login = {"email": data["email"], "password": "octa's own"}
    shown = (await browser.site.send("POST", "/api/token", login))["data"]
    assert (shown["objectId"], shown["github"]) == (data["objectId"], None)


async def test_a_service_stays_if_something_else_of_the_change_is_refused(browser: Browser) -> None:
    site, by = browser.site, await mara(browser.site)
    data = await browser.token("github")
    path, store = f"/api/user/{data['objectId']}", site.store.accounts
    as_it_was = await store.by_id(data["objectId"])
    banned = {"github": "", "type": "banned", **MARAS}
    taken = {**banned, "password": "octa's own", "email": MARA["email"]}
    assert await site.send("PUT", path, taken, by=by) == {"errno": 1000}
    answer = await site.send("PUT", path, banned, by=by)
    assert answer["errmsg"] == "Set a password first. Otherwise you could no longer log in."
    found = await store.by_identity("github", str(OCTA["id"]))
    assert found == await store.by_id(data["objectId"]) == as_it_was
    assert (await site.get("/api/ban", by=by))["data"]["data"] == []
    assert (await site.get("/api/token", by=data["token"]))["data"]["github"] is not None


async def test_a_second_factor_is_asked_for_here_too(browser: Browser) -> None:
    site, data = browser.site, await browser.token("github")
    secret = (await site.get("/api/token/2fa", by=data["token"]))["data"]["secret"]
    codes, present = pyotp.TOTP(secret), site.clock.now // 1000
    first = {"secret": secret, "code": codes.at(present - 30)}
    assert (await site.send("POST", "/api/token/2fa", first, by=data["token"]))["errno"] == 0
    where = (await browser.log_in("github", "/ui/profile")).headers["location"]
    assert where.endswith("&code")
    ticket = {"ticket": ticket_in(where.removesuffix("&code"))}
    for wrong in ({}, {"code": "000000"}, {"code": codes.at(present - 30)}):
        answer = await site.send("POST", "/api/token", {**ticket, **wrong})
        assert answer == {"errno": 1000, "errmsg": "TWO_FACTOR_AUTH_ERROR_DETAIL"}
    right = {**ticket, "code": codes.at(present)}
    assert (await site.send("POST", "/api/token", right))["data"]["objectId"] == data["objectId"]


async def test_a_ticket_works_once(browser: Browser) -> None:
    ticket = {"ticket": await browser.ticket("github")}
    assert (await browser.site.send("POST", "/api/token", ticket))["errno"] == 0
    again = await browser.site.send("POST", "/api/token", ticket)
    assert again["errmsg"] == "This login expired or was started in another browser. Start again."


@pytest.mark.parametrize(
    ("redirect", "starts"),
    [
        ("", f"{HERE}/ui/login#ticket="),
        ("/ui/login?for=x", f"{HERE}/ui/login?for=x#ticket="),
        (f"{HERE}/ui/login", f"{HERE}/ui/login#ticket="),
        ("/ui/profile", f"{HERE}/ui/login?next=profile#ticket="),
        ("/ui/profile?a=b", f"{HERE}/ui/login?next=profile#ticket="),
        ("/ui/", f"{HERE}/ui/login#ticket="),
        ("/", f"{HERE}/ui/login?next=demo#ticket="),
        (
            "https://blog.example/post",
            f"{HERE}/ui/login?for=https%3A%2F%2Fblog.example"
            "&redirect=https%3A%2F%2Fblog.example%2Fpost#ticket=",
        ),
    ],
)
async def test_a_log_in_ends_on_the_page_that_asked_for_it(
    browser: Browser, redirect: str, starts: str
) -> None:
    ended = await browser.log_in("github", redirect.replace("&", "%26"))
    assert ended.headers["location"].startswith(starts)
    assert ended.headers["cache-control"] == "no-store"


async def test_registration_decides_whether_new_people_get_accounts(
    make_site: Sites, other: Provider
) -> None:
    invited = Browser(make_site.without_accounts(REGISTRATION="invited", **settings(other)))
    assert (await invited.token("github"))["type"] == "administrator"
    other.people["github"]["id"], other.people["github"]["email"] = "two", "two@example.com"
    assert "Registration is closed" in (await invited.log_in("github")).json()["errmsg"]


async def test_an_error_is_shown_to_a_person_on_a_page(browser: Browser, other: Provider) -> None:
    other.people["github"]["email"] = MARA["email"]
    sent = await browser.get("/api/oauth?type=github&redirect=https://blog.example/p")
    back = await browser.get(sent.headers["location"])
    ended = await browser.get(back.headers["location"], accept="text/html,*/*")
    assert ended.status_code == 302
    assert ended.headers["location"] == (
        f"{HERE}/ui/login?for=https%3A%2F%2Fblog.example"
        "&redirect=https%3A%2F%2Fblog.example%2Fp#problem=UserExists"
    )
    denied = await browser.get("/api/oauth?state=x&error=access_denied", accept="text/html")
    assert denied.headers["location"] == f"{HERE}/ui/login#problem=FlowExpired"


async def test_a_banned_person_cannot_log_in(browser: Browser) -> None:
    data, owner = await browser.token("github"), await mara(browser.site)
    await browser.site.send("DELETE", f"/api/user/{data['objectId']}", by=owner)
    assert (await browser.log_in("github")).json() == {"errno": 1000}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "type"),
        ("type=myspace", "type"),
        ("type=../token", "type"),
        ("type=github&type=oidc", "type"),
        ("type=github&state=token", "state"),
        ("type=github&redirect=https://evil.example", "redirect"),
        (f"type={'x' * 33}", "type"),
        (f"code={'x' * 4097}", "code"),
    ],
)
async def test_a_malformed_request_names_the_field(site: Site, query: str, field: str) -> None:
    answer = await site.http.get(f"/api/oauth?{query}")
    assert (answer.status_code, list(answer.json()["errmsg"])) == (200, [field])


async def test_a_service_that_does_not_answer_delays_nothing_else(
    make_site: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    away = {"SERVER_URL": HERE, "OAUTH_URL": "http://127.0.0.1:9"}
    site = make_site.without_accounts(**away)
    assert await site.count("/a") == 1
    assert (await site.send("POST", "/api/user", MARA))["errno"] == 0
    assert (await site.get("/api/token", by=await mara(site)))["data"]["email"] == MARA["email"]
    answer = await site.http.get("/api/oauth?type=github")
    assert list(answer.json()["errmsg"]) == ["type"]
    # A busy machine's log may have slow requests, too.
    told = [record for record in caplog.records if record.message.startswith("OAUTH_URL")]
    assert [record.levelname for record in told] == ["WARNING"]


async def test_a_list_of_services_is_fetched_again(
    site: Site, other: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    providers: Any = site.service.accounts.providers
    assert await providers.names(5) == ("oidc", "github")
    await providers.names(5)
    assert other.asked.count("/") == 1
    other.services = [{"name": each} for each in ("oidc", "weibo", "weibo", "../x", 7, "")]
    monkeypatch.setattr(providers._oauth, "_ask_again", 0.0)
    assert await providers.names(5) == ("oidc", "github")
    await providers._oauth._asking
    assert providers.known() == ("oidc", "weibo")


async def test_this_services_admin_ui_add_a_service(browser: Browser, other: Provider) -> None:
    page = AdminPage(browser.site)
    assert (await page("POST", "token", MARA))["errno"] == 0
    asked = {"type": "github", "redirect": "/ui/profile", **MARAS}
    session = page.cookie
    back = await browser.get((await page("POST", "oauth", asked))["data"]["url"])
    ended = await browser.get(back.headers["location"], cookie=page.cookie)
    page.cookie = session
    assert ended.headers["location"] == f"{HERE}/ui/profile"
    assert (await page("GET", "token"))["data"]["github"] == "octa"
    ticket = {"ticket": await browser.ticket("github"), "remember": True}
    flow = "; ".join(f"{name}={value}" for name, value in browser.site.http.cookies.items())
    answer = (await page.ask("POST", "token", ticket, cookie=flow)).json()
    assert (answer["data"]["display_name"], answer["data"]["token"]) == ("Mara", None)


@pytest.mark.parametrize(
    ("query", "referer", "opener", "is_offered"),
    [
        ("", "", "https://blog.example", True),
        ("", "https://blog.example/post", "https://blog.example", True),
        ("", f"{HERE}/ui/profile", HERE, True),
        ("", "https://evil.example/", "", False),
        ("?for=https://blog.example", "https://github.com/", "https://blog.example", True),
        ("?for=https://evil.example", "https://github.com/", "", False),
        ("?for=http://blog.example", "", "https://blog.example", True),
    ],
)
async def test_the_log_in_page_hands_log_ins_to_pages_of_configured_sites(
    site: Site, query: str, referer: str, opener: str, is_offered: bool
) -> None:
    headers = {"referer": referer} if referer else {}
    await site.service.accounts.providers.names(5)
    page = (await site.http.get(f"/ui/login{query}", headers=headers)).text
    assert f'data-opener="{opener}"' in page
    services = '{"oidc":"OpenID Connect","github":"GitHub"}' if is_offered else "{}"
    assert f'data-services="{html.escape(services)}"' in page


@pytest.mark.parametrize(
    ("name", "answer", "passed_on"),
    [
        # The provider sends its own state, not the one that it got.
        ("github", {"code": "c", "state": "theirs"}, {"code": "c", "state": "theirs"}),
        (
            "twitter",
            {"oauth_token": "t", "oauth_verifier": "v"},
            {"oauth_token": "t", "oauth_verifier": "v"},
        ),
        ("facebook", {"code": "c", "state": "s"}, {"code": "c", "state": "redirect="}),
    ],
)
async def test_parameters_of_the_answer_are_passed_on_to_the_service(
    browser: Browser, other: Provider, name: str, answer: dict[str, str], passed_on: dict[str, str]
) -> None:
    other.services = [{"name": name}]
    other.people[name] = OCTA
    sent = await browser.get(f"/api/oauth?type={name}")
    (callback,) = parse_qs(urlsplit(sent.headers["location"]).query)["redirect"]
    ended = await browser.get(f"{callback}&{urlencode(answer)}")
    assert "#ticket=" in ended.headers["location"]
    if name == "facebook":
        assert parse_qs(other.last["state"])["redirect"] == [callback]
        passed_on = {**passed_on, "state": other.last["state"]}
    assert other.last == {**passed_on, "user-agent": "@waline"}


async def test_a_wrong_client_secret_is_a_line_of_the_log_and_no_fault_of_the_reader(
    make_site: Sites, other: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = {**settings(other), "OIDC_CLIENT_SECRET": "an old one"}
    browser = Browser(make_site.without_accounts(**wrong))
    for _ in range(2):
        ended = await browser.log_in("oidc")
        assert ended.status_code == 503
        assert "login service is not responding" in ended.json()["errmsg"]
    lines = [each.message for each in caplog.records if each.levelname == "WARNING"]
    advice = "nobody can log in by it; check OIDC_CLIENT_ID and its secret"
    assert lines == [f"OIDC_ISSUER answers invalid_client: {advice}"]


async def test_a_code_that_is_none_is_a_fault_of_the_reader_alone(
    browser: Browser, other: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    sent = await browser.get("/api/oauth?type=oidc")
    back = (await browser.get(sent.headers["location"])).headers["location"]
    other.codes.clear()
    assert "did not identify you" in (await browser.get(back)).json()["errmsg"]
    assert [each for each in caplog.records if each.levelname == "WARNING"] == []


@pytest.mark.parametrize(
    ("status", "body", "lacks", "expected"),
    [
        (200, b"[]", "no JSON object", 200),
        (200, b"{}", "no id", 200),
        (403, b"no", "no JSON object", 200),
        (500, b"oops", "no JSON object", 503),
    ],
)
async def test_a_login_service_without_a_person_is_a_line_of_the_log(
    browser: Browser,
    other: Provider,
    caplog: pytest.LogCaptureFixture,
    status: int,
    body: bytes,
    lacks: str,
    expected: int,
) -> None:
    for _ in range(2):
        sent = await browser.get("/api/oauth?type=github")
        back = await browser.get(sent.headers["location"])
        other.raw["/github"], other.statuses["/github"] = body, status
        ended = await browser.get(back.headers["location"])
        assert (ended.status_code, ended.json()["errno"] != 0) == (expected, True)
        other.raw.clear()
    lines = [each.message for each in caplog.records if each.levelname == "WARNING"]
    said = f"OAUTH_URL answers github with status {status} and {lacks}: nobody is logged in"
    assert lines == [said]
