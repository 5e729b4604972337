"""The owner's queue in Chromium: nothing is skipped, nothing moves, and all can be undone."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.support.receivers import receiver
from tests.web.test_language_model import says, settings_of

from .conftest import NewVisitor, Start
from .visitor import Visitor

OWNER = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}
# Authors have the address they name.
HELD = {"COMMENT_AUDIT": "true", "TRUSTED_PROXIES": "127.0.0.1"}
SHOWN = 20


class Desk:
    """A service whose comments are held, and its owner, who is logged in."""

    def __init__(self, url: str, visitor: Visitor) -> None:
        self.url = url
        self.visitor = visitor
        self.page: Page = visitor.page
        headers = {"x-footfall-page": "1", "origin": url}
        self.http = httpx.Client(base_url=url, headers=headers)
        self.http.post("/ui/api/user", json=OWNER).raise_for_status()
        self.http.post("/ui/api/token", json=OWNER).raise_for_status()
        value = self.http.cookies["footfall"]
        visitor.context.add_cookies([{"name": "footfall", "value": value, "url": f"{url}/ui/"}])

    def write(self, text: str, address: str = "192.0.2.1", **fields: Any) -> str:
        draft = {"comment": text, "url": "/post", "nick": "Ann", "mail": "ann@example.com"}
        headers = {"x-forwarded-for": address}
        answer = httpx.post(f"{self.url}/api/comment", json=draft | fields, headers=headers).json()
        assert answer["errno"] == 0, answer
        return str(answer["data"]["objectId"])

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.http.request(method, f"/ui/api/{path}", json=body).json()
        assert answer["errno"] == 0, answer
        return answer["data"]

    def statuses(self) -> dict[str, str]:
        """The status of each comment of the site, by its text."""
        found, after = dict[str, str](), ""
        while True:
            part = self.ask("GET", f"queue?pageSize=100&after={after}")
            found |= {each["orig"]: each["status"] for each in part["data"]}
            after = part["after"]
            if not after:
                return found

    def open(self, path: str = "queue") -> None:
        self.visitor.open(f"{self.url}/ui/{path}")

    def rows(self) -> Any:
        return self.page.locator("#queue > li")

    def texts(self) -> list[str]:
        found: list[str] = self.page.locator("#queue > li .comment-body").all_inner_texts()
        return found


@pytest.fixture
def desk(start: Start, new_visitor: NewVisitor) -> Iterator[Desk]:
    desk = Desk(start(**HELD).url, new_visitor())
    yield desk
    desk.http.close()


def test_a_list_is_filled_up_and_what_is_new_is_told_and_not_pushed_in(desk: Desk) -> None:
    for n in range(30):
        desk.write(f"old {n}")
    page = desk.page
    page.clock.install()
    desk.open()
    expect(desk.rows()).to_have_count(SHOWN)
    for n in range(7):
        desk.write(f"new {n}")
    # Decisions in the middle of the list, where the owner works.
    desk.rows().nth(5).locator("article").focus()
    for n in (24, 23, 22):
        expect(page.locator("article:focus .comment-body")).to_have_text(f"old {n}")
        page.keyboard.press("a")
    expect(page.locator("article:focus .comment-body")).to_have_text("old 21")
    left = [n for n in reversed(range(30)) if n not in (24, 23, 22)]
    expect(page.locator("#queue .comment-body")).to_have_text([f"old {n}" for n in left[:SHOWN]])
    expect(page.get_by_text("Pending 34")).to_be_visible()
    page.get_by_role("button", name="Show more").click()
    expect(page.locator("#queue .comment-body")).to_have_text([f"old {n}" for n in left])
    page.clock.fast_forward(25_000)
    page.get_by_role("button", name="7 new comments").click()
    expect(page.locator("article:focus .comment-body")).to_have_text("new 6")
    expect(page.get_by_role("button", name="new comment")).to_have_count(0)
    assert desk.texts()[:8] == [*(f"new {n}" for n in reversed(range(7))), "old 29"]


@pytest.mark.rare
def test_an_undo_puts_a_comment_back_where_it_was(desk: Desk) -> None:
    for n in range(6):
        desk.write(f"words {n}")
    desk.open()
    page = desk.page
    desk.rows().nth(2).get_by_role("button", name="Spam").click()
    desk.write("late")
    expect(desk.rows()).to_have_count(5)
    page.keyboard.press("u")
    expect(page.locator("article:focus .comment-body")).to_have_text("words 3")
    assert desk.texts() == [f"words {n}" for n in reversed(range(6))]
    expect(page.get_by_role("button", name="1 new comment")).to_be_visible()


def test_what_can_be_undone_is_there_after_a_reload_the_earlier_actions_too(desk: Desk) -> None:
    for n in range(3):
        desk.write(f"words {n}")
    desk.open()
    page = desk.page
    desk.rows().nth(2).get_by_role("button", name="Spam").click()
    expect(desk.rows()).to_have_count(2)
    desk.rows().nth(0).get_by_role("button", name="Delete").click()
    expect(desk.rows()).to_have_count(1)
    page.reload()
    expect(desk.rows()).to_have_count(1)
    page.get_by_text("Earlier actions: 1").click()
    page.get_by_role("button", name="Undo: 1 marked as spam").click()
    expect(desk.rows()).to_have_count(2)
    page.get_by_text("Earlier actions: 1").click()
    page.get_by_role("button", name="Undo: 1 deleted").click()
    expect(desk.rows()).to_have_count(3)
    assert desk.texts() == [f"words {n}" for n in reversed(range(3))]
    page.reload()
    expect(desk.rows()).to_have_count(3)
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


@pytest.mark.rare
def test_a_decision_takes_the_focus_from_nobody_who_is_elsewhere_by_then(desk: Desk) -> None:
    for n in range(4):
        desk.write(f"words {n}")
    desk.open()
    page = desk.page
    desk.rows().nth(0).locator("article").focus()
    # The answer comes when the owner is two comments further down.
    page.evaluate(
        """() => {
            const first = document.querySelector('#queue [aria-keyshortcuts="a"]');
            first.click();
            document.querySelectorAll('#queue article')[2].focus();
        }"""
    )
    expect(desk.rows()).to_have_count(3)
    expect(page.locator("article:focus .comment-body")).to_have_text("words 1")


@pytest.mark.rare
def test_what_another_moderator_has_decided_is_not_decided_again(desk: Desk) -> None:
    ids = [desk.write(f"words {n}") for n in range(3)]
    desk.open()
    expect(desk.rows()).to_have_count(3)
    desk.ask("DELETE", "comment", {"ids": ids[1:2]})
    desk.rows().filter(has_text="words 1").get_by_role("button", name="Approve").click()
    expect(desk.page.get_by_text("already deleted by Mara")).to_be_visible()
    expect(desk.rows()).to_have_count(2)
    assert desk.statuses() == {"words 0": "waiting", "words 2": "waiting"}


@pytest.mark.rare
def test_new_comments_are_seen_while_nothing_is_done(desk: Desk) -> None:
    desk.write("first")
    desk.page.clock.install()
    desk.open()
    expect(desk.rows()).to_have_count(1)
    desk.write("second")
    desk.page.clock.fast_forward(25_000)
    expect(desk.page.get_by_role("button", name="1 new comment")).to_be_visible()
    expect(desk.page.get_by_text(re.compile("Pending 2"))).to_be_visible()
    assert desk.texts() == ["first"]


def choose_everything(page: Page, count: int) -> None:
    page.get_by_label("Select all").check()
    page.get_by_role("button", name=f"All {count} in this list").click()
    expect(page.get_by_text(f"All {count} in this list are selected")).to_be_visible()


def many(page: Page) -> Locator:
    return page.get_by_role("group", name="Bulk actions")


def test_all_of_a_list_is_decided_in_three_taps_and_undone_as_one(desk: Desk) -> None:
    for n in range(70):
        desk.write(f"words {n}", url=f"/{n % 5}")
    desk.open()
    page = desk.page
    expect(desk.rows()).to_have_count(SHOWN)
    desk.write("nobody has seen this one")
    choose_everything(page, 70)
    many(page).get_by_role("button", name="Spam").click()
    expect(page.get_by_text("70 marked as spam")).to_be_visible()
    expect(page.locator("article:focus .comment-body")).to_have_text("nobody has seen this one")
    expect(page.get_by_text("Spam 70")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("Pending 71")).to_be_visible()
    assert set(desk.statuses().values()) == {"waiting"}


@pytest.mark.rare
def test_the_spam_is_emptied_in_one_tap_and_comes_back_by_an_undo(desk: Desk) -> None:
    for n in range(45):
        desk.write(f"words {n}")
    desk.open("queue?status=waiting")
    choose_everything(desk.page, 45)
    many(desk.page).get_by_role("button", name="Spam").click()
    expect(desk.rows()).to_have_count(0)
    desk.write("good")
    desk.page.get_by_role("radio", name="Spam").check()
    desk.page.get_by_role("button", name="Empty spam").click()
    expect(desk.page.get_by_text("No comments.")).to_be_visible()
    assert desk.statuses() == {"good": "waiting"}
    desk.page.get_by_role("button", name="Undo").click()
    expect(desk.page.get_by_text("Spam 45")).to_be_visible()
    assert len(desk.statuses()) == 46


@pytest.mark.rare
def test_a_ban_takes_what_it_would_have_caught_along_and_an_undo_brings_it_back(desk: Desk) -> None:
    for n in range(3):
        desk.write(f"win {n}", f"192.0.2.{n}", nick=f"N{n}", link="https://www.casino.example/a")
    desk.write("good")
    page = desk.page
    desk.open("bans")
    page.get_by_label("What to ban").fill("https://casino.example/now")
    page.get_by_label("Existing comments").select_option("Delete them with their replies")
    page.get_by_role("button", name="Ban", exact=True).click()
    bans = page.get_by_role("list", name="Bans").get_by_role("listitem")
    expect(bans).to_contain_text(["casino.example"])
    expect(page.get_by_text("3 deleted.")).to_be_visible()
    assert desk.statuses() == {"good": "waiting"}
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone")).to_be_visible()
    assert len(desk.statuses()) == 4
    desk.write("https://casino.example")
    page.reload()
    expect(bans).to_contain_text(["1 caught, last on"])
    page.get_by_label("What to ban").fill("*@*")
    page.get_by_role("button", name="Ban", exact=True).click()
    expect(page.get_by_text("Not bannable")).to_be_visible()


def test_pages_are_closed_and_opened_again(desk: Desk) -> None:
    page = desk.page
    desk.open("bans")
    rules = page.get_by_role("list", name="Closed pages").get_by_role("listitem")
    expect(rules).to_have_text(["No page is closed."])
    for path, days in (("", "Closed 14 days after the first comment"), ("/a", "Closed")):
        page.get_by_label("Page", exact=True).fill(path)
        page.get_by_label("New comments").select_option(days)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text(f"{path or 'All other pages'}: {days}")).to_be_visible()
    refused = httpx.post(f"{desk.url}/api/comment", json={"comment": "x", "url": "/a"}).json()
    assert refused["errmsg"] == "Comments on this page are closed"
    expect(rules).to_contain_text(["All other pages", "/a"])
    rules.nth(1).get_by_role("button", name="Remove").click()
    expect(rules).to_contain_text(["All other pages"])


@pytest.mark.rare
def test_a_moderator_has_the_queue_bans_and_the_log(desk: Desk) -> None:
    desk.write("held")
    moderator = {**OWNER, "email": "mo@example.com", "display_name": "Mo"}
    answer = httpx.post(f"{desk.url}/api/user", json=moderator)
    answer.raise_for_status()
    (account,) = [each for each in desk.ask("GET", "user")["data"] if each["type"] == "guest"]
    proof = {"current_password": OWNER["password"]}
    desk.ask("PUT", f"user/{account['objectId']}", {"type": "moderator", **proof})
    desk.http.post("/ui/api/token", json=moderator).raise_for_status()
    value = desk.http.cookies["footfall"]
    desk.visitor.context.add_cookies(
        [{"name": "footfall", "value": value, "url": f"{desk.url}/ui/"}]
    )
    desk.open("")
    page = desk.page
    links = page.get_by_role("navigation").first.get_by_role("link")
    expect(links).to_have_text(["Comments", "Bans", "Log", "Profile"])
    desk.rows().first.get_by_role("button", name="Approve").click()
    expect(desk.rows()).to_have_count(0)
    links.filter(has_text="Log").click()
    expect(page.get_by_role("cell", name="Mo at the admin UI", exact=True)).to_have_count(1)
    # What is not theirs is not shown, whatever address they open.
    desk.open("accounts")
    expect(page.get_by_role("heading", name="Comments")).to_be_visible()


@pytest.mark.rare
def test_a_search_that_finds_nothing_says_so_and_the_log_leads_to_its_comment(desk: Desk) -> None:
    for text in ("first words", "second words"):
        desk.write(text)
    page = desk.page
    desk.open()
    page.get_by_role("searchbox").fill("teapots")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_text("No comments match “teapots”.")).to_be_visible()
    page.get_by_role("button", name="Clear search").click()
    expect(desk.rows()).to_have_count(2)
    desk.rows().first.get_by_role("button", name="Approve").click()
    expect(desk.rows()).to_have_count(1)
    desk.open("log")
    page.get_by_role("link", name="second words").click()
    expect(page.locator("#queue .comment-body")).to_have_text(["second words"])


@pytest.mark.rare
def test_keys_act_on_what_is_chosen_if_something_is(desk: Desk) -> None:
    for n in range(5):
        desk.write(f"words {n}")
    desk.open()
    page = desk.page
    expect(desk.rows()).to_have_count(5)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("k")
    page.keyboard.press("k")
    page.keyboard.press("s")
    expect(page.locator("#queue .comment-body")).to_have_text(["words 4", "words 1", "words 0"])
    page.keyboard.press("*")
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.keyboard.press("a")
    expect(desk.rows()).to_have_count(0)
    spam = {"words 2", "words 3"}
    assert {text for text, status in desk.statuses().items() if status == "spam"} == spam


def test_a_group_is_decided_in_one_tap_without_the_one_that_is_kept_and_undone(desk: Desk) -> None:
    for n in range(6):
        desk.write(f"Buy it {n}: https://shop.example/{n}", f"192.0.2.{n}", mail=f"{n}@a.example")
    desk.write("I bought mine at https://shop.example/ and it broke", "198.51.100.1", mail="b@b.b")
    desk.write("Thank you for this", "198.51.100.2", mail="c@c.c")
    desk.open()
    page = desk.page
    page.get_by_role("button", name="Groups").click()
    group = page.locator("#groups > li")
    expect(group.get_by_role("heading")).to_have_text("7 linking to shop.example")
    expect(desk.rows().locator(".comment-body")).to_have_text(["Thank you for this"])
    # The odd one is among the samples.
    odd = group.locator(".samples > li").filter(has_text="it broke")
    odd.get_by_role("button", name="Exclude this one").click()
    expect(group.get_by_role("heading")).to_have_text("6 linking to shop.example")
    expect(desk.rows()).to_have_count(2)
    group.get_by_role("button", name="Show all").click()
    expect(group.locator(".samples > li")).to_have_count(6)
    page.keyboard.press("k")
    page.keyboard.press("s")
    expect(page.get_by_text("6 marked as spam")).to_be_visible()
    expect(group).to_have_count(0)
    expect(page.locator("article:focus")).to_be_visible()
    assert sorted(desk.statuses().values()) == ["spam"] * 6 + ["waiting"] * 2
    page.keyboard.press("u")
    expect(group.get_by_role("heading")).to_have_text("7 linking to shop.example")
    assert set(desk.statuses().values()) == {"waiting"}
    page.get_by_role("button", name="Groups").click()
    expect(desk.rows()).to_have_count(8)


@pytest.mark.rare
def test_what_was_compared_is_not_new_and_the_spam_is_emptied_with_its_groups(desk: Desk) -> None:
    for n in range(25):
        desk.write(chr(97 + n) * 8, f"198.51.100.{n}", mail=f"{n}@example.com")
    ids = [desk.write(f"https://shop.example/{n}", f"192.0.2.{n}") for n in range(3)]
    desk.open()
    page = desk.page
    page.get_by_role("button", name="Groups").click()
    expect(desk.rows()).to_have_count(SHOWN)
    page.locator("#groups > li").get_by_role("button", name="Spam").click()
    expect(page.get_by_text("Spam 3")).to_be_visible()
    expect(page.get_by_role("button", name="new comment")).to_have_count(0)
    page.get_by_role("button", name="Show more").click()
    expect(desk.rows()).to_have_count(25)
    page.get_by_role("radio", name="Spam").check()
    expect(page.locator("#groups > li")).to_have_count(1)
    page.get_by_role("button", name="Empty spam").click()
    expect(page.get_by_text("No comments.")).to_be_visible()
    assert len(desk.statuses()) == 25
    assert desk.ask("GET", f"queue?ids={','.join(ids)}")["data"] == []


def test_a_comment_is_answered_where_it_is_and_approved_by_that(desk: Desk) -> None:
    for n in range(3):
        desk.write(f"words {n}")
    desk.open()
    page = desk.page
    expect(desk.rows()).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.locator("textarea:focus").fill("**Thank** you")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".preview strong")).to_have_text("Thank")
    desk.visitor.forgive("ERR_FAILED")
    # The server's answer is lost once. The form stays, and sends the same reply again.
    page.route("**/queue/reply*", lambda route: (route.fetch(), route.abort()), times=1)
    page.get_by_role("button", name="Approve and reply").click()
    expect(page.get_by_text("The server is not responding")).to_be_visible()
    page.get_by_role("button", name="Approve and reply").click()
    expect(page.get_by_text("Reply posted, comment approved")).to_be_visible()
    expect(page.locator("article:focus .comment-body")).to_have_text("words 0")
    assert desk.statuses() == {
        "words 0": "waiting",
        "words 1": "approved",
        "words 2": "waiting",
        "**Thank** you": "approved",
    }
    assert len(desk.ask("GET", "queue?pageSize=100")["data"]) == 4


def test_what_was_typed_is_lost_by_no_key_and_no_reload(desk: Desk) -> None:
    id = desk.write("words")
    desk.open()
    expect(desk.rows()).to_have_count(1)
    page, text = desk.page, desk.page.locator("#queue textarea")
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.keyboard.insert_text("Thank you, ")
    # Both keys belong to an input method while it composes.
    method = page.context.new_cdp_session(page)
    method.send("Input.imeSetComposition", {"text": "xie", "selectionStart": 3, "selectionEnd": 3})
    for key, held in (("Escape", 0), ("Enter", 2)):
        sent = {"key": key, "windowsVirtualKeyCode": 229, "modifiers": held}
        method.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **sent})
    method.send("Input.insertText", {"text": "\u8c22\u8c22"})
    expect(text).to_have_value("Thank you, \u8c22\u8c22")
    assert desk.statuses() == {"words": "waiting"}

    page.keyboard.press("Escape")
    expect(text).to_have_count(0)
    page.keyboard.press("r")
    expect(text).to_have_value("Thank you, \u8c22\u8c22")
    desk.visitor.reload()
    expect(desk.rows()).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(text).to_have_value("words")
    page.keyboard.insert_text("!")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(text).to_have_value("Thank you, \u8c22\u8c22")
    page.get_by_role("button", name="Approve and reply").click()
    expect(page.get_by_text("Reply posted, comment approved")).to_be_visible()
    assert "footfall-draft r" not in page.evaluate("Object.keys(sessionStorage).join()")
    assert page.evaluate(f"sessionStorage['footfall-draft e {id}']") == '{"comment":"words!"}'


@pytest.mark.rare
def test_what_was_typed_into_any_form_is_there_after_a_reload(desk: Desk) -> None:
    for path, field in (
        ("bans", "reason"),
        ("bans", "path"),
        ("accounts", "address"),
        ("profile", "display_name"),
    ):
        desk.open(path)
        desk.page.locator(f"[name={field}]").fill("typed")
        desk.visitor.reload()
        expect(desk.page.locator(f"[name={field}]")).to_have_value("typed")
    # Also while a list is on its way.
    held = list[Any]()
    desk.page.route("**/api/user?*", lambda route: held.append(route))
    desk.open("accounts")
    desk.page.locator("[name=address]").fill("typed early")
    desk.page.unroute("**/api/user?*")
    desk.visitor.reload()
    expect(desk.page.locator("[name=address]")).to_have_value("typed early")
    desk.open("profile")
    desk.page.get_by_role("button", name="Save").first.click()
    expect(desk.page.get_by_text("Saved")).to_be_visible()
    assert "footfall-draft about" not in desk.page.evaluate("Object.keys(sessionStorage).join()")


@pytest.mark.rare
def test_an_answer_is_undone_with_the_approval(desk: Desk) -> None:
    desk.write("words")
    desk.open()
    page = desk.page
    desk.rows().get_by_role("button", name="Reply").click()
    page.locator("textarea:focus").fill("Thank you")
    page.keyboard.press("Control+Enter")
    expect(desk.rows()).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(desk.rows()).to_have_count(1)
    assert desk.statuses() == {"words": "waiting"}


@pytest.mark.rare
def test_a_thread_shows_the_others_and_where_the_comment_is(desk: Desk) -> None:
    root = desk.write("root")
    child = desk.write("child", pid=root, rid=root)
    desk.ask("PUT", "comment", {"ids": [root, child], "status": "approved"})
    desk.write("grandchild", pid=child, rid=root)
    desk.open()
    desk.rows().get_by_role("button", name="Thread").click()
    thread = desk.page.get_by_role("list", name="Thread")
    expect(thread.locator("> li")).to_have_count(3)
    expect(thread.locator(".comment-body")).to_have_text(["root", "child"])
    expect(thread.locator(".is-this")).to_have_text("This comment")


GOOD = [
    "I have baked this with rye, and it took an hour longer.",
    "Is there a way to do the second step without an oven?",
    "The link to the recipe of last year is broken, by the way.",
    "My grandmother used honey instead; try that one day!",
    "Thank you, Mara. This saved our Sunday.",
]
HOSTS = ["pills.example", "casino.example", "watches.example"]
SELLS = "Hello, I like your site very much and have found this for all who read it"


class Taps:
    """The owner's hand: everything that they tap is counted."""

    def __init__(self) -> None:
        self.count = 0

    def tap(self, target: Locator) -> None:
        self.count += 1
        target.click()


