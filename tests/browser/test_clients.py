"""What a blog's readers see and do in each published client."""

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from footfall.errors import Duplicate
from tests.support.serving import Serving, Skewed

from .blog import Blog
from .clients import CLIENTS, DOT, LATER_CLIENTS, TWO_ELEMENTS_OF_ONE_PAGE, Client, Widget
from .conftest import NewVisitor, Start, Writer
from .visitor import Visitor

later = pytest.mark.parametrize("client", LATER_CLIENTS, ids=str, indirect=True)
ends = pytest.mark.parametrize("client", [CLIENTS[0], CLIENTS[-1]], ids=str, indirect=True)
third = pytest.mark.parametrize("client", LATER_CLIENTS[-1:], ids=str, indirect=True)


def re_of(*parts: str) -> re.Pattern[str]:
    """An expression for all of these, in this order."""
    return re.compile(".*".join(map(re.escape, parts)), re.DOTALL)


class Embedding:
    """Shows a client on a page of the blog and gives what its reader sees."""

    def __init__(self, blog: Blog, service: Serving, client: Client, path: str) -> None:
        self.blog = blog
        self.server = service.url
        self.client = client
        self.path = path

    def __call__(self, by: Visitor, above: str = "", /, **options: object) -> Widget:
        body = above + self.client.body(self.server, **options)
        by.open(self.blog.publish(self.path, body, self.client.head))
        return Widget(by.page, self.client)


@pytest.fixture
def embed(blog: Blog, service: Serving, client: Client, path: str) -> Embedding:
    return Embedding(blog, service, client, path)


def test_a_reader_sees_the_comments_the_newest_first_and_their_number(
    embed: Embedding, visitor: Visitor, write: Writer
) -> None:
    first = write("the first", nick="Carl")
    write("the second")
    write.reply(first, "an answer", nick="Dora")
    widget = embed(visitor)
    expect(widget.texts).to_have_text(["the second", "the first"])
    expect(widget.replies("the first")).to_contain_text(["an answer"])
    expect(widget.count).to_have_text("3 Comments")
    expect(widget.item("the second").locator(widget.client.nick)).to_have_text("Ann")
    expect(widget.item("an answer").locator(widget.client.nick)).to_have_text("Dora")


@pytest.mark.rare
def test_an_emoji_of_the_picker_is_a_small_picture_for_everybody(
    embed: Embedding, visitor: Visitor
) -> None:
    folder = f"{embed.blog.url.removeprefix('http:')}/avatar"
    faces = {"name": "Faces", "folder": folder, "prefix": "x_", "icon": "face", "items": ["face"]}
    widget = embed(visitor, emoji=[faces])
    widget.write("look :x_face: here")
    for _ in range(2):
        picture = widget.texts.first.locator("img")
        expect(picture).to_have_attribute("src", f"{folder}/x_face")
        expect(picture).to_have_js_property("naturalHeight", 80)
        box = picture.bounding_box()
        assert box
        assert 10 < box["height"] < 50
        visitor.reload()


def test_a_page_without_comments_says_so(embed: Embedding, visitor: Visitor) -> None:
    widget = embed(visitor)
    expect(widget.empty).to_have_text("No comment yet.")
    expect(widget.texts).to_have_count(0)


def test_every_load_of_a_page_is_counted_and_shown(
    embed: Embedding, visitor: Visitor, service: Serving
) -> None:
    client = embed.client
    elsewhere = f"{embed.path}/elsewhere"
    httpx.post(f"{service.url}/api/article", json={"path": elsewhere})
    above = client.views_element(embed.path) + client.views_element(elsewhere)
    widget = embed(visitor, above, **client.counting)
    expect(widget.views(embed.path)).to_have_text("1")
    expect(widget.views(elsewhere)).to_have_text("1")
    visitor.reload()
    expect(widget.views(embed.path)).to_have_text("2")
    expect(widget.views(elsewhere)).to_have_text("1")


