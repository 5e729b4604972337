"""Logging in by another service, in a window of a client, and adding one to an account."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.support.providers import OCTA, Provider, provider
from tests.support.servers import free_port
from tests.support.serving import Serving, serving

from .blog import Blog
from .clients import CLIENTS, Widget
from .conftest import by
from .test_clients import Embedding
from .visitor import Visitor

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}


@pytest.fixture(scope="module")
def other() -> Iterator[Provider]:
    with provider() as made:
        made.people["github"] = {**OCTA, "avatar": ""}
        yield made


@pytest.fixture(scope="module")
def joined(blog: Blog, other: Provider) -> Iterator[Serving]:
    port = free_port()
    settings = {
        **by(blog),
        "PORT": str(port),
        "SERVER_URL": f"http://127.0.0.1:{port}",
        "SITE_URL": blog.url,
        "OAUTH_URL": other.url,
    }
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ff")))
        service = stack.enter_context(serving(home, **settings))
        httpx.post(f"{service.url}/api/user", json=MARA).raise_for_status()
        # The first request may come before the list of services, and does not wait for it.
        assert any("GitHub" in httpx.get(f"{service.url}/ui/login").text for _ in range(20))
        yield service


def test_a_reader_logs_in_by_another_service_and_comments_under_their_name(
    blog: Blog, joined: Serving, path: str, visitor: Visitor
) -> None:
    client = CLIENTS[-1]
    widget: Widget = Embedding(blog, joined, client, path)(visitor)
    with visitor.page.expect_popup() as opened:
        visitor.page.get_by_role("button", name="Login").click()
    window = opened.value
    with window.expect_event("close"):
        window.get_by_role("link", name="Log in with GitHub").click()
    visitor.page.locator(client.editor).fill("said by Octa")
    visitor.page.get_by_role("button", name="Submit").click()
    expect(widget.item("said by Octa").locator(client.nick)).to_have_text("Octa b")


def test_a_page_that_no_setting_names_does_not_offer_such_a_log_in(
    blog: Blog, joined: Serving, path: str, visitor: Visitor
) -> None:
    page = blog.publish(path, "<p>A page of somebody else.</p>")
    visitor.open(page.replace("127.0.0.1", "other.localhost"))
    with visitor.page.expect_popup() as opened:
        visitor.page.evaluate("url => { window.open(url) }", f"{joined.url}/ui/login")
    expect(opened.value.get_by_role("button", name="Log in")).to_be_visible()
    expect(opened.value.get_by_role("link", name="GitHub")).to_have_count(0)


def test_a_ticket_that_another_browser_got_says_to_start_again(
    joined: Serving, visitor: Visitor
) -> None:
    with httpx.Client(follow_redirects=False) as elsewhere:
        where = f"{joined.url}/api/oauth?type=github&redirect=/ui/login"
        while "#ticket=" not in where:
            where = elsewhere.get(where).headers["location"]
    visitor.open(where)
    expect(visitor.page.get_by_text("This login expired or was started")).to_be_visible()
    expect(visitor.page.get_by_label("Email")).to_be_visible()
    assert "ticket" not in visitor.page.url


@pytest.mark.rare
def test_a_service_is_added_to_an_account_and_taken_away(
    joined: Serving, other: Provider, visitor: Visitor
) -> None:
    other.people["github"] = {**OCTA, "avatar": "", "id": "mara", "email": MARA["email"]}
    page = visitor.page
    visitor.open(f"{joined.url}/ui/login?next=profile")
    page.get_by_role("link", name="Log in with GitHub").click()
    expect(page.get_by_text("This email already has an account")).to_be_visible()
    page.get_by_label("Email").fill(MARA["email"])
    page.get_by_label("Password").fill(MARA["password"])
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("button", name="Add GitHub").click()
    page.get_by_label("Current password").fill(MARA["password"])
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("button", name="Remove GitHub")).to_be_visible()
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()
    visitor.open(f"{joined.url}/ui/login?next=profile")
    page.get_by_role("link", name="Log in with GitHub").click()
    page.wait_for_url("**/ui/profile")
    expect(page.get_by_text(MARA["email"])).to_be_visible()
    page.get_by_role("button", name="Remove GitHub").click()
    page.get_by_label("Current password").fill(MARA["password"])
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("button", name="Add GitHub")).to_be_visible()