def write_wave(desk: Desk, numbers: range) -> None:
    """Spam of 40 senders: three hosts, and one text that is a little different each time."""
    for n in numbers:
        sender = n % 40
        kind = n % 4
        text = f"{SELLS} {n}" if kind == 3 else f"{n} https://{HOSTS[kind]}/{n}"
        desk.write(text, f"192.0.2.{sender}", mail=f"s{sender}@spam.example", url=f"/{n % 7}")


def test_300_comments_are_cleared_in_a_few_taps_and_the_good_ones_kept(desk: Desk) -> None:
    for n, text in enumerate(GOOD):
        write_wave(desk, range(n * 59, (n + 1) * 59))
        desk.write(text, f"198.51.100.{n}", mail=f"reader{n}@example.com")
    desk.open()
    page, hand = desk.page, Taps()
    expect(page.get_by_text("Pending 300")).to_be_visible()
    hand.tap(page.get_by_role("button", name="Groups"))
    expect(page.locator("#groups > li").first).to_be_visible()
    expect(desk.rows().locator(".comment-body")).to_have_text(GOOD[::-1])
    # While the owner looks at them, 50 more arrive.
    write_wave(desk, range(295, 345))
    hand.tap(page.get_by_label("Select all"))
    expect(page.get_by_text("295 selected")).to_be_visible()
    hand.tap(many(page).get_by_role("button", name="Spam"))
    expect(page.get_by_text("295 marked as spam")).to_be_visible()
    hand.tap(page.get_by_role("button", name="50 new comments"))
    expect(page.locator("#groups > li").first).to_be_visible()
    hand.tap(page.get_by_label("Select all"))
    expect(page.get_by_text("50 selected")).to_be_visible()
    hand.tap(many(page).get_by_role("button", name="Spam"))
    expect(page.get_by_text("50 marked as spam")).to_be_visible()
    # No group is left, so all means the good ones.
    hand.tap(page.get_by_label("Select all"))
    hand.tap(many(page).get_by_role("button", name="Approve"))
    expect(page.get_by_text("No comments.")).to_be_visible()
    assert hand.count <= 12
    now = desk.statuses()
    assert {text for text, status in now.items() if status == "approved"} == {*GOOD}
    assert list(now.values()).count("spam") == 345
    assert len(now) == 350


