"""Logins that are handed on: somebody wants to be the page that gets one."""

import html
import re
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from footfall.accounts.rules import attempts
from footfall.driver.script_calls import Rate
from footfall.outside.targets import Targets
from tests.conftest import Site, Sites
from tests.support.admin_ui import AdminPage

ON = ("fake",)

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}
BLOG = "https://blog.example"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without waits between attempts."""
    monkeypatch.setattr(attempts, "ADDRESS_RATE", Rate(1000, 1000))


def told(answer: httpx.Response) -> dict[str, str]:
    """What a page of ours is told of the one that opened it."""
    found = re.findall(r'data-(\w+)="([^"]*)"', answer.text)
    return {name: html.unescape(value) for name, value in found}


async def opened(site: Site, referer: str = "", path: str = "login", **query: str) -> Any:
    headers = {"referer": referer} if referer else {}
    return told(await site.http.get(f"/ui/{path}", params=query, headers=headers))


FOREIGN = (
    "https://evil.example/",
    "https://blog.example.evil.example/",
    "https://evilblog.example/",
    "https://evil.example/?blog.example",
    "http://blog.example/",
    "https://blog.example:444/",
    "https://blog.example@evil.example/",
    "https://evil.example\\@blog.example/",
    "//blog.example",
    "https://www.blog.example/",
    "http://localhost:4000/",
    "http://127.0.0.1/",
    "null",
    "https:blog.example",
    "https://blog.example.",
    "\thttps://blog.example/",
    "https://blog.example\t.evil.example/",
)


@pytest.mark.parametrize(
    "settings",
    [
        {"SITE_URL": BLOG},
        {"SECURE_DOMAINS": "other.example", "SITE_URL": BLOG},
        {"SITE_URL": BLOG, "SERVER_URL": "https://comments.example"},
    ],
)
@pytest.mark.parametrize("page", ["login", "register", "profile"])
async def test_a_page_that_opens_the_log_in(
    make_site: Sites, settings: dict[str, str], page: str
) -> None:
    """Who: the owner of any page, also of one on the visitor's own machine. What: opens the login,
    the registration or the profile in a window, with every Referer that a browser can be made to
    send, to be posted the token. Instead: with a site in the settings nothing is handed to any
    other origin, and the page says to whom it is not."""
    site = make_site.without_accounts("192.0.2.1", **settings)
    for referer in FOREIGN:
        shown = await opened(site, referer, page, redirect=referer)
        assert (shown["opener"], shown["asks"]) == ("", ""), referer
        assert shown.get("return", "") == "", referer
    if page != "profile":
        assert (await opened(site, "https://evil.example/x", page))[
            "refused"
        ] == "https://evil.example"
    for referer in (f"{BLOG}/post", f"{BLOG}:443/?a=\\b", "HTTPS://Blog.Example", ""):
        assert (await opened(site, referer, page))["opener"] == BLOG, referer


async def test_hosts_of_secure_domains_and_those_beside_them(make_site: Sites) -> None:
    """Who: the owner of a host whose name is like that of a site, or somebody between the site and
    its reader. What: opens the login from there, or from the site without encryption. Instead:
    with SECURE_DOMAINS the login goes to those hosts, over HTTPS or on the reader's own machine
    where this service is reached by HTTPS, and to no other."""
    listed = {"SECURE_DOMAINS": r"blog.example,localhost,/^[a-z]+\.team\.example$/"}
    https = make_site.without_accounts("192.0.2.1", SERVER_URL="https://c.example", **listed)
    plain = make_site.without_accounts("192.0.2.1", **listed)
    for site, rows in (
        (
            https,
            {
                BLOG: True,
                f"{BLOG}:444": True,
                "http://blog.example": False,
                "http://localhost:4000": True,
                "https://a.team.example": True,
                "https://a.team.example.evil.example": False,
                "https://x.blog.example": False,
            },
        ),
        (
            plain,
            {"http://blog.example": True, "https://evil.example": False, "http://127.0.0.1": False},
        ),
    ):
        for origin, is_handed in rows.items():
            shown = await opened(site, f"{origin}/post")
            assert (shown["opener"] == origin) == is_handed, origin
            assert shown["asks"] == ""


async def test_a_page_that_no_setting_could_name(make_site: Sites) -> None:
    """Who: the owner of any page, where the operator has set neither SITE_URL nor SECURE_DOMAINS.
    What: opens the login, to be handed what somebody enters there for another site. Instead: the
    page asks before it hands anything over, and says to whom; where the browser does not say who it
    is, nothing is handed to anybody."""
    site = make_site.without_accounts("192.0.2.1")
    for page in ("login", "register", "profile"):
        shown = await opened(site, "https://evil.example/post", page)
        assert (shown["opener"], shown["asks"]) == ("https://evil.example", "true")
        shown = await opened(site, "", page, redirect="https://evil.example/")
        assert (shown["opener"], shown.get("return", "")) == ("", "")


async def test_an_address_that_two_readers_take_for_two_sites(make_site: Sites) -> None:
    """Who: somebody who links to the login. What: names an address to return to that the service
    takes for the site's, and the browser for another's: with a name of a user, backslashes, what is
    removed, or what is converted. Instead: an address that is not plainly the site's is none."""
    site = make_site.without_accounts("192.0.2.1", SITE_URL=BLOG)
    for redirect in (
        "https://evil.example\\@blog.example/",
        "https://evil.example\\.blog.example/",
        "https://blog.example\\.evil.example/",
        "https://user@blog.example/",
        "https://blog.example\t.evil.example",
        "https://blog.example\n@evil.example",
        "https:\\\\blog.example",
        "https:/blog.example",
        "https:///blog.example",
        " https://blog.example",
        "https://blog.example:99999/",
        "https://blog.example:4x/",
        "https://blog\u3002example/",
        "https://blog.example%2eevil.example/",
        "java\tscript:alert(1)//https://blog.example",
    ):
        for referer in ("", f"{BLOG}/post"):
            shown = await opened(site, referer, redirect=redirect, **{"for": BLOG})
            assert shown["return"] == "", redirect
    shown = await opened(site, redirect=f"{BLOG}/post?a=b#c")
    assert shown["return"] == f"{BLOG}/post?a=b#c"


