"""Which pictures a comment may show, and through which proxy they are fetched."""

import pytest

from footfall.render.markdown import render
from footfall.render.pictures import Pictures
from footfall.render.sanitize import clean

PROXY = "https://proxy.example/image"
AT_PROXY = f"{PROXY}?url="

PROXIED = {
    "https://a/b c.png?d&e": AT_PROXY + "https%3A%2F%2Fa%2Fb%20c.png%3Fd%26e",
    "http://a/b": AT_PROXY + "http%3A%2F%2Fa%2Fb",
    "//unpkg.com/a.png": AT_PROXY + "https%3A%2F%2Funpkg.com%2Fa.png",
    "/\\evil.example/a": AT_PROXY + "https%3A%2F%2Fevil.example%2Fa",
    "\t//evil.example/a": AT_PROXY + "https%3A%2F%2Fevil.example%2Fa",
    "HTTPS:evil.example": AT_PROXY + "HTTPS%3Aevil.example",
    "/a/b.png": "/a/b.png",
    "b.png": "b.png",
    AT_PROXY + "x": AT_PROXY + "x",
    "data:image/gif;base64,R0lGODlh": "data:image/gif;base64,R0lGODlh",
}


@pytest.mark.parametrize(("address", "asked"), PROXIED.items())
def test_pictures_of_other_sites_are_fetched_through_the_proxy(address: str, asked: str) -> None:
    assert Pictures(PROXY).source("img", "src", address) == asked
    assert Pictures(PROXY).source("img", "src", asked) == asked


@pytest.mark.parametrize("address", PROXIED)
def test_without_a_proxy_an_address_stays_as_it_is(address: str) -> None:
    assert Pictures().source("img", "src", address) == address


def test_posters_are_pictures_and_videos_are_not() -> None:
    pictures = Pictures(PROXY)
    assert pictures.source("video", "poster", "http://a/b") == AT_PROXY + "http%3A%2F%2Fa%2Fb"
    assert pictures.source("video", "src", "http://a/b") == "http://a/b"
    assert Pictures(are_shown=False).source("video", "poster", "http://a/b") is None


def test_a_comment_without_pictures_keeps_their_words() -> None:
    html = render('![cat](http://a/b) <img src="/c" alt="dog">', Pictures(are_shown=False))
    assert html == '<p><img alt="cat"> <img alt="dog"></p>\n'


def test_what_is_proxied_is_clean() -> None:
    pictures = Pictures(PROXY)
    html = render("![a](http://a/b) ![b](//c/d)", pictures)
    assert html.count(AT_PROXY) == 2
    assert clean(html, pictures) == html


@pytest.mark.parametrize("address", ["/a.png", "a.png", "//a/b.png", "https://a/b.png"])
def test_markdown_may_show_any_picture(address: str) -> None:
    assert render(f"![c]({address})") == f'<p><img src="{address}" alt="c"></p>\n'


def test_a_pasted_picture_is_shown() -> None:
    address = "data:image/png;base64," + "iVBORw0KGgo" * 1_000
    assert render(f"![c]({address})") == f'<p><img src="{address}" alt="c"></p>\n'
