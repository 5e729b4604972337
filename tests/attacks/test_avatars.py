"""Addresses of avatars, which are public, and made of what strangers and operators wrote."""

from hashlib import md5, sha256
from typing import Any

import pytest

from footfall.render.avatar import compile_avatar
from tests.conftest import ADMIN, BOB, Site, Sites

PROXY = "https://proxy.example/image"
TRACKER = "https://evil.example/who.png"


@pytest.fixture
def kind() -> str:
    return "fake"


def test_mails_tried_out_against_an_avatar() -> None:
    """Who: a reader who wonders whose comment it is. What: hashes the mails of those it may be, and
    looks for the hash in the avatar's address. Instead: by default that works, as with the
    reference, and the settings say so; with AVATAR_KEY and the filter keyed no address has a hash
    of the mail alone."""
    mail = "bob@example.com"
    hashes = {hash(mail.encode()).hexdigest() for hash in (md5, sha256)}
    known = compile_avatar("", "")("Bob", mail, "")
    assert any(each in known for each in hashes)
    keyed = compile_avatar("https://p/{{mail|keyed}}", "", "a secret")("Bob", mail, "")
    assert not any(each in keyed for each in hashes)


def test_a_name_that_leaves_the_address() -> None:
    """Who: an author. What: takes a name with quotes, tags, braces of templates or another query,
    for a site that puts names into addresses. Instead: what could end the attribute is encoded, and
    no part of a name is ever a template."""
    avatar = compile_avatar("https://p/{{nick}}?s=1", "")
    assert avatar("\"><img onerror='a'>", "", "") == (
        "https://p/%22%3E%3Cimg%20onerror=%27a%27%3E?s=1"
    )
    assert avatar("{{mail}}{% if 1 %}", "a@b.example", "") == (
        "https://p/%7B%7Bmail%7D%7D%7B%%20if%201%20%%7D?s=1"
    )


def test_a_name_that_keeps_an_expression_busy() -> None:
    """Who: an author, on a site whose template tests names by a regular expression. What: takes a
    name that such an expression would try in a billion ways. Instead: RE2 reads each letter once.
    """
    avatar = compile_avatar("{% if r/^(a|a)*$/.test(nick) %}a{% else %}b{% endif %}", "")
    assert avatar("a" * 127 + "!", "", "") == "b"


@pytest.mark.parametrize("spelling", [TRACKER, TRACKER.removeprefix("https:"), TRACKER.upper()])
@pytest.mark.parametrize("name", ["AVATAR_PROXY", "IMAGE_PROXY"])
async def test_an_accounts_picture_past_the_proxy(
    make_site: Sites, name: str, spelling: str
) -> None:
    """Who: somebody with an account who wants to know who reads a page. What: gives a picture on
    their own server as the account's, which every reader's browser would ask for. Instead: it comes
    through the proxy of avatars, or that of pictures, wherever the account is shown."""
    site = await make_site(**{name: PROXY})
    for shown in await _shown_with(site, spelling):
        assert shown.lower().startswith(f"{PROXY}?url=http"), shown
        assert shown.lower().endswith("evil.example%2fwho.png")


async def test_an_accounts_picture_where_there_are_none(make_site: Sites) -> None:
    """Who: the same. What: does so on a site without avatars, or without strangers' pictures.
    Instead: without avatars nothing is shown; without pictures the avatar that everybody has."""
    for environ, start in (
        ({"GRAVATAR_STR": "none"}, ""),
        ({"GRAVATAR_STR": " False", "AVATAR_PROXY": PROXY}, ""),
        ({"DISABLE_IMAGES": "true"}, "https://seccdn.libravatar.org/"),
    ):
        site = await make_site(**environ)
        for shown in await _shown_with(site, TRACKER):
            assert "evil" not in shown
            assert shown.startswith(start) if start else shown == ""


async def test_a_name_that_says_it_is_the_proxy(make_site: Sites) -> None:
    """Who: an author, on a site whose template has names or links in addresses. What: writes the
    proxy's address into theirs, so that the picture counts as one of the proxy. Instead: origin and
    path of the whole address decide."""
    site = await make_site(GRAVATAR_STR="{{link}}/a.png", AVATAR_PROXY=PROXY)
    for link in (f"https://evil.example/?{PROXY}", f"https://evil.example#{PROXY}?url=", "//evil"):
        shown = (await site.post("words", link=link))["avatar"]
        assert shown.startswith(f"{PROXY}?url="), link
        site.clock.now += 1


async def test_a_cached_page_keeps_no_picture_that_is_not_shown_any_more(make_site: Sites) -> None:
    """Who: a reader's cache, or a proxy's. What: asks with the ETag of a page from before the owner
    has set a proxy for avatars, and goes on showing strangers' pictures. Instead: the ETag names
    the settings of avatars, too."""
    tags = set()
    settings: list[dict[str, str]] = [
        {},
        {"AVATAR_PROXY": PROXY},
        {"IMAGE_PROXY": PROXY},
        {"GRAVATAR_STR": "none"},
        {"DISABLE_IMAGES": "true"},
        {"AVATAR_KEY": "a secret"},
    ]
    for environ in settings:
        site = await make_site(**environ)
        tag = (await site.http.get("/api/comment?path=/p")).headers["etag"]
        # Without the page's version, which making a site may raise.
        tags.add(tag.partition("-")[2])
    assert len(tags) == len(settings)


async def _shown_with(site: Site, avatar: str) -> list[str]:
    """Bob's avatar wherever it is shown, once it is this."""
    assert (await site.send("PUT", "/api/user", {"avatar": avatar}, by=BOB))["errno"] == 0
    posted = await site.post("words", by=BOB)
    await site.post("a reply", pid=posted["objectId"], rid=posted["objectId"], by=BOB)
    await site.kept_up()
    root = (await site.page())["data"][0]
    (reply,) = root["children"]
    recent = (await site.get("/api/comment?type=recent"))["data"]
    ranked = (await site.get("/api/user"))["data"]
    listed: Any = (await site.get("/api/user", by=ADMIN))["data"]["data"]
    queue = (await site.get("/api/comment?type=list&status=approved", by=ADMIN))["data"]["data"]
    found = [root, reply, reply["reply_user"], *recent, *ranked, *queue]
    found += [each for each in listed if each["email"] == BOB.mail]
    assert len(found) >= 7
    return [each["avatar"] for each in found]
