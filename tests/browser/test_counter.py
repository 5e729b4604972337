"""count.js on a blog: one request for a view, without a preflight, and never a broken page."""

import json
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, expect

from tests.support.servers import free_port, wait_until
from tests.support.serving import Serving

from .blog import Blog
from .clients import CLIENTS, Widget
from .conftest import NewVisitor, Start, Writer
from .visitor import Sent, Visitor

OWN_VIEWS = "<b data-footfall-views></b>"
OWN_COMMENTS = "<i data-footfall-comments></i>"


def tag(server: str, attributes: str = "async") -> str:
    return f'<script {attributes} src="{server}/count.js"></script>'


def views(service: Serving, path: str) -> int:
    count: int = httpx.get(f"{service.url}/article", params={"path": path}).json()
    return count


def shown(visitor: Visitor, name: str, path: str = "") -> Locator:
    return visitor.page.locator(f'[data-footfall-{name}="{path}"]')


def calls(visitor: Visitor, service: Serving) -> list[Sent]:
    """All requests to the service except for the snippet itself."""
    return [sent for sent in visitor.asked(service.url) if sent.path != "/count.js"]


@pytest.mark.parametrize("attributes", ["async", "defer", ""])
@pytest.mark.parametrize("place", ["head", "body"])
def test_a_view_is_one_request_and_no_preflight(
    blog: Blog, service: Serving, visitor: Visitor, path: str, attributes: str, place: str
) -> None:
    head, end = tag(service.url, attributes), ""
    if place == "body":
        head, end = end, head
    visitor.open(blog.publish(path, OWN_VIEWS + end, head))
    expect(shown(visitor, "views")).to_have_text("1")
    visitor.come_to_rest()
    assert calls(visitor, service) == [Sent("POST", f"{service.url}/api/article")]
    assert views(service, path) == 1


def test_a_view_is_counted_on_a_page_that_shows_no_number(
    blog: Blog, service: Serving, visitor: Visitor, path: str
) -> None:
    visitor.open(blog.publish(path, "a page", tag(service.url)))
    visitor.come_to_rest()
    assert calls(visitor, service) == [Sent("POST", f"{service.url}/api/article")]
    assert views(service, path) == 1


def test_numbers_of_other_pages_are_shown_in_one_request_a_kind(
    blog: Blog, service: Serving, visitor: Visitor, write: Writer
) -> None:
    path = write.path
    write.reply(write("one"), "two")
    other, comma = f"{path}/other", f"{path}/a,b"
    for counted in (other, comma, comma):
        httpx.post(f"{service.url}/api/article", json={"path": counted})
    elements = "".join(
        f'<b data-footfall-views="{each}"></b><i data-footfall-comments="{each}"></i>'
        for each in (other, comma, path)
    )
    body = OWN_VIEWS + OWN_COMMENTS + elements
    visitor.open(blog.publish(path, body, tag(service.url)))
    expect(shown(visitor, "views")).to_have_text("1")
    expect(shown(visitor, "views", path)).to_have_text("1")
    expect(shown(visitor, "views", other)).to_have_text("1")
    expect(shown(visitor, "views", comma)).to_have_text("2")
    expect(shown(visitor, "comments")).to_have_text("2")
    expect(shown(visitor, "comments", path)).to_have_text("2")
    expect(shown(visitor, "comments", comma)).to_have_text("0")
    visitor.come_to_rest()
    assert sorted((sent.method, sent.path) for sent in calls(visitor, service)) == [
        ("GET", "/api/article"),
        ("GET", "/api/comment"),
        ("POST", "/api/article"),
    ]


def test_a_long_list_of_pages_is_filled_completely(
    blog: Blog, service: Serving, visitor: Visitor, path: str
) -> None:
    paths = [f"{path}/{n}" for n in range(150)]
    for each in (paths[0], paths[-1]):
        httpx.post(f"{service.url}/api/article", json={"path": each})
    elements = "".join(f'<b data-footfall-views="{each}"></b> ' for each in paths)
    visitor.open(blog.publish(path, elements, tag(service.url, "async data-no-count")))
    expect(visitor.page.locator("b")).to_have_text(["1", *["0"] * 148, "1"])


def test_with_data_no_count_the_visit_is_shown_and_not_counted(
    blog: Blog, service: Serving, visitor: Visitor, path: str
) -> None:
    visitor.open(blog.publish(path, OWN_VIEWS, tag(service.url, "async data-no-count")))
    expect(shown(visitor, "views")).to_have_text("0")
    visitor.come_to_rest()
    assert [sent.method for sent in calls(visitor, service)] == ["GET"]
    assert views(service, path) == 0


