"""The overview and the statistics as an owner opens them: on a phone, in the dark, by keyboard,
without a script, and by a link of another site."""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.support.serving import serving

from .blog import Blog
from .conftest import NewVisitor, Start, Writer, by
from .packages import axe
from .test_admin import SESSION, Owner
from .visitor import Visitor

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
}
DESK: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}
SCREENS = {
    "small phone": {**PHONE, "viewport": {"width": 320, "height": 640}},
    "phone": PHONE,
    "phone in the dark": {**PHONE, "color_scheme": "dark"},
    "desk": DESK,
    "desk in the dark": {**DESK, "color_scheme": "dark"},
}
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Safari/537.36"
)
# A page that a stranger has named.
HOSTILE = '/<img src=x onerror="window.ran=1">\u202e/' + "long" * 100
# The longest name of a host, which led to the site.
HOST = ".".join(["a" * 60] * 4)
PLACES = (
    "",
    "statistics",
    "statistics?path=/read&days=90",
    "statistics?path=rea",
    "statistics?from=2026-01-01",
    f"source?host={HOST}",
    "../statistics",
)
SCRIPTED = (
    *("queue?status=", "counters", "accounts", "bans", "authors", "moving", "log", "outbox"),
    *("settings", "state", "profile", "login", "register", "forgot"),
)


@pytest.fixture(scope="module")
def owner(blog: Blog) -> Iterator[Owner]:
    settings = {**by(blog), "SITE_URL": blog.url, "STATISTICS": "visitors"}
    with (
        tempfile.TemporaryDirectory(prefix="ff") as home,
        serving(Path(home), **settings) as service,
    ):
        owner = Owner(service)
        owner.settle()
        for path in ("/read", "/read", "/seldom", HOSTILE):
            view(owner, path, CHROME, f"https://{HOST}/{'p' * 90}")
        view(owner, "/read", "GPTBot/1.2")
        Writer(owner.url, "/read")("A comment that can be answered")
        yield owner


def view(owner: Owner, path: str, agent: str, referrer: str = "") -> None:
    headers, fields = {"user-agent": agent}, {"path": path, "referrer": referrer}
    answer = httpx.post(f"{owner.url}/api/article", json=fields, headers=headers)
    answer.raise_for_status()


def logged_in(owner: Owner, visitor: Visitor) -> Visitor:
    name, value = owner.cookie
    # As strict as the service sets it, or browsers would send it where a link of another site led.
    url = f"{owner.url}/ui/"
    visitor.context.add_cookies([{"name": name, "value": value, "url": url, "sameSite": "Strict"}])
    return visitor


@pytest.fixture
def phone(owner: Owner, new_visitor: NewVisitor) -> Visitor:
    return logged_in(owner, new_visitor(**PHONE))


def violations(page: Page) -> list[str]:
    """What axe finds, by its names, with the elements."""
    page.evaluate(axe())
    found = page.evaluate("axe.run().then(found => found.violations)")
    return [f"{each['id']}: {json.dumps([n['html'] for n in each['nodes']])}" for each in found]


def overflowing(page: Page) -> list[str]:
    """What is wider than the screen. A phone's own width grows with what it shows."""
    assert page.viewport_size is not None
    found: list[str] = page.evaluate(
        """width => {
        if (document.documentElement.scrollWidth <= width) return []
        return [...document.querySelectorAll('main *, header *')]
            .filter(each => each.getBoundingClientRect().right > width + 1)
            .map(each => each.outerHTML.slice(0, 120))
    }""",
        page.viewport_size["width"],
    )
    return found


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("place", PLACES)
def test_everybody_can_use_the_page_on_any_screen(
    owner: Owner, new_visitor: NewVisitor, place: str, screen: str
) -> None:
    page = logged_in(owner, new_visitor(**SCREENS[screen])).page
    page.goto(f"{owner.url}/ui/{place}")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert violations(page) + overflowing(page) == []


@pytest.mark.parametrize("screen", ["small phone", "phone", "desk in the dark"])
def test_everybody_can_use_the_pages_that_scripts_make(
    owner: Owner, new_visitor: NewVisitor, screen: str
) -> None:
    visitor = logged_in(owner, new_visitor(**SCREENS[screen]))
    page = visitor.page
    found = dict[str, list[str]]()
    # German words are the longest.
    language = "de" if screen == "small phone" else "en"
    for place in SCRIPTED:
        sign = "&" if "?" in place else "?"
        visitor.open(f"{owner.url}/ui/{place}{sign}lng={language}")
        visitor.come_to_rest()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        found[place] = violations(page) + overflowing(page)
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


def test_the_counters_start_with_what_is_read_most_and_lead_to_its_days(
    owner: Owner, phone: Visitor
) -> None:
    page = phone.page
    page.goto(f"{owner.url}/ui/counters")
    page.get_by_role("link", name="/read").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("/read")


