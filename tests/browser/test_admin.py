"""The pages at /ui as a site's owner uses them: on a phone, in dark mode, with the keyboard."""

import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyotp
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.attacks.test_names import NICKS
from tests.support.importing import DATA
from tests.support.serving import Serving, serving

from .blog import Blog
from .conftest import NewVisitor, Start, Writer, by
from .visitor import Visitor

WIDTH = 360
PHONE = {"viewport": {"width": WIDTH, "height": 740}, "is_mobile": True, "has_touch": True}
MAIL, SESSION = "mara@example.com", "footfall"
PAGES, WAITING = 7, 60
AUDITED = {"COMMENT_AUDIT": "true"}
RUNNING = '<img src="data:," onerror="window.ran = 1">'


class Owner:
    """The site's owner, and their password and two-factor authentication."""

    def __init__(self, service: Serving) -> None:
        self.service = service
        self.url = service.url
        self.password = "an old garden gate"
        self.secret = ""
        self.recovery: list[str] = []
        # The cookie of the last login: an address may not log in as often as these tests would.
        self.cookie = ("", "")

    def settle(self) -> None:
        """Register, set up two-factor authentication and log in, without a browser."""
        headers = {"x-footfall-page": "1", "origin": self.url}
        person = {"display_name": "Mara", "email": MAIL, "password": self.password}
        with httpx.Client(base_url=f"{self.url}/ui/api/", headers=headers) as http:
            http.post("user", json=person).raise_for_status()
            http.post("token", json=person).raise_for_status()
            self.cookie = (SESSION, http.cookies[SESSION])
            self.secret = http.get("token/2fa").json()["data"]["secret"]
            code = pyotp.TOTP(self.secret).now()
            proof = {"secret": self.secret, "code": code, "current_password": self.password}
            self.recovery = http.post("token/2fa", json=proof).json()["data"]["recovery"]

    def start(self, page: Page) -> None:
        """Email and password, after which the page asks for nothing but the code."""
        page.get_by_label("Email").fill(MAIL)
        page.get_by_label("Password").fill(self.password)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("Enter your two-factor code")).to_be_visible()
        expect(page.get_by_label("Email")).to_be_hidden()

    def log_in(self, page: Page, code: str = "") -> None:
        """Log in on the login page, from whichever page it was opened."""
        self.start(page)
        page.get_by_label("Code", exact=True).fill(code or self.recovery.pop())
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Comments")).to_be_visible()
        found = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
        self.cookie = (SESSION, found[SESSION])


@pytest.fixture(scope="module")
def owner(blog: Blog) -> Iterator[Owner]:
    settings = {**by(blog), **AUDITED, "SITE_URL": blog.url}
    with (
        tempfile.TemporaryDirectory(prefix="ff") as home,
        serving(Path(home), **settings) as service,
    ):
        owner = Owner(service)
        owner.settle()
        yield owner


@pytest.fixture
def phone(new_visitor: NewVisitor) -> Visitor:
    """A phone on which nobody is logged in."""
    return new_visitor(**PHONE)


@pytest.fixture
def visitor(owner: Owner, phone: Visitor) -> Visitor:
    """The owner's phone, at the queue."""
    name, value = owner.cookie
    phone.context.add_cookies([{"name": name, "value": value, "url": f"{owner.url}/ui/"}])
    phone.open(f"{owner.url}/ui/queue")
    return phone


def queue(page: Page) -> Locator:
    return page.locator("#queue > li")


def opened(page: Page, text: str) -> Locator:
    """The comment with this text, tapped: on a phone its buttons are there from then on."""
    row = queue(page).filter(has_text=text)
    row.locator(".comment-body").click()
    return row