def test_data_path_names_the_page(
    blog: Blog, service: Serving, visitor: Visitor, write: Writer
) -> None:
    write("one")
    script = tag(service.url, f'async data-path="{write.path}"')
    visitor.open(blog.publish(f"{write.path}/index.html", OWN_VIEWS + OWN_COMMENTS, script))
    expect(shown(visitor, "views")).to_have_text("1")
    expect(shown(visitor, "comments")).to_have_text("1")
    assert views(service, write.path) == 1


def test_a_reader_who_leaves_at_once_is_counted(
    blog: Blog, service: Serving, visitor: Visitor, path: str
) -> None:
    away = blog.publish(f"{path}/away", "elsewhere")
    leave = f'{tag(service.url, "")}<script>location.replace("{away}")</script>'
    visitor.open(blog.publish(path, leave))
    visitor.page.wait_for_url(away)
    wait_until(lambda: views(service, path) == 1, "the view to be counted")


@pytest.mark.rare
def test_it_agrees_with_waline_3_on_a_page_whose_address_needs_encoding(
    blog: Blog, service: Serving, new_visitor: NewVisitor, path: str
) -> None:
    client = CLIENTS[-1]
    path = f"{path}/文章 più/"
    both = client.views_element("") + OWN_VIEWS + OWN_COMMENTS
    body = both.replace(' data-path=""', "") + client.body(service.url, **client.counting)
    writer = new_visitor()
    writer.open(blog.publish(path, body, client.head))
    Widget(writer.page, client).write("好的")
    expect(Widget(writer.page, client).texts).to_have_text(["好的"])
    expect(writer.page.locator(client.views)).to_have_text("1")
    blog.publish(path, body, tag(service.url, "async data-no-count") + client.head)
    reader = new_visitor()
    reader.open(writer.page.url)
    expect(reader.page.locator(client.views)).to_have_text("2")
    reader.open(blog.publish(path, both, tag(service.url, "async data-no-count")))
    expect(shown(reader, "views")).to_have_text("2")
    expect(shown(reader, "comments")).to_have_text("1")


def test_a_page_whose_counter_is_away_is_whole(blog: Blog, visitor: Visitor, path: str) -> None:
    visitor.forgive("ERR_CONNECTION_REFUSED")
    script = tag(f"http://127.0.0.1:{free_port()}")
    after = "<script>window.went = 'on'</script>"
    visitor.open(blog.publish(path, f"<p>Text</p>{OWN_VIEWS}{after}", script))
    visitor.come_to_rest()
    expect(visitor.page.locator("p")).to_have_text("Text")
    expect(shown(visitor, "views")).to_be_empty()
    assert visitor.page.evaluate("window.went") == "on"


WORDS = "<b data-footfall-views>many</b><i data-footfall-comments>some</i>"


@pytest.mark.rare
def test_the_words_in_an_element_stay_until_the_number_is_known(
    blog: Blog, start: Start, visitor: Visitor, path: str
) -> None:
    service = start(SECURE_DOMAINS="listed.localhost")
    visitor.forgive("403 (Forbidden)")
    url = blog.publish(path, WORDS, tag(service.url))
    visitor.open(url.replace("127.0.0.1", "other.localhost"))
    visitor.come_to_rest()
    expect(shown(visitor, "views")).to_have_text("many")
    expect(shown(visitor, "comments")).to_have_text("some")
    visitor.open(url.replace("127.0.0.1", "listed.localhost"))
    expect(shown(visitor, "views")).to_have_text("1")
    expect(shown(visitor, "comments")).to_have_text("0")


@pytest.mark.rare
@pytest.mark.parametrize(
    "answer",
    [
        '{"data": [null]}',
        '{"data": [{"reaction0": 1}]}',
        '{"data": ["<b>"]}',
        '{"data": [1, 2, 3]}',
        '{"data": []}',
        '{"errno": 1000, "errmsg": "no"}',
        "null",
        "<html>",
    ],
)
def test_an_answer_that_is_no_number_leaves_the_words(
    blog: Blog, service: Serving, visitor: Visitor, path: str, answer: str
) -> None:
    """There may be anything between page and service."""
    say = f"fetch = async () => new Response({answer!r})"
    visitor.open(blog.publish(path, WORDS + tag(service.url, ""), f"<script>{say}</script>"))
    visitor.come_to_rest()
    # A single path is sent twice, so that a comma in it does not separate two.
    views, comments = ("1", "2") if "1, 2" in answer else ("many", "some")
    expect(shown(visitor, "views")).to_have_text(views)
    expect(shown(visitor, "comments")).to_have_text(comments)


