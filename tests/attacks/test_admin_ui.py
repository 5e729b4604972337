"""This service's own pages: somebody wants to act as a person who is logged in there."""

import pytest

from tests.conftest import Site, Sites
from tests.support.admin_ui import AdminPage

ON = ("fake",)

OWNER = {"display_name": "Owner", "email": "owner@example.com", "password": "the owner's own"}
GUEST = {"display_name": "Guest", "email": "guest@example.com", "password": "the guest's own"}


@pytest.fixture
async def site(make_site: Sites) -> Site:
    site = make_site.without_accounts()
    for person in (OWNER, GUEST):
        await site.send("POST", "/api/user", person)
    return site


@pytest.fixture
async def page(site: Site) -> AdminPage:
    page = AdminPage(site)
    await page.ask("POST", "token", OWNER)
    return page


ELSEWHERE = "https://elsewhere.example"
FORGED: tuple[dict[str, str | None], ...] = (
    # A form, an image, a link of another site: none of these can add the header.
    {"x_footfall_page": None},
    {"x_footfall_page": None, "origin": None, "sec_fetch_site": None},
    {"x_footfall_page": "", "origin": ELSEWHERE},
    # A script of another site, in a browser that would send it with the cookie.
    {"origin": ELSEWHERE, "sec_fetch_site": "cross-site"},
    {"origin": ELSEWHERE, "sec_fetch_site": None},
    {"origin": ELSEWHERE},
    {"origin": None, "sec_fetch_site": "cross-site"},
    {"origin": None, "sec_fetch_site": "same-site"},
    {"origin": None, "sec_fetch_site": "none"},
    # A sandboxed frame, another host of the domain, this one's name as a part of another.
    {"origin": "null"},
    {"origin": "http://blog.site.test", "sec_fetch_site": "same-site"},
    {"origin": "http://site.test.elsewhere.example", "sec_fetch_site": None},
    {"origin": "http://site.test@elsewhere.example", "sec_fetch_site": None},
    # Nothing says where it comes from.
    {"origin": None, "sec_fetch_site": None},
)


async def test_a_page_that_acts_as_its_reader(site: Site, page: AdminPage) -> None:
    """Who: the owner of any page that an administrator visits. What: has the visitor's browser
    delete, approve, edit, promote, log in and log out, by forms, scripts and frames (CSRF).
    Instead: nothing happens without a header that only this service's own pages can send, as the
    error describes."""
    posted = await site.post("hello")
    guest = (await page("GET", "user?email=guest@example.com"))["data"]["objectId"]
    actions = (
        ("DELETE", f"comment/{posted['objectId']}", None),
        ("PUT", f"comment/{posted['objectId']}", {"status": "spam"}),
        ("PUT", f"user/{guest}", {"type": "administrator"}),
        ("POST", "token", GUEST),
        ("DELETE", "token", None),
    )
    for forged in FORGED:
        for method, path, body in actions:
            answer = await page.ask(method, path, body, **forged)
            assert answer.status_code == 403, (forged, path)
            assert answer.json()["errmsg"].startswith("Forbidden: ")
            assert "set-cookie" not in answer.headers
    assert [each["status"] for each in (await site.page())["data"]] == ["approved"]
    assert (await page("GET", "token"))["data"]["email"] == OWNER["email"]
    answer = await page("GET", "user?email=guest@example.com")
    assert answer["data"]["type"] == "guest"


async def test_a_form_that_acts_as_its_reader(site: Site, page: AdminPage) -> None:
    """Who: the owner of any page that an administrator visits. What: has the browser send a form
    that counts bots as people or logs the visitor out (CSRF); such a form needs no header. Instead:
    nothing happens, since the browser says which page has sent it."""
    own = {"origin": "http://site.test", "sec-fetch-site": "same-origin", "cookie": page.cookie}
    for forged in FORGED:
        named = {name.replace("_", "-"): value for name, value in forged.items()}
        headers = {name: value for name, value in {**own, **named}.items() if value is not None}
        if headers == own:
            # It only lacks the header, which no form has.
            continue
        for path, fields in (("people", {"class": "seo", "as": "people"}), ("logout", {})):
            answer = await site.http.post(f"/ui/{path}", data=fields, headers=headers)
            assert answer.status_code == 403, (forged, path)
            assert "set-cookie" not in answer.headers
    assert (await page("GET", "token"))["data"]["email"] == OWNER["email"]
    today = site.service.statistics.reports.today()
    assert (
        await site.service.statistics.reports.report(None, today, today)
    ).as_people == frozenset()


async def test_a_script_that_asks_before(page: AdminPage) -> None:
    """Who: a script of another site. What: asks by a preflight whether it may send the header.
    Instead: the answer permits nothing, so the browser sends nothing, and no answer may be read."""
    answer = await page.ask(
        "OPTIONS",
        "token",
        origin=ELSEWHERE,
        access_control_request_method="DELETE",
        access_control_request_headers="x-footfall-page",
    )
    assert answer.status_code == 204
    answers = [answer, await page.ask("GET", "token", origin=ELSEWHERE)]
    for each in answers:
        assert not [name for name in each.headers if name.startswith("access-control-")]


async def test_a_session_that_was_there_before_the_log_in(site: Site, page: AdminPage) -> None:
    """Who: somebody who can set a cookie, on another host of the domain or at a shared computer.
    What: leaves a session of theirs, or one that they know, for the owner to log in to (fixation).
    Instead: each login starts a new session, and if there are two cookies, neither counts."""
    other = AdminPage(site)
    await other.ask("POST", "token", GUEST)
    known = other.cookie
    await other.ask("POST", "token", OWNER, cookie=known)
    assert other.cookie != known
    thief = AdminPage(site)
    thief.cookie = known
    assert (await thief("GET", "token"))["data"]["email"] == GUEST["email"]
    answer = await page.ask("GET", "token", cookie=f"{known}; {page.cookie}")
    assert answer.json()["data"] == {}


async def test_pages_in_a_frame(site: Site) -> None:
    """Who: the owner of any page. What: shows ours in a frame, under something that people like to
    click (clickjacking), or in a window that it keeps a reference to. Instead: no page shows them
    in a frame, and no script but ours runs in them."""
    for path in ("/ui/login", "/ui/register", "/ui/forgot", "/ui/", "/ui/profile"):
        headers = (await site.http.get(path)).headers
        rules = dict(
            each.strip().partition(" ")[::2]
            for each in headers["content-security-policy"].split(";")
        )
        assert rules["frame-ancestors"] == rules["default-src"] == rules["base-uri"] == "'none'"
        assert rules["script-src"] == rules["style-src"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
