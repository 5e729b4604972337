"""The demonstration page with mouse and keyboard, on a phone, and when things fail."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.serving import Serving, serving

from .blog import Blog
from .conftest import NewVisitor, Start, Writer, by
from .visitor import Visitor

HARD_TO_SHOW = """# A heading

A_very_long_word_that_never_ends_{long} and https://example.com/{long}

```python
def a_function_with_a_long_signature(first, second, third): return "{long}"
```

| one | two | three | four | five | six | seven |
|---|---|---|---|---|---|---|
| {long} | b | c | d | e | f | g |

$$\\sum_{{n=1}}^{{\\infty}} \\frac{{1}}{{n^2}} = \\frac{{\\pi^2}}{{6}}$$

![a picture](https://elsewhere.example/p.png) <video src="https://elsewhere.example/v.mp4"></video>
""".format(long="x" * 120)


class Demo:
    """The page as its reader sees it."""

    def __init__(self, visitor: Visitor, url: str) -> None:
        self.visitor = visitor
        self.url = url
        self.page: Page = visitor.page
        self.reads = self.page.locator("#read-count")
        self.count = self.page.locator("#comment-count")
        self.texts = self.page.locator("#comment-list > li > article > .comment-body")
        self.form = self.page.locator("#new-form")
        self.text = self.page.locator("#new-comment")
        self.error = self.form.locator(".form-error")
        self.more = self.page.locator("#load-more")
        self.news = self.page.locator("#live-status")

    def open(self, fragment: str = "") -> None:
        self.visitor.open(f"{self.url}/{fragment}")

    def write(self, text: str, nick: str = "Bea") -> None:
        self.text.fill(text)
        self.page.locator("#new-nick").fill(nick)
        self.page.locator("#new-mail").fill("bea@example.com")
        self.form.get_by_role("button", name="Post comment").click()

    def comment(self, text: str) -> Locator:
        """The article, root or reply, with this text."""
        return self.page.locator("article.comment", has_text=text)

    def replies(self, to: str) -> Locator:
        root = self.page.locator("#comment-list > li").filter(has_text=to)
        return root.locator(".replies > li > article > .comment-body")

    def like(self, text: str) -> Locator:
        return self.comment(text).locator(".like")

    def sort(self, name: str) -> None:
        self.page.locator("#sort-order label", has_text=name).click()


DEMO_PAGE = "/.footfall-demo"


class Keeper:
    """An administrator, who makes the page of a service what it was before."""

    def __init__(self, service: Serving, http: httpx.Client) -> None:
        self.service = service
        self.http = http
        person = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
        self.ask("POST", "user", json=person)
        token = self.ask("POST", "token", json=person)["token"]
        http.headers["authorization"] = f"Bearer {token}"

    def ask(self, method: str, path: str, **options: Any) -> Any:
        answer = self.http.request(method, path, **options).json()
        assert answer["errno"] == 0, answer
        return answer["data"]

    def clean(self) -> None:
        page = self.ask("GET", "comment", params={"path": DEMO_PAGE, "pageSize": 100})
        if ids := [root["objectId"] for root in page["data"]]:
            self.ask("DELETE", "comment", json={"ids": ids})
        (reads,) = self.ask("GET", "article", params={"path": DEMO_PAGE})
        for _ in range(reads["time"]):
            self.ask("POST", "article", json={"path": DEMO_PAGE, "action": "desc"})


@pytest.fixture(scope="module")
def keeper(blog: Blog) -> Iterator[Keeper]:
    with (
        tempfile.TemporaryDirectory(prefix="ff") as home,
        serving(Path(home), **by(blog)) as service,
        httpx.Client(base_url=f"{service.url}/api/") as http,
    ):
        yield Keeper(service, http)


@pytest.fixture
def served(keeper: Keeper) -> Iterator[Serving]:
    """The page's path is always the same, so each test leaves it empty."""
    yield keeper.service
    keeper.clean()


@pytest.fixture
def demo(served: Serving, visitor: Visitor) -> Demo:
    return Demo(visitor, served.url)


@pytest.fixture
def busy_demo(service: Serving, visitor: Visitor) -> Demo:
    """The page of the service that all tests share, with whatever they left there."""
    return Demo(visitor, service.url)


@pytest.fixture
def write(served: Serving) -> Writer:
    return Writer(served.url, DEMO_PAGE)


def test_without_a_script_one_reads_and_writes(
    served: Serving, new_visitor: NewVisitor, write: Writer
) -> None:
    write("from before")
    page = new_visitor(java_script_enabled=False).page
    page.goto(f"{served.url}/")
    # Playwright finds nothing in <noscript> by words or roles.
    texts = page.locator("noscript .comment-body p")
    expect(texts).to_be_visible()
    for part in ("#comment-count", ".skeletons", "#read-count"):
        expect(page.locator(part)).to_be_hidden()
    page.locator("#plain-nick").fill("Bea")
    page.locator("#plain-comment").fill("without a script")
    page.locator("#plain-form button").click()
    expect(page.locator("#plain-form .form-notice")).to_contain_text("is published")
    expect(texts).to_have_text(["without a script", "from before"])


def test_a_chinese_browser_gets_a_chinese_page(served: Serving, new_visitor: NewVisitor) -> None:
    demo = Demo(new_visitor(locale="zh-CN"), served.url)
    demo.open()
    expect(demo.page.get_by_role("heading", name="评论", exact=True)).to_be_visible()
    expect(demo.count).to_have_text("0 条评论")
    demo.text.fill("你好")
    demo.form.get_by_role("button", name="发表评论").click()
    expect(demo.form.locator(".form-notice")).to_have_text("谢谢。您的评论已发表。")
    left = demo.page.locator("body").inner_text()
    # Of what there is in Latin letters, all is names and code.
    assert not re.search(
        r"[a-z]{3,} [a-z]{3,} [a-z]{3,}", re.sub(r"<[^>]*>|import .*|init.*", "", left)
    )


@pytest.mark.rare
def test_a_visit_is_counted_once_however_often_the_page_is_loaded(
    demo: Demo, new_visitor: NewVisitor
) -> None:
    demo.open()
    expect(demo.reads).to_have_text("1")
    expect(demo.page.locator("#read-label")).to_have_text("read of this page")
    demo.visitor.reload()
    expect(demo.reads).to_have_text("1")
    other = Demo(new_visitor(), demo.url)
    other.open()
    expect(other.reads).to_have_text("2")
    expect(other.page.locator("#read-label")).to_have_text("reads of this page")


def test_who_opens_the_demonstration_reads_no_page_of_the_site(demo: Demo, keeper: Keeper) -> None:
    def views() -> tuple[Any, Any]:
        (front,) = keeper.ask("GET", "article", params={"path": "/"})
        return front, keeper.ask("GET", "statistics/totals")["today"]["views"]

    before = views()
    demo.open()
    expect(demo.reads).to_have_text("1")
    assert views() == before


def test_a_comment_appears_at_once_and_stays(demo: Demo) -> None:
    demo.open()
    demo.text.fill("Half a sent")
    demo.visitor.reload()
    expect(demo.text).to_have_value("Half a sent")
    expect(demo.count).to_have_text("0 comments")
    expect(demo.page.locator("#list-empty")).to_be_visible()
    demo.write("Hello **there**", nick="Bea & Co")
    expect(demo.texts).to_have_text(["Hello there"])
    expect(demo.texts.locator("strong")).to_have_text("there")
    expect(demo.count).to_have_text("1 comment")
    expect(demo.page.locator("#list-empty")).to_be_hidden()
    expect(demo.form.locator(".form-notice")).to_contain_text("is published")
    expect(demo.text).to_have_value("")
    expect(demo.comment("Hello")).to_be_focused()
    demo.visitor.reload()
    expect(demo.text).to_have_value("")
    expect(demo.texts).to_have_text(["Hello there"])
    expect(demo.comment("Hello").locator(".nick")).to_have_text("Bea & Co")
    expect(demo.page.locator("#new-nick")).to_have_value("Bea & Co")


@pytest.mark.rare
def test_replies_stand_under_their_root_and_name_whom_they_answer(
    demo: Demo, write: Writer
) -> None:
    root = write("a question", nick="Carl")
    write("something else")
    demo.open()
    demo.comment("a question").locator(".reply").click()
    form = demo.page.locator(f"#reply-{root['objectId']}-form")
    text = demo.page.locator(f"#reply-{root['objectId']}-comment")
    expect(text).to_be_focused()
    text.press("Escape")
    expect(form).to_have_count(0)
    expect(demo.comment("a question").locator(".reply")).to_be_focused()

    demo.comment("a question").locator(".reply").click()
    text.fill("an answer")
    form.locator("input[name=nick]").fill("Bea")
    form.get_by_role("button", name="Post reply").click()
    expect(demo.replies("a question")).to_have_text(["an answer"])
    expect(form).to_have_count(0)

    demo.comment("an answer").locator(".reply").click()
    reply = demo.page.get_by_role("form", name="Reply to Bea")
    reply.locator("textarea").fill("a doubt")
    reply.locator("textarea").press("Control+Enter")
    for _ in range(2):
        expect(demo.replies("a question")).to_have_text(["an answer", "a doubt"])
        expect(demo.comment("a doubt").locator(".reply-to")).to_have_text("Replying to Bea")
        expect(demo.comment("an answer").locator(".reply-to")).to_be_hidden()
        expect(demo.count).to_have_text("4 comments")
        demo.visitor.reload()


@pytest.mark.rare
def test_a_like_can_be_given_and_taken_back(
    demo: Demo, write: Writer, new_visitor: NewVisitor
) -> None:
    write("likeable")
    demo.open()
    like = demo.like("likeable")
    expect(like).to_have_attribute("aria-pressed", "false")
    like.click()
    other = Demo(new_visitor(), demo.url)
    expect(like).to_have_attribute("aria-label", "Like the comment by Ann, 1 like")
    demo.visitor.come_to_rest()
    other.open()
    expect(other.like("likeable")).to_have_text("1")
    expect(other.like("likeable")).to_have_attribute("aria-pressed", "false")
    other.like("likeable").click()
    expect(other.like("likeable")).to_have_text("2")
    other.visitor.come_to_rest()
    demo.visitor.reload()
    expect(like).to_have_attribute("aria-pressed", "true")
    expect(like).to_have_text("2")
    like.click()
    expect(like).to_have_text("1")
    demo.visitor.come_to_rest()
    demo.visitor.reload()
    expect(like).to_have_attribute("aria-pressed", "false")
    expect(like).to_have_text("1")


@pytest.mark.rare
def test_a_like_that_fails_says_so_where_it_was_given(start: Start, visitor: Visitor) -> None:
    served = start()
    demo = Demo(visitor, served.url)
    Writer(served.url, DEMO_PAGE)("likeable")
    demo.open()
    expect(demo.like("likeable")).to_have_text("0")
    served.stop()
    demo.visitor.forgive("ERR_CONNECTION_REFUSED")
    demo.like("likeable").click()
    failure = demo.comment("likeable").locator(".like-error")
    expect(failure).to_be_visible()
    expect(failure).to_contain_text("Your like was not stored. The server did not answer.")
    expect(demo.like("likeable")).to_have_text("0")
    expect(demo.like("likeable")).to_have_attribute("aria-pressed", "false")


@pytest.mark.rare
def test_the_page_works_where_only_listed_sites_may_call(start: Start, visitor: Visitor) -> None:
    service = start(SECURE_DOMAINS="listed.localhost")
    demo = Demo(visitor, service.url.replace("127.0.0.1", "talk.localhost"))
    demo.open()
    expect(demo.reads).to_have_text("1")
    demo.write("let in")
    expect(demo.texts).to_have_text(["let in"])
    demo.like("let in").click()
    expect(demo.like("let in")).to_have_text("1")
    visitor.come_to_rest()


@pytest.mark.rare
def test_the_order_can_be_chosen_and_more_is_loaded_in_it(demo: Demo, write: Writer) -> None:
    comments = [write(f"number {n:02}") for n in range(23)]
    texts = [comment["orig"] for comment in comments]
    write.like(comments[7])
    demo.open()
    expect(demo.texts).to_have_text(texts[:-11:-1])
    demo.sort("Oldest")
    expect(demo.texts).to_have_text(texts[:10])
    demo.more.click()
    expect(demo.texts).to_have_text(texts[:20])
    # Loading more by keyboard continues at the first new comment.
    expect(demo.comment("number 10")).to_be_focused()
    demo.more.click()
    expect(demo.texts).to_have_text(texts)
    expect(demo.more).to_be_hidden()
    demo.sort("Most liked")
    expect(demo.texts.first).to_have_text("number 07")
    expect(demo.news).to_have_text("23 comments, sorted by most liked.")


def test_everything_can_be_done_by_keyboard(demo: Demo, write: Writer) -> None:
    write("likeable")
    demo.open()
    expect(demo.texts).to_have_text(["likeable"])
    keyboard = demo.page.keyboard
    keyboard.press("Tab")
    expect(demo.page.locator(".skip")).to_be_focused()
    keyboard.press("Enter")
    expect(demo.page.locator("#comments-title")).to_be_focused()
    keyboard.press("Tab")
    expect(demo.text).to_be_focused()
    keyboard.type("By keyboard")
    for word in ("Bea", "bea@example.com", "https://bea.example"):
        keyboard.press("Tab")
        keyboard.type(word)
    keyboard.press("Tab")
    expect(demo.form.get_by_role("button", name="Post comment")).to_be_focused()
    keyboard.press("Enter")
    expect(demo.comment("By keyboard")).to_be_focused()
    expect(demo.comment("By keyboard").locator(".nick")).to_have_attribute(
        "href", "https://bea.example/"
    )
    tab_to(demo.comment("By keyboard").locator(".like"))
    keyboard.press("Enter")
    expect(demo.like("By keyboard")).to_have_text("1")
    keyboard.press("Tab")
    keyboard.press("Enter")
    keyboard.type("And a reply")
    keyboard.press("Control+Enter")
    expect(demo.comment("And a reply")).to_be_focused()
    tab_to(demo.like("likeable"))
    keyboard.press("Space")
    expect(demo.like("likeable")).to_have_text("1")


def tab_to(place: Locator) -> None:
    """Fails if it cannot be reached in a dozen steps."""
    for _ in range(12):
        place.page.keyboard.press("Tab")
        if place.evaluate("element => element == document.activeElement"):
            return
    expect(place).to_be_focused()


def test_a_refusal_is_shown_where_it_can_be_corrected(start: Start, visitor: Visitor) -> None:
    demo = Demo(visitor, start(IPQPS="60").url)
    demo.open()
    demo.form.get_by_role("button", name="Post comment").click()
    expect(demo.page.locator("#new-comment-error")).to_have_text("Please write something first.")
    expect(demo.text).to_be_focused()
    demo.write("once")
    expect(demo.texts).to_have_text(["once"])
    expect(demo.page.locator("#new-comment-error")).to_be_hidden()
    demo.write("twice")
    expect(demo.error).to_contain_text("Comment too fast!")
    expect(demo.text).to_have_value("twice")
    demo.write("another", nick="n" * 200)
    expect(demo.error).to_have_text("Your name is too long (maximum 128 characters)")
    demo.write("y" * 20_000)
    expect(demo.error).to_have_text("Your comment is too long (maximum 16384 characters)")
    expect(demo.texts).to_have_text(["once"])


def test_nothing_in_a_comment_is_run_or_asked_of_another_host(demo: Demo, write: Writer) -> None:
    write('<img src="https://elsewhere.example/p.png" onerror="ran=1"><script>ran = 1</script> end')
    write(HARD_TO_SHOW, nick="<b>Bold</b>", link="javascript:ran=1")
    demo.open()
    expect(demo.texts).to_have_count(2)
    expect(demo.texts.locator("script, img[src^=http], video, iframe")).to_have_count(0)
    expect(demo.comment("heading").locator(".nick")).to_have_text("bBold/b")
    assert demo.comment("heading").locator(".nick").get_attribute("href") is None
    expect(demo.texts.get_by_role("link", name="a picture")).to_have_attribute(
        "href", "https://elsewhere.example/p.png"
    )
    demo.visitor.come_to_rest()
    assert demo.page.evaluate("window.ran") is None


def test_no_foreign_script_could_run(busy_demo: Demo) -> None:
    """Also shows that a breach of the page's policy would be noticed."""
    demo, page = busy_demo, busy_demo.page
    demo.open()
    page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.ran = 1';
            document.body.append(script);
        }"""
    )
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in error for error in demo.visitor.complaints())
    demo.visitor.forgive("Content Security Policy")


def test_nothing_sticks_out_on_a_phone(served: Serving, new_visitor: NewVisitor) -> None:
    write = Writer(served.url, DEMO_PAGE)
    root = write(HARD_TO_SHOW, nick="N" * 100, link="https://example.com")
    write.reply(root, HARD_TO_SHOW, nick="A long name of many words " * 4)
    phone = new_visitor(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    demo = Demo(phone, served.url)
    demo.open()
    expect(demo.texts).to_have_count(1)
    demo.page.locator(".replies .reply").tap()
    expect(demo.page.locator(".replies form")).to_be_visible()
    widths = "[document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"
    assert demo.page.evaluate(widths) == [360, 360, 360]


def test_the_columns_of_a_table_are_aligned_as_written(demo: Demo, write: Writer) -> None:
    write("| a | b | c |\n|---|:-:|--:|\n| d | e | f |")
    demo.open()
    expect(demo.texts).to_have_count(1)
    aligned = "cells => cells.map(cell => getComputedStyle(cell).textAlign.replace('-webkit-', ''))"
    for cells in ("th", "td"):
        assert demo.texts.locator(cells).evaluate_all(aligned)[1:] == ["center", "right"]


@pytest.mark.rare
def test_a_server_that_does_not_answer_is_asked_again_on_demand(
    start: Start, visitor: Visitor
) -> None:
    served = start()
    demo = Demo(visitor, served.url)
    Writer(served.url, DEMO_PAGE)("there again")
    demo.open()
    expect(demo.texts).to_have_text(["there again"])
    port = served.url.rpartition(":")[2]
    served.stop()
    demo.visitor.forgive("ERR_CONNECTION_REFUSED")
    demo.sort("Oldest")
    expect(demo.page.locator("#list-error-text")).to_contain_text("did not answer")
    demo.write("into the void")
    expect(demo.error).to_contain_text("did not answer")
    expect(demo.text).to_have_value("into the void")
    served.environ["PORT"] = port
    served.start()
    demo.page.get_by_role("button", name="Try again").click()
    expect(demo.texts).to_have_text(["there again"])
    demo.form.get_by_role("button", name="Post comment").click()
    expect(demo.texts).to_have_text(["into the void", "there again"])


def test_a_link_to_one_comment_leads_to_it(demo: Demo, write: Writer) -> None:
    comments = [write(f"number {n}") for n in range(9)]
    demo.open(f"#{comments[0]['objectId']}")
    expect(demo.comment("number 0")).to_be_focused()
    expect(demo.comment("number 0")).to_be_in_viewport()


def test_the_page_lists_what_the_site_was_read_for_this_week(
    start: Start, visitor: Visitor
) -> None:
    service = start(STATISTICS="views", STATISTICS_PUBLIC="top", SITE_URL="https://blog.example")
    httpx.post(f"{service.url}/api/article", json={"path": "/a"})
    demo = Demo(visitor, service.url)
    demo.open()
    listed = demo.page.locator(".most-read")
    expect(listed.get_by_role("heading")).to_be_visible()
    expect(listed.get_by_role("link", name="/a")).to_have_attribute(
        "href", "https://blog.example/a"
    )


@pytest.mark.rare
def test_the_snippets_that_the_page_offers_work_on_a_blog(
    busy_demo: Demo, blog: Blog, service: Serving, new_visitor: NewVisitor, path: str
) -> None:
    demo = busy_demo
    Writer(service.url, path)("shown by the snippet")
    demo.visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    demo.open()
    copied = []
    for button in demo.page.locator("button.copy").all():
        button.click()
        expect(demo.news).to_have_text("Copied to the clipboard.")
        copied.append(demo.page.evaluate("navigator.clipboard.readText()"))
        expect(button).to_have_text("Copied")
    assert demo.url in copied[0]
    assert demo.url in copied[1]
    # The client's files come from the blog: tests do not use the network.
    whole = copied[0].replace("https://unpkg.com/@waline/client@3/dist/", "/clients/3.15.2/")
    reader = new_visitor()
    reader.forgive("Failed to fetch")
    reader.forgive("ERR_NAME_NOT_RESOLVED")
    reader.open(blog.publish(path, f"{whole}<b class=waline-pageview-count></b>"))
    expect(reader.page.locator(".wl-card .wl-content")).to_have_text("shown by the snippet")
    expect(reader.page.locator(".waline-pageview-count")).to_have_text("1")
    reader.come_to_rest()
    # By default the client takes its emoji from another site.
    assert {urlsplit(url).path for url in reader.strangers} == {
        "/@waline/emojis@1.1.0/weibo/info.json"
    }
    reader.strangers.clear()
    other = new_visitor()
    other.open(blog.publish(path, copied[1]))
    expect(other.page.locator("[data-footfall-views]")).to_have_text("2")
    expect(other.page.locator("[data-footfall-comments]")).to_have_text("1")


@pytest.mark.rare
def test_with_forced_log_in_a_reader_logs_in_and_returns(start: Start, visitor: Visitor) -> None:
    demo = Demo(visitor, start(LOGIN="force").url)
    demo.open()
    expect(demo.page.get_by_text("Comments here need an account")).to_be_visible()
    expect(demo.form).to_have_count(0)
    demo.page.locator("#comment-form-place a", has_text="Create an account").click()
    for label, text in (("Name", "Bea"), ("Email", "bea@example.com"), ("Password", "bea's own")):
        demo.page.get_by_label(label, exact=True).fill(text)
    demo.page.get_by_role("button", name="Create an account").click()
    demo.text.fill("said by Bea")
    expect(demo.page.locator("#new-nick")).to_be_hidden()
    demo.form.get_by_role("button", name="Post comment").click()
    expect(demo.comment("said by Bea").locator(".nick")).to_have_text("Bea")
    demo.comment("said by Bea").locator(".reply").click()
    demo.page.get_by_label("Reply to Bea").last.fill("and again")
    demo.page.get_by_role("button", name="Post reply").click()
    expect(demo.replies("said by Bea")).to_have_text(["and again"])
