"""Links and pictures of strangers: how many a comment may have, and who learns who read it."""

import re

import pytest

from bench.constructs import CONSTRUCTS
from footfall.render.allowance import most_bytes
from footfall.render.links import (
    MAX_ADDED_CHARACTERS,
    count_links,
    pictures_as_links,
    with_whole_addresses,
)
from footfall.render.markdown import render
from tests.conftest import BOB, Sites
from tests.support.receivers import MailServer
from tests.web.test_outbox import mailing, settle, told

ON = ("fake",)

TRACKER = "https://evil.example/who.png"
# Links to another site, as a browser reads them.
LINKS = (
    '<a href="//evil.example">x</a>',
    '<a href="\\\\evil.example">x</a>',
    "[x](//evil.example)",
    '<a href="/\\evil.example">x</a>',
    '<a href="/&#9;/evil.example">x</a>',
    "[x][y]\n\n[y]: //e",
    '<a href="HTTP://evil.example">x</a>',
    '<a href=" \n//evil.example">x</a>',
    "[x](HtTpS://e)",
    '<a href="ht&#10;tps:\\\\evil.example">x</a>',
    '<a href="&#1;https://evil.example">x</a>',
    '<a title=" href=" href="http:evil.example">x</a>',
    "<HTTPS://evil.example>",
    "evil.example.com",
    "<A HREF=//evil.example>x</A>",
    '<a href="&#104;ttp&colon;//evil.example">x</a>',
)


@pytest.mark.parametrize("link", LINKS)
async def test_links_that_are_written_in_another_way(make_site: Sites, link: str) -> None:
    """Who: a spammer. What: writes links so that a search for `href="http` does not find them:
    without a scheme, in capitals, with blanks, tabs, entities and backslashes, which browsers
    overlook. Instead: MAX_LINKS counts what a browser would follow to a host."""
    site = await make_site(MAX_LINKS="2")
    assert count_links(render(link)) == 1
    assert (await site.post(f"{link}\n\n{link}"))["status"] == "approved"
    assert (await site.post(f"{link}\n\n{link}\n\n{link}"))["status"] == "waiting"


async def test_an_edit_that_adds_links(make_site: Sites) -> None:
    """Who: a spammer with an account. What: has a harmless comment approved, and adds links in
    another spelling afterwards. Instead: an edit is counted as a new comment is."""
    site = await make_site(MAX_LINKS="1")
    posted = await site.post("harmless", by=BOB)
    edit = {"comment": "[x](//evil.example) [y](\\\\\\\\evil.example) [z](HTTP://evil.example)"}
    answer = await site.send("PUT", f"/api/comment/{posted['objectId']}", edit, by=BOB)
    assert answer["data"]["status"] == "waiting"


@pytest.mark.parametrize(
    "picture",
    [
        f"![cat]({TRACKER})",
        f'<img src="{TRACKER}" alt="cat">',
        "![cat](//evil.example/who.png)",
        f'<video src="{TRACKER}" poster="{TRACKER}?2"></video>',
        f'<audio src="{TRACKER}"></audio>',
        f'<video poster="{TRACKER}"><source src="{TRACKER}"></video>',
        "![](/who.png)",
        f'<picture><source src="{TRACKER}"><img src="{TRACKER}"></picture>',
        f"[![cat]({TRACKER})](https://evil.example)",
        f'<img title="<img src=x>" src="{TRACKER}">',
    ],
)
async def test_a_picture_that_tells_who_opens_a_mail(
    make_site: Sites, mails: MailServer, picture: str
) -> None:
    """Who: an author. What: shows a picture on their own server in a comment, which is mailed to
    the owner and to the parent's author, so that their email programs tell where and when they
    read it. Instead: pictures, audio and video are links in emails, as in the queue, whatever the
    template; only those that are pasted into the comment are shown."""
    template = {"MAIL_TEMPLATE": "{{ self.comment | safe }} {{ parent.comment | safe }}"}
    site, delivery = await told(make_site, mailing(mails, **template))
    root = await site.post(picture)
    await settle(site, delivery)
    await site.reply(root, f"me too: {picture}", mail="eve@example.com", nick="Eve")
    await settle(site, delivery)
    assert len(mails.came) == 3
    for _, mail in mails.came:
        body = mail.get_body(("html",))
        assert body is not None
        html = body.get_content()
        assert not re.search(r"<(img|audio|video|source|picture)\b|\bposter=", html)
        assert "who.png" in html or "evil.example" in html


async def test_what_a_mail_still_shows(make_site: Sites, mails: MailServer) -> None:
    """Who: a harmless author. What: has a formula, code and a pasted picture mailed beside those of
    strangers. Instead: only what loads from elsewhere is a link, and the text beside the HTML is
    what the author wrote."""
    site, delivery = await told(make_site, mailing(mails))
    pasted = "![p](data:image/png;base64,AAAA)"
    await site.post(f"$x^2$ `code` {pasted} ![cat]({TRACKER}?a&b) ![](/d.png)\n\n```js\nif\n```")
    await settle(site, delivery)
    ((_, mail),) = mails.came
    html, text = mail.get_body(("html",)), mail.get_body(("plain",))
    assert html is not None
    assert text is not None
    shown = html.get_content()
    assert "<math" in shown
    assert '<span class="token keyword">if</span>' in shown
    assert '<img src="data:image/png;base64,AAAA" alt="p">' in shown
    rel = 'rel="ugc nofollow noreferrer noopener"'
    assert f'<a href="{TRACKER}?a&amp;b" {rel}>cat</a>' in shown
    assert "/d.png" in shown
    assert "![cat](" in text.get_content()


def test_a_mail_full_of_pictures() -> None:
    """Who: an author. What: writes thousands of pictures, each of which is longer as a link.
    Instead: the HTML of an email is at most twice what that of a comment may be."""
    for text in ("![](//b)" * 2_000, '<img src="//b">' * 1_000, CONSTRUCTS["pictures"]):
        assert len(pictures_as_links(render(text)).encode()) <= 2 * most_bytes(text)


def test_a_feed_full_of_links_to_a_page_of_a_long_name() -> None:
    """Who: an author. What: writes thousands of links of six characters on a page whose address has
    two thousand, each of which leads there from a feed. Instead: links become whole addresses up to
    a bound."""
    html = render("[a](#b)" * 2_000)
    whole = with_whole_addresses(html, f"https://blog.example/{'x' * 2_000}")
    assert len(html) < len(whole) <= len(html) + MAX_ADDED_CHARACTERS
