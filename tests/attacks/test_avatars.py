"""Addresses of avatars, which are public, and made of what strangers and operators wrote."""

from hashlib import md5, sha256
from typing import Any

from footfall.render.avatar import compile_avatar
from tests.conftest import ADMIN, BOB, Site, Sites

ON = ("fake",)

PROXY = "https://proxy.example/image"
TRACKER = "https://evil.example/who.png"


def test_mails_tried_out_against_an_avatar() -> None:
    """Who: a reader who wonders whose comment it is. What: hashes the emails of those it may be,
    and looks for the hash in the avatar's address. Instead: by default that works, as with the
    reference, as the settings describe; with AVATAR_KEY and the filter keyed no address has a hash
    of the email alone."""
    mail = "bob@example.com"
    hashes = {hash(mail.encode()).hexdigest() for hash in (md5, sha256)}
    known = compile_avatar("", "")("Bob", mail, "")
    assert any(each in known for each in hashes)
    keyed = compile_avatar("https://p/{{mail|keyed}}", "", "a secret")("Bob", mail, "")
    assert not any(each in keyed for each in hashes)


async def test_an_accounts_picture_where_there_are_none(make_site: Sites) -> None:
    """Who: the same. What: does so on a site without avatars, or without strangers' pictures.
    Instead: without avatars nothing is shown; without pictures the avatar that everybody has."""
    for environ, start in (
        ({"GRAVATAR_STR": "none"}, ""),
        ({"GRAVATAR_STR": " False", "AVATAR_PROXY": PROXY}, ""),
        ({"DISABLE_IMAGES": "true"}, "https://seccdn.libravatar.org/"),
    ):
        site = await make_site(**environ)
        everything = await _shown_with(site, TRACKER)
        assert everything
        for shown in everything:
            assert "evil" not in shown
            assert shown.startswith(start) if start else shown == ""


async def test_a_cached_page_keeps_no_picture_that_is_not_shown_any_more(make_site: Sites) -> None:
    """Who: a reader's cache, or a proxy's. What: asks with the ETag of a page from before the owner
    has set a proxy for avatars, and goes on showing strangers' pictures. Instead: the ETag is of
    what the page says."""
    before = await make_site()
    await before.send("PUT", "/api/user", {"avatar": TRACKER}, by=BOB)
    await before.post("words", by=BOB)
    answers = dict[str, bytes]()
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
        answer = await site.http.get("/api/comment?path=/p")
        answers[answer.headers["etag"]] = answer.content
    assert len(answers) == len({*answers.values()}) >= 3


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
