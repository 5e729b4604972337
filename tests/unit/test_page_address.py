"""Addresses of pages: whatever a page is called, a link to it leads to the site."""

from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from footfall.render.page_address import page_address, page_path
from tests.support.addresses import browsers_origin

SITES = (
    "https://blog.example",
    "https://blog.example/",
    "http://blog.example:8080/a/b",
    "https://blog.example/~ann/",
)
NAMES = (
    "",
    " ",
    "//evil.example/x",
    "///evil.example",
    "\\\\evil.example/x",
    "/\\evil.example",
    "\\",
    ".evil.example/x",
    "@evil.example/x",
    ":80",
    ":x@evil.example",
    "javascript:alert(1)",
    "?a=b",
    "#top",
    "https://evil.example/x",
    "HTTPS:evil.example",
    "https:/\\evil.example",
    "\t//evil",
    "/\t/evil.example",
    "\n\\evil",
    "\x00",
    "/a b",
    "/\ud800",
    "/\udc00\ud800",
    "/../../x",
    "/%2e%2E/",
    "/.%2e/x",
    "..",
    "/a/../..",
    "[",
    "http://[",
    "https://blog.example.evil.example/",
    "https://blog.example@evil.example/",
    "https://blog.example\\@evil.example",
    "/" + "é" * 8192,
)
ALPHABET = st.one_of(st.sampled_from("/\\.@:?#%2eE\t\n\r []x"), st.characters(codec=None))
TEXTS = st.one_of(
    st.sampled_from(NAMES),
    st.text(ALPHABET, max_size=40),
    st.builds(str.__add__, st.sampled_from((*SITES, *NAMES)), st.text(ALPHABET, max_size=20)),
)


@given(TEXTS, st.sampled_from(SITES))
@example("https://blog.example", SITES[0])
def test_a_link_to_a_page_stays_below_the_site(name: str, site: str) -> None:
    address, own = page_address(name, site), urlsplit(site)
    assert urlsplit(address)[:2] == own[:2] == browsers_origin(address)
    assert address.startswith(site.rstrip("/") + "/")
    assert address.isprintable()
    assert not set(' \\"<>') & set(address)
    segments = urlsplit(address).path.lower().replace("%2e", ".").split("/")
    assert not {".", ".."} & set(segments)
    address.encode()


@given(TEXTS)
def test_without_a_site_a_page_is_a_path(name: str) -> None:
    address = page_address(name, "")
    assert address[0] == "/"
    assert address[1:2] not in ("/", "\\")
    assert urlsplit(address)[:2] == ("", "")


@given(TEXTS, st.sampled_from(SITES))
def test_the_address_of_an_address_is_itself(name: str, site: str) -> None:
    address = page_address(name, site)
    assert page_address(address, site) == address


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("/a/b/", "https://blog.example/a/b/"),
        ("about", "https://blog.example/about"),
        ("/?p=12", "https://blog.example/?p=12"),
        ("/#/post/1", "https://blog.example/#/post/1"),
        ("/文/é", "https://blog.example/文/é"),
        ("/a b", "https://blog.example/a%20b"),
        ("/100%/a%2Fb", "https://blog.example/100%25/a%2Fb"),
        ("//a//b", "https://blog.example/a//b"),
        ("https://blog.example/a?b#c", "https://blog.example/a?b#c"),
        ("http://Blog.Example:80/a", "https://blog.example/a"),
        ("https://blog.example", "https://blog.example/"),
        ("https://www.example/a", "https://blog.example/https://www.example/a"),
        ("/x\u202egpj.exe", "https://blog.example/x%E2%80%AEgpj.exe"),
    ],
)
def test_a_page_has_the_address_that_its_name_says(name: str, address: str) -> None:
    assert page_address(name, "https://blog.example/") == address


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("https://h.example/blog/a", "/a"),
        ("https://h.example/blog", "/"),
        ("https://h.example/blogs/a", "/https://h.example/blogs/a"),
        ("/blog/a", "/blog/a"),
        ("/../other", "/other"),
    ],
)
def test_a_site_in_a_folder_keeps_its_pages_in_there(name: str, path: str) -> None:
    assert page_path(name, "https://h.example/blog/") == path
    assert page_address(name, "https://h.example/blog/") == f"https://h.example/blog{path}"
