"""Which pictures a comment may show, and through which proxy they are fetched."""

import pytest

from footfall.render.markdown import render
from footfall.render.pictures import Pictures
from footfall.render.proxy import place_of, proxied
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
    AT_PROXY[6:] + "x": AT_PROXY + "x",
    "HTTPS://Proxy.Example:443/image?url=x": "HTTPS://Proxy.Example:443/image?url=x",
    "data:image/gif;base64,R0lGODlh": "data:image/gif;base64,R0lGODlh",
}


@pytest.mark.parametrize(("address", "asked"), PROXIED.items())
def test_pictures_of_other_sites_are_fetched_through_the_proxy(address: str, asked: str) -> None:
    assert Pictures(PROXY).source("img", "src", address) == asked
    assert Pictures(PROXY).source("img", "src", asked) == asked


@pytest.mark.parametrize("address", PROXIED)
def test_without_a_proxy_an_address_stays_as_it_is(address: str) -> None:
    assert Pictures().source("img", "src", address) == address
    assert Pictures().portrait(address) == address


# What starts with the proxy's address, or contains it, and is read from elsewhere.
ELSEWHERE = (
    "https://proxy.example.evil.example/image?url=x",
    "https://proxy.example/image.evil?url=x",
    "https://proxy.example/image/../evil",
    "https://proxy.example/image/%2e%2e/evil",
    "https://proxy.example/image\\..\\evil",
    "https://proxy.example/image/./",
    "https://proxy.example@evil.example/image",
    "https://proxy.example:443@evil.example/image",
    "https://evil.example\\@proxy.example/image?url=x",
    "https://proxy.example:8443/image?url=x",
    "https://evil.example/?https://proxy.example/image",
    "http://proxy.example/image?url=x",
    "https://evil.example#https://proxy.example/image?url=x",
    "https://proxy.example./image",
    "https:proxy.example/image?url=x",
    "https:///proxy.example/image",
    "https://proxy.example",
    "https://%70roxy.example/image",
    "https://proxy.example/%69mage",
    "https://[::1]/image",
)


@pytest.mark.parametrize("address", ELSEWHERE)
def test_the_proxy_is_known_by_its_origin_and_path(address: str) -> None:
    asked = Pictures(PROXY).source("img", "src", address)
    assert asked == Pictures(PROXY).portrait(address) == proxied(address, PROXY)
    assert asked.startswith(AT_PROXY + "http")
    assert Pictures(PROXY).source("img", "src", asked) == asked


@pytest.mark.parametrize(
    "proxy", ["https://p.example", "https://P.example/?w=1", "http://[::1]:80"]
)
def test_what_a_proxy_made_is_at_the_proxy(proxy: str) -> None:
    asked = proxied("https://a.example/b", proxy)
    assert asked == f"{proxy}?url=https%3A%2F%2Fa.example%2Fb" == proxied(asked, proxy)
    assert place_of(asked) == place_of(proxy)


def test_an_account_shows_no_picture_of_another_site_past_the_proxy() -> None:
    pictures = Pictures(PROXY)
    assert pictures.portrait("https://a.example/b?c&d").startswith(AT_PROXY)
    assert pictures.portrait("//a.example/b").startswith(AT_PROXY)
    assert pictures.portrait("/b.png") == "/b.png"
    # Some clients write it into HTML, where a browser decodes it.
    assert [pictures.portrait(text) for text in ("&#47;/a.example", "&sol;&sol;a", "")] == [""] * 3
    assert Pictures(are_shown=False).portrait("https://a.example/b") == ""


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
