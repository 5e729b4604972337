import gzip
import re

import pytest

from footfall.owner.files import UI
from tests.conftest import Site, Sites


async def test_the_demonstration_says_what_it_is_and_names_the_forum(make_site: Sites) -> None:
    site = await make_site(SITE_NAME="Tom & <Ann>", FORUM_URL="https://forum.example/t/1")
    response = await site.http.get("/")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "demonstration" in response.text
    assert "Tom &amp; &lt;Ann&gt;" in response.text
    assert 'href="https://forum.example/t/1"' in response.text
    assert "{{" not in response.text


@pytest.mark.parametrize(
    ("address", "headers", "server"),
    [
        ("127.0.0.1", {}, "http://site.test"),
        (
            "127.0.0.1",
            {"x-forwarded-proto": "https", "x-forwarded-host": "c.example"},
            "https://c.example",
        ),
        (
            "192.0.2.1",
            {"x-forwarded-proto": "https", "x-forwarded-host": "evil.example"},
            "http://site.test",
        ),
        ("127.0.0.1", {"host": '"><script>'}, ""),
    ],
)
async def test_the_demonstration_names_the_server_as_the_browser_sees_it(
    make_site: Sites, address: str, headers: dict[str, str], server: str
) -> None:
    site = await make_site(address)
    response = await site.http.get("/", headers=headers)
    assert f'data-server="{server}"' in response.text


@pytest.mark.parametrize(
    ("path", "type"),
    [
        ("/count.js", "text/javascript; charset=utf-8"),
        ("/top.js", "text/javascript; charset=utf-8"),
        ("/static/demo.js", "text/javascript; charset=utf-8"),
        ("/static/demo.css", "text/css; charset=utf-8"),
        ("/static/favicon.svg", "image/svg+xml"),
    ],
)
async def test_an_unchanged_file_is_not_sent_again(site: Site, path: str, type: str) -> None:
    response = await site.http.get(path)
    assert (response.status_code, response.headers["content-type"]) == (200, type)
    assert response.headers["x-content-type-options"] == "nosniff"
    again = await site.http.get(path, headers={"if-none-match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = await site.http.head(path)
    assert (head.status_code, head.content) == (200, b"")


async def test_goatcounters_script_is_there_where_its_protocol_is_spoken(
    make_site: Sites, site: Site
) -> None:
    own = (await site.http.get("/count.js")).text
    both = (await (await make_site(COMPAT="goatcounter")).http.get("/count.js")).text
    assert "goatcounter" not in own
    assert both.endswith(own)
    assert "window.goatcounter = " in both


@pytest.mark.parametrize("name", ["count.js", "top.js"])
async def test_a_snippet_is_smaller_than_a_kilobyte_and_a_half(name: str) -> None:
    """As a proxy that compresses sends it."""
    assert len(gzip.compress((UI / name).read_bytes())) < 1500


async def test_without_a_forum_there_is_no_link_to_one(make_site: Sites) -> None:
    text = (await (await make_site()).http.get("/")).text
    assert "Questions belong in" not in text
    text = (await (await make_site(FORUM_URL="https://f.example")).http.get("/")).text
    assert "Questions belong in" in text


async def test_the_demonstration_can_be_turned_off_and_the_snippets_stay(make_site: Sites) -> None:
    site = await make_site(DEMO="false")
    for path in ("/", "/api", "/api/", "/static/demo.js", "/static/demo.css"):
        assert (await site.http.get(path)).status_code == 404, path
    for path in ("/count.js", "/top.js"):
        assert (await site.http.get(path)).status_code == 200, path
    assert (await site.http.get("/api/article?path=/a")).json()["data"] == [{"time": 0}]


@pytest.mark.parametrize(
    ("settings", "is_listed"),
    [
        ({}, False),
        ({"STATISTICS_PUBLIC": "top"}, True),
        ({"STATISTICS_PUBLIC": "all"}, True),
        ({"STATISTICS_PUBLIC": "top", "STATISTICS": "off"}, False),
        # Links would lead nowhere.
        ({"STATISTICS_PUBLIC": "top", "SITE_URL": ""}, False),
    ],
)
async def test_the_demonstration_lists_what_everybody_may_know(
    make_site: Sites, settings: dict[str, str], is_listed: bool
) -> None:
    usual = {"STATISTICS": "views", "SITE_URL": "https://blog.example"}
    site = await make_site(**{**usual, **settings})
    text = (await site.http.get("/")).text
    assert ("<ol data-footfall-top " in text) is is_listed


BLOG = {"referer": "https://blog.example/post"}
OTHER = {"referer": "https://other.example/"}


@pytest.mark.parametrize(
    ("settings", "headers", "redirect", "opener", "back"),
    [
        ({}, BLOG, "", "https://blog.example", ""),
        (
            {},
            BLOG,
            "https://blog.example/p?a=1",
            "https://blog.example",
            "https://blog.example/p?a=1",
        ),
        # A token goes only to the page from which the reader came.
        ({}, BLOG, "https://other.example/", "https://blog.example", ""),
        ({}, BLOG, "https://blog.example.evil.example/", "https://blog.example", ""),
        ({}, BLOG, "//blog.example/", "https://blog.example", ""),
        ({}, BLOG, "javascript:alert(1)", "https://blog.example", ""),
        ({}, BLOG, "https://blog.example@evil.example/", "https://blog.example", ""),
        ({}, {}, "https://blog.example/", "", ""),
        (
            {"SITE_URL": "https://blog.example"},
            {},
            "https://blog.example/p",
            "https://blog.example",
            "https://blog.example/p",
        ),
        ({"SECURE_DOMAINS": "blog.example"}, BLOG, "", "https://blog.example", ""),
        ({"SECURE_DOMAINS": "blog.example"}, OTHER, "https://other.example/", "", ""),
        ({}, {"referer": "http://[::1]:4000/"}, "", "http://[::1]:4000", ""),
        ({}, {"referer": 'https://"><script>/'}, "", "", ""),
        ({}, {"referer": "http://[/"}, "", "", ""),
        ({}, {"referer": "http://a:99999/"}, "", "", ""),
        ({}, {"referer": "file:///etc"}, "", "", ""),
    ],
)
async def test_a_log_in_goes_to_the_page_that_asked_for_it(
    make_site: Sites,
    settings: dict[str, str],
    headers: dict[str, str],
    redirect: str,
    opener: str,
    back: str,
) -> None:
    site = await make_site("192.0.2.1", **settings)
    answer = await site.http.get("/ui/login", params={"redirect": redirect}, headers=headers)
    assert f'data-opener="{opener}" data-return="{back}"' in answer.text
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/ui/login", "/ui/register", "/ui/forgot"])
async def test_pages_about_accounts_are_served_without_the_demonstration(
    make_site: Sites, path: str
) -> None:
    site = await make_site(DEMO="false")
    page = await site.http.get(path)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    for name in re.findall(r'"(static/[^"]+)"', page.text):
        assert (await site.http.get(f"/ui/{name}")).status_code == 200, name
    assert (await site.http.post(path)).status_code == 405