@later
def test_a_page_may_show_its_views_twice(embed: Embedding, visitor: Visitor) -> None:
    if embed.client.generation == 3:
        visitor.forgive(TWO_ELEMENTS_OF_ONE_PAGE)
    above = embed.client.views_element(embed.path) * 2
    widget = embed(visitor, above, **embed.client.counting)
    # The third client's bug: the second element stays empty.
    shown = ["1", ""] if embed.client.generation == 3 else ["1", "1"]
    expect(widget.views(embed.path)).to_have_text(shown)


def test_the_numbers_of_comments_of_several_pages_are_shown(
    embed: Embedding, visitor: Visitor, service: Serving
) -> None:
    client = embed.client
    two, none = f"{embed.path}/two", f"{embed.path}/none"
    other = Writer(service.url, two)
    other.reply(other("a root"), "a reply")
    above = "".join(client.count_element(path) for path in (two, none, embed.path))
    widget = embed(visitor, above, **client.counting)
    expect(widget.count_of(two)).to_have_text("2")
    expect(widget.count_of(none)).to_have_text("0")
    expect(widget.count_of(embed.path)).to_have_text("0")


def test_a_comment_appears_at_once_and_is_still_there_after_a_reload(
    embed: Embedding, visitor: Visitor, write: Writer
) -> None:
    write("an older one")
    widget = embed(visitor)
    expect(widget.texts).to_have_text(["an older one"])
    widget.write("Hello from Bea", nick="Bea & Co")
    expect(widget.texts).to_have_text(["Hello from Bea", "an older one"])
    expect(widget.box.locator(widget.client.editor)).to_have_value("")
    visitor.reload()
    expect(widget.texts).to_have_text(["Hello from Bea", "an older one"])
    expect(widget.count).to_have_text("2 Comments")
    expect(widget.item("Hello").locator(widget.client.nick)).to_have_text("Bea & Co")
    assert visitor.alerts == []


def test_a_reply_appears_under_its_comment_and_names_whom_it_answers(
    embed: Embedding, visitor: Visitor, write: Writer
) -> None:
    write("a question", nick="Carl")
    write("something else")
    widget = embed(visitor)
    widget.reply("a question", "an answer")
    expect(widget.replies("a question")).to_contain_text(["an answer"])
    widget.reply("an answer", "a doubt")
    expect(widget.replies("a question")).to_contain_text(["an answer", "a doubt"])
    visitor.reload()
    expect(widget.texts).to_have_text(["something else", "a question"])
    expect(widget.replies("a question")).to_have_text(
        [re_of("@Carl", "an answer"), re_of("@Bea", "a doubt")]
    )
    expect(widget.replies("something else")).to_have_count(0)
    expect(widget.count).to_have_text("4 Comments")


@later
def test_a_like_can_be_given_and_taken_back(
    embed: Embedding, visitor: Visitor, new_visitor: NewVisitor, write: Writer
) -> None:
    write("likeable")
    widget = embed(visitor)
    expect(widget.like("likeable")).to_have_text("0")
    widget.like("likeable").click()
    expect(widget.like("likeable")).to_have_text("1")
    visitor.reload()
    expect(widget.like("likeable")).to_have_text("1")

    other = embed(new_visitor())
    expect(other.like("likeable")).to_have_text("1")
    other.like("likeable").click()
    expect(other.like("likeable")).to_have_text("2")

    visitor.reload()
    expect(widget.like("likeable")).to_have_text("2")
    widget.like("likeable").click()
    expect(widget.like("likeable")).to_have_text("1")
    visitor.reload()
    expect(widget.like("likeable")).to_have_text("1")


