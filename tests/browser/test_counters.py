"""What readers see of other counters' published clients, whose address alone was changed."""

import httpx
import pytest
from playwright.sync_api import Locator, expect

from footfall.model import NO_VIEWS
from tests.support.servers import wait_until
from tests.support.serving import Serving

from .blog import Blog
from .conftest import NewVisitor, Start
from .counters import (
    FLUID_NUMBERS,
    SETTINGS,
    VALINES,
    VALINES_OWN,
    Valine,
    fluid,
    next_list,
    next_post,
    next_visitors,
)
from .visitor import Visitor

COUNT = ".leancloud-visitors-count"
PAGE = "/2020/你好/"


@pytest.fixture
def speaking(start: Start) -> Serving:
    """A service that knows the application, so that keys and signatures are judged."""
    return start(COMPAT="leancloud,open-kounter", **SETTINGS)


def views(service: Serving, path: str) -> int:
    """Its count; what is not a page is of another type."""
    type = "time" if path.startswith("/") else NO_VIEWS
    asked = {"path": path, "type": type}
    count: int = httpx.get(f"{service.url}/article", params=asked).json()
    return count


def opened(visitor: Visitor, blog: Blog, path: str, body: str) -> Visitor:
    visitor.open(blog.publish(path, body))
    visitor.come_to_rest()
    return visitor


def asked(visitor: Visitor, service: Serving, about: str = "") -> list[str]:
    """The methods of its requests about this, without preflights."""
    sent = [each for each in visitor.asked(service.url) if about in each.path]
    return [each.method for each in sent if each.method != "OPTIONS"]


def forgiving(visitor: Visitor) -> Visitor:
    for each in VALINES_OWN:
        visitor.forgive(each)
    return visitor


def numbers(visitor: Visitor, kind: str) -> list[Locator]:
    return [visitor.page.locator(f"#{kind}-{name}") for name in FLUID_NUMBERS]


@pytest.mark.parametrize("security", [True, False])
def test_next_counts_a_first_view_and_each_later_one(
    blog: Blog, speaking: Serving, new_visitor: NewVisitor, path: str, security: bool
) -> None:
    """`security` says that the theme must not create what is not there: all is there."""
    body = next_post(speaking.url, path, security=security)
    for number in (1, 2, 3):
        visitor = opened(new_visitor(), blog, path, body)
        expect(visitor.page.locator(COUNT)).to_have_text(str(number))
        assert asked(visitor, speaking) == ["GET", "PUT"]
        assert views(speaking, path) == number


@pytest.mark.rare
def test_next_lists_the_counts_of_posts_and_counts_none(
    blog: Blog, speaking: Serving, new_visitor: NewVisitor, path: str
) -> None:
    for _ in range(2):
        opened(new_visitor(), blog, PAGE, next_post(speaking.url, PAGE))
    visitor = opened(new_visitor(), blog, path, next_list(speaking.url, PAGE, "/never/"))
    expect(visitor.page.locator(COUNT)).to_have_text(["2", "0"])
    assert asked(visitor, speaking) == ["GET"]
    assert [views(speaking, each) for each in (PAGE, "/never/", path)] == [2, 0, 0]


@pytest.mark.rare
@pytest.mark.parametrize("kind", ["leancloud", "openkounter"])
def test_fluid_counts_the_site_its_visitors_and_the_page(
    blog: Blog, speaking: Serving, new_visitor: NewVisitor, kind: str
) -> None:
    body = fluid(speaking.url, kind)
    visitor = opened(new_visitor(), blog, PAGE, body)
    for shown in numbers(visitor, kind):
        expect(shown).to_have_text("1")
        expect(shown).to_be_visible()
    assert asked(visitor, speaking) == ["GET", "GET", "GET", "POST"]
    # The same visitor again, on another page, and somebody else.
    opened(visitor, blog, "/other/", body)
    for shown, number in zip(numbers(visitor, kind), ("2", "1", "1"), strict=True):
        expect(shown).to_have_text(number)
    visitor = opened(new_visitor(), blog, PAGE, body)
    for shown, number in zip(numbers(visitor, kind), ("3", "2", "2"), strict=True):
        expect(shown).to_have_text(number)
    assert [views(speaking, each) for each in ("site-pv", "site-uv", PAGE)] == [3, 2, 2]


@pytest.mark.rare
def test_fluid_shows_no_number_where_the_service_refuses(
    blog: Blog, start: Start, visitor: Visitor
) -> None:
    refusing = start(COMPAT="badges")
    for each in ("404", "not found", "LeanCloud Counter Error"):
        visitor.forgive(each)
    opened(visitor, blog, PAGE, fluid(refusing.url, "leancloud"))
    for shown in numbers(visitor, "leancloud"):
        expect(shown).to_be_hidden()
    assert set(asked(visitor, refusing)) == {"GET"}


@pytest.mark.rare
@pytest.mark.parametrize("valine", VALINES, ids=str)
def test_valine_shows_no_comments_and_says_why_it_takes_none(
    blog: Blog, speaking: Serving, new_visitor: NewVisitor, valine: Valine
) -> None:
    visitor = forgiving(new_visitor())
    visitor.forgive("403")
    opened(visitor, blog, PAGE, valine.body(speaking.url, PAGE))
    comments = visitor.page.locator("#vcomments")
    expect(comments.locator(".vcard, pre")).to_have_count(0)
    for name, text in (("nick", "Ann"), ("mail", "ann@site.example")):
        comments.locator(f"input[name={name}]").fill(text)
    comments.locator(".veditor").fill("hello, all of you")

    def is_sent() -> bool:
        # It takes what was written after a while.
        comments.locator(".vsubmit").dispatch_event("click")
        return "POST" in asked(visitor, speaking, "/Comment")

    wait_until(is_sent, "the comment")
    expect(comments).to_contain_text("can no longer be sent with this form")


@pytest.mark.rare
@pytest.mark.parametrize("valine", VALINES, ids=str)
def test_valine_counts_a_first_view_and_each_later_one(
    blog: Blog, speaking: Serving, new_visitor: NewVisitor, valine: Valine
) -> None:
    # As a theme's template writes the path of a page.
    body = valine.body(speaking.url, "/2020/%E4%BD%A0%E5%A5%BD/")
    for number in (1, 2):
        visitor = forgiving(new_visitor())
        opened(visitor, blog, PAGE, body)
        expect(visitor.page.locator(COUNT)).to_have_text(str(number))
        assert asked(visitor, speaking, "/Counter") == ["GET", "PUT"]
        assert views(speaking, PAGE) == number


@pytest.mark.rare
@pytest.mark.parametrize("valine", VALINES, ids=str)
def test_valine_lists_the_counts_of_posts(
    blog: Blog, speaking: Serving, visitor: Visitor, path: str, valine: Valine
) -> None:
    httpx.post(f"{speaking.url}/article", json={"path": PAGE})
    more = next_visitors("/never/")
    opened(forgiving(visitor), blog, path, more + valine.body(speaking.url, PAGE))
    shown = visitor.page.locator(f'[id="{PAGE}"] {COUNT}')
    expect(shown).to_have_text("1")
    assert asked(visitor, speaking, "/Counter") == ["GET"]
    assert views(speaking, PAGE) == 1