def counted_as(visitor: Visitor, url: str) -> str:
    """The body with which this page, or the one to which it leads, counts its view."""
    with visitor.page.expect_request("**/api/article") as sent:
        visitor.open(url)
    return sent.value.post_data or ""


BY_PERSON = "Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false })"


def test_all_people_who_follow_no_link_from_elsewhere_send_the_same(
    blog: Blog, service: Serving, visitor: Visitor, path: str
) -> None:
    """The service caches what it has read of a body, so nothing else may vary."""
    visitor.context.add_init_script(BY_PERSON)
    url = blog.publish(path, "a page", tag(service.url))
    body = f'{{"path":"{path}","type":"time","action":"inc"}}'
    assert counted_as(visitor, url) == body
    link = f"<script>location = '{url}'</script>"
    assert counted_as(visitor, blog.publish(f"{path}/own", link)) == body


def test_a_browser_that_a_program_controls_says_so(
    blog: Blog, service: Serving, visitor: Visitor, path: str
) -> None:
    sent = json.loads(counted_as(visitor, blog.publish(path, "a page", tag(service.url))))
    assert sent == {"path": path, "type": "time", "action": "inc", "webdriver": True}


def test_of_the_page_that_led_here_the_query_is_not_sent(
    blog: Blog, service: Serving, visitor: Visitor, path: str
) -> None:
    visitor.context.add_init_script(BY_PERSON)
    url = blog.publish(path, "a page", tag(service.url))
    whole = '<meta name="referrer" content="unsafe-url">'
    elsewhere = blog.publish(f"{path}/secret", f"<script>location = '{url}'</script>", whole)
    search = elsewhere.replace("127.0.0.1", "search.localhost")
    sent = json.loads(counted_as(visitor, f"{search}?q=private"))
    assert visitor.page.evaluate("document.referrer") == f"{search}?q=private"
    assert sent.pop("referrer") == search
    assert sent == {"path": path, "type": "time", "action": "inc"}
    assert views(service, path) == 1


def test_the_campaign_that_a_link_names_is_sent_in_place_of_the_host(
    blog: Blog, service: Serving, visitor: Visitor, path: str
) -> None:
    url = blog.publish(path, "a page", tag(service.url))
    sent = json.loads(counted_as(visitor, f"{url}?page=2&utm_source=news-letter"))
    assert (sent["path"], sent["referrer"]) == (path, "news-letter")


@pytest.mark.rare
@pytest.mark.parametrize(
    ("locale", "left", "returned"),
    [
        ("en-GB", "This browser is not counted", "This browser is counted"),
        ("de", "Dieser Browser wird nicht gezählt", "Dieser Browser wird gezählt"),
        ("zh-CN", "此浏览器不计入统计", "此浏览器计入统计"),
        ("fr-FR", "This browser is not counted", "This browser is counted"),
    ],
)
def test_its_owner_stops_and_starts_the_counting_of_a_browser(
    blog: Blog,
    service: Serving,
    new_visitor: NewVisitor,
    path: str,
    locale: str,
    left: str,
    returned: str,
) -> None:
    owner = new_visitor(locale=locale, viewport={"width": 360, "height": 640})
    url = blog.publish(path, OWN_VIEWS, tag(service.url))
    note = owner.page.get_by_role("status")
    owner.open(f"{url}?a=1&exclude-me")
    expect(note).to_have_text(left)
    expect(note).to_be_in_viewport(ratio=1)
    assert note.get_attribute("lang") == (locale[:2] if locale[:2] in ("de", "zh") else "en")
    expect(shown(owner, "views")).to_have_text("0")
    owner.open(url)
    expect(shown(owner, "views")).to_have_text("0")
    expect(note).to_have_count(0)
    owner.open(f"{url}?include-me")
    expect(note).to_have_text(returned)
    expect(shown(owner, "views")).to_have_text("1")
    owner.open(url)
    expect(shown(owner, "views")).to_have_text("2")


NO_STORAGE = {
    "refused": "{ get() { throw new DOMException('', 'SecurityError') } }",
    "missing": "{ value: null }",
    "full": "{ value: { setItem() { throw Error('quota') }, set footfall(_) { throw Error() } } }",
}


@pytest.mark.rare
@pytest.mark.parametrize("storage", NO_STORAGE)
def test_a_browser_that_stores_nothing_is_counted_and_told_so(
    blog: Blog, service: Serving, visitor: Visitor, path: str, storage: str
) -> None:
    visitor.context.add_init_script(
        f"Object.defineProperty(window, 'localStorage', {NO_STORAGE[storage]})"
    )
    url = blog.publish(path, OWN_VIEWS, tag(service.url))
    visitor.open(f"{url}?exclude-me")
    expect(visitor.page.get_by_role("status")).to_have_text("This browser is counted")
    expect(shown(visitor, "views")).to_have_text("1")


