"""Feeds of comments: their contents in three formats, and their caching."""

import re
from email.utils import parsedate_to_datetime
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.conftest import ADMIN, BOB, EVE, Site, Sites

ATOM = "{http://www.w3.org/2005/Atom}"


async def feed(site: Site, query: str = "", headers: dict[str, str] | None = None) -> Any:
    return await site.http.get(f"/api/comment/rss{query}", headers=headers)


async def texts(site: Site, query: str = "") -> list[str]:
    """The texts of the items of a JSON feed."""
    answer = await feed(site, f"{query}{'&' if query else '?'}format=json")
    assert answer.status_code == 200, answer.text
    return [each["content_html"].strip() for each in answer.json()["items"]]


@pytest.fixture
async def told(make_site: Sites) -> Site:
    return await make_site(SITE_NAME="Demo & Co", SITE_URL="https://blog.example/")


async def test_rss_has_what_feed_readers_need(told: Site) -> None:
    posted = await told.post("**One** \x08 & <script>", url="/ä?b=1&c")
    answer = await feed(told)
    assert answer.headers["content-type"] == "application/rss+xml; charset=utf-8"
    channel = ElementTree.fromstring(answer.content).find("channel")
    assert channel is not None
    assert channel.findtext("title") == "Demo & Co: comments"
    assert channel.findtext("link") == "https://blog.example/"
    assert channel.findtext("description")
    self_link = channel.find(f"{ATOM}link")
    assert self_link is not None
    assert self_link.attrib | {"type": ""} == {
        "href": "http://site.test/api/comment/rss",
        "rel": "self",
        "type": "",
    }
    item = channel.find("item")
    assert item is not None
    assert item.findtext("title") == "Ann commented on /ä?b=1&c"
    assert item.findtext("link") == f"https://blog.example/ä?b=1&c#{posted['objectId']}"
    guid = item.find("guid")
    assert guid is not None
    assert (guid.text, guid.get("isPermaLink")) == (posted["objectId"], "false")
    said = item.findtext("{http://purl.org/rss/1.0/modules/content/}encoded") or item.findtext(
        "description"
    )
    assert said
    assert "<strong>One</strong>" in said
    assert "<script>" not in said
    date = item.findtext("pubDate")
    assert date
    assert parsedate_to_datetime(date).timestamp() == posted["time"] // 1000


async def test_links_lead_where_they_lead_on_the_page(told: Site) -> None:
    links = "[a](/other/) [b](sub/page) [c](#c) [d](?q=1&r) [e](//cdn.example) [f](//[)"
    await told.post(f"{links} ![p](/pic.png)", url="/posts/one/")
    rss = ElementTree.fromstring((await feed(told)).content).findtext("channel/item/description")
    atom = ElementTree.fromstring((await feed(told, "?format=atom")).content)
    page = "https://blog.example/posts/one/"
    for html in (rss, atom.findtext(f"{ATOM}entry/{ATOM}content"), *await texts(told)):
        assert html
        assert re.findall('(?:href|src)="(.+?)"', html) == [
            "https://blog.example/other/",
            f"{page}sub/page",
            f"{page}#c",
            f"{page}?q=1&amp;r",
            "https://cdn.example",
            "https://%5B",
            "https://blog.example/pic.png",
        ]


async def test_atom_has_what_its_standard_demands(told: Site) -> None:
    await told.post("one")
    answer = await feed(told, "?format=atom")
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    root = ElementTree.fromstring(answer.content)
    for parent in (root, root.find(f"{ATOM}entry")):
        assert parent is not None
        for name in ("id", "title", "updated"):
            assert parent.findtext(f"{ATOM}{name}"), name
    assert root.findtext(f"{ATOM}entry/{ATOM}author/{ATOM}name") == "Ann"
    links = {each.get("rel"): each.get("href") for each in root.findall(f"{ATOM}link")}
    assert links["self"] == "http://site.test/api/comment/rss?format=atom"


async def test_json_feed_has_what_its_standard_demands(told: Site) -> None:
    posted = await told.post("one")
    answer = await feed(told, "?format=json")
    assert answer.headers["content-type"].startswith("application/feed+json")
    found = answer.json()
    assert found["version"] == "https://jsonfeed.org/version/1.1"
    (item,) = found["items"]
    assert (item["id"], item["authors"]) == (posted["objectId"], [{"name": "Ann"}])