def public(owner: Owner, path: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{owner.url}/api/comment", params={"path": path, "pageSize": 100})
    found: list[dict[str, Any]] = answer.json()["data"]["data"]
    return found


def is_as_wide_as_the_phone(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth") == WIDTH)


def test_the_first_administrator_registers_and_decides_sixty_comments_by_keyboard(
    start: Start, phone: Visitor
) -> None:
    owner = Owner(start(**AUDITED))
    page = phone.page
    phone.open(f"{owner.url}/ui")
    expect(page.get_by_text("There is no administrator yet")).to_be_visible()
    register(owner, page)
    set_up_second_factor(owner, page)
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    # What is left logs nobody in: it tells a browser that the account knows.
    assert [cookie["name"] for cookie in phone.context.cookies()] == ["footfall-device"]
    for number in range(WAITING):
        Writer(owner.url, f"/post/{number % PAGES}")(f"words {number}", nick=f"Ann {number}")
    phone.open(f"{owner.url}/ui")
    # The current code was used to set it up, but the next one is valid, too.
    owner.log_in(page, pyotp.TOTP(owner.secret).at(int(time.time()) + 30))
    page.get_by_role("link", name=f"{WAITING} pending comments").click()
    work_off(page)
    # The last one was approved, and that is undone.
    page.keyboard.press("u")
    expect(queue(page)).to_have_text([re.compile("words 0")])
    seen = {each["orig"] for n in range(PAGES) for each in public(owner, f"/post/{n}")}
    assert seen == {f"words {n}" for n in range(1, WAITING) if n % 3 == 0}


def register(owner: Owner, page: Page) -> None:
    page.get_by_role("link", name="Create an account").click()
    for label, text in (("Name", "Mara"), ("Email", MAIL), ("Password", owner.password)):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Create an account").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("link", name="Comments", exact=True).click()
    expect(page.get_by_text("No comments.")).to_be_visible()


def set_up_second_factor(owner: Owner, page: Page) -> None:
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Profile").click()
    page.get_by_role("button", name="Set up").click()
    picture = page.get_by_alt_text("QR code")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    owner.secret = page.locator("[data-form=second-factor] code").inner_text()
    page.get_by_label("Code", exact=True).fill(pyotp.TOTP(owner.secret).now())
    page.get_by_role("button", name="Turn on").click()
    page.get_by_label("Current password").fill(owner.password)
    page.get_by_role("button", name="Continue").click()
    expect(page.locator(".codes li")).to_have_count(10)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy codes").click()
    expect(page.get_by_text("Recovery codes copied.")).to_be_visible()
    copied = str(page.evaluate("navigator.clipboard.readText()"))
    assert copied.split("\n") == page.locator(".codes li").all_inner_texts()
    page.get_by_role("button", name="I have saved them").click()
    expect(page.get_by_text("Two-factor authentication is on")).to_be_visible()
    assert is_as_wide_as_the_phone(page)


def work_off(page: Page) -> None:
    expect(page.get_by_text(f"Pending {WAITING}")).to_be_visible()
    assert is_as_wide_as_the_phone(page)
    page.keyboard.press("j")
    for number in reversed(range(WAITING)):
        expect(page.locator("article:focus .comment-body")).to_have_text(f"words {number}")
        page.keyboard.press("asd"[number % 3])
    expect(page.get_by_text("No comments.")).to_be_visible()
    expect(page.get_by_text("Spam 20")).to_be_visible()


@pytest.mark.rare
def test_many_at_once_an_edit_and_a_thread(owner: Owner, visitor: Visitor) -> None:
    write = Writer(owner.url, "/thread")
    root = write("the root")
    page = visitor.page
    page.reload()
    opened(page, "the root").get_by_role("button", name="Approve").click()
    # Behind a decision the list is loaded again, and the focus is where that leaves it.
    expect(queue(page)).to_have_count(0)
    write.reply(root, "a reply")
    write("another")
    page.get_by_role("radio", name="All").check()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Next comment")
    page.keyboard.press("Escape")
    reply = queue(page).filter(has_text="a reply")
    reply.locator("article").focus()
    page.keyboard.press("t")
    expect(reply.locator(".thread > li")).to_have_text([re.compile("the root"), "This comment"])
    page.keyboard.press("e")
    reply.get_by_label("Comment", exact=True).fill("better words")
    reply.get_by_label("Comment", exact=True).press("Control+Enter")
    reply = queue(page).filter(has_text="better words")
    expect(reply.locator("article")).to_be_focused()
    page.get_by_role("button", name="Undo").click()
    expect(queue(page).filter(has_text="a reply")).to_have_count(1)
    page.get_by_role("searchbox").fill("another")
    page.get_by_role("searchbox").press("Enter")
    expect(queue(page)).to_have_count(1)
    page.get_by_label("Select all").check()
    page.get_by_role("group", name="Bulk actions").get_by_role("button", name="Delete").click()
    expect(queue(page)).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(queue(page)).to_have_count(1)


@pytest.mark.rare
def test_a_page_named_like_another_host_is_linked_to_on_the_site(
    owner: Owner, visitor: Visitor, blog: Blog
) -> None:
    names = (
        ".evil.example/x",
        "@evil.example/x",
        "//evil.example/x",
        "\\\\evil.example",
        "/a b?c#d",
        "https://evil.example/x",
        f"{blog.url}/own",
    )
    for name in names:
        Writer(owner.url, name)(f"named {name}")
    page = visitor.page
    page.get_by_role("searchbox").fill("named")
    page.get_by_role("searchbox").press("Enter")
    expect(queue(page)).to_have_count(len(names))
    links = {
        each.inner_text(): each.evaluate("link => link.href")
        for each in page.locator("a.page").all()
    }
    assert {link.removeprefix(f"{blog.url}/") for link in links.values()} == {
        ".evil.example/x",
        "@evil.example/x",
        "evil.example/x",
        "evil.example",
        "a%20b?c#d",
        "https://evil.example/x",
        "own",
    }


@pytest.mark.rare
def test_a_lost_password(owner: Owner, phone: Visitor) -> None:
    _, said = owner.service.ask("accounts", "password", MAIL)
    (link,) = re.findall(r"\S*/ui/forgot#\S+", said)
    page = phone.page
    phone.open(owner.url + link[link.index("/ui/") :])
    owner.password = "three brown teapots"
    for label in ("New password", "Repeat password"):
        page.get_by_label(label).fill(owner.password)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("You can log in now")).to_be_visible()
    page.get_by_role("link", name="Log in").click()
    owner.start(page)
    page.get_by_role("link", name="Log in as someone else").click()
    expect(page.get_by_label("Code", exact=True)).to_be_hidden()
    owner.log_in(page)


@pytest.mark.rare
def test_a_spammer_is_banned_and_the_log_says_so(owner: Owner, visitor: Visitor) -> None:
    write = Writer(owner.url, "/spam")
    write("buy this", mail="spammer@example.com")
    page = visitor.page
    page.reload()
    spam = opened(page, "buy this")
    spam.get_by_role("button", name="Spam").click()
    expect(spam).to_have_count(0)
    page.get_by_role("radio", name=re.compile("Spam")).check()
    opened(page, "buy this").get_by_role("link", name="spammer@example.com").click()
    periods = ["Permanently", "1 day", "7 days", "30 days", "365 days"]
    expect(page.get_by_label("Duration").get_by_role("option")).to_have_text(periods)
    page.get_by_label("Reason").fill("sells teapots")
    page.get_by_role("button", name="Ban", exact=True).click()
    expect(page.get_by_role("listitem")).to_contain_text(["sells teapots"])
    draft = {"comment": "buy that", "url": "/spam", "mail": "spammer@example.com", "nick": "S"}
    assert httpx.post(f"{owner.url}/api/comment", json=draft).json()["errno"] == 1000
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Log", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="banned spammer@")).to_contain_text("Mara")
    page.goto(f"{owner.url}/ui/authors?who=spammer@example.com")
    expect(page.get_by_text("buy this")).to_be_visible()
    page.get_by_role("button", name="Delete everything").click()
    expect(page.get_by_text("1 comment deleted")).to_be_visible()
    assert visitor.alerts


@pytest.mark.rare
def test_the_navigation_marks_what_needs_attention(owner: Owner, visitor: Visitor) -> None:
    page = visitor.page
    fine: dict[str, Any] = {"status": "ready", "reasons": [], "warnings": []}
    failed = {**fine, "warnings": ["2 could not be told"], "outbox": {"undelivered": 2}}
    told = [fine]
    page.route("**/readyz", lambda route: route.fulfill(json=told[-1]))
    more = page.locator("summary", has_text="More")
    for state, marked in ((fine, []), (failed, ["Notifications"])):
        told.append(state)
        page.goto(f"{owner.url}/ui/queue")
        more.click()
        links = page.get_by_role("navigation").first.get_by_role("link")
        expect(links.filter(has_text="Profile")).to_be_visible()
        expect(links.filter(has_text="needs attention")).to_have_count(len(marked))
    expect(links.filter(has_text="needs attention")).to_contain_text(marked)
    expect(more).to_contain_text("needs attention")


def test_that_no_counter_is_found_is_said_at_the_end_alone(owner: Owner, visitor: Visitor) -> None:
    page = visitor.page
    # As if there were thirty million of them.
    page.route("**/counters?*", lambda route: None)
    page.goto(f"{owner.url}/ui/counters")
    page.get_by_role("searchbox").fill("something else")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_text("No matching counters")).to_be_hidden()


