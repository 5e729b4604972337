"""count.js on a blog: one request for a view, without a preflight, and never a broken page."""

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


def test_a_blog_that_is_not_on_the_list_is_refused_and_whole(
    blog: Blog, start: Start, visitor: Visitor, path: str
) -> None:
    visitor.forgive("403 (Forbidden)")
    service = start(SECURE_DOMAINS="listed.localhost")
    url = blog.publish(path, f"<p>Text</p>{OWN_VIEWS}{OWN_COMMENTS}", tag(service.url))
    visitor.open(url.replace("127.0.0.1", "other.localhost"))
    visitor.come_to_rest()
    expect(visitor.page.locator("p")).to_have_text("Text")
    expect(shown(visitor, "views")).to_be_empty()
    expect(shown(visitor, "comments")).to_be_empty()
    visitor.open(url.replace("127.0.0.1", "listed.localhost"))
    expect(shown(visitor, "views")).to_have_text("1")
    expect(shown(visitor, "comments")).to_have_text("0")


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
