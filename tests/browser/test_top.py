"""top.js on a blog: links to the most read pages, whose paths strangers have sent."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Locator, expect

from tests.support.serving import Serving

from .blog import Blog
from .conftest import Start, Writer
from .visitor import Visitor

WORDS = "<ol data-footfall-top><li>Nothing yet</li></ol>"


def tag(server: str, head: str = "") -> str:
    return f'{head}<script src="{server}/top.js"></script>'


def saying(answer: Any) -> str:
    """There may be anything between page and service."""
    text = json.dumps(answer if isinstance(answer, str) else json.dumps(answer))
    # HTML would end the script at a tag in the answer.
    text = text.replace("<", "\\u003c")
    return f"<script>fetch = async () => new Response({text})</script>"


def pages(*paths: str) -> dict[str, Any]:
    listed = [
        {"path": path, "views": 9 - n, "people": None, "visitors": 5}
        for n, path in enumerate(paths)
    ]
    return {"data": {"by": "views", "days": 7, "pages": listed}}


def titles(text: str, value: str = "") -> str:
    return f'<script type="application/json" data-footfall-titles="{value}">{text}</script>'


def links(visitor: Visitor) -> Locator:
    return visitor.page.locator("[data-footfall-top] a")


def hrefs(visitor: Visitor) -> Sequence[str]:
    found: Sequence[str] = links(visitor).evaluate_all("links => links.map(link => link.href)")
    return found


@pytest.fixture
def open_list(blog: Blog, service: Serving, visitor: Visitor, path: str) -> Any:
    """Opens a page with this list, where the service answers this."""

    def open_list(answer: Any, body: str = WORDS) -> Visitor:
        visitor.open(blog.publish(path, body, tag(service.url, saying(answer))))
        visitor.come_to_rest()
        return visitor

    return open_list


def test_pages_are_links_with_their_numbers(open_list: Any, blog: Blog) -> None:
    visitor = open_list(pages("/a/", "/%E6%96%87%20b", "/%zz", "/?p=1"))
    rows = visitor.page.locator("li")
    expect(rows).to_have_text(["/a/ 9", "/文 b 8", "/%zz 7", "/?p=1 6"])
    paths = [href.removeprefix(blog.url) for href in hrefs(visitor)]
    assert paths == ["/a/", "/%E6%96%87%20b", "/%zz", "/?p=1"]


def test_a_site_names_its_pages(open_list: Any) -> None:
    names = titles('{"/a/": "A & <i>B</i>", "/文/": "Text", "/b": ""}')
    visitor = open_list(pages("/a/", "/%E6%96%87/", "/b"), WORDS + names)
    expect(links(visitor)).to_have_text(["A & <i>B</i>", "Text", "/b"])


def test_a_site_lists_only_pages_that_it_names(open_list: Any) -> None:
    visitor = open_list(pages("/buy-pills", "/a/"), WORDS + titles('{"/a/": "A"}', "only"))
    expect(links(visitor)).to_have_text(["A"])


@pytest.mark.rare
@pytest.mark.parametrize("names", ["{", "null", "[]", "1"])
def test_titles_that_are_none_leave_the_paths(open_list: Any, names: str) -> None:
    visitor = open_list(pages("/a/"), WORDS + titles(names))
    expect(links(visitor)).to_have_text(["/a/"])


HOSTILE = (
    "//evil.example/a",
    "/\\evil.example/a",
    "/\t/evil.example/a",
    "\\\\evil.example",
    "javascript:ran=1",
    " javascript:ran=1",
    "data:text/html,a",
    "https://evil.example/",
    "https:evil.example",
    "/\n/evil.example",
    "//[",
    "post-1",
    "",
)


def test_no_path_leads_to_another_site(open_list: Any, blog: Blog) -> None:
    visitor = open_list(pages(*HOSTILE, "/../../a"))
    assert hrefs(visitor) == [f"{blog.url}/a"]


def test_no_path_becomes_markup(open_list: Any) -> None:
    path = "/<img src=x onerror=ran=1><script>ran=1</script>"
    visitor = open_list(pages(path))
    expect(links(visitor)).to_have_text([path])
    assert visitor.page.evaluate("window.ran") is None
    expect(visitor.page.locator("ol img, ol script")).to_have_count(0)


@pytest.mark.rare
def test_a_path_that_is_turned_around_turns_nothing_beside_it(open_list: Any) -> None:
    visitor = open_list(pages("/a\u202e/b"))
    assert links(visitor).evaluate("link => getComputedStyle(link).unicodeBidi") == "isolate"


@pytest.mark.rare
def test_a_long_path_is_shortened_and_leads_to_its_page(open_list: Any, blog: Blog) -> None:
    path = "/" + "文" * 2047
    visitor = open_list(pages(path))
    expect(links(visitor)).to_have_text(["/" + "文" * 78 + "…"])
    assert len(hrefs(visitor)[0]) == len(blog.url) + 1 + 2047 * 9


@pytest.mark.parametrize(
    "answer",
    [
        pages(),
        pages("//evil.example"),
        {"errno": 403, "errmsg": "Forbidden"},
        {"data": None},
        {"data": {"pages": None}},
        {"data": {"pages": [None]}},
        {"data": {"pages": [{"path": 1}]}},
        "<html>",
        "",
    ],
)
def test_what_is_no_list_leaves_the_words(open_list: Any, answer: Any) -> None:
    visitor = open_list(answer)
    expect(visitor.page.locator("li")).to_have_text(["Nothing yet"])


@pytest.mark.rare
@pytest.mark.parametrize(
    ("by", "texts"),
    [("views", ["/a 7"]), ("visitors", ["/a 5"]), ("rising", ["/a 7"]), ("comments", ["/a 2"])],
)
def test_the_number_is_the_one_by_which_pages_are_listed(
    open_list: Any, by: str, texts: list[str]
) -> None:
    page = {"path": "/a", "views": 9, "people": 7, "visitors": 5, "comments": 2}
    body = f'<ol data-footfall-top data-footfall-by="{by}"></ol>'
    visitor = open_list({"data": {"pages": [page]}}, body)
    expect(visitor.page.locator("li")).to_have_text(texts)


def test_links_may_lead_to_another_site_that_the_page_names(open_list: Any) -> None:
    body = '<ol data-footfall-top data-footfall-site="https://blog.example/en/"></ol>'
    visitor = open_list(pages("/a", "//evil.example", "/\\blog.example.evil.example"), body)
    assert hrefs(visitor) == ["https://blog.example/a"]


def test_what_the_service_knows_is_listed(
    blog: Blog, start: Start, visitor: Visitor, path: str
) -> None:
    service = start(STATISTICS="views", STATISTICS_PUBLIC="top")
    for each in ("/a", "/b", "//evil.example", "/b"):
        httpx.post(f"{service.url}/api/article", json={"path": each})
    Writer(service.url, "/c")("one")
    commented = '<ol data-footfall-top="0" data-footfall-by="comments"></ol>'
    visitor.open(blog.publish(path, WORDS + commented, tag(service.url)))
    expect(visitor.page.locator("li")).to_have_text(["/b 2", "/a 1", "/c 1"])


@pytest.mark.rare
@pytest.mark.parametrize("settings", [{"STATISTICS": "off"}, {}])
def test_without_public_statistics_the_words_stay(
    blog: Blog, start: Start, visitor: Visitor, path: str, settings: dict[str, str]
) -> None:
    visitor.forgive("401 (Unauthorized)")
    service = start(**settings)
    httpx.post(f"{service.url}/api/article", json={"path": "/a"})
    visitor.open(blog.publish(path, WORDS, tag(service.url)))
    visitor.come_to_rest()
    expect(visitor.page.locator("li")).to_have_text(["Nothing yet"])


def test_each_list_asks_for_what_it_says(
    blog: Blog, start: Start, visitor: Visitor, path: str
) -> None:
    service = start(STATISTICS_PUBLIC="top")
    chosen = '<ul data-footfall-top="30" data-footfall-count="5" data-footfall-by="rising"></ul>'
    visitor.open(blog.publish(path, WORDS + chosen, tag(service.url)))
    visitor.come_to_rest()
    asked = [sent for sent in visitor.asked(service.url) if sent.path != "/top.js"]
    assert [(sent.method, sent.path) for sent in asked] == [("GET", "/api/statistics/top")] * 2
    assert [parse_qs(urlsplit(sent.url).query) for sent in asked] == [
        {"by": ["views"], "days": ["7"], "count": ["10"]},
        {"by": ["rising"], "days": ["30"], "count": ["5"]},
    ]