@pytest.mark.rare
def test_a_counter_is_corrected_and_the_other_pages_fit_a_phone(
    owner: Owner, visitor: Visitor
) -> None:
    httpx.post(f"{owner.url}/api/article", json=[{"path": "/counted"}] * 9)
    page = visitor.page
    page.goto(f"{owner.url}/ui/counters")
    page.get_by_role("button", name="Find").click()
    row = page.get_by_role("row").filter(has_text="/counted")
    row.get_by_role("button", name="Correct").click()
    page.get_by_label("Count", exact=True).fill("4")
    page.get_by_label("Reason").fill("a robot")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("/counted: 4")).to_be_visible()
    row.get_by_role("button", name="Move").click()
    page.get_by_label("New path").fill("/moved")
    page.get_by_role("button", name="Continue").click()
    expect(
        page.get_by_text("4 views, 0 other counts, 0 comments would move to /moved")
    ).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Move").click()
    expect(page.get_by_text("Moved to /moved.")).to_be_visible()
    page.goto(f"{owner.url}/ui/log")
    expect(page.get_by_role("row").filter(has_text="/moved")).to_contain_text("/counted")
    page.goto(f"{owner.url}/ui/queue?lng=de")
    expect(page.get_by_role("heading", name="Kommentare")).to_be_visible()
    assert is_as_wide_as_the_phone(page)
    page.goto(f"{owner.url}/ui/settings?lng=zh")
    expect(page.get_by_role("row").filter(has_text="SPAM_DAYS")).to_contain_text("垃圾评论")
    page.goto(f"{owner.url}/ui/queue?lng=en")
    for name, words in (("settings", "COMMENT_AUDIT"), ("state", "Durability"), ("accounts", MAIL)):
        page.goto(f"{owner.url}/ui/{name}")
        expect(page.get_by_text(words).first).to_be_visible()
        assert is_as_wide_as_the_phone(page)