@pytest.mark.rare
@later
def test_a_reaction_can_be_given_changed_and_taken_back(
    embed: Embedding, visitor: Visitor, new_visitor: NewVisitor
) -> None:
    widget = embed(visitor, reaction=[DOT, DOT, DOT])
    # A second click on a reaction takes it back, except in 2.14.1, where it does nothing.
    undone = "001" if embed.client.version == "2.14.1" else "000"
    for index, votes in [(0, "100"), (2, "001"), (2, undone), (1, "010")]:
        widget.vote(index)
        expect(widget.votes).to_have_text(list(votes))
    visitor.reload()
    expect(widget.votes).to_have_text(["0", "1", "0"])
    expect(widget.reactions.nth(1)).to_have_class(re_of("active"))

    other = embed(new_visitor(), reaction=[DOT, DOT, DOT])
    expect(other.votes).to_have_text(["0", "1", "0"])
    other.vote(1)
    expect(other.votes).to_have_text(["0", "2", "0"])


@pytest.mark.rare
@later
def test_the_order_can_be_chosen(embed: Embedding, visitor: Visitor, write: Writer) -> None:
    comments = [write(text) for text in ("old", "middle", "new")]
    write.like(comments[1])
    widget = embed(visitor)
    expect(widget.orders).to_have_text(["Latest", "Oldest", "Hottest"])
    expect(widget.texts).to_have_text(["new", "middle", "old"])
    widget.sort("Oldest")
    expect(widget.texts).to_have_text(["old", "middle", "new"])
    widget.sort("Hottest")
    expect(widget.texts).to_have_text(["middle", "new", "old"])
    widget.sort("Latest")
    expect(widget.texts).to_have_text(["new", "middle", "old"])


@pytest.mark.rare
def test_more_comments_are_loaded_until_all_are_shown(
    embed: Embedding, visitor: Visitor, write: Writer
) -> None:
    newest_first = [write(f"number {n}")["orig"] for n in range(7)][::-1]
    widget = embed(visitor, pageSize=3)
    expect(widget.texts).to_have_text(newest_first[:3])
    widget.more.click()
    expect(widget.texts).to_have_text(newest_first[:6])
    widget.more.click()
    expect(widget.texts).to_have_text(newest_first)
    expect(widget.more).to_have_count(0)
    expect(widget.count).to_have_text("7 Comments")


def test_the_newest_comments_of_the_site_are_shown(
    blog: Blog, service: Serving, client: Client, visitor: Visitor, write: Writer
) -> None:
    write("an older one")
    write("the **newest** one", nick="Dora")
    call = json.dumps({"el": "#recent", "serverURL": service.url, "count": 2, "lang": "en-US"})
    script = client.script(f"({call})", "RecentComments")
    visitor.open(blog.publish(f"{write.path}/recent", f'<div id="recent"></div>{script}'))
    comments = visitor.page.evaluate("async () => (await window.called).comments")
    shown = visitor.page.locator("#recent li")
    if client.generation == 3:
        # The third client takes the envelope for the list, with every server, so the answer itself
        # is checked.
        expect(shown).to_have_count(0)
        comments = comments["data"]
    else:
        expect(shown).to_have_text(["Dora：the newest one", "Ann：an older one"])
        expect(shown.first.locator("a")).to_have_attribute("href", write.path)
    assert [comment["orig"] for comment in comments] == ["the **newest** one", "an older one"]


def test_markdown_is_shown_as_what_it_means(embed: Embedding, visitor: Visitor) -> None:
    widget = embed(visitor)
    widget.write(MARKDOWN)
    content = widget.texts
    for _ in range(2):
        expect(content.locator("strong")).to_have_text("strong")
        expect(content.locator("a").first).to_have_attribute(
            "href", "https://example.com/a?b=1&c=2"
        )
        expect(content.locator("pre code")).to_contain_text("def greet(name):")
        expect(content.locator("td")).to_have_text(["1", "2"])
        expect(content.locator("math").first).to_be_visible()
        expect(content).to_contain_text("😄")
        visitor.reload()


MARKDOWN = """**strong** and a [link](https://example.com/a?b=1&c=2) :smile: $a^2$

```python
def greet(name):
    return f"hello {name}"
```

| a | b |
|---|---|
| 1 | 2 |
"""