@pytest.mark.rare
def test_one_group_of_many_is_undone(desk: Desk) -> None:
    write_wave(desk, range(48))
    desk.open()
    page = desk.page
    page.get_by_role("button", name="Groups").click()
    groups = page.locator("#groups > li")
    expect(groups).to_have_count(4)
    groups.nth(1).get_by_role("button", name="Delete").click()
    expect(page.get_by_text("12 deleted")).to_be_visible()
    groups.nth(1).get_by_role("button", name="Spam").click()
    expect(page.get_by_text("12 marked as spam")).to_be_visible()
    expect(groups).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(groups).to_have_count(3)
    expect(page.get_by_text("Pending 36")).to_be_visible()
    assert set(desk.statuses().values()) == {"waiting"}


def test_on_a_phone_everything_is_large_enough_for_a_finger(
    start: Start, new_visitor: NewVisitor
) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    desk = Desk(start(**HELD).url, new_visitor(**phone))
    write_wave(desk, range(8))
    desk.write(GOOD[0], mail="reader@example.com")
    desk.open()
    page = desk.page
    expect(desk.rows()).to_have_count(9)
    desk.rows().first.locator(".comment-body").tap()
    desk.rows().first.get_by_role("button", name="Reply").tap()
    assert too_small(page) == []
    page.get_by_role("button", name="Groups").tap()
    expect(page.locator("#groups > li").first).to_be_visible()
    box = page.locator("#groups .words").first.bounding_box()
    assert box
    assert box["width"] > 250
    page.get_by_label("Select all").tap()
    many(page).get_by_role("button", name="Spam").tap()
    expect(page.get_by_text("8 marked as spam")).to_be_visible()
    assert too_small(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    desk.http.close()


def too_small(page: Page) -> list[str]:
    """What can be tapped in the queue, and is smaller than 44 px. A link in words is a word."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(
            ':is(main, #notice) :is(button, input, select, textarea, label.check, footer a)')]
            .filter((each) => each.checkVisibility() && !each.closest('dialog'))
            .map((each) => [each, (each.closest('label') ?? each).getBoundingClientRect()])
            .filter(([, box]) => box.width && (box.height < 44 || box.width < 44))
            .map(([each, box]) => `${each.outerHTML.slice(0, 90)} ${box.width} x ${box.height}`)
        """
    )
    return found


