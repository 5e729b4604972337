"""From a registration to a new password, two-factor authentication and a recovery code, by emails
that a real server takes, on a desk and on a phone, on our pages and in the window of a client."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyotp
import pytest
from playwright.sync_api import Page, expect

from tests.support.mailing import link_in, settings_of
from tests.support.receivers import MailServer, mail_server
from tests.support.servers import free_port
from tests.support.serving import Serving

from .blog import Blog
from .clients import CLIENTS, Client
from .conftest import NewVisitor, Start
from .test_clients import Embedding
from .visitor import Visitor

MARA = {"Name": "Mara", "Email": "mara@example.com", "Password": "an old garden gate"}
DESK = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
third = pytest.mark.parametrize("client", CLIENTS[-1:], ids=str, indirect=True)
sizes = pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])


@dataclass
class Mailing:
    """A service that emails, and its emails."""

    service: Serving
    mails: MailServer
    came: int = 0

    def link(self) -> str:
        """The one in the next email."""
        self.came += 1
        _, mail = self.mails.wait(self.came)[self.came - 1]
        return link_in(mail)


@pytest.fixture
def mailing(blog: Blog, start: Start) -> Iterator[Mailing]:
    port = free_port()
    with mail_server() as mails:
        settings = settings_of(mails) | {
            "PORT": str(port),
            "SERVER_URL": f"http://127.0.0.1:{port}",
            "SITE_URL": blog.url,
        }
        yield Mailing(start(**settings), mails)


def fill(page: Page, **texts: str) -> None:
    for label, text in texts.items():
        page.get_by_label(label, exact=True).fill(text)


def fits(page: Page) -> None:
    # On a phone innerWidth grows with what sticks out.
    assert page.viewport_size is not None
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def register(page: Page) -> None:
    page.get_by_role("link", name="Create an account").click()
    fill(page, **MARA)
    fits(page)
    page.get_by_role("button", name="Create an account").click()
    expect(page.get_by_text("A link was sent to mara@example.com")).to_be_visible()


def confirm(page: Page, link: str) -> None:
    page.goto(link)
    fill(page, Password="a guess")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Wrong password")).to_be_visible()
    fits(page)
    fill(page, Password=MARA["Password"])
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Address confirmed")).to_be_visible()
    assert "#" not in page.url


def ask_for_a_link(page: Page) -> None:
    fill(page, Email=MARA["Email"])
    fits(page)
    page.get_by_role("button", name="Send link").click()
    expect(page.get_by_text("If mara@example.com has an account")).to_be_visible()


def set_password(page: Page, link: str, password: str) -> None:
    page.goto(link)
    fill(page, **{"New password": password, "Repeat password": password})
    fits(page)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("You can log in now")).to_be_visible()


def log_in(page: Page, password: str) -> None:
    fill(page, Email=MARA["Email"], Password=password)
    page.get_by_role("button", name="Log in", exact=True).click()


def prove(page: Page, label: str, text: str) -> None:
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(label, exact=True).fill(text)
    dialog.get_by_role("button", name="Continue").click()


def set_up_codes(page: Page, password: str) -> list[str]:
    """Two-factor authentication, in the profile; the recovery codes."""
    page.get_by_role("button", name="Set up").click()
    secret = page.locator("[data-form=second-factor] code").inner_text()
    page.get_by_label("Code", exact=True).fill(pyotp.TOTP(secret).now())
    page.get_by_role("button", name="Turn on").click()
    prove(page, "Current password", password)
    expect(page.locator(".codes li")).to_have_count(10)
    codes = page.locator(".codes li").all_inner_texts()
    page.get_by_role("button", name="I have saved them").click()
    return codes


def log_in_by_code(page: Page, password: str, code: str) -> None:
    log_in(page, password)
    expect(page.get_by_label("Code", exact=True)).to_be_visible()
    fits(page)
    page.get_by_label("Code", exact=True).fill(code)
    page.get_by_role("button", name="Log in", exact=True).click()


@pytest.mark.rare
@sizes
def test_the_owner_of_an_address_with_which_somebody_else_registered_chooses_anew(
    mailing: Mailing, new_visitor: NewVisitor, size: dict[str, Any]
) -> None:
    page, url = new_visitor(**size).page, mailing.service.url
    page.goto(f"{url}/ui/login?next=profile")
    register(page)
    page.goto(mailing.link())
    page.get_by_label("Somebody else asked for this account").check()
    expect(page.get_by_text("At least eight characters")).to_be_visible()
    fits(page)
    fill(page, Name="Maria", Password="three brown teapots")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Address confirmed")).to_be_visible()
    page.get_by_role("link", name="Log in").click()
    log_in(page, "three brown teapots")
    expect(page.get_by_role("heading", name="Comments")).to_be_visible()
    page.goto(f"{url}/ui/profile")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Maria")


@pytest.mark.rare
@sizes
def test_an_account_is_confirmed_and_its_lost_password_found_again(
    mailing: Mailing, new_visitor: NewVisitor, size: dict[str, Any]
) -> None:
    page, url = new_visitor(**size).page, mailing.service.url
    page.goto(f"{url}/ui/login?next=profile")
    register(page)
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.get_by_text("Open the link in your email first")).to_be_visible()
    confirm(page, mailing.link())
    page.get_by_role("link", name="Log in").click()
    log_in(page, MARA["Password"])
    expect(page.get_by_role("heading", name="Comments")).to_be_visible()

    other = new_visitor(**size).page
    other.goto(f"{url}/ui/login")
    other.get_by_role("link", name="Forgot your password?").click()
    ask_for_a_link(other)
    set_password(other, mailing.link(), "three brown teapots")
    other.get_by_role("link", name="Log in").click()
    log_in(other, "three brown teapots")
    expect(other.get_by_role("heading", name="Comments")).to_be_visible()
    page.goto(f"{url}/ui/profile")
    expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()

    other.goto(f"{url}/ui/profile")
    code, *_ = set_up_codes(other, "three brown teapots")
    log_in_by_code(page, "three brown teapots", "no such code")
    expect(page.get_by_text("Wrong email, password or code")).to_be_visible()
    page.get_by_label("Code", exact=True).fill(code)
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    elsewhere = page.get_by_role("button", name="Log out everywhere else")
    elsewhere.click()
    expect(elsewhere).to_have_count(0)
    other.reload()
    expect(other.get_by_role("button", name="Log in", exact=True)).to_be_visible()
    log_in_by_code(other, "three brown teapots", code)
    expect(other.get_by_text("Wrong email, password or code")).to_be_visible()


@pytest.mark.rare
@third
@sizes
def test_whoever_came_from_a_page_confirms_and_finds_a_password_and_is_logged_in_there(
    blog: Blog,
    mailing: Mailing,
    client: Client,
    path: str,
    new_visitor: NewVisitor,
    size: dict[str, Any],
) -> None:
    visitor: Visitor = new_visitor(**size)
    widget = Embedding(blog, mailing.service, client, path)(visitor)
    with visitor.page.expect_popup() as opened:
        visitor.page.get_by_role("button", name="Login").click()
    window = opened.value
    register(window)
    # The email is read elsewhere in the same browser.
    reading = visitor.context.new_page()
    confirm(reading, mailing.link())
    with window.expect_popup() as asked:
        window.get_by_role("link", name="Forgot your password?").click()
    ask_for_a_link(asked.value)
    set_password(reading, mailing.link(), "three brown teapots")
    log_in(window, MARA["Password"])
    expect(window.get_by_text("the password is wrong")).to_be_visible()
    with window.expect_event("close"):
        log_in(window, "three brown teapots")
    visitor.page.locator(client.editor).fill("said by Mara")
    visitor.page.get_by_role("button", name="Submit").click()
    expect(widget.item("said by Mara").locator(client.nick)).to_have_text("Mara")

    reading.goto(f"{mailing.service.url}/ui/profile")
    code, *_ = set_up_codes(reading, "three brown teapots")
    # What the client remembers of the login that has ended.
    visitor.page.evaluate("localStorage.clear(); sessionStorage.clear()")
    visitor.page.reload()
    with visitor.page.expect_popup() as opened:
        visitor.page.get_by_role("button", name="Login").click()
    with opened.value.expect_event("close"):
        log_in_by_code(opened.value, "three brown teapots", code)
    expect(widget.box.locator("input[name=nick]")).to_have_count(0)