@pytest.mark.rare
def test_code_has_the_same_box_with_and_without_a_language(
    embed: Embedding, visitor: Visitor, write: Writer
) -> None:
    write("```js\nif\n```\n\n```\nif\n```")
    # A theme's own code, as many highlighters style it; comments have the client's.
    theme = "<style>pre[class*=language-] { background: #fdf6e3; border: 9px solid }</style>"
    boxes = embed(visitor, theme).texts.locator("pre")
    with_one, without = (boxes.nth(number).evaluate(BOX) for number in range(2))
    assert with_one == without


BOX = """box => ['backgroundColor', 'borderTopWidth', 'paddingTop', 'fontSize']
  .map((name) => getComputedStyle(box)[name])"""


def test_nothing_in_a_comment_is_run(embed: Embedding, visitor: Visitor, write: Writer) -> None:
    write(HOSTILE, nick='<img src="data:," onerror="window.ran = 1">', link="javascript:ran=1")
    widget = embed(visitor)
    expect(widget.texts).to_contain_text("the end")
    expect(widget.texts.locator("script, iframe, form, input, style")).to_have_count(0)
    nick = widget.item("the end").locator(widget.client.nick)
    expect(nick).to_have_text('img src="data:," onerror="window.ran = 1"')
    for link in widget.box.locator(".vcards a, .wl-cards a").all():
        assert "script" not in (link.evaluate("a => a.protocol") or "")
    visitor.come_to_rest()
    assert visitor.page.evaluate("window.ran") is None


HOSTILE = """<script>window.ran = 1</script>
<img src="data:," onerror="window.ran = 1"><svg onload="window.ran = 1"></svg>
<iframe srcdoc="<script>parent.ran = 1</script>"></iframe>
<form action="/x"><input name="password"></form><style>body { display: none }</style>
[click](javascript:window.ran=1) <a href="data:text/html,x" onclick="window.ran = 1">here</a>

the end
"""


@pytest.mark.rare
def test_the_same_comment_a_minute_later_is_refused_with_a_reason(
    blog: Blog, start: Start, client: Client, path: str, tmp_path: Path, visitor: Visitor
) -> None:
    clock = tmp_path / "clock"
    clock.write_text("0")
    serving = start(Skewed, CLOCK_OFFSET_FILE=str(clock))
    widget = Embedding(blog, serving, client, path)(visitor)
    widget.write("once")
    expect(widget.texts).to_have_text(["once"])
    clock.write_text("60")
    with visitor.page.expect_event("dialog"):
        widget.write("once")
    assert visitor.alerts == [Duplicate.text]
    expect(widget.texts).to_have_text(["once"])
    # The text is not lost.
    expect(widget.box.locator(widget.client.editor)).to_have_value("once")


def test_a_comment_that_is_too_long_is_refused_with_an_alert(
    embed: Embedding, visitor: Visitor
) -> None:
    widget = embed(visitor)
    with visitor.page.expect_event("dialog"):
        widget.write("x" * 20_000)
    assert visitor.alerts == ["Your comment is too long (maximum 16384 characters)"]
    expect(widget.texts).to_have_count(0)


@pytest.mark.rare
@third
def test_a_comment_that_waits_is_shown_to_its_author_alone_and_says_that_it_waits(
    blog: Blog, start: Start, client: Client, path: str, visitor: Visitor
) -> None:
    widget = Embedding(blog, start(COMMENT_AUDIT="true"), client, path)(visitor)
    widget.write("please")
    expect(widget.texts).to_have_text(["please"])
    expect(widget.box.locator(".wl-warning")).to_contain_text("under review")
    visitor.reload()
    expect(widget.empty).to_be_visible()


def test_the_browser_sends_one_preflight_and_not_one_for_every_view(
    embed: Embedding, visitor: Visitor, service: Serving
) -> None:
    widget = embed(visitor, embed.client.views_element(embed.path), **embed.client.counting)
    expect(widget.views(embed.path)).to_have_text("1")
    visitor.reload()
    expect(widget.views(embed.path)).to_have_text("2")
    methods = [sent.method for sent in visitor.asked(service.url) if "/article" in sent.path]
    # In any order: a browser may report the preflight after the request.
    assert sorted(methods) == ["OPTIONS", "POST", "POST"]