def test_an_owner_reads_the_morning_and_the_queue_is_one_tap_away(
    owner: Owner, phone: Visitor
) -> None:
    page = phone.page
    phone.open(f"{owner.url}/ui")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.get_by_role("img", name="4 views,")).to_be_visible()
    comment = page.get_by_role("listitem").filter(has_text="can be answered")
    href = comment.get_by_role("link", name="/read").get_attribute("href") or ""
    assert href.startswith("http://127.0.0.1:")
    assert "/read#" in href
    page.get_by_role("link", name="0 pending comments").tap()
    expect(page.get_by_role("heading", name="Comments")).to_be_visible()
    page.get_by_role("link", name="Overview").tap()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_the_queue_shows_titles_beside_pages(owner: Owner, phone: Visitor, blog: Blog) -> None:
    blog.publish("/titled", "a page")
    Writer(owner.url, "/titled")("A comment there")
    page = phone.page
    # It is read in the background when a list first has its page.
    deadline = time.monotonic() + 60
    titles = list[str]()
    while "A page" not in titles and time.monotonic() < deadline:
        with page.expect_response("**/ui/api/pages/titles**") as answered:
            phone.open(f"{owner.url}/ui/queue?status=approved")
        titles = answered.value.json()["data"]
    page.get_by_text("A comment there").click()
    row = page.get_by_role("article").filter(has_text="A comment there")
    expect(row.locator("[data-page]")).to_have_text("A page")


def test_a_reply_is_written_where_the_overview_leads(owner: Owner, phone: Visitor) -> None:
    page = phone.page
    phone.open(f"{owner.url}/ui/")
    comment = page.get_by_role("listitem").filter(has_text="can be answered")
    comment.get_by_role("link", name="Reply").tap()
    form = page.get_by_role("article").filter(has_text="can be answered").get_by_role("textbox")
    expect(form).to_be_focused()
    form.fill("This is the answer")
    page.get_by_role("button", name="Reply", exact=True).last.tap()
    expect(page.locator("#notice")).to_contain_text("Reply")
    phone.open(f"{owner.url}/ui/")
    expect(page.get_by_role("listitem").filter(has_text="This is the answer")).to_be_visible()


def test_the_table_behind_the_bars_is_opened_by_keyboard(owner: Owner, phone: Visitor) -> None:
    page = phone.page
    phone.open(f"{owner.url}/ui/")
    summary = page.get_by_text("Days as a table")
    summary.focus()
    page.keyboard.press("Enter")
    rows = page.get_by_role("region", name="Days as a table").get_by_role("row")
    expect(rows).to_have_count(31)
    expect(rows.nth(1)).to_contain_text("4")


def test_a_finger_on_a_bar_shows_its_number(owner: Owner, phone: Visitor) -> None:
    page = phone.page
    phone.open(f"{owner.url}/ui/statistics?days=7")
    page.locator("svg.bars g").nth(6).tap()
    expect(page.locator(".said").first).to_contain_text("4 views, 1 visitor, 1 by bots")


def test_pages_are_put_in_order_by_a_tap_on_a_column(owner: Owner, phone: Visitor) -> None:
    page = phone.page
    phone.open(f"{owner.url}/ui/statistics?days=7")
    page.get_by_role("link", name="Comments", exact=True).last.tap()
    expect(page).to_have_url(f"{owner.url}/ui/statistics?days=7&by=comments#pages")
    expect(page.locator("#pages").get_by_role("row").nth(1)).to_contain_text("/read")


@pytest.mark.rare
def test_a_strangers_name_for_a_page_runs_nothing_and_fits_a_phone(
    owner: Owner, phone: Visitor
) -> None:
    page = phone.page
    phone.open(f"{owner.url}/ui/")
    page.locator("#pages").get_by_role("link", name="%E2%80%AE").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("%E2%80%AE/long")
    phone.open(f"{owner.url}/ui/statistics")
    page.get_by_role("searchbox").fill(HOSTILE)
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("%E2%80%AE/long")
    expect(page.get_by_text("1 view in total")).to_be_visible()
    # The words may be there before the sheet that makes them fit.
    page.wait_for_load_state()
    assert overflowing(page) == []
    assert page.evaluate("window.ran") is None


@pytest.mark.rare
def test_without_a_script_all_is_there(owner: Owner, new_visitor: NewVisitor) -> None:
    page = logged_in(owner, new_visitor(**PHONE, java_script_enabled=False)).page
    page.goto(f"{owner.url}/ui/")
    page.get_by_role("link", name="More days").click()
    expect(page.get_by_role("heading", name="Whole site")).to_be_visible()
    page.get_by_role("searchbox").fill("/read")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_text("3 views in total")).to_be_visible()
    expect(page.get_by_role("img", name="2 views,")).to_be_visible()
    page.get_by_role("link", name="90 days").click()
    expect(page.get_by_role("heading", name="Last 90 days")).to_be_visible()