def test_hostile_texts_do_nothing_there(owner: Owner, visitor: Visitor) -> None:
    for number, nick in enumerate((*NICKS, RUNNING, f"</a>{RUNNING}")):
        Writer(owner.url, "/hostile")(
            f"hostile {number} {RUNNING}<style>body{{display:none}}</style><form><input name=x>"
            f'<a href="javascript:window.ran=1">a</a><p id="notice" class="bar">notice</p>',
            nick=nick,
            mail=f'"><svg onload=window.ran=1>{number}@example.com',
            link="javascript:window.ran=1",
            ua=RUNNING,
        )
    page = visitor.page
    page.get_by_role("searchbox").fill("hostile")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_text("hostile 0")).to_be_visible()
    for each in queue(page).all():
        for link in each.locator("a[href]").all():
            assert link.evaluate("a => a.protocol") in ("http:", "https:")
            link.dispatch_event("mouseover")
        assert (
            each.locator("form, input:not(.choose), style, script, [onerror], [onload]").count()
            == 0
        )
    queue(page).first.locator("article").focus()
    page.keyboard.press("t")
    expect(queue(page).first.locator(".thread")).to_be_visible()
    assert page.evaluate("window.ran") is None


def test_a_page_of_another_origin_does_nothing_with_the_owners_cookie(
    owner: Owner, visitor: Visitor, blog: Blog
) -> None:
    """The page is on another port of the same host, so browsers send even the strictest cookie."""
    page = visitor.page
    write = Writer(owner.url, "/attacked")
    write("here to stay")
    page.reload()
    opened(page, "here to stay").get_by_role("button", name="Approve").click()
    expect(queue(page).filter(has_text="here to stay")).to_have_count(0)
    (stored,) = public(owner, "/attacked")
    script = """async ([url, id]) => {
        const headers = { "x-footfall-page": "1", "content-type": "application/json" };
        const options = { method: "DELETE", credentials: "include" };
        const tried = [
            [`${url}/ui/api/comment/${id}`, { ...options, headers }],
            [`${url}/ui/api/comment/${id}`, options],
            [`${url}/ui/api/token`, { method: "POST", credentials: "include", mode: "no-cors" }],
            [`${url}/ui/api/token`, { headers, credentials: "include" }],
        ];
        const results = await Promise.allSettled(tried.map(([to, how]) => fetch(to, how)));
        return results.map(each => each.status);
    }"""
    page.goto(blog.publish("/attack", "<p>A page of somebody else.</p>"))
    said = page.evaluate(script, [owner.url, stored["objectId"]])
    assert said == ["rejected"] * 4
    visitor.forgive("Failed to load resource")
    visitor.forgive("blocked by CORS policy")
    assert [each["objectId"] for each in public(owner, "/attacked")] == [stored["objectId"]]
    page.goto(f"{owner.url}/ui/queue")
    expect(page.get_by_role("heading", name="Comments")).to_be_visible()