def test_on_a_phone_a_comment_is_short_until_it_is_tapped(
    start: Start, new_visitor: NewVisitor
) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    desk = Desk(start(**HELD).url, new_visitor(**phone))
    for n in range(3):
        desk.write(f"Words {n}. " * 100)
    desk.open()
    heights = "[...document.querySelectorAll('#queue > li')].map((each) => each.offsetHeight)"
    expect(desk.rows()).to_have_count(3)
    assert max(desk.page.evaluate(heights)) <= 140
    desk.rows().nth(1).locator(".comment-body").tap()
    approve = desk.rows().nth(1).get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    expect(desk.rows().first.get_by_role("button", name="Approve")).to_be_hidden()
    approve.tap()
    expect(desk.rows()).to_have_count(2)
    # Only a tap opens a row.
    expect(desk.rows().get_by_role("button", name="Approve")).to_have_count(0)
    assert sorted(desk.statuses().values()) == ["approved", "waiting", "waiting"]
    desk.http.close()


def test_bulk_actions_are_for_the_list_that_is_shown(desk: Desk) -> None:
    desk.write("held")
    for text in ("junk", "more junk"):
        desk.ask("PUT", "comment", {"ids": [desk.write(text)], "status": "spam"})
    page, held = desk.page, list[Route]()
    page.route("**/api/queue?*", lambda route: held.append(route), times=1)
    # Of an address with a list, it does not come with the page.
    desk.open("queue?status=waiting")
    expect(page.get_by_label("Select all")).to_be_disabled()
    page.keyboard.press("*")
    held.pop().continue_()
    page.get_by_label("Select all").check()
    page.get_by_role("radio", name="Spam").check()
    expect(desk.rows()).to_have_count(2)
    # The list of pending comments is late, so what is done with all is done with the spam.
    page.route("**/api/queue?*", lambda route: held.append(route), times=1)
    page.get_by_role("radio", name="Pending").check()
    page.get_by_role("button", name="Empty spam").click()
    expect(page.get_by_text("2 deleted")).to_be_visible()
    expect(page.locator("#queue .comment-body")).to_have_text(["held"])
    held.pop().continue_()
    # A list that does not come leaves the one that is shown, which can still be selected.
    desk.visitor.forgive("ERR_FAILED")
    page.route("**/api/queue?*", lambda route: route.abort(), times=1)
    page.get_by_role("radio", name="All").check()
    expect(page.locator("#notice.is-error")).to_be_visible()
    page.get_by_label("Select all").check()
    many(page).get_by_role("button", name="Approve").click()
    expect(desk.rows()).to_have_count(0)
    assert desk.statuses() == {"held": "approved"}