PREFIX = Targets("https://host.example/talk", BLOG)
WITHOUT_SITE = Targets("https://host.example/talk", "https://host.example:444")
OUTSIDE = (
    "/",
    "/ui",
    "/talkative/ui",
    "/talk/../evil",
    "/talk/..",
    "/talk/ui/../../evil",
    "/talk/%2e%2e/evil",
    "/talk/%2E./evil",
    "/talk/.%2e/evil",
    "/talk/..%2fevil",
    "/talk/..%5cevil",
    "/talk/..\\evil",
    "/talk/.\t./evil",
    "/talk/ui/%2e%2e/%2E%2e/evil",
    "/talk/..?x",
    "/talk/..#x",
    "/talk/.",
    "https://host.example",
    "https://host.example/evil",
    "https://host.example/talk/../evil",
    "https://HOST.example/talk/../evil",
    "https://host.example/talk@evil.example/../x",
    "https://host.example/talk\\..\\evil",
    "//host.example/talk/ui",
    "https://host.example/talkative",
)


@pytest.mark.parametrize("redirect", OUTSIDE)
def test_an_address_that_leaves_the_service_s_folder(redirect: str) -> None:
    """Who: somebody with pages on the host that the service shares. What: has a login return to an
    address within the service's folder, which browsers or proxies resolve to one outside of it.
    Instead: an address with dot segments, in any spelling, is none of the service's."""
    assert WITHOUT_SITE.resolve(redirect) == ""


SPELT = st.lists(
    st.sampled_from(
        [
            "/",
            "//",
            "\\",
            "..",
            ".",
            "%2e",
            "%2E",
            "%2f",
            "%5C",
            "talk",
            "ui",
            "evil",
            "?",
            "#",
            "@",
            ":",
            "\t",
            "\n",
            " ",
            "https:",
            "host.example",
            "evil.example",
            "blog.example",
            "https://",
            ";",
            "%00",
        ]
    ),
    max_size=9,
).map("".join)


def resolved(address: str, base: str) -> tuple[str, str]:
    """(origin, path) as a browser finds them: WHATWG URL, as far as these spellings go."""
    text = re.sub(r"[\t\n\r]", "", address.strip("".join(map(chr, range(33)))))
    if scheme := re.match(r"(?i)https?:", text):
        rest = re.sub(r"^[/\\]*", "", text[scheme.end() :])
        origin = scheme[0].lower() + "//"
    elif text[:2] in ("//", "/\\", "\\/", "\\\\"):
        rest, origin = re.sub(r"^[/\\]*", "", text), "https://"
    else:
        rest, origin = urlsplit(base).netloc + text, "https://"
    host = re.split(r"[/\\?#]", rest, maxsplit=1)[0]
    path = re.split("[?#]", rest[len(host) :], maxsplit=1)[0].replace("\\", "/")
    left: list[str] = []
    # A proxy may decode a slash before it resolves.
    for segment in unquote(path).replace("\\", "/").split("/")[1:]:
        if segment == "..":
            del left[-1:]
        elif segment != ".":
            left.append(segment)
    return origin + host.rpartition("@")[2].removesuffix(":"), "/" + "/".join(left)


@given(SPELT, st.booleans())
@example("/talk/ui/%2e%2e/../evil", False)
@example("https://host.example/talk/.\t./evil", True)
def test_every_address_that_is_spelt_to_leave(tail: str, is_whole: bool) -> None:
    """Who: the same, with a machine that tries spellings. What: joins slashes, dots, what stands
    for them, and names of hosts. Instead: what is accepted is in the service's folder or on the
    site, as a browser resolves it."""
    address = ("https://host.example/talk" if is_whole else "/talk") + tail
    for spelling in (address, tail):
        if accepted := PREFIX.resolve(spelling):
            origin, path = resolved(spelling, "https://host.example/")
            assert resolved(accepted, "")[0] == origin
            is_inside = path == "/talk" or path.startswith("/talk/")
            assert origin == BLOG or (origin == "https://host.example" and is_inside), spelling