@pytest.mark.rare
@ends
def test_a_list_that_could_not_be_loaded_is_loaded_on_demand(
    blog: Blog, start: Start, client: Client, path: str, visitor: Visitor
) -> None:
    serving = start()
    Writer(serving.url, path)("there again")
    port = serving.url.rpartition(":")[2]
    serving.stop()
    visitor.forgive("ERR_CONNECTION_REFUSED")
    visitor.forgive("Failed to fetch")
    widget = Embedding(blog, serving, client, path)(visitor)
    refresh = widget.box.get_by_role("button", name="Refresh")
    expect(refresh).to_be_visible()
    serving.environ["PORT"] = port
    serving.start()
    refresh.click()
    expect(widget.texts).to_have_text(["there again"])


@third
def test_an_invalid_token_in_the_address_leaves_the_reader_anonymous(
    embed: Embedding, visitor: Visitor, write: Writer
) -> None:
    write("hello")
    embed(visitor)
    visitor.open(visitor.page.url + "?token=nonsense&page=2")
    widget = Widget(visitor.page, embed.client)
    expect(widget.texts).to_have_text(["hello"])
    visitor.page.wait_for_url("**?page=2")
    expect(widget.box.locator("input[name=nick]")).to_be_visible()


def registers(window: Page) -> None:
    """Fill in the form of the window that the client has opened."""
    window.get_by_role("link", name="Create an account").click()
    for label, text in (
        ("Name", "Mara"),
        ("Email", "mara@example.com"),
        ("Password", "mara's own"),
    ):
        window.get_by_label(label, exact=True).fill(text)


def test_a_reader_logs_in_through_the_clients_button_and_comments_under_their_name(
    blog: Blog, start: Start, client: Client, path: str, visitor: Visitor
) -> None:
    service = start(SITE_URL=blog.url)
    widget = Embedding(blog, service, client, path)(visitor)
    with visitor.page.expect_popup() as opened:
        visitor.page.get_by_role("button", name="Login").click()
    window = opened.value
    expect(window.get_by_text(f"Log in to {blog.url.removeprefix('http://')}")).to_be_visible()
    registers(window)
    with window.expect_event("close"):
        window.get_by_role("button", name="Create an account").click()
    visitor.page.locator(client.editor).fill("said by Mara")
    visitor.page.get_by_role("button", name="Submit").click()
    expect(widget.item("said by Mara").locator(client.nick)).to_have_text("Mara")
    (listed,) = httpx.get(f"{service.url}/api/comment", params={"path": path}).json()["data"][
        "data"
    ]
    assert (listed["nick"], listed["type"]) == ("Mara", "administrator")


@pytest.mark.rare
def test_a_log_in_waits_for_the_script_of_its_page(start: Start, visitor: Visitor) -> None:
    service = start()
    person = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
    httpx.post(f"{service.url}/api/user", json=person).raise_for_status()
    held: list[Route] = []
    visitor.page.route("**/static/login.js", lambda route: held.append(route))
    with visitor.page.expect_request("**/static/login.js"):
        visitor.page.goto(f"{service.url}/ui/login?next=profile", wait_until="commit")
    visitor.page.get_by_label("Email").fill(person["email"])
    visitor.page.get_by_label("Password").fill(person["password"])
    button = visitor.page.get_by_role("button", name="Log in")
    expect(button).to_be_disabled()
    visitor.page.get_by_label("Password").press("Enter")
    (script,) = held
    script.continue_()
    button.click()
    expect(visitor.page.get_by_role("heading", name="Profile")).to_be_visible()


