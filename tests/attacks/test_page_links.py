"""Links to a page that a stranger has named: they lead to the site and nowhere else."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest

from footfall.app import create_delivery
from footfall.config import Settings
from tests.conftest import Site, Sites
from tests.support.addresses import browsers_origin
from tests.support.receivers import MailServer, Receiver, receiver
from tests.web.test_outbox import mailing, settle, told

ON = ("valkey",)

SITE = ("https", "blog.example")
SERVICE = ("https", "talk.example")
NAMES = (
    ".evil.example/x",
    "@evil.example/x",
    ":80@evil.example/",
    "//evil.example/x",
    "?.evil.example",
    "\\\\evil.example\\x",
    "/\\evil.example",
    "https://evil.example/x",
    "/../..//evil.example",
)


@pytest.fixture
def others() -> Iterator[Receiver]:
    with receiver() as found:
        found.answer = lambda path, body: (200, b"false")
        yield found


async def posted(site: Site) -> list[Any]:
    return [await site.post(f"one {n}", url=name) for n, name in enumerate(NAMES)]


def origins(text: str) -> set[tuple[str, str]]:
    return {browsers_origin(each) for each in re.findall(r"https?://[^\s\"<]+", text)}


async def test_a_page_named_like_a_host_in_mails(make_site: Sites, mails: MailServer) -> None:
    """Who: anybody who comments. What: names a page `.evil.example/x`, `@evil.example/x` or
    `https://evil.example/x`, which glued to the site's address leads the owner to a host of theirs.
    Instead: each link in emails is a path of the site or of this service, also where a template
    writes the site's address and the page's name one behind the other."""
    template = '<a href="{{site.url}}{{self.url}}">{{site.postUrl}}</a>'
    environ = mailing(mails, MAIL_TEMPLATE_ADMIN=template)
    site, delivery = await told(make_site, environ)
    comments = await posted(site)
    await settle(site, delivery)
    assert len(mails.came) == len(NAMES)
    for _, mail in mails.came:
        for part in mail.iter_parts():
            assert origins(part.get_content()) == {SITE, SERVICE}
    sent = "".join(str(mail.get_body(("html",)).get_content()) for _, mail in mails.came)  # type: ignore[union-attr]
    assert all(f"#{comment['objectId']}" in sent for comment in comments)


@pytest.mark.rare
async def test_a_page_named_like_a_host_in_chats_and_at_akismet(
    make_site: Sites, others: Receiver
) -> None:
    """Who: a spammer. What: names a page so that a chat's link, or the permalink by which Akismet
    learns whose comments are good, is one of another host. Instead: both get the site's."""
    make_site.store.outbox.is_on = True
    environ = {
        "NOTIFY_URLS": others.url.replace("http", "json"),
        "AKISMET_KEY": "key",
        "AKISMET_URL": others.url,
        "SITE_URL": "https://blog.example",
    }
    site = await make_site(**environ)
    delivery = create_delivery(Settings.from_env(environ), site.service)
    await posted(site)
    await settle(site, delivery)
    judged = [body.decode() for path, _, body in others.came if path.endswith("comment-check")]
    chats = [orjson.loads(body)["message"] for path, _, body in others.came if path == "/"]
    assert len(judged) == len(chats) == len(NAMES)
    links = [parse_qs(each)["permalink"][0] for each in judged]
    assert {browsers_origin(link) for link in links} == origins("\n".join(chats)) == {SITE}


@pytest.mark.parametrize("site_url", ["https://blog.example", "https://blog.example/~ann/"])
async def test_a_page_named_like_a_host_in_feeds(make_site: Sites, site_url: str) -> None:
    """Who: anybody who comments, or who hands out the address of a feed. What: names a page so that
    the entries of feeds, or the page that a feed says it is of, are on another host, or outside of
    the folder that the site has there. Instead: all are pages of the site."""
    site = await make_site(SITE_URL=site_url)
    await posted(site)
    own = f"{site_url.rstrip('/')}/"
    (every, *each) = [
        (await site.http.get("/api/comment/rss", params={"format": "json", "path": path})).json()
        for path in ("", *NAMES)
    ]
    links = [item["url"] for item in every["items"]]
    assert len(links) == len(NAMES)
    for link in (*links, *(feed["home_page_url"] for feed in each)):
        assert link.startswith(own)
        assert browsers_origin(link) == SITE