async def test_the_newest_comments_come_first_and_held_ones_never(told: Site) -> None:
    ids = [(await told.post(text))["objectId"] for text in "abcd"]
    await told.send("PUT", f"/comment/{ids[2]}", {"status": "spam"}, by=ADMIN)
    await told.settled()
    assert await texts(told) == ["<p>d</p>", "<p>b</p>", "<p>a</p>"]
    assert await texts(told, "?count=2") == ["<p>d</p>", "<p>b</p>"]
    # A login does not show more of a feed.
    answer = await feed(told, "?format=json", {"authorization": f"Bearer {ADMIN.id}"})
    assert len(answer.json()["items"]) == 3


async def test_the_feed_of_a_page_has_its_newest_comments_with_replies_and_pinned_ones(
    told: Site,
) -> None:
    old = await told.post("old")
    await told.post("elsewhere", url="/other")
    await told.send("PUT", f"/comment/{old['objectId']}", {"sticky": 1}, by=ADMIN)
    for text in "ab":
        await told.post(text)
    await told.reply(old, "reply")
    found = await texts(told, "?path=/p")
    assert [each[-10:-4] if "@" in each else each for each in found][1:] == [
        "<p>b</p>",
        "<p>a</p>",
        "<p>old</p>",
    ]
    assert "reply" in found[0]
    assert await texts(told, "?path=/nowhere") == []


async def test_a_feed_of_replies_to_an_account_has_nothing_else(told: Site) -> None:
    mine = await told.post("mine", by=BOB)
    other = await told.post("other")
    await told.reply(mine | {"nick": "Bob"}, "to me", by=EVE)
    await told.reply(mine | {"nick": "Bob"}, "my own", by=BOB)
    await told.reply(other, "not to me", by=EVE)
    found = await texts(told, f"?user_id={BOB.id}")
    assert len(found) == 1
    assert "to me" in found[0]
    assert await texts(told, f"?user_id={EVE.id}") == []


@pytest.mark.parametrize(
    ("query", "status", "name"),
    [
        ("?email=ann@example.com", 200, "email"),
        ("?count=51", 200, "count"),
        ("?count=x", 200, "count"),
        ("?format=pdf", 200, "format"),
        ("?path=/p&user_id=bob", 200, "user_id"),
        ("?user_id=nobody", 404, "user_id"),
    ],
)
async def test_a_selection_of_no_feed_names_the_field(
    told: Site, query: str, status: int, name: str
) -> None:
    answer = await feed(told, query)
    assert answer.status_code == status
    assert answer.json()["errno"]
    assert name in str(answer.json()["errmsg"])


@pytest.mark.parametrize("query", ["?format=rss", "?format=atom&path=/p", "?format=json"])
async def test_a_feed_is_sent_again_only_when_it_has_changed(told: Site, query: str) -> None:
    posted = await told.post("one")
    first = await feed(told, query)
    known = {"if-none-match": first.headers["etag"]}
    again = await feed(told, query, known)
    assert (again.status_code, again.content) == (304, b"")
    await told.send("PUT", f"/comment/{posted['objectId']}", {"comment": "two"}, by=ADMIN)
    changed = await feed(told, query, known)
    assert changed.status_code == 200
    assert b"two" in changed.content
    assert "sandbox" in changed.headers["content-security-policy"]


@pytest.mark.parametrize("query", ["path=/none", f"user_id={BOB.id}"])
async def test_an_empty_feed_has_todays_date_and_changes_with_the_day(
    told: Site, query: str
) -> None:
    await told.post("mine", by=BOB)
    for midnight in ("2023-11-14T00:00:00+00:00", "2023-11-15T00:00:00+00:00"):
        first = await feed(told, f"?format=atom&{query}")
        assert ElementTree.fromstring(first.content).findtext(f"{ATOM}updated") == midnight
        channel = ElementTree.fromstring((await feed(told, f"?{query}")).content).find("channel")
        assert channel is not None
        date = parsedate_to_datetime(channel.findtext("lastBuildDate", ""))
        assert date.isoformat() == midnight
        told.clock.now += 3_600_000
        known = {"if-none-match": first.headers["etag"]}
        assert (await feed(told, f"?format=atom&{query}", known)).status_code == 304
        told.clock.now += 82_800_000