def test_a_page_in_a_frame_that_may_not_store_is_counted(
    blog: Blog, service: Serving, visitor: Visitor, path: str
) -> None:
    url = blog.publish(path, OWN_VIEWS, tag(service.url))
    frame = f'<iframe sandbox="allow-scripts" src="{url}?exclude-me"></iframe>'
    visitor.open(blog.publish(f"{path}/around", frame))
    inside = visitor.page.frame_locator("iframe")
    expect(inside.locator("[data-footfall-views]")).to_have_text("1")
    expect(inside.get_by_role("status")).to_have_text("This browser is counted")


SITE = (
    "<b data-footfall-site-views>a</b><b data-footfall-site-comments>b</b>"
    "<b data-footfall-views-today>c</b><b data-footfall-visitors-today>d</b>"
)
TODAY = {"views": 5, "people": 4, "visitors": 3}


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ({"data": {"views": 70, "comments": 6, "today": TODAY}}, ["70", "6", "4", "3"]),
        ({"data": {"views": 70, "comments": 6}}, ["70", "6", "c", "d"]),
        (
            {
                "data": {
                    "views": 70,
                    "comments": 0,
                    "today": {"views": 5, "people": 5, "visitors": 0},
                }
            },
            ["70", "0", "5", "0"],
        ),
        ({"data": {"views": "70", "comments": None, "today": {"views": [1]}}}, [*"abcd"]),
        ({"data": []}, [*"abcd"]),
        ({"data": None}, [*"abcd"]),
        ({"errno": 403, "errmsg": "Forbidden"}, [*"abcd"]),
        (None, [*"abcd"]),
        (["<html>"], [*"abcd"]),
    ],
)
def test_what_is_no_number_of_the_site_leaves_the_words(
    blog: Blog, service: Serving, visitor: Visitor, path: str, answer: Any, texts: list[str]
) -> None:
    say = f"fetch = async () => new Response({json.dumps(json.dumps(answer))})"
    script = tag(service.url, "data-no-count")
    visitor.open(blog.publish(path, SITE + script, f"<script>{say}</script>"))
    visitor.come_to_rest()
    expect(visitor.page.locator("b")).to_have_text(texts)


PERSON = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"}


@pytest.mark.rare
@pytest.mark.parametrize(
    ("kept", "texts"),
    [
        ("visitors", ["3", "1", "2", "1"]),
        ("views", ["3", "1", "3", "d"]),
        ("off", ["3", "1", "c", "d"]),
    ],
)
def test_numbers_of_the_whole_site_are_shown_as_far_as_they_are_kept(
    blog: Blog, start: Start, visitor: Visitor, path: str, kept: str, texts: list[str]
) -> None:
    service = start(STATISTICS=kept)
    for headers in (PERSON, PERSON, {}):
        httpx.post(f"{service.url}/api/article", json={"path": "/a"}, headers=headers)
    Writer(service.url, "/b")("one")
    visitor.open(blog.publish(path, SITE, tag(service.url, "async data-no-count")))
    expect(visitor.page.locator("b")).to_have_text(texts)
    visitor.come_to_rest()
    assert [sent.path for sent in calls(visitor, service)] == ["/api/statistics/totals"]


@pytest.mark.rare
def test_where_statistics_are_not_public_the_words_stay(
    blog: Blog, start: Start, visitor: Visitor, path: str
) -> None:
    visitor.forgive("401 (Unauthorized)")
    service = start(STATISTICS="visitors", STATISTICS_PUBLIC="none")
    visitor.open(blog.publish(path, OWN_VIEWS + SITE, tag(service.url)))
    expect(shown(visitor, "views")).to_have_text("1")
    visitor.come_to_rest()
    expect(visitor.page.locator("b")).to_have_text(["1", *"abcd"])


@pytest.mark.rare
def test_another_host_cannot_be_reached_and_asking_one_is_told(
    blog: Blog, new_visitor: NewVisitor, path: str
) -> None:
    """A test of these tests themselves."""
    visitor = new_visitor()
    visitor.forgive("ERR_")
    outside = "https://203.0.113.1/by-number.png", "https://outside.example/by-name.png"
    visitor.open(blog.publish(path, "".join(f'<img src="{url}">' for url in outside)))
    visitor.come_to_rest()
    assert visitor.page.evaluate("[...document.images].map(i => i.naturalWidth)") == [0, 0]
    assert sorted(visitor.strangers) == sorted(outside)
    visitor.strangers.clear()