def test_what_was_selected_in_one_list_is_not_selected_in_the_next(desk: Desk) -> None:
    desk.write("held")
    desk.ask("PUT", "comment", {"ids": [desk.write("junk")], "status": "spam"})
    desk.open("queue?status=spam")
    page, held = desk.page, list[Route]()
    expect(desk.rows()).to_have_count(1)
    page.route("**/queue?*", lambda route: held.append(route), times=1)
    page.get_by_role("radio", name="Pending").check()
    page.get_by_label("Select all").check()
    expect(many(page).get_by_text("1 selected")).to_be_visible()
    held.pop().continue_()
    expect(page.locator("#queue .comment-body")).to_have_text(["held"])
    expect(page.get_by_label("Select all")).not_to_be_checked()
    expect(many(page).get_by_role("button", name="Delete")).to_be_disabled()


@pytest.mark.rare
def test_there_is_nothing_to_select_in_an_empty_list(desk: Desk) -> None:
    desk.open()
    expect(desk.page.get_by_text("No comments.")).to_be_visible()
    expect(desk.page.get_by_label("Select all")).to_be_disabled()


def test_a_bulk_action_is_one_row_of_the_log_that_opens(desk: Desk) -> None:
    for n in range(3):
        desk.write(f"spam {n}")
    desk.open()
    page = desk.page
    page.get_by_label("Select all").check()
    many(page).get_by_role("button", name="Spam").click()
    expect(page.get_by_text("3 marked as spam")).to_be_visible()
    desk.open("log")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_text("marked 3 comments as spam").click()
    page.get_by_role("link", name="spam 1").click()
    expect(desk.rows()).to_have_count(1)


