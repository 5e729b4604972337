"""What every answer has, whatever the request: headers, statuses, preflights, caching."""

import pytest

from tests.conftest import Site, Sites

ROUTES = ("/api/article", "/article", "/api/comment", "/comment", "/token", "/nowhere")


@pytest.mark.parametrize("path", ROUTES)
async def test_every_answer_may_be_read_by_every_origin(site: Site, path: str) -> None:
    response = await site.http.get(path, headers={"origin": "https://blog.example"})
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["vary"] == "Origin"
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.headers["content-length"] == str(len(response.content))


@pytest.mark.parametrize("path", [*ROUTES, "/api/comment/abc", "/", "/count.js"])
async def test_a_preflight_allows_what_it_asks_for(make_site: Sites, path: str) -> None:
    site = await make_site(SECURE_DOMAINS="blog.example")
    response = await site.http.options(
        path,
        headers={
            "origin": "https://elsewhere.example",
            "access-control-request-method": "PUT",
            "access-control-request-headers": "authorization,content-type",
        },
    )
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["access-control-allow-methods"] == "GET,HEAD,PUT,POST,DELETE,PATCH"
    assert response.headers["access-control-allow-headers"] == "authorization,content-type"
    assert response.headers["access-control-max-age"] == "86400"


async def test_every_answer_forbids_sniffing(site: Site) -> None:
    posted = await site.post("hello")
    tag = (await site.http.get("/comment?path=/p")).headers["etag"]
    for method, path in (
        *(("GET", path) for path in ROUTES),
        ("HEAD", "/comment?path=/p"),
        ("OPTIONS", "/comment"),
        ("GET", "/comment?path="),
        ("DELETE", "/comment"),
        ("POST", "/comment"),
        ("GET", "/"),
        ("PUT", f"/comment/{posted['objectId']}"),
        ("GET", "/article?path=" + "x" * 20_000),
        ("GET", "/api/"),
        ("POST", "/"),
        ("GET", "/count.js"),
        ("GET", "/static/demo.css"),
        ("GET", "/static/nowhere"),
        ("GET", "/livez"),
        ("GET", "/readyz"),
        ("GET", "/version"),
        ("GET", "/metrics"),
        ("GET", "/comment?path=/p"),
    ):
        response = await site.http.request(method, path, headers={"if-none-match": tag})
        assert response.headers["x-content-type-options"] == "nosniff", (method, path)


SLASHES = {
    "GET /api/comment?type=count&url=/a/": None,
    "GET /api/article?path=/a/&type=time": None,
    "POST /api/article": {"path": "/a/"},
    "GET /comment?type=recent&count=6&lang=zh-CN": None,
    "POST /api/comment": {"url": "/a/", "comment": "hello", "nick": "Ann"},
    "OPTIONS /api/comment": None,
    "GET /count.js": None,
    "GET /ui/login": None,
    "GET /nowhere": None,
}


@pytest.mark.parametrize("asked", SLASHES)
@pytest.mark.parametrize("slashes", ["//", "///"])
async def test_slashes_too_many_in_front_are_one(site: Site, asked: str, slashes: str) -> None:
    """As clients ask whose address of the server ends in one."""
    method, _, path = asked.partition(" ")
    plain = await site.http.request("OPTIONS" if method == "POST" else method, path)
    url = f"http://site.test{slashes}{path[1:]}"
    answer = await site.http.request(method, url, json=SLASHES[asked])
    if method == "POST":
        assert answer.json()["errno"] == 0
    else:
        assert (answer.status_code, answer.content) == (plain.status_code, plain.content)
    cors = "access-control-allow-origin"
    assert answer.headers.get(cors) == plain.headers.get(cors)


@pytest.mark.parametrize(
    "path",
    ["//metrics", "///readyz", "/%6detrics", "/%2flivez", "//version", "/livez%00", "/metrics/"],
)
async def test_another_spelling_of_what_proxies_hide_is_404(site: Site, path: str) -> None:
    assert (await site.http.get(f"http://site.test{path}")).status_code == 404


async def test_an_unknown_route_is_404_and_named(site: Site) -> None:
    for path in ("/x", "/api/x", "/apiarticle", "/API/article", "/ARTICLE", "/api/api/article"):
        response = await site.http.get(path)
        assert response.status_code == 404
        assert response.json() == {"errno": 404, "errmsg": f"url `{path}` not found."}


async def test_a_method_that_a_route_does_not_have_is_405_with_allow(site: Site) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        response = await site.http.request(method, "/api/article")
        assert (response.status_code, response.json()["errno"]) == (405, 405)
        assert response.headers["allow"] == "GET, POST, HEAD, OPTIONS"


async def test_head_has_the_headers_of_get_and_no_body(site: Site) -> None:
    get = await site.http.get("/api/article?path=/a")
    head = await site.http.head("/api/article?path=/a")
    assert (head.status_code, head.content) == (200, b"")
    assert dict(head.headers) == dict(get.headers)


