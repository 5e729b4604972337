"""Logging in by others: somebody wants to log in as somebody else, or to keep others waiting."""

import asyncio
import gzip
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from joserfc.jwk import RSAKey

from footfall.accounts.rules import attempts
from footfall.driver.script_calls import Rate
from footfall.outside import fetch
from tests.conftest import Site, Sites
from tests.support.logging_in import HERE, Browser, settings, ticket_in
from tests.support.providers import OCTA, OTHER, SHARED, Provider, fresh

ON = ("fake",)

OWNER = {"display_name": "Owner", "email": "owner@example.com", "password": "the owner's own"}
NOT_PROVEN = "The login service did not identify you. Start again."
EXPIRED = "This login expired or was started in another browser. Start again."


@pytest.fixture
async def site(make_site: Sites, other: Provider) -> Site:
    site = make_site.without_accounts(SECURE_DOMAINS="blog.example", **settings(other))
    response = await site.http.post("/api/user", json=OWNER, headers={"referer": HERE})
    assert response.json()["errno"] == 0
    return site


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings without the waits between attempts."""
    monkeypatch.setattr(attempts, "ADDRESS_RATE", Rate(1000, 1000))


@pytest.fixture
def browser(site: Site) -> Browser:
    return Browser(site)


async def accounts_of(site: Site) -> int:
    return (await site.store.accounts.listed(0, 1))[0]


async def started(browser: Browser, name: str = "github") -> str:
    """The address at which a login returns that this browser has started."""
    sent = await browser.get(f"/api/oauth?type={name}")
    back = await browser.get(sent.headers["location"])
    return str(back.headers["location"])


async def test_an_answer_in_another_browser(browser: Browser, site: Site) -> None:
    """Who: a stranger with an account at the other service. What: starts a login, and gets
    somebody else to open the address at which it returns, to have them logged in as the stranger,
    or to add the stranger's identity to their account. Instead: the state works only in the browser
    that has the cookie, and is not used up."""
    address = await started(browser)
    kept = dict(site.http.cookies)
    for cookies in ({}, dict.fromkeys(kept, "x" * 43), {f"{each}2": kept[each] for each in kept}):
        site.http.cookies.clear()
        site.http.cookies.update(cookies)
        assert (await browser.get(address)).json()["errmsg"] == EXPIRED
    assert await accounts_of(site) == 1
    site.http.cookies.clear()
    site.http.cookies.update(kept)
    assert (await browser.get(address)).status_code == 302


@pytest.mark.usefixtures("patient")
async def test_the_address_of_a_ticket(browser: Browser, site: Site, other: Provider) -> None:
    """Who: somebody who reads a history, a screen or a log; or who wants somebody else to be logged
    in as them. What: opens the address at which a login has ended in another browser, with every
    address of that login at hand; or sends somebody there. Instead: the ticket works only in the
    browser that keeps what was in no address, it is not used up by others, and they cannot make its
    owner wait."""
    sent = await browser.get("/api/oauth?type=github")
    back = await browser.get(sent.headers["location"])
    state = site.http.cookies["footfall-flow"]
    ended = await browser.get(back.headers["location"])
    proof = site.http.cookies["footfall-flow"]
    addresses = [each.headers["location"] for each in (sent, back, ended)]
    assert proof != state
    assert proof not in "".join(addresses)
    body = {"ticket": ticket_in(addresses[-1])}
    for value in ("", state, "x" * len(proof), f"{proof}; footfall-flow={state}", proof[:-1]):
        site.http.cookies.clear()
        for _ in range(30):
            headers = {"referer": HERE, "cookie": f"footfall-flow={value}"}
            answer = await site.http.post("/api/token", json=body, headers=headers)
            assert answer.json() == {"errno": 1000, "errmsg": EXPIRED}, value
    headers = {"referer": HERE, "cookie": f"footfall-flow={proof}"}
    answers = await asyncio.gather(
        *(site.http.post("/api/token", json=body, headers=headers) for _ in range(5))
    )
    assert sorted(each.json()["errno"] for each in answers) == [0, 1000, 1000, 1000, 1000]


@pytest.mark.usefixtures("patient")
async def test_addresses_at_which_a_log_in_ends(browser: Browser) -> None:
    """Who: somebody who reads a history or a log. What: looks for the token in the address at which
    a login by another service has ended, on whichever page it was started. Instead: no such address
    has a token."""
    for target in ("", "/", "/ui", "/ui/", "/ui/profile", "/ui/login", "https://blog.example/post"):
        ended = await browser.log_in("github", target)
        assert "token" not in ended.headers["location"]
        assert "#ticket=" in ended.headers["location"]


async def test_a_cookie_that_was_planted(browser: Browser, site: Site) -> None:
    """Who: somebody with another host on the same domain. What: sets a second cookie of that name,
    with the state of a login of their own. Instead: if there are two cookies, neither counts."""
    address = await started(browser)
    (name,) = dict(site.http.cookies)
    own = f"{name}={site.http.cookies[name]}"
    site.http.cookies.clear()
    answer = await browser.get(address, cookie=f"{name}=planted; {own}")
    assert answer.json()["errmsg"] == EXPIRED


async def test_an_answer_that_comes_twice(browser: Browser, site: Site) -> None:
    """Who: somebody who reads addresses in a history or a log. What: opens that of a login again,
    in the same browser, twenty times at once. Instead: one is answered, and the others are told to
    start again."""
    address = await started(browser)
    headers = {"cookie": "; ".join(f"{n}={value}" for n, value in site.http.cookies.items())}
    answers = await asyncio.gather(*(browser.get(address, **headers) for _ in range(20)))
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [302]
    assert await accounts_of(site) == 2


@pytest.mark.usefixtures("patient")
async def test_an_address_to_end_at_that_is_somebody_elses(browser: Browser) -> None:
    """Who: a stranger with a page of their own. What: links to a login that ends there, with the
    token in its address, in every spelling that browsers may read differently. Instead: it ends at
    this service, SITE_URL or SECURE_DOMAINS, and nowhere else."""
    for redirect in (
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "///x.example",
        "https:evil.example",
        "https:/\\evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://blog.example.evil.example",
        "https://evil.example/blog.example",
        "evil.example",
        "https://blog.example@evil.example",
        "https://evil.example#@blog.example",
        "/\t/evil.example",
        "https://evil.example\\@blog.example",
        "https://blog.example\n.evil.example",
        "ftp://x.y",
        f"{HERE}.evil.example/",
        f"{HERE}@evil.example/",
        "http://[::1",
        "https://",
        " /ui",
        "/ui/../..",
        "/ui/%2e%2e/x",
        f"{HERE}/ui/..%2f..",
        "https://user@blog.example/",
    ):
        answer = await browser.get(f"/api/oauth?type=github&redirect={quote(redirect, safe='')}")
        assert answer.status_code == 200, redirect
        assert list(answer.json()["errmsg"]) == ["redirect"], redirect


async def test_a_host_that_the_browser_names(site: Site) -> None:
    """Who: a stranger in front of a cache, or with a name that leads here. What: asks for a login
    with another Host, to get the answer sent there. Instead: the address to return to is a setting,
    whatever the headers say."""
    for name in ("host", "x-forwarded-host", "x-forwarded-server", "forwarded", "origin"):
        for kind in ("github", "oidc"):
            sent = await site.http.get(f"/oauth?type={kind}", headers={name: "evil.example"})
            assert "evil" not in sent.headers["location"]
            query = parse_qs(urlsplit(sent.headers["location"]).query)
            (back,) = query.get("redirect") or query["redirect_uri"]
            assert back.startswith(f"{HERE}/api/oauth")


@pytest.mark.usefixtures("patient")
async def test_tokens_that_the_provider_did_not_make_for_this_log_in(
    browser: Browser, other: Provider, site: Site
) -> None:
    """Who: another client of the same provider, another provider, or somebody in between. What:
    answers with a token that is for somebody else, of somebody else, too old, of another login,
    not signed, or signed with what is public or with a shared secret. Instead: issuer, audience,
    nonce, time, key and algorithm all have to be right."""
    wrong: list[dict[str, Any]] = [
        {"claims": {"iss": "https://id.example"}},
        {"claims": {"iss": None}},
        {"claims": {"aud": "another"}},
        {"claims": {"aud": ["another"]}},
        {"claims": {"aud": None}},
        {"claims": {"aud": ["footfall", "another"], "azp": "another"}},
        {"claims": {"aud": ["footfall", "another"]}},
        {"claims": {"nonce": "another"}},
        {"claims": {"nonce": None}},
        {"claims": {"exp": 1}},
        {"claims": {"exp": None}},
        {"claims": {"exp": "never"}},
        {"claims": {"iat": 2**40}},
        {"claims": {"nbf": 2**40}},
        {"claims": {"sub": None}},
        {"claims": {"sub": ""}},
        {"claims": {"sub": 7}},
        {"claims": {"sub": "x" * 256}},
        {"claims": {"sub": ["s1"]}},
        {"header": {"alg": "none"}},
        {"header": {"alg": "HS256"}, "key": SHARED},
        {"header": {"alg": "RS256", "kid": "k1"}, "key": RSAKey.generate_key(2048, auto_kid=False)},
        {"header": {"alg": "ES256", "kid": "k2"}, "key": OTHER},
        {"header": {"alg": "ES256", "kid": "k1"}, "key": OTHER},
    ]
    for each in wrong:
        fresh(other)
        for name, value in each.items():
            setattr(other, name, value)
        answer = await browser.log_in("oidc")
        assert answer.json() == {"errno": 1000, "errmsg": NOT_PROVEN}, each
    assert await accounts_of(site) == 1


async def test_an_answer_of_another_issuer(browser: Browser, other: Provider, site: Site) -> None:
    """Who: one provider of several. What: sends a browser back with its own code, as if it were the
    one that the login was started with; or uses ids of another provider. Instead: if an issuer is
    named it has to be the right one, and an account is known by service and id together."""
    address = await started(browser, "oidc")
    answer = await browser.get(f"{address}&iss=https://id.example")
    assert answer.json()["errmsg"] == NOT_PROVEN
    data = await browser.token("oidc")
    assert data["oidc"] == f"{other.issuer} s1"
    assert await site.store.accounts.by_identity("oidc", "https://id.example s1") is None


async def test_a_provider_that_describes_others_as_itself(
    make_site: Sites, other: Provider
) -> None:
    """Who: somebody who can answer in a provider's place. What: names other addresses: one of the
    internal network, one without encryption, none, and another issuer. Instead: addresses without
    encryption are not asked, and another issuer is not trusted."""
    for described in (
        {"issuer": "https://id.example"},
        {"issuer": None},
        {"token_endpoint": None},
        {"token_endpoint": "http://10.0.0.1/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "http://localhost.evil.example/keys"},
        {"userinfo_endpoint": "ftp://x"},
        {"authorization_endpoint": "https://["},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": ["x"]},
    ):
        browser = Browser(make_site.without_accounts(**settings(other)))
        other.described = described
        answer = await browser.get("/api/oauth?type=oidc")
        assert (answer.status_code, answer.json()["errno"]) == (503, 503), described


@pytest.mark.rare
@pytest.mark.usefixtures("patient")
async def test_answers_that_nobody_can_read(browser: Browser, other: Provider, site: Site) -> None:
    """Who: another service that was taken over. What: answers with a hundred megabytes, with a
    little that becomes a lot, with JSON of a million brackets, or with nonsense. Instead: only so
    many bytes are read, nothing compressed is accepted, and nonsense proves nothing."""
    deep = b"[" * 100_000 + b"]" * 100_000
    bodies = (
        b'{"id":"' + b"x" * fetch.MAX_ANSWER_BYTES + b'"}',
        deep,
        b"",
        b"null",
        b"[]",
        b'"x"',
        b"7",
        b'{"id":' + deep + b"}",
        b"\xff\xfe",
        b"<html>",
        b'{"id":true}',
        b'{"id":{}}',
        b'{"id":""}',
        b'{"id":"' + b"x" * 300 + b'"}',
        b'{"id":null,"email":"owner@example.com"}',
        b'{"id_token":7}',
        b'{"id_token":"a.b.c"}',
        b'{"access_token":[],"id_token":{}}',
        b'{"error":["x"],"error_description":{}}',
    )
    paths = {"github": ("/github",), "oidc": ("/issuer/token", "/issuer/keys")}
    for name, where in paths.items():
        for path in where:
            for body in bodies:
                fresh(other)
                address = await started(browser, name)
                other.raw = {path: body}
                answer = await browser.get(address)
                assert answer.json()["errno"] in (1000, 503), (path, body[:40])
    fresh(other)
    address = await started(browser)
    other.raw = {"/github": gzip.compress(b'{"id":"x","name":"' + b" " * 10**7 + b'"}')}
    other.headers = {"content-encoding": "gzip"}
    assert (await browser.get(address)).status_code == 503
    assert await accounts_of(site) == 1


async def test_a_service_that_does_not_answer(
    browser: Browser, other: Provider, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: another service that hangs, and many people who return from it at once. What: keeps
    every request that waits for it waiting. Instead: each waits for some seconds, only so many are
    asked about at once, and nobody else waits."""
    monkeypatch.setattr(fetch, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(site.service.process.pools.log_ins, "at_once", 2)
    addresses = []
    for _ in range(3):
        site.http.cookies.clear()
        address = await started(browser)
        cookie = "; ".join(f"{name}={value}" for name, value in site.http.cookies.items())
        addresses.append((address, cookie))
    site.http.cookies.clear()
    other.stuck = {"/github"}
    waiting = [
        asyncio.ensure_future(browser.get(address, cookie=cookie)) for address, cookie in addresses
    ]
    answer = await site.http.get("/api/article?path=/a", headers={"referer": HERE})
    assert answer.json()["errno"] == 0
    assert not all(each.done() for each in waiting)
    answers = await asyncio.gather(*waiting)
    assert [each.status_code for each in answers] == [503] * 3
    assert other.asked.count("/github") == 3 + 3


async def test_a_name_that_is_no_name(browser: Browser, other: Provider) -> None:
    """Who: somebody with an account at the other service. What: has there a name, an address or a
    picture that would be a script here, or a very long one. Instead: it is cleaned like what people
    type here, and what is too long is cut or left out."""
    other.people["github"] = {
        **OCTA,
        "name": "<img src=x onerror=alert(1)>\n" + "x" * 500,
        "url": "javascript:alert(1)",
        "avatar": "data:text/html,<script>",
        "email": "no mail\r\nBcc: x@example.com",
    }
    data = await browser.token("github")
    assert data["display_name"].startswith("img src=x onerror=alert(1) xxx")
    assert len(data["display_name"]) == 128
    assert data["url"] == ""
    assert not data["avatar"].startswith("data:")
    assert data["email"] == f"{data['objectId']}@mail.github"


async def test_a_mail_that_is_the_owners(browser: Browser, other: Provider, site: Site) -> None:
    """Who: somebody who can claim any email at another service. What: claims the owner's, and
    logs in by it. Instead: an email is no proof. The owner of the account has to log in and add the
    service."""
    other.people["github"] = {**OCTA, "email": "OWNER@example.com"}
    other.claims = {"email": OWNER["email"], "email_verified": True, "name": "Owner"}
    for name in ("github", "oidc"):
        assert (await browser.log_in(name)).json()["errmsg"] == "USER_EXIST"
    assert await accounts_of(site) == 1


async def test_a_token_that_adds_somebody_elses_log_in(browser: Browser, site: Site) -> None:
    """Who: somebody who has copied the owner's token. What: adds their own login by another
    service to the account, by either way that starts it, or removes the owner's. Instead: that asks
    for the password as well; and a login that was started with it adds nothing once the
    owner has ended the copied one."""

    async def ask(method: str, path: str, body: dict[str, str], by: str = "") -> Any:
        headers = {"referer": HERE, "authorization": f"Bearer {by}"}
        return (await site.http.request(method, f"/api/{path}", json=body, headers=headers)).json()

    copied, token = [(await ask("POST", "token", OWNER))["data"]["token"] for _ in range(2)]
    asked = {"type": "github", "redirect": "/ui/profile"}
    assert "current password" in (await ask("POST", "oauth", asked, copied))["errmsg"]
    started = await browser.get("/api/oauth?type=github", authorization=f"Bearer {copied}")
    assert "current password" in started.json()["errmsg"]
    proof = {"current_password": OWNER["password"]}
    sent = await ask("POST", "oauth", {**asked, **proof}, copied)
    back = await browser.get(sent["data"]["url"])
    await ask("DELETE", "token/sessions", {}, token)
    assert (await browser.get(back.headers["location"])).json()["errno"] == 401
    sent = await ask("POST", "oauth", {**asked, **proof}, token)
    back = await browser.get(sent["data"]["url"])
    assert (await browser.get(back.headers["location"])).status_code == 302
    removed = await ask("PUT", "user", {"github": ""}, token)
    assert "current password" in removed["errmsg"]


async def test_many_log_ins_that_nobody_ends(browser: Browser) -> None:
    """Who: a stranger. What: starts logins and leaves them, to fill the memory with them. Instead:
    an address may start only so many, and each is deleted after ten minutes."""
    answers = [await browser.get("/api/oauth?type=github") for _ in range(70)]
    assert sum(answer.status_code == 302 for answer in answers) <= 62
    assert "Too many attempts" in answers[-1].text
