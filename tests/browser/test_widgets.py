"""What the clients' widgets write into a page as HTML, if strangers have chosen the names."""

import json

import httpx
import orjson
import pytest
from playwright.sync_api import expect
from redis import Redis

from tests.attacks.test_names import NICKS, URLS
from tests.support.serving import Serving

from .blog import Blog
from .clients import Client
from .conftest import Start, Writer
from .visitor import Visitor

# Each of these would run, load or show something if it were taken for HTML.
RUNNING = '<img src="data:," onerror="window.ran = 1">'
HOSTILE_NICKS = (*NICKS, RUNNING, f"</a>{RUNNING}", "Ann & Bea <b>")
HOSTILE_URLS = (
    *(url for url in URLS if url.isprintable()),
    f'"><svg onload="window.ran = 1">{RUNNING}',
    "javascript:window.ran=1",
    "javascript&colon;window.ran=1",
    '/a" onfocus="window.ran=1" autofocus="',
)
SHOWN = 10


@pytest.fixture
def own(start: Start) -> Serving:
    """On a private Valkey, whose every key is this service's."""
    return start(REDIS_URL="")


def recent(blog: Blog, service: Serving, client: Client, visitor: Visitor, number: int) -> None:
    """Open a page with the widget of recent comments, and wait until it has been written."""
    call = json.dumps({"el": "#recent", "serverURL": service.url, "count": SHOWN, "lang": "en-US"})
    script = client.script(f"({call})", "RecentComments")
    path = f"/recent/{client}/{number}"
    visitor.open(blog.publish(path, f'<div id="recent"></div>{script}', client.head))
    comments = visitor.page.evaluate("async () => (await window.called).comments")
    # The third client takes the envelope for the list, and writes nothing.
    shown = comments["data"] if client.generation == 3 else comments
    assert len(shown) == SHOWN
    if client.generation == 3:
        visitor.page.evaluate(WRITE, [comments["data"]])
    expect(visitor.page.locator("#recent li")).to_have_count(SHOWN)


# What the third client would do with the list, copied from its bundle.
WRITE = """([list]) => {
  document.querySelector("#recent").innerHTML = `<ul class="wl-recent-list">${list.map(
    e => `<li class="wl-recent-item"><a href="${e.url}">${e.nick}</a>：${e.comment}</li>`
  ).join("")}</ul>`
}"""


def see_that_nothing_ran(visitor: Visitor) -> None:
    links = visitor.page.locator("#recent li a")
    expect(links).to_have_count(SHOWN)
    assert visitor.page.locator("#recent :not(ul, li, a, p)").count() == 0
    for link in links.all():
        assert link.evaluate("a => a.getAttributeNames()") == ["href"]
        assert link.evaluate("a => a.protocol") in ("http:", "https:")
        # Attributes of events need focus and a pointer.
        link.focus()
        link.dispatch_event("mouseover")
    visitor.come_to_rest()
    assert visitor.page.evaluate("window.ran") is None


@pytest.mark.rare
def test_recent_comments_show_no_name_as_html(
    blog: Blog, own: Serving, client: Client, visitor: Visitor
) -> None:
    for first in range(0, len(HOSTILE_NICKS), SHOWN):
        nicks = (HOSTILE_NICKS * 2)[first : first + SHOWN]
        for number, nick in enumerate(nicks):
            Writer(own.url, f"/p{number}")(f"hello {first} {number}", nick=nick)
        for url in HOSTILE_URLS:
            answer = httpx.post(f"{own.url}/api/comment", json={"comment": "x", "url": url})
            assert answer.json()["errno"] == 1000
        recent(blog, own, client, visitor, first)
        see_that_nothing_ran(visitor)
        shown = [nick.replace("<", "").replace(">", "") for nick in reversed(nicks)]
        texts = visitor.page.evaluate(
            "texts => texts.map(text => new DOMParser().parseFromString(text, 'text/html')"
            ".body.textContent)",
            shown,
        )
        assert visitor.page.locator("#recent li a").all_text_contents() == texts


@pytest.mark.rare
def test_recent_comments_that_were_stored_before_show_no_name_as_html_either(
    blog: Blog, own: Serving, client: Client, visitor: Visitor
) -> None:
    for first in range(0, len(HOSTILE_URLS), SHOWN):
        for number in range(SHOWN):
            write = Writer(own.url, f"/marker-{first}-{number}")
            write(f"hello {number}", nick=f"marker-{first}-{number}")
            nick, url = ((texts * 3)[first + number] for texts in (HOSTILE_NICKS, HOSTILE_URLS))
            plant(own, f"marker-{first}-{number}", nick, url)
        recent(blog, own, client, visitor, 1000 + first)
        see_that_nothing_ran(visitor)


def plant(service: Serving, marker: str, nick: str, url: str) -> None:
    """Give a comment's author and page other names, as no request could."""
    with Redis(unix_socket_path=str(service.directory / "data/redis.sock")) as client:
        found = 0
        for key in client.scan_iter("*}:path"):
            if client.get(key) == f"/{marker}".encode():
                client.set(key, url)
                found += 1
        for key in client.scan_iter("*}:bodies"):
            for id, body in client.hgetall(key).items():
                named = body.replace(orjson.dumps(marker), orjson.dumps(nick))
                if named != body:
                    client.hset(key, id, named)
                    found += 1
        assert found == 2