@pytest.mark.rare
@third
def test_a_site_on_the_services_own_host_is_handed_log_ins_too(
    blog: Blog, start: Start, client: Client, path: str, visitor: Visitor
) -> None:
    service = start(GRAVATAR_STR="none")
    blog.publish(path, client.body(service.url), client.head)
    # As if a proxy led all but a few paths of this host to the blog.
    for part in ("post", "clients"):
        visitor.context.route(
            f"{service.url}/{part}/**",
            lambda route: route.fulfill(
                response=route.fetch(url=route.request.url.replace(service.url, blog.url))
            ),
        )
    visitor.open(service.url + path)
    widget = Widget(visitor.page, client)
    with visitor.page.expect_popup() as opened:
        visitor.page.get_by_role("button", name="Login").click()
    registers(opened.value)
    with opened.value.expect_event("close"):
        opened.value.get_by_role("button", name="Create an account").click()
    expect(widget.box.locator("input[name=nick]")).to_have_count(0)


@pytest.mark.rare
@third
def test_where_no_setting_names_the_site_the_reader_is_asked_before_a_log_in_is_handed_over(
    blog: Blog, start: Start, client: Client, path: str, visitor: Visitor
) -> None:
    widget = Embedding(blog, start(), client, path)(visitor)
    visitor.page.evaluate("window.heard = []; addEventListener('message', e => heard.push(e.data))")
    for name in ("Deny", "Allow"):
        with visitor.page.expect_popup() as opened:
            visitor.page.get_by_role("button", name="Login").click()
        window = opened.value
        if name == "Deny":
            registers(window)
            window.get_by_role("button", name="Create an account").click()
            expect(window.get_by_text(f"Allow {blog.url} to use your login?")).to_be_visible()
            expect(window.get_by_role("group")).to_be_focused()
            window.get_by_role("button", name=name).click()
            expect(window.get_by_role("heading", name="Comments")).to_be_visible()
            assert visitor.page.evaluate("heard") == []
            window.close()
            continue
        window.get_by_label("Email").fill("mara@example.com")
        window.get_by_label("Password").fill("mara's own")
        window.get_by_role("button", name="Log in").click()
        with window.expect_event("close"):
            # The window closes, so there is nothing to wait for.
            window.get_by_role("button", name=name).click(no_wait_after=True)
    expect(widget.box.locator("input[name=nick]")).to_have_count(0)