def test_without_a_script_bots_are_counted_as_people_and_back(
    owner: Owner, new_visitor: NewVisitor
) -> None:
    page = logged_in(owner, new_visitor(**PHONE, java_script_enabled=False)).page
    page.goto(f"{owner.url}/ui/")
    today = page.locator(".tiles > div").first
    expect(today).to_contain_text("4")
    page.get_by_role("button", name="Count as people AI").click()
    expect(page).to_have_url(f"{owner.url}/ui/#bots")
    expect(today).to_contain_text("5")
    page.get_by_role("button", name="Count as bots AI").click()
    expect(today).to_contain_text("4")
    expect(today).to_contain_text("1 visitor")


@pytest.mark.rare
def test_a_link_of_another_site_leads_to_it_though_the_browser_left_the_cookie_out(
    owner: Owner, phone: Visitor, blog: Blog
) -> None:
    page = phone.page
    link = f'<a href="{owner.url}/ui/?lng=de">go</a>'
    # Another host than the service's: the strictest cookie is sent with no request from there.
    page.goto(blog.publish("/elsewhere", link).replace("127.0.0.1", "blog.localhost"))
    page.get_by_role("link", name="go").click()
    expect(page.get_by_role("heading", name="Überblick")).to_be_visible()


@pytest.mark.rare
def test_a_browser_that_does_not_say_what_led_it_is_shown_the_way(
    owner: Owner, phone: Visitor, blog: Blog
) -> None:
    """As over plain HTTP: the server takes it for somebody who is not logged in."""
    page = phone.page
    link = f'<a href="{owner.url}/ui/?again=1">go</a>'
    page.goto(blog.publish("/silent", link).replace("127.0.0.1", "blog.localhost"))
    page.get_by_role("link", name="go").click()
    expect(page.get_by_text("You came from another site")).to_be_visible()
    page.get_by_role("link", name="Continue").click()
    expect(page.get_by_role("heading", name="Views", exact=True)).to_be_visible()


def test_a_form_of_another_origin_changes_nothing(owner: Owner, phone: Visitor, blog: Blog) -> None:
    """It is on another port of the same host, so browsers send even the strictest cookie."""
    form = f'<form method="post" action="{owner.url}/ui/logout"><button>win a prize</button></form>'
    page = phone.page
    page.goto(blog.publish("/prize", form))
    page.get_by_role("button").click()
    expect(page.get_by_text("a page of another site sent this")).to_be_visible()
    phone.forgive("403")
    page.goto(f"{owner.url}/ui/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


@pytest.mark.rare
def test_a_log_out_without_a_script_ends_the_log_in(owner: Owner, new_visitor: NewVisitor) -> None:
    headers = {"x-footfall-page": "1", "origin": owner.url}
    person = {"display_name": "Kim", "email": "kim@example.com", "password": "an old garden gate"}
    httpx.post(f"{owner.url}/api/user", json=person).raise_for_status()
    owner.service.ask("accounts", "promote", "kim@example.com")
    answer = httpx.post(f"{owner.url}/ui/api/token", json=person, headers=headers)
    visitor = new_visitor(java_script_enabled=False)
    value, url = answer.cookies[SESSION], f"{owner.url}/ui/"
    visitor.context.add_cookies([{"name": SESSION, "value": value, "url": url}])
    page = visitor.page
    page.goto(f"{owner.url}/ui/")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{owner.url}/ui/login")
    # The login has ended, whatever the browser has kept.
    page.goto(f"{owner.url}/ui/")
    expect(page.get_by_role("heading", name="Overview")).to_have_count(0)


@pytest.mark.rare
def test_a_new_owner_sees_the_first_view_come(start: Start, new_visitor: NewVisitor) -> None:
    owner = Owner(start(STATISTICS="visitors"))
    owner.settle()
    # The tutorial's own view counts as a program.
    view(owner, "/hello/", "curl/8.5.0")
    page = logged_in(owner, new_visitor(**PHONE)).page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{owner.url}/ui/")
    card = page.locator(".first-view")
    line = f'<script async src="{owner.url}/count.js"></script>'
    expect(card.locator("code")).to_have_text(line)
    expect(card.get_by_role("status")).to_contain_text("1 view by a program, such as curl.")
    widths = "[...document.querySelectorAll('.first-view > p')].map((each) => each.offsetWidth)"
    assert min(page.evaluate(widths)) > 280
    card.get_by_role("button", name="Copy").click()
    expect(card.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == line
    view(owner, "/first", CHROME)
    expect(page.locator(".tiles > div").first).to_contain_text("1", timeout=120_000)
    expect(card).to_have_count(0)
