"""The profile: changes that ask who somebody is, and the list of logins; on a phone and a desk."""

import time

import httpx
import pyotp
import pytest
from playwright.sync_api import Page, expect

from tests.support.serving import Serving

from .conftest import NewVisitor, Start
from .visitor import Visitor

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}
WIDTHS = {"phone": 390, "desk": 1280}


@pytest.fixture
def served(start: Start) -> Serving:
    service = start()
    httpx.post(f"{service.url}/api/user", json=MARA).raise_for_status()
    return service


@pytest.fixture(params=WIDTHS)
def size(request: pytest.FixtureRequest) -> str:
    size: str = request.param
    return size


@pytest.fixture
def visitor(size: str, served: Serving, new_visitor: NewVisitor) -> Visitor:
    """Mara, at her profile."""
    visitor = new_visitor(viewport={"width": WIDTHS[size], "height": 844})
    visitor.open(f"{served.url}/ui/login?next=profile")
    page = visitor.page
    page.get_by_label("Email").fill(MARA["email"])
    page.get_by_label("Password").fill(MARA["password"])
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    return visitor


def prove(page: Page, label: str, text: str) -> None:
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(label, exact=True).fill(text)
    dialog.get_by_role("button", name="Continue").click()


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.rare
def test_a_password_is_changed_with_the_present_one(served: Serving, visitor: Visitor) -> None:
    page = visitor.page
    other = httpx.post(f"{served.url}/api/token", json=MARA).json()["data"]["token"]
    page.get_by_label("New password").fill("three brown teapots")
    page.locator("[data-form=password]").get_by_role("button", name="Save").click()
    prove(page, "Current password", "a guess of somebody")
    expect(page.get_by_role("alert")).to_contain_text("Wrong current password")
    assert fits(page)
    prove(page, "Current password", MARA["password"])
    expect(page.get_by_text("logged out everywhere else")).to_be_visible()
    expect(page.locator("[data-current]")).to_have_count(1)
    headers = {"authorization": f"Bearer {other}"}
    assert httpx.get(f"{served.url}/api/token", headers=headers).json()["data"] == {}


def test_a_picture_from_elsewhere_is_seen_before_it_is_saved(
    visitor: Visitor, start: Start
) -> None:
    page, shown = visitor.page, visitor.page.get_by_role("img", name="Your picture")
    address = page.get_by_label("Picture URL")
    address.fill(f"{start().url}/static/favicon.svg")
    address.press("Tab")
    expect(shown).to_be_visible()
    assert fits(page)
    address.fill("")
    address.press("Tab")
    expect(shown).to_be_hidden()


@pytest.mark.rare
def test_another_log_in_is_ended(served: Serving, visitor: Visitor) -> None:
    page = visitor.page
    agent = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}
    answer = httpx.post(f"{served.url}/api/token", json=MARA, headers=agent)
    headers = {"authorization": f"Bearer {answer.json()['data']['token']}"}
    page.reload()
    firefox = page.get_by_role("listitem").filter(has_text="Firefox140.0")
    expect(firefox).to_contain_text("127.0.0.0/24")
    assert fits(page)
    firefox.get_by_role("button", name="Log out").click()
    expect(firefox).to_have_count(0)
    assert httpx.get(f"{served.url}/api/token", headers=headers).json()["data"] == {}
    httpx.post(f"{served.url}/api/token", json=MARA)
    page.reload()
    elsewhere = page.get_by_role("button", name="Log out everywhere else")
    elsewhere.click()
    expect(elsewhere).to_have_count(0)
    expect(page.get_by_text("this session", exact=True)).to_be_visible()


@pytest.mark.rare
def test_a_second_factor_is_set_up_with_the_password_and_turned_off_with_a_code(
    visitor: Visitor,
) -> None:
    page = visitor.page
    page.get_by_role("button", name="Set up").click()
    secret = page.locator("[data-form=second-factor] code").inner_text()
    codes = pyotp.TOTP(secret)
    page.get_by_label("Code", exact=True).fill(codes.now())
    page.get_by_role("button", name="Turn on").click()
    prove(page, "Current password", MARA["password"])
    expect(page.locator(".codes li")).to_have_count(10)
    page.get_by_role("button", name="I have saved them").click()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Turn off").click()
    prove(page, "Code", "000000")
    expect(page.get_by_role("alert")).to_contain_text("Wrong code, or already used")
    prove(page, "Code", codes.at(int(time.time()) + 30))
    expect(page.get_by_role("button", name="Set up")).to_be_visible()