@pytest.mark.rare
def test_a_guest_sees_only_their_own_and_is_not_redirected(owner: Owner, phone: Visitor) -> None:
    person = {"display_name": "Tom", "email": "tom@example.com", "password": "tom's own"}
    httpx.post(f"{owner.url}/api/user", json=person)
    page = phone.page
    phone.open(f"{owner.url}/ui/login?next=//evil.example/&lng=de")
    page.get_by_label("E-Mail").fill(person["email"])
    page.get_by_label("Passwort").fill(person["password"])
    page.get_by_role("button", name="Anmelden").click()
    expect(page.get_by_role("heading", name="Meine Kommentare")).to_be_visible()
    assert page.url == f"{owner.url}/ui/"
    expect(page.get_by_role("navigation").first.get_by_role("link")).to_have_count(2)
    phone.open(f"{owner.url}/ui/accounts")
    expect(page.get_by_role("heading", name="Meine Kommentare")).to_be_visible()


@pytest.mark.rare
def test_a_file_of_another_system_is_tried_and_imported(owner: Owner, visitor: Visitor) -> None:
    page = visitor.page
    page.goto(f"{owner.url}/ui/moving")
    page.get_by_label("File").set_input_files(DATA / "disqus.xml")
    page.get_by_role("button", name="Check file").click()
    expect(page.get_by_role("heading", name="Disqus: nothing stored yet")).to_be_visible()
    expect(page.get_by_text("Changed or rejected")).to_be_visible()
    assert is_as_wide_as_the_phone(page)
    assert public(owner, "/hello/") == []
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="Disqus: imported")).to_be_visible()
    assert [each["nick"] for each in public(owner, "/hello/")] == ["Ann"]
    page.get_by_text("Rows:").click()
    expect(page.locator("details .rows > li").first).to_be_visible()
    # What is not a file of any system is refused with words.
    page.get_by_label("File").set_input_files({"name": "x", "mimeType": "", "buffer": b"nothing"})
    page.get_by_role("button", name="Check file").click()
    expect(page.get_by_text("an unknown format")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    archive = json.loads(download.value.path().read_bytes())
    assert archive["type"] == "waline"
    assert "First" in "".join(each["comment"] for each in archive["data"]["Comment"])
