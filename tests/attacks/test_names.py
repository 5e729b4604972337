"""What somebody may try with their name, their website, or the page of a comment.

The published clients' widget of recent comments writes `<a href="${url}">${nick}</a>` into
innerHTML.
"""

from html.parser import HTMLParser
from itertools import cycle
from typing import Any

import orjson
import pytest

from footfall.markup import is_safe_url
from tests.conftest import Site

ON = ("fake",)

NICKS = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<<img src=x>",
    "</a><svg/onload=x>",
    "<!--",
    "&lt;img src=x onerror=alert(1)&gt;",
    "Ann <3",
    "a<b",
    ">",
    "\N{FULLWIDTH LESS-THAN SIGN}b>",
)
URLS = (
    'x"onmouseover="alert(1)',
    '/a"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    " javascript:alert(1)",
    "\x01javascript:alert(1)",
    "javascript&colon;alert(1)",
    "java&Tab;script&#58;alert(1)",
    "&#106;avascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "/a\nb",
    "/a\x00",
    "/<b>",
    "/a>",
    "/\u2028",
    "/\x7f",
    "mailto:x@example.com",
    "blob:https://x/1",
    "ftp://x/",
)
HARMLESS = (
    "/",
    "/p",
    "/2020/01/02/hello/",
    "about.html",
    "posts/1?x=1&y=2#z",
    "/中文 & più/100%/",
    "p,q",
    "https://blog.example/a",
    "HTTP://blog.example:8080/",
    "//blog.example/a",
    "/a:b",
    "../a",
    "/a'b",
    "/?next=javascript:x",
    "example.com:8080/a",
    "/&quot;",
)


class Reader(HTMLParser):
    """What a browser makes of HTML, as far as these attacks need it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))


def widget(url: str, nick: str) -> list[tuple[str, list[tuple[str, str | None]]]]:
    """The tags of what the clients write."""
    reader = Reader()
    reader.feed(f'<a href="{url}">{nick}</a>')
    reader.close()
    return reader.tags


@pytest.mark.parametrize("nick", NICKS)
async def test_a_name_starts_no_tag(site: Site, nick: str) -> None:
    """Who: an author. What: takes the name `<img src=x onerror=…>`. Instead: angle brackets are
    removed from names, in what is stored and in every answer."""
    posted = await site.post(f"I am {nick!r}", nick=nick)
    expected = nick.replace("<", "").replace(">", "")
    assert posted["nick"] == expected
    (recent,) = await site.get("/comment?type=recent")
    (shown,) = (await site.page())["data"]
    assert recent["nick"] == shown["nick"] == expected
    assert [tag for tag, _ in widget("/p", recent["nick"])] == ["a"]


@pytest.mark.parametrize("url", URLS)
async def test_a_comment_on_a_page_with_a_hostile_address_is_not_taken(
    site: Site, url: str
) -> None:
    """Who: an author. What: names as the page an address that ends the attribute it is written
    into, or that runs a script. Instead: the comment is refused in a sentence, and not stored."""
    answer = await site.send("POST", "/api/comment", {"comment": "hello", "url": url})
    assert answer == {
        "errno": 1000,
        "errmsg": "Comments cannot be stored for a page with this address",
    }
    assert await site.get("/comment?type=recent") == []


@pytest.mark.parametrize("url", HARMLESS)
async def test_a_page_may_be_named_by_any_path(site: Site, url: str) -> None:
    """Who: somebody with an odd address. What: comments on it. Instead: nothing special: it is kept
    as it is, since pages are found by it."""
    await site.post("hello", url=url)
    (recent,) = await site.get("/comment?type=recent")
    assert recent["url"] == url
    assert (await site.get("/comment", path=url))["count"] == 1


async def test_what_was_stored_earlier_or_restored_is_safe_on_its_way_out(site: Site) -> None:
    """Who: somebody whose comment is older than these rules, or who changed a backup. What: has in
    Redis a hostile name, on a page with a hostile address. Instead: answers outside the page have
    neither, for every viewer and in both variants."""
    store = site.store
    for url, nick in zip(URLS, cycle(NICKS), strict=False):
        stored = await plant(site, nick, url)
        for answer in (
            (await site.get("/comment?type=recent"))[0],
            (await site.get("/api/comment?type=recent"))["data"][0],
            (await site.send("PUT", f"/api/comment/{stored}", {"like": True}))["data"],
        ):
            assert answer["objectId"] == stored
            ((tag, attributes),) = widget(answer["url"], answer["nick"])
            assert (tag, [name for name, _ in attributes]) == ("a", ["href"])
            assert is_safe_url(answer["url"])
        await store.redis.client.flushall()


async def plant(site: Site, nick: str, path: str) -> str:
    """Store a comment that no rule has seen, and return its id."""
    stored = await site.post("planted", nick="marker-of-nick", url="/marker-of-path")
    id: str = stored["objectId"]
    (found,) = await site.store.comments.by_ids([id])
    assert found.path == "/marker-of-path"
    client: Any = site.store.redis.client
    for key in await client.keys("*"):
        match await client.type(key):
            case b"string" if await client.get(key) == b"/marker-of-path":
                await client.set(key, path)
            case b"hash" if await client.hexists(key, id):
                body = await client.hget(key, id)
                named = orjson.dumps(nick).replace(b"<", b"\\u003c")
                await client.hset(key, id, body.replace(b'"marker-of-nick"', named))
    return id


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("\u202enimda", "nimda"),
        ("admin\u200b", "admin"),
        ("ad\u2066min\u2069", "admin"),
        ("a\r\nBcc: b", "a Bcc: b"),
        ("\u200b", None),
    ],
)
async def test_a_name_is_what_is_seen_of_it(site: Site, written: str, seen: str | None) -> None:
    """Who: an author. What: takes a name that runs backwards, ends in a character that nobody sees,
    or has a line break. Instead: only what is seen of it is stored, of readers, of accounts and of
    badges; a name that shows nothing is none."""
    await site.post("hello", nick=written)
    (comment,) = (await site.page())["data"]
    assert (comment["nick"] or None) == seen
    feed = await site.get("/api/comment/rss", format="json")
    assert feed["items"][0]["title"] == f"{seen or 'Anonymous'} commented on /p"
    applicant = {"display_name": written, "email": "x@mail.example", "password": "correct horse 1"}
    answer = await site.send("POST", "/api/user", applicant)
    refused = {"display_name": "display_name can not be blank"}
    assert answer["errmsg"] == ("" if seen else refused)