# What happens in between: another moderator, a slow network, a finger that is still down.


def phone_of(start: Start, new_visitor: NewVisitor) -> Desk:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    return Desk(start(**HELD).url, new_visitor(**phone))


def slowly(page: Page, ms: int) -> None:
    """Each answer takes as long."""
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": ms, "downloadThroughput": -1, "uploadThroughput": -1},
    )


def test_a_text_that_was_edited_meanwhile_is_shown_beside_what_was_read(desk: Desk) -> None:
    desk.write("harmless")
    desk.open()
    expect(desk.rows()).to_have_count(1)
    id = desk.ask("GET", "queue")["data"][0]["objectId"]
    desk.ask("PUT", "comment", {"ids": [id], "comment": "buy pills"})
    desk.rows().first.get_by_role("button", name="Approve").click()
    row = desk.rows().first
    expect(row.get_by_text("Nothing was done. Read it and decide again.")).to_be_visible()
    expect(row.locator("del")).to_have_text("harmless")
    expect(row.locator(".comment-body").last).to_have_text("buy pills")
    assert desk.statuses() == {"buy pills": "waiting"}
    row.get_by_role("button", name="Approve").click()
    expect(desk.rows()).to_have_count(0)
    assert desk.statuses() == {"buy pills": "approved"}


