import gzip

import pytest

from footfall.api.site import UI
from tests.conftest import Site, Sites


async def test_the_demonstration_says_what_it_is_and_where_to_ask(make_site: Sites) -> None:
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
        ("127.0.0.1", {"x-forwarded-proto": "https", "x-forwarded-host": "c.example"},
         "https://c.example"),
        ("192.0.2.1", {"x-forwarded-proto": "https", "x-forwarded-host": "evil.example"},
         "http://site.test"),
        ("127.0.0.1", {"host": '"><script>'}, ""),
    ],
)  # fmt: skip
async def test_the_demonstration_names_the_server_as_the_browser_sees_it(
    make_site: Sites, address: str, headers: dict[str, str], server: str
) -> None:
    site = await make_site(address)
    response = await site.http.get("/", headers=headers)
    assert f'data-server="{server}"' in response.text


async def test_the_servers_address_can_be_set(make_site: Sites) -> None:
    site = await make_site(SERVER_URL="https://count.example/")
    assert 'data-server="https://count.example"' in (await site.http.get("/")).text


@pytest.mark.parametrize(
    ("path", "type"),
    [
        ("/count.js", "text/javascript; charset=utf-8"),
        ("/static/demo.js", "text/javascript; charset=utf-8"),
        ("/static/demo.css", "text/css; charset=utf-8"),
        ("/static/favicon.svg", "image/svg+xml"),
    ],
)
async def test_a_file_is_sent_once_and_then_known(site: Site, path: str, type: str) -> None:
    response = await site.http.get(path)
    assert (response.status_code, response.headers["content-type"]) == (200, type)
    assert response.headers["x-content-type-options"] == "nosniff"
    again = await site.http.get(path, headers={"if-none-match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = await site.http.head(path)
    assert (head.status_code, head.content) == (200, b"")


async def test_sites_keep_the_snippet_for_an_hour(site: Site) -> None:
    response = await site.http.get("/count.js")
    assert response.headers["cache-control"] == "public, max-age=3600"


async def test_the_snippet_is_smaller_than_a_kilobyte_and_a_half() -> None:
    assert len((UI / "count.js").read_bytes()) < 1500
    assert len(gzip.compress((UI / "count.js").read_bytes())) < 900


async def test_the_api_with_a_slash_leads_to_the_demonstration(site: Site) -> None:
    response = await site.http.get("/api/")
    assert (response.status_code, response.headers["location"]) == (307, "../api")


async def test_without_a_forum_nobody_is_sent_to_one(make_site: Sites) -> None:
    text = (await (await make_site()).http.get("/")).text
    assert "<span hidden>Questions belong in" in text
    text = (await (await make_site(FORUM_URL="https://f.example")).http.get("/")).text
    assert "<span >Questions belong in" in text


async def test_the_demonstration_can_be_turned_off_and_the_snippet_stays(make_site: Sites) -> None:
    site = await make_site(DEMO="false")
    for path in ("/", "/api", "/api/", "/static/demo.js", "/static/demo.css"):
        assert (await site.http.get(path)).status_code == 404, path
    assert (await site.http.get("/count.js")).status_code == 200
    assert (await site.http.get("/api/article?path=/a")).json()["data"] == [{"time": 0}]
