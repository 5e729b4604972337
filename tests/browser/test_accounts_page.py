"""The page of accounts: people are invited, and log in by the link that they get."""

import httpx
from playwright.sync_api import expect

from .conftest import NewVisitor, Start
from .test_queue import OWNER, Desk


def test_a_moderator_is_invited_and_logged_out_again(start: Start, new_visitor: NewVisitor) -> None:
    desk = Desk(start().url, new_visitor())
    page = desk.page
    desk.open("accounts")
    page.get_by_label("Email", exact=True).fill("mo@example.com")
    page.get_by_role("button", name="Invite").click()
    page.get_by_label("Current password").fill(OWNER["password"])
    page.get_by_role("dialog").get_by_role("button", name="Continue").click()
    link = page.get_by_text(f"{desk.url}/ui/forgot#")
    expect(link).to_be_visible()
    row = page.locator("[data-mail='mo@example.com']")
    expect(row.get_by_label("Role")).to_have_value("moderator")
    expect(row.get_by_role("button", name="Turn off 2FA")).to_have_count(0)

    guest = new_visitor()
    guest.open(str(link.text_content()))
    guest.page.get_by_label("New password").fill("a garden in spring")
    guest.page.get_by_label("Repeat password").fill("a garden in spring")
    guest.page.get_by_role("button", name="Save").click()
    expect(guest.page.get_by_text("You can log in now")).to_be_visible()
    person = {"email": "mo@example.com", "password": "a garden in spring"}
    token = httpx.post(f"{desk.url}/api/token", json=person).json()["data"]["token"]
    headers = {"authorization": f"Bearer {token}"}
    who = httpx.get(f"{desk.url}/api/token", headers=headers).json()["data"]
    assert who["type"] == "moderator"
    row.get_by_role("button", name="End sessions").click()
    expect(page.get_by_text("mo is logged out everywhere.")).to_be_visible()
    assert httpx.get(f"{desk.url}/api/token", headers=headers).json()["data"] == {}
    desk.http.close()