@pytest.mark.rare
@third
def test_on_a_phone_the_reader_returns_to_the_page_and_no_token_stays_in_its_address(
    blog: Blog, start: Start, client: Client, path: str, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor(user_agent="Mozilla/5.0 (Linux; Android 15) Mobile")
    widget = Embedding(blog, start(SITE_URL=blog.url), client, path)(visitor)
    visitor.page.get_by_role("button", name="Login").click()
    registers(visitor.page)
    visitor.page.get_by_role("button", name="Create an account").click()
    visitor.page.wait_for_url(blog.url + path)
    expect(widget.box.locator("input[name=nick]")).to_have_count(0)


@pytest.mark.rare
@later
def test_the_profile_that_a_client_opens_has_no_token_in_its_address(
    blog: Blog, start: Start, client: Client, path: str, visitor: Visitor
) -> None:
    service = start(SITE_URL=blog.url)
    person = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
    httpx.post(f"{service.url}/api/user", json=person).raise_for_status()
    mara = httpx.post(f"{service.url}/api/token", json=person).json()["data"]
    visitor.page.add_init_script(f"localStorage.WALINE_USER = JSON.stringify({json.dumps(mara)})")
    widget = Embedding(blog, service, client, path)(visitor)
    with visitor.page.expect_popup() as opened:
        widget.box.locator(".wl-login-info .wl-login-nick, .wl-login-nick").first.click()
    window = opened.value
    expect(window.get_by_role("heading", name="Log in")).to_be_visible()
    addresses = [window.url, window.evaluate("performance.getEntries().map(e => e.name).join()")]
    assert mara["token"] not in "".join(addresses)


@pytest.mark.rare
@third
def test_a_changed_profile_is_shown_to_the_site_alone(
    blog: Blog, start: Start, client: Client, path: str, visitor: Visitor
) -> None:
    service = start(SITE_URL=blog.url)
    person = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
    httpx.post(f"{service.url}/api/user", json=person).raise_for_status()
    visitor.open(f"{service.url}/ui/login?next=profile")
    visitor.page.get_by_label("Email").fill(person["email"])
    visitor.page.get_by_label("Password").fill(person["password"])
    visitor.page.get_by_role("button", name="Log in").click()
    expect(visitor.page.get_by_role("heading", name="Profile")).to_be_visible()
    address = blog.publish(path, "<p>A page.</p>")
    for site, heard in ((address, ["Mira"]), (address.replace("127.0.0.1", "other.localhost"), [])):
        visitor.open(site)
        with visitor.page.expect_popup() as opened:
            visitor.page.evaluate(
                "url => { window.heard = []; window.open(url);"
                " addEventListener('message', e => heard.push(e.data.data.display_name)) }",
                f"{service.url}/ui/profile",
            )
        window = opened.value
        window.get_by_label("Name").fill("Mira")
        window.get_by_role("button", name="Save").first.click()
        expect(window.get_by_text("Saved")).to_be_visible()
        visitor.page.wait_for_function("n => heard.length >= n", arg=len(heard))
        assert visitor.page.evaluate("heard") == heard
        window.close()


@pytest.mark.rare
@third
def test_a_log_in_is_not_handed_to_a_page_that_may_not_call(
    blog: Blog, start: Start, client: Client, path: str, visitor: Visitor
) -> None:
    service = start(SECURE_DOMAINS="blog.example")
    page = blog.publish(path, "<p>A page of somebody else.</p>")
    visitor.open(page.replace("127.0.0.1", "other.localhost"))
    with visitor.page.expect_popup() as opened:
        visitor.page.evaluate(
            "url => { window.heard = []; addEventListener('message', e => heard.push(e.data));"
            " window.open(url) }",
            f"{service.url}/ui/login",
        )
    window = opened.value
    said = "cannot use your login: it is not in SITE_URL or SECURE_DOMAINS"
    expect(
        window.get_by_text(f"http://other.localhost:{blog.server.server_port} {said}")
    ).to_be_visible()
    person = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
    httpx.post(
        f"{service.url}/api/user", json=person, headers={"referer": "https://blog.example/"}
    ).raise_for_status()
    window.get_by_label("Email").fill(person["email"])
    window.get_by_label("Password").fill(person["password"])
    window.get_by_role("button", name="Log in").click()
    expect(window.get_by_role("heading", name="Comments")).to_be_visible()
    assert visitor.page.evaluate("heard") == []


@third
def test_an_administrator_manages_comments_on_their_page(
    blog: Blog, start: Start, client: Client, path: str, visitor: Visitor
) -> None:
    service = start(COMMENT_AUDIT="true")
    person = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
    httpx.post(f"{service.url}/api/user", json=person).raise_for_status()
    mara = httpx.post(f"{service.url}/api/token", json=person).json()["data"]
    write = Writer(service.url, path)
    for text in ("to be kept", "to be deleted"):
        write(text)
    visitor.page.add_init_script(f"localStorage.WALINE_USER = JSON.stringify({json.dumps(mara)})")
    widget = Embedding(blog, service, client, path)(visitor)
    expect(widget.texts).to_have_text(["to be deleted", "to be kept"])
    kept = widget.item("to be kept")
    kept.locator(".wl-approved").click()
    expect(kept.locator(".wl-approved")).to_be_disabled()
    kept.locator(".wl-sticky").click()
    expect(kept.locator(".wl-badge", has_text="Sticky")).to_be_visible()
    kept.locator(".wl-edit").click()
    form = widget.box.locator(f"{client.item} .wl-panel")
    form.locator(client.editor).fill("better words")
    form.locator("button.primary").click()
    expect(widget.item("better words")).to_be_visible()
    widget.item("to be deleted").locator(".wl-delete").click()
    expect(widget.texts).to_have_text(["better words"])
    answer = httpx.get(f"{service.url}/api/comment", params={"path": path}).json()["data"]
    (shown,) = answer["data"]
    assert (shown["orig"], shown["sticky"], shown["nick"]) == ("better words", True, "Ann")