@pytest.mark.parametrize("is_broken", [False, True])
def test_twelve_boxes_are_chosen_by_twelve_taps(
    start: Start, new_visitor: NewVisitor, is_broken: bool
) -> None:
    desk = phone_of(start, new_visitor)
    for n in range(12):
        desk.write(f"Words {n}. " * 50)
    desk.open()
    page = desk.page
    expect(desk.rows()).to_have_count(12)
    if is_broken:
        page.context.set_offline(True)
    else:
        slowly(page, 400)
    # Where the boxes are before anything is tapped.
    for n in range(12):
        desk.rows().nth(n).get_by_label("Select", exact=True).tap()
        expect(page.get_by_text(f"{n + 1} selected")).to_be_visible()
    if is_broken:
        desk.visitor.forgive("ERR_INTERNET_DISCONNECTED")
        many(page).get_by_role("button", name="Spam").tap()
        expect(page.get_by_text("The server is not responding")).to_be_visible()
        page.context.set_offline(False)
        expect(page.get_by_text("12 selected")).to_be_visible()
    many(page).get_by_role("button", name="Spam").tap()
    expect(desk.rows()).to_have_count(0)
    assert [*desk.statuses().values()] == ["spam"] * 12
    desk.http.close()


def test_no_row_moves_while_a_finger_is_down(start: Start, new_visitor: NewVisitor) -> None:
    desk = phone_of(start, new_visitor)
    for n in range(3):
        desk.write(f"Words {n}. " * 50)
    desk.open()
    page = desk.page
    expect(desk.rows()).to_have_count(3)
    heights = "[...document.querySelectorAll('#queue > li')].map((each) => each.offsetTop)"
    before = page.evaluate(heights)
    # The focus alone opens nothing.
    desk.rows().nth(0).locator("article").focus()
    desk.rows().nth(1).get_by_label("Select", exact=True).focus()
    assert page.evaluate(heights) == before
    # An answer that comes while a finger is down waits for its release.
    page.evaluate("dispatchEvent(new PointerEvent('pointerdown'))")
    desk.rows().nth(0).get_by_label("Select", exact=True).evaluate("box => box.click()")
    with page.expect_response("**/ui/api/comment*"):
        many(page).get_by_role("button", name="Spam").evaluate("each => each.click()")
    expect(desk.rows()).to_have_count(3)
    page.evaluate("dispatchEvent(new PointerEvent('pointerup'))")
    expect(desk.rows()).to_have_count(2)
    desk.http.close()


def test_six_replies_in_turn_on_a_network_that_breaks_off(
    start: Start, new_visitor: NewVisitor
) -> None:
    desk = phone_of(start, new_visitor)
    for n in range(6):
        desk.write(f"question {n}")
    desk.open()
    page = desk.page
    expect(desk.rows()).to_have_count(6)
    broken = list[bool]()

    def lose(route: Route) -> None:
        # The first try of each reply is carried out, and its answer is lost.
        broken.append(True)
        if len(broken) % 2:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    desk.visitor.forgive("ERR_FAILED")
    page.route("**/ui/api/queue/reply*", lose)
    for n in range(6):
        row = desk.rows().first
        row.locator(".comment-body").first.tap()
        row.get_by_role("button", name="Reply").tap()
        row.get_by_role("textbox", name="Comment").fill(f"answer {n}")
        send = row.get_by_role("button", name="Approve and reply")
        send.tap()
        expect(page.get_by_text("The server is not responding")).to_be_visible()
        send.tap()
        expect(page.get_by_text("The server is not responding")).to_have_count(0)
        expect(desk.rows()).to_have_count(5 - n)
    found = desk.statuses()
    assert sorted(found) == sorted(
        f"{what} {n}" for n in range(6) for what in ("answer", "question")
    )
    assert {*found.values()} == {"approved"}
    desk.http.close()


def test_the_actions_of_another_moderator_can_be_undone_here(desk: Desk) -> None:
    ids = [desk.write(f"words {n}") for n in range(2)]
    desk.ask("DELETE", "comment", {"ids": ids})
    desk.open()
    page = desk.page
    expect(desk.rows()).to_have_count(0)
    page.get_by_role("button", name=re.compile("Undo: .*2 deleted")).click()
    expect(desk.rows()).to_have_count(2)


def test_a_lost_answer_leaves_the_undo(desk: Desk) -> None:
    desk.write("words")
    desk.open()
    page = desk.page
    expect(desk.rows()).to_have_count(1)

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    desk.visitor.forgive("ERR_FAILED")
    page.route("**/ui/api/comment*", lose, times=1)
    desk.rows().first.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The server is not responding")).to_be_visible()
    expect(desk.rows()).to_have_count(0)
    assert desk.statuses() == {}
    page.get_by_text("Earlier actions: 1").click()
    page.get_by_role("button", name="Undo: 1 deleted").click()
    expect(desk.rows()).to_have_count(1)
    assert desk.statuses() == {"words": "waiting"}