async def test_a_token_in_an_address_of_ours(make_site: Sites) -> None:
    """Who: somebody who reads histories, logs of a proxy, or an address over a shoulder. What:
    looks for the token with which the published clients open the profile. Instead: our pages are at
    an address without it before they show anything, and no text of theirs has it."""
    site = make_site.without_accounts(SITE_URL=BLOG)
    for path in ("/ui", "/ui/", "/ui/profile", "/ui/login", "/ui/register", "/ui/user"):
        for query in (
            "lng=de&token=s3cret",
            "token=s3cret",
            "t%6fken=s3cret&lng=%C3%A4&token=s3cret",
        ):
            answer = await site.http.get(f"{path}?{query}", headers={"referer": f"{BLOG}/"})
            assert "s3cret" not in answer.text
            assert answer.headers["cache-control"] == "no-store"
            where = answer.headers.get("location", "")
            assert answer.status_code == 307
            assert "s3cret" not in where
            assert ("?lng=" in where) == ("lng=" in query)


FOREIGN_HOSTS = (
    "evil.example",
    "evil.example:8360",
    "blog.example.evil.example",
    "evilblog.example",
)


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
async def test_a_name_of_somebody_else_s_that_leads_here(make_site: Sites, host: str) -> None:
    """Who: somebody who lets a name of theirs lead to this service, or rebinds it (DNS rebinding).
    What: sends a page from there that counts as the service's own, to call it under SECURE_DOMAINS,
    or to have the owner log in under that name. Instead: a host that no setting names is not a page
    of the service, and the refusal says which setting does."""
    origin = f"http://{host}"
    for settings in (
        {"SECURE_DOMAINS": "blog.example"},
        {"SITE_URL": BLOG},
        {"SERVER_URL": "https://c.example"},
        {"SITE_URL": BLOG, "SECURE_DOMAINS": r"blog.example,/\.blog\.example$/"},
    ):
        site = make_site.without_accounts("192.0.2.1", **settings)
        if "SECURE_DOMAINS" in settings:
            for sent in ({"referer": f"{origin}/"}, {"origin": origin}):
                answer = await site.http.get("/api/comment?path=/p", headers={"host": host, **sent})
                assert answer.status_code == 403
        page = AdminPage(site)
        for method, said in (("POST", origin), ("GET", origin), ("GET", None)):
            answer = await page.ask(
                method,
                "token",
                MARA if method == "POST" else None,
                host=host,
                origin=said,
                referer=f"{origin}/ui/login",
            )
            if "SERVER_URL" in settings and said is None:
                # A proxy may have another name for the service, and nothing is changed.
                assert answer.json()["data"] == {}
                continue
            assert answer.status_code == 403, (settings, method, said)
            assert "SERVER_URL does not say that this service is at" in answer.text
            assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("settings", "host"),
    [
        ({}, "127.0.0.1:8360"),
        ({}, "comments.example"),
        ({}, "[2001:db8::1]:8360"),
        ({"SITE_URL": BLOG}, "localhost:8360"),
        ({"SITE_URL": BLOG}, "192.168.1.5:8360"),
        ({"SITE_URL": BLOG}, "nas"),
        ({"SITE_URL": BLOG}, "nas.local:8360"),
        ({"SITE_URL": BLOG}, "comments.blog.example"),
        ({"SITE_URL": BLOG}, "blog.example"),
        ({"SITE_URL": "https://www.blog.example"}, "comments.blog.example"),
        ({"SECURE_DOMAINS": "blog.example"}, "comments.blog.example"),
        ({"SECURE_DOMAINS": r"/(^|\.)blog\.example$/"}, "comments.blog.example"),
        ({"SERVER_URL": "https://c.example", "SITE_URL": BLOG}, "c.example"),
        ({"SERVER_URL": "https://c.example"}, "127.0.0.1:8360"),
    ],
)
async def test_the_owner_at_an_address_that_is_theirs(
    make_site: Sites, settings: dict[str, str], host: str
) -> None:
    """Who: nobody with bad intentions: the owner at the first start, on the machine itself, in the
    same network, or behind a proxy that passes Host. What: registers and logs in on our pages.
    Instead: it works, and nobody has to set anything more."""
    page = AdminPage(make_site.without_accounts("192.0.2.1", **settings))
    sent = {"host": host, "origin": f"http://{host}", "referer": f"http://{host}/ui/register"}
    assert (await page.ask("POST", "user", MARA, **sent)).json()["errno"] == 0
    assert (await page.ask("POST", "token", MARA, **sent)).json()["errno"] == 0
    answer = await page.ask("GET", "token", host=host, origin=None)
    assert answer.json()["data"]["email"] == MARA["email"]