async def test_an_unchanged_answer_is_304(site: Site) -> None:
    await site.post("hello")
    pages, tags = "/api/comment?path=/p", {}
    for path in (
        pages,
        "/comment?type=recent",
        "/article?path=/a",
        "/api/article?path=/a",
        "/api/article?path=/a,/b",
        "/api/article?path=/a&type=time,reaction0",
    ):
        first = await site.http.get(path)
        assert first.headers["cache-control"] == "no-cache"
        tag = tags[path] = first.headers["etag"]
        for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = await site.http.get(path, headers={"if-none-match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    id = (await site.page())["data"][0]["objectId"]
    await site.send("PUT", f"/api/comment/{id}", {"like": True})
    changed = await site.http.get(pages, headers={"if-none-match": tags[pages]})
    assert changed.status_code == 200


@pytest.mark.parametrize("path", ["/article/", "/article.html", "/api/article.html", "/article/x"])
async def test_only_the_exact_path_is_the_older_variant(site: Site, path: str) -> None:
    assert await site.get(path, path="/a") == {"errno": 0, "errmsg": "", "data": [{"time": 0}]}


async def test_a_url_of_twenty_kilobytes_is_431(site: Site) -> None:
    response = await site.http.get("/article?path=" + "x" * 20_000)
    assert (response.status_code, response.json()["errno"]) == (431, 431)
    assert response.headers["access-control-allow-origin"] == "*"


async def test_a_body_of_more_than_a_megabyte_is_400(site: Site) -> None:
    async def chunks() -> object:
        for _ in range(11):
            yield b"x" * 100_000

    headers = {"content-type": "application/json"}
    for content in (b"x" * 1_100_000, chunks()):
        response = await site.http.post("/api/comment", content=content, headers=headers)  # type: ignore[arg-type]
        assert response.status_code == 400


@pytest.mark.parametrize(
    ("domains", "headers", "status"),
    [
        ("blog.example", {"referer": "https://blog.example/post"}, 200),
        ("blog.example", {"origin": "https://blog.example"}, 200),
        ("https://blog.example/", {"origin": "https://blog.example"}, 200),
        ("blog.example", {"origin": "http://localhost:4000"}, 200),
        ("blog.example", {"origin": "http://127.0.0.1"}, 200),
        ("blog.example", {"referer": "https://blog.example.evil.example/"}, 403),
        ("blog.example", {"referer": "https://sub.blog.example/"}, 403),
        ("/(^|\\.)blog\\.example$/", {"referer": "https://sub.blog.example/"}, 200),
        ("/(^|\\.)blog\\.example$/", {"referer": "https://notblog.example/"}, 403),
        (
            "blog.example",
            {"referer": "https://evil.example/", "origin": "https://blog.example"},
            403,
        ),
        ("blog.example", {"referer": "https://[broken/"}, 403),
        ("/./", {"referer": f"https://{'a' * 253}/"}, 200),
        ("/./", {"referer": f"https://{'a' * 254}/"}, 403),
        ("/./", {"origin": f"https://{'a' * 15_000}"}, 403),
        ("blog.example", {}, 403),
        ("", {}, 200),
    ],
)
async def test_only_secure_domains_may_call(
    make_site: Sites, domains: str, headers: dict[str, str], status: int
) -> None:
    site = await make_site(SECURE_DOMAINS=domains)
    response = await site.http.get("/article?path=/a", headers=headers)
    assert response.status_code == status
    assert response.headers["access-control-allow-origin"] == "*"
    response = await site.http.get("/", headers=headers)
    assert response.status_code == 200


OWN = {"referer": "http://site.test/"}
FORWARDED = {"x-forwarded-host": "count.example", "referer": "https://count.example/"}


@pytest.mark.parametrize(
    ("settings", "address", "headers", "status"),
    [
        ({}, "192.0.2.1", OWN, 200),
        ({}, "192.0.2.1", {"origin": "http://site.test"}, 200),
        ({}, "192.0.2.1", {"referer": "http://other.test/"}, 403),
        ({}, "192.0.2.1", {"host": "", "referer": "http:///"}, 403),
        ({}, "192.0.2.1", {"host": "[", "referer": "http://[/"}, 403),
        ({}, "192.0.2.1", {"host": "[", "referer": "http://site.test/"}, 403),
        # Its other pages are served without the demonstration, too.
        ({"DEMO": "false"}, "192.0.2.1", OWN, 200),
        # Any page may send this header, and a proxy may pass it on.
        ({}, "127.0.0.1", FORWARDED, 403),
        ({}, "192.0.2.1", FORWARDED, 403),
        # If the service's address is set, only that counts.
        ({"SERVER_URL": "https://count.example"}, "192.0.2.1", OWN, 403),
        (
            {"SERVER_URL": "https://count.example"},
            "192.0.2.1",
            {"referer": "https://count.example/api"},
            200,
        ),
    ],
)
async def test_the_services_own_page_may_call_it(
    make_site: Sites, settings: dict[str, str], address: str, headers: dict[str, str], status: int
) -> None:
    site = await make_site(address, SECURE_DOMAINS="blog.example", **settings)
    response = await site.http.get("/article?path=/a", headers=headers)
    assert response.status_code == status


async def test_a_bug_is_a_500_that_does_not_show_the_error(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(site.store.counters, "fetch", broken)
    # No description has a bug's answer.
    site.http.event_hooks = {}
    response = await site.http.get("/api/article?path=/a")
    assert (response.status_code, response.json()) == (
        500,
        {"errno": 500, "errmsg": "Internal Server Error"},
    )
    assert "secret detail" in caplog.text