def test_deleted_comments_are_in_the_bin_until_they_are_restored_or_removed(desk: Desk) -> None:
    for n in range(3):
        desk.write(f"words {n}")
    desk.open()
    page = desk.page
    page.get_by_label("Select all").check()
    many(page).get_by_role("button", name="Delete").click()
    expect(desk.rows()).to_have_count(0)
    page.get_by_role("radio", name="Deleted").check()
    binned = page.locator("#bin > li")
    expect(binned).to_have_count(3)
    expect(binned.first).to_contain_text("Deleted by Mara")
    binned.filter(has_text="words 1").get_by_role("button", name="Restore").click()
    expect(binned).to_have_count(2)
    binned.filter(has_text="words 2").get_by_role("button", name="Delete now").click()
    expect(binned).to_have_count(1)
    expect(page.get_by_text("Deleted 1")).to_be_visible()
    page.get_by_role("radio", name="Pending").check()
    expect(desk.rows()).to_have_count(1)
    assert desk.statuses() == {"words 1": "waiting"}


def test_more_than_a_screen_is_deleted_only_after_a_question(desk: Desk) -> None:
    for n in range(SHOWN + 3):
        desk.write(f"words {n}", address=f"192.0.2.{n + 1}")
    desk.open()
    page = desk.page
    page.get_by_label("Select all").check()
    page.get_by_role("button", name=f"All {SHOWN + 3} in this list").click()
    page.evaluate("void (kept = confirm, confirm = () => false)")
    many(page).get_by_role("button", name="Delete").click()
    assert len(desk.statuses()) == SHOWN + 3
    page.evaluate("void (confirm = kept)")
    many(page).get_by_role("button", name="Delete").click()
    expect(desk.rows()).to_have_count(0)
    assert desk.statuses() == {}
    assert desk.visitor.alerts == [f"Delete {SHOWN + 3} comments and their replies?"]


def test_the_queue_comes_in_few_requests_and_nothing_twice(desk: Desk) -> None:
    files = list[str]()
    desk.page.on("request", lambda request: files.append(request.url.partition("/ui/")[2]))
    desk.open()
    expect(desk.page.get_by_text("No comments.")).to_be_visible()
    scripts = [name for name in files if name.startswith("static/") and name.endswith("js")]
    assert len(scripts) == 1
    assert len([name for name in files if not name.startswith("api/")]) <= 5
    assert len({*files}) == len(files)
    # The account and the first comments come with the page.
    asked = [name.partition("?")[0] for name in files if name.startswith("api/")]
    assert asked == ["api/queue/actions"]


def test_what_a_language_model_says_is_below_the_comment_and_in_the_log(
    start: Start, new_visitor: NewVisitor
) -> None:
    with receiver() as server:
        server.answer = says({"verdict": "spam", "reason": "It <b>sells</b> teapots."})
        desk = Desk(start(**settings_of(server), **HELD).url, new_visitor())
        desk.write("Teapots, cheap!")
        server.wait(1)
        desk.open("queue?status=spam")
        said = re.compile(r"small-model finds spam in [\d.]+ s: It <b>sells</b> teapots\.")
        expect(desk.rows().first).to_contain_text(said)
        desk.open("log")
        expect(desk.page.get_by_text(said)).to_be_visible()
        desk.http.close()


def test_a_reader_reports_a_comment_and_its_owner_decides(
    start: Start, new_visitor: NewVisitor
) -> None:
    desk = Desk(start(REPORT_AFTER="1", DEMO="true").url, new_visitor())
    desk.write("Teapots, cheap!", url="/.footfall-demo")
    reader = new_visitor()
    reader.open(f"{desk.url}/")
    reader.page.get_by_role("button", name="Report the comment by Ann").click()
    expect(reader.page.get_by_role("button", name="Reported")).to_be_disabled()
    desk.open()
    row = desk.rows().first
    expect(row).to_contain_text("reported by 1 reader")
    row.get_by_role("button", name="Approve").click()
    desk.open("log")
    expect(desk.page.get_by_text("Readers who reported it")).to_be_visible()
    desk.http.close()


def test_a_reader_searches_the_comments_of_a_page(start: Start, new_visitor: NewVisitor) -> None:
    desk = Desk(start(SEARCH="true", DEMO="true").url, new_visitor())
    for text in ("Teapots are round", "Kettles are loud"):
        desk.write(text, url="/.footfall-demo", nick=text.split()[0])
    page = new_visitor().page
    page.goto(f"{desk.url}/")
    page.get_by_role("searchbox", name="Search comments").fill("LOUD")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("#comment-count")).to_have_text("1 comment found")
    expect(page.locator("#comment-list .comment-body")).to_have_text(["Kettles are loud"])
    page.get_by_role("searchbox", name="Search comments").fill("")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("#comment-list .comment-body")).to_have_count(2)
    desk.http.close()


def test_a_row_leads_to_the_other_comments_of_its_author_page_address_and_network(
    desk: Desk,
) -> None:
    desk.write("one", "192.0.2.1", nick="Ann")
    desk.write("two", "192.0.2.200", nick="Tom", mail="tom@example.com")
    desk.write("three", "198.51.100.7", nick="Ann", url="/other")
    page = desk.page
    for name, left in (
        ("ann@example.com", ["three", "one"]),
        ("Only this page", ["two", "one"]),
        ("192.0.2.1", ["one"]),
        ("192.0.2.0/24", ["two", "one"]),
    ):
        desk.open()
        row = desk.rows().filter(has=page.get_by_text("one", exact=True))
        row.get_by_role("link", name=name, exact=True).click()
        expect(page.locator("#queue .comment-body")).to_have_text(left)
