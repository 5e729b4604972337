"""Titles of pages, which the service reads from the site's own pages."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from footfall.app import create_delivery
from footfall.config import Settings
from footfall.outside import page_title
from footfall.outside.page_title import MAX_HEAD_BYTES, title_of
from footfall.process.process import now_ms
from footfall.statistics import site_store, titles
from footfall.statistics.titles import AT_ONCE
from tests.conftest import Site, Sites
from tests.support.mailing import run, settings_of, text_of
from tests.support.receivers import MailServer

OWNER = {"cookie": "footfall=admin"}
HTML = "text/html; charset=utf-8"


@dataclass
class Blog:
    """`pages`: by path, status, type of content, location and body."""

    url: str = ""
    pages: dict[str, tuple[int, str, str, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def publish(self, path: str, body: bytes, type: str = HTML) -> None:
        self.pages[path] = 200, type, "", body

    def lead(self, path: str, target: str) -> None:
        self.pages[path] = 301, HTML, target, b"<title>moved</title>"


@pytest.fixture
def blog() -> Iterator[Blog]:
    blog = Blog()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            blog.asked.append(self.path)
            missing = 404, HTML, "", b"<title>not found</title>"
            status, kind, location, body = blog.pages.get(self.path, missing)
            self.send_response(status)
            self.send_header("content-type", kind)
            if location:
                self.send_header("location", location)
            self.end_headers()
            # A client that has read enough closes the connection.
            with contextlib.suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        blog.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield blog
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("body", "type", "title"),
    [
        (b"<!doctype html><title>One &amp; two\n  three</title>", HTML, "One & two three"),
        (b"<TITLE lang=en>A</TITLE>", "text/html", "A"),
        (
            "<title>\u00e9t\u00e9</title>".encode("latin-1"),
            "text/html; charset=latin-1",
            "\u00e9t\u00e9",
        ),
        (b"<title>\xff</title>", "text/html; charset=nonsense", "\ufffd"),
        (b"<title>" + b"x" * 300 + b"</title>", HTML, "x" * 200),
        (b"<title>never closed" + b"x" * 300_000, HTML, ""),
        (b" " * MAX_HEAD_BYTES + b"<title>too late</title>", HTML, ""),
        (b"<svg><title>not here</title>", "image/svg+xml", ""),
        (b"<titles>no</titles>", HTML, ""),
        (b"", HTML, ""),
    ],
)
async def test_the_title_is_what_its_html_says(
    blog: Blog, body: bytes, type: str, title: str
) -> None:
    blog.publish("/a", body, type)
    assert await title_of(f"{blog.url}/a") == title


async def test_redirects_are_followed_within_the_site(blog: Blog) -> None:
    blog.publish("/a/", b"<title>A</title>")
    blog.lead("/a", "/a/")
    blog.lead("/away", "http://127.0.0.2:1/")
    blog.lead("/round", "/round")
    assert await title_of(f"{blog.url}/a") == "A"
    assert await title_of(f"{blog.url}/away") == ""
    assert await title_of(f"{blog.url}/round") == ""
    assert blog.asked.count("/round") == page_title.MAX_REDIRECTS + 1
    assert await title_of(f"{blog.url}/nowhere") == ""


async def on(make_site: Sites, blog: Blog, **environ: str) -> Site:
    settings = {"STATISTICS": "views", "SITE_URL": blog.url, **environ}
    site = await make_site(**settings)
    site.clock.now = now_ms()
    await site.count("/a")
    return site


async def shown(site: Site, path: str = "/ui/statistics") -> str:
    """The page, when what it has asked for has been read."""
    text = (await site.http.get(path, headers=OWNER)).text
    await site.store.background.finished()
    return text


async def test_a_page_is_listed_with_its_title_which_is_read_once(
    make_site: Sites, blog: Blog
) -> None:
    blog.publish("/a", "<title>\u201cA\u201d <i>\u202e</title>".encode())
    site = await on(make_site, blog)
    assert "\u201cA\u201d" not in await shown(site)
    for path in ("/ui/", "/ui/statistics", "/ui/statistics?path=/a"):
        assert "\u201cA\u201d &lt;i&gt;%E2%80%AE" in await shown(site, path), path
    assert blog.asked == ["/a"]
    # A part of it finds the page.
    assert "./statistics?path=%2Fa&amp;days=30" in await shown(
        site, "/ui/statistics?path=%E2%80%9Ca"
    )
    table = await shown(site, "/ui/statistics.csv?table=pages")
    assert table.splitlines()[1] == "/a,1,1,0,0,0,\u201cA\u201d <i>\u202e"


async def test_an_email_about_a_comment_waits_for_the_title_of_its_page(
    make_site: Sites, blog: Blog, mails: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    blog.publish("/p", b"<title>On gardens</title>")
    make_site.store.outbox.is_on = True
    environ = {**settings_of(mails), "AUTHOR_EMAIL": "owner@example.com", "NOTIFY_EVERY": "0"}
    environ["SITE_URL"] = blog.url
    site = await make_site(**environ)
    delivery = create_delivery(Settings.from_env(environ), site.service)
    root = await site.post("one", nick="Ann")
    await site.settled()
    await run(delivery)
    assert "commented on On gardens (/p)" in text_of(mails.came[-1][1])
    # A page that does not answer stops no email.
    monkeypatch.setattr(titles, "PATIENCE_SECONDS", 0)
    site.clock.now += 31 * 86_400_000
    await site.reply(root, "two", mail="eve@example.com")
    await site.settled()
    await run(delivery)
    assert len(mails.came) == 3
    assert "you wrote on On gardens (/p)" in "".join(text_of(mail) for _, mail in mails.came)


async def test_a_title_is_read_again_after_a_month_and_a_missing_one_after_a_day(
    make_site: Sites, blog: Blog
) -> None:
    site = await on(make_site, blog)
    await site.count("/b")
    blog.publish("/a", b"<title>A</title>")
    await shown(site)
    assert sorted(blog.asked) == ["/a", "/b"]
    site.clock.now += 86_400_000
    await shown(site)
    assert sorted(blog.asked) == ["/a", "/b", "/b"]
    site.clock.now += 29 * 86_400_000
    await shown(site, "/ui/statistics?path=/a")
    assert sorted(blog.asked) == ["/a", "/a", "/b", "/b"]


async def test_titles_are_off_without_a_site_or_by_a_setting(make_site: Sites, blog: Blog) -> None:
    site = await on(make_site, blog, TITLES="off")
    await shown(site)
    assert blog.asked == []


async def test_a_site_that_is_away_has_no_titles(make_site: Sites, blog: Blog) -> None:
    site = await on(make_site, blog, SITE_URL="http://127.0.0.1:1")
    assert "/a</bdi>" in await shown(site)
    assert "/a</bdi>" in await shown(site)


async def test_titles_are_bounded(
    make_site: Sites, blog: Blog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_store, "MAX_TITLES", 2)
    site = await on(make_site, blog)
    for path in ("/b", "/c"):
        await site.count(path)
    await shown(site)
    (number,) = await site.store.redis.ask(("HLEN", site.store.keys.titles))
    # Two are read at once.
    assert number <= 2 + AT_ONCE


async def test_the_queue_asks_for_the_titles_of_its_pages(make_site: Sites, blog: Blog) -> None:
    blog.publish("/a", b"<title>A</title>")
    site = await on(make_site, blog)
    await site.count("/b,c")
    headers = {**OWNER, "x-footfall-page": "1"}

    async def asked(query: str) -> list[str]:
        answer = await site.http.get(f"/ui/api/pages/titles{query}", headers=headers)
        await site.store.background.finished()
        data: list[str] = answer.json()["data"]
        return data

    assert await asked("?path=/a&path=/b,c") == ["", ""]
    assert await asked("?path=/a&path=/b,c") == ["A", ""]
    assert await asked("") == []
