"""Whatever somebody does to a key that follows from comments, `footfall check` names it, `--repair`
corrects it, and then nothing is left to be said."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from footfall.comments.store import deletions
from footfall.comments.store.indexes import DELETED, INDEXES, SITE_INDEXES
from footfall.data.store import Store
from footfall.ids import SHORT, split
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support import extent
from tests.support.backups import report
from tests.support.key_table import PAGE, SITE
from tests.support.losing import lost_replies
from tests.support.servers import RealServer

ON = ("valkey",)

NOBODY = "0" * SHORT


@dataclass(frozen=True)
class There:
    """What there is: comments by a name, on one page, and their authors."""

    store: Store
    ids: dict[str, str]
    author: str

    @property
    def names(self) -> dict[str, str]:
        shorts = {name: id[:SHORT] for name, id in self.ids.items()}
        page = split(self.ids["root"])[1]
        return {**shorts, "page": page, "author": self.author, "none": NOBODY}

    def command(self, text: str) -> list[str]:
        """A command, with the names of comments and of the key."""
        command, name, *words = shlex.split(text.format(**self.names))
        keys = self.store.keys
        key = keys.page(self.names["page"], name) if name in PAGE else keys.site(name)
        return [command, key, *words]


@pytest.fixture
async def there(make_site: Sites, monkeypatch: pytest.MonkeyPatch) -> There:
    """A page with comments in every state that they can have."""
    monkeypatch.setattr(deletions, "STEP_REPLIES", 1)
    site, found = await make_site(), dict[str, Any]()
    for name in ("root", "pinned", "waiting", "sinking", "gone"):
        found[name] = await site.post(name, by=BOB if name == "waiting" else None)
    for name, above in (
        ("reply", "root"),
        ("nested", "reply"),
        ("held", "root"),
        ("left", "root"),
        ("first", "sinking"),
        ("second", "sinking"),
        ("third", "sinking"),
        ("below", "gone"),
    ):
        found[name] = await site.reply(found[above], name, by=BOB if name == "held" else None)
    ids = {name: each["objectId"] for name, each in found.items()}
    for name, change in (
        ("waiting", {"status": "waiting"}),
        ("held", {"status": "spam"}),
        ("third", {"status": "waiting"}),
        ("pinned", {"sticky": 1}),
        ("root", {"like": True}),
    ):
        await site.send("PUT", f"/comment/{ids[name]}", change, by=ADMIN)
    for name in ("left", "sinking", "gone"):
        await site.send("DELETE", f"/comment/{ids[name]}", by=ADMIN)
    await site.settled()
    (root,) = await site.store.comments.by_ids([ids["root"]])
    there = There(site.store, ids, root.body.tally.decode())
    assert (await report(site.store))[:-1] == []
    return there


# A key's name in the table of rules, what somebody does to it, and what is to be said of it. Names
# of comments stand for their short ids; a command's first word is followed by the key.
ROWS = [
    ("version", "SET version odd", "version is odd"),
    ("version", "DEL version", "version is missing"),
    ("version", "SET version 1", "version is 1, and the site has followed"),
    ("longest", "SET longest 1", "longest says 1"),
    ("longest", "SET longest odd", "longest is b'odd'"),
    ("bodies", "HDEL bodies {nested}", "private holds {nested}, which has no body"),
    ("bodies", "HDEL bodies {below}", "gone holds {gone}:{below}, which has no body"),
    ("bodies", "HDEL bodies {gone}", "deleted holds {gone}, which has no body"),
    ("private", "HDEL private {root}", "private lacks {root}"),
    ("private", "HSET private odd {{}}", "private holds odd"),
    ("likes", "HSET likes {root} many", "likes holds {root} with b'many', not a count"),
    ("likes", "HSET likes {root} 7", "liked has {root} at 1 instead of 7"),
    ("likes", "HSET likes odd 7", "likes holds odd"),
    ("decided", "HSET decided odd 7", "decided holds odd"),
    ("held", "HSET held {root} odd", "held holds {root} as b'odd', which is not a status"),
    ("held", "HSET held odd spam", "held holds odd"),
    ("held", "HSET held {root} spam", "heldroots lacks {root}"),
    ("held", "HSET held {root} 'deleted spam'", "{root} is deleted, and is neither in"),
    ("held", "HSET held {reply} 'deleted spam'", "{reply} is deleted, and is neither in"),
    ("held", "HDEL held {waiting}", "newest lacks {waiting}"),
    ("held", "HDEL held {left}", "deleted holds {left}, which is not deleted"),
    ("held", "HDEL held {below}", "gone holds {gone}:{below}, which is not deleted"),
    ("fingerprints", "HSET fingerprints odd {none}", "fingerprints holds odd"),
    ("hidden", "HSET hidden approved 7", "hidden has b'7' b'approved' instead of"),
    ("hidden", "HSET hidden odd 7", "hidden has b'7' b'odd' instead of 0"),
    ("hidden", "DEL hidden", "hidden has b'0' b'approved' instead of"),
    ("newest", "ZREM newest {root}", "newest lacks {root}"),
    ("newest", "ZADD newest 1 {root}", "newest has {root} at 1 instead of"),
    ("newest", "ZADD newest 1 {pinned}", "newest holds {pinned}"),
    ("newest", "ZADD newest 1 {gone}", "newest holds {gone}"),
    ("liked", "ZREM liked {root}", "liked lacks {root}"),
    ("liked", "ZADD liked 5 {root}", "liked has {root} at 5 instead of 1"),
    ("pinned", "ZREM pinned {pinned}", "newest lacks {pinned}"),
    ("pinned", "ZADD pinned 1 {pinned}", "pinned has {pinned} at 1 instead of"),
    ("pinned", "ZADD pinned 1 {reply}", "pinned holds {reply}"),
    ("pinned", "ZADD pinned 1 {gone}", "pinned holds {gone}"),
    ("replies", "DEL replies", "replies lacks {root}:{reply}"),
    ("replies", "ZADD replies 0 {root}:{held}", "replies holds {root}:{held}"),
    ("replies", "ZADD replies 0 {pinned}:{reply}", "{reply} below another root than its own"),
    ("heldroots", "DEL heldroots", "heldroots lacks {waiting}"),
    ("heldroots", "ZADD heldroots 1 {root}", "heldroots holds {root}"),
    ("heldreplies", "DEL heldreplies", "heldreplies lacks {root}:{held}"),
    ("heldreplies", "ZADD heldreplies 0 {root}:{reply}", "heldreplies holds {root}:{reply}"),
    ("mine", "DEL mine", "mine lacks bob:{held}"),
    ("mine", "ZADD mine 0 eve:{held}", "mine holds eve:{held}"),
    ("nested", "DEL nested", "nested lacks {reply}:{nested}"),
    ("nested", "ZADD nested 0 {held}:{reply}", "nested holds {held}:{reply}"),
    ("deleted", "ZREM deleted {left}", "{left} is deleted, and is neither in"),
    ("deleted", "ZREM deleted {sinking}", "{sinking} is deleted, and is neither in"),
    ("deleted", "ZADD deleted 1 {root}", "deleted holds {root}"),
    ("deleted", "ZADD deleted 1 {below}", "{below} is deleted twice"),
    ("gone", "DEL gone", "{below} is deleted, and is neither in"),
    ("gone", "ZADD gone 0 {root}:{reply}", "gone holds {root}:{reply}"),
    ("gone", "ZADD gone 0 {root}:{below}", "{below}, which went with another comment"),
    ("recent", "ZREM recent {root}{page}", "recent lacks {root}"),
    ("recent", "ZADD recent 1 {root}{page}", "recent has {root}{page} at 1 instead of"),
    ("recent", "ZADD recent 1 {gone}{page}", "recent holds {gone}"),
    ("waiting", "DEL waiting", "waiting lacks {waiting}"),
    ("spam", "ZADD spam 1 {waiting}{page}", "spam holds {waiting}"),
    ("own:<account>", "DEL own:bob", "own:bob lacks {waiting}"),
    ("own:<account>", "ZADD own:eve 0 {root}{page}", "own:eve holds {root}"),
    ("by:<author>", "ZREM by:{author} {root}{page}", "by:{author} lacks {root}"),
    ("by:<author>", "ZADD by:{author} 0 {gone}{page}", "by:{author} holds {gone}"),
    ("by:<author>", "ZADD by:{author} 0 {none}{none}", "by:{author} holds {none}"),
    ("by:<author>", "ZADD by:{author} 0 odd", "by:{author} holds odd"),
    ("by:<author>", "ZADD by:odd 0 {root}{page}", "by:odd holds {root}"),
    ("authors", "ZADD authors 99 {author}", "authors has {author} at 99 instead of"),
    ("authors", "ZADD authors 99 odd", "authors holds odd"),
    ("authors", "DEL authors", "authors lacks {author}"),
    ("totals", "DEL totals", "totals lacks {page}"),
    ("totals", "HSET totals nowhere '1 1'", "totals holds nowhere"),
    ("totals", "HSET totals {page} '1 99'", "totals has {page} at 99 instead of"),
    ("totals", "HSET totals {page} odd", "totals has b'odd' for {page}"),
    ("total", "SET total 99", "at 99 instead of"),
    ("total", "SET total odd", "total is b'odd'"),
    ("total", "DEL total", "total has comments at 0"),
    ("pages:<account>", "DEL pages:bob", "pages:bob lacks {page}"),
    ("removals", "DEL removals", "removals lacks {page}"),
    ("removals", "ZADD removals 9e15 {page}", "removals has {page} at"),
    ("removals", "ZADD removals 1 odd", "removals holds odd"),
    ("changing", "ZADD changing 1 '{page} 0'", "changing holds '{page} 0'"),
    ("changing", "ZADD changing 9e15 '{page} 0'", "changing holds '{page} 0'"),
    ("changing", "ZADD changing 1 odd", "changing holds 'odd'"),
]
ROWS += [
    (name, f"ZADD {name} 1 odd", f"{name} holds odd")
    for name in (*INDEXES, *DELETED, *SITE_INDEXES)
]


async def test_whatever_is_damaged_is_named_and_repaired(
    there: There, servers: Mapping[str, RealServer]
) -> None:
    with servers["valkey"].admin() as admin:
        everything = f"{there.store.keys.prefix}:*"
        whole = {name: admin.dump(name) for name in admin.scan_iter(everything)}
        for _, damage, text in ROWS if extent.ALL else ROWS[::4]:
            await there.store.redis.change(there.command(damage))
            found = (await report(there.store, has_sums=False))[:-1]
            assert any(text.format(**there.names) in each for each in found), (damage, found)
            repaired = (await report(there.store, repair=True, has_sums=False))[:-1]
            assert repaired, damage
            assert all(each.endswith("(repaired)") for each in repaired), (damage, repaired)
            assert (await report(there.store, has_sums=False))[:-1] == [], damage
            # As it was before: some damage takes something for ever.
            admin.delete(*admin.scan_iter(everything))
            for name, content in whole.items():
                admin.restore(name, 0, content)


def test_every_rule_is_broken_once() -> None:
    """But for the path and the journal, which have tests of their own."""
    assert {row[0] for row in ROWS} == {*PAGE, *SITE} - {"path", "journal"}


async def test_what_the_site_has_not_followed_is_followed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.post("first")
    with lost_replies(monkeypatch, "journal/apply", is_done=False):
        await site.post("second")
        await site.settled()
    await site.store.redis.change(("DEL", site.store.keys.site("changing")))
    assert any("not followed" in each for each in await report(site.store))
    repaired = (await report(site.store, repair=True))[:-1]
    assert len(repaired) == 1
    assert "not followed (repaired)" in repaired[0]
    assert (await report(site.store))[:-1] == []
    assert await site.get("/comment", type="count") == 2


async def test_what_was_deleted_by_nobody_is_removed_after_a_repair(there: There) -> None:
    """Nothing deleted is stored for ever, whichever key was lost."""
    store, now = there.store, 9 * 10**15
    for damage in ("DEL gone", "DEL deleted", "HDEL bodies {gone}", "DEL removals"):
        await store.redis.change(there.command(damage))
        await report(store, repair=True)
    assert (await report(store))[:-1] == []
    await store.deletions.sweep_due(now)
    assert await store.redis.ask(there.command("ZCARD deleted"), there.command("ZCARD gone")) == [
        0,
        0,
    ]
    lasting = ("root", "pinned", "waiting", "reply", "nested", "held")
    (number,) = await store.redis.ask(there.command("HLEN bodies"))
    assert number == len(lasting)
    assert (await report(store))[:-1] == []


# What only people can put right.


async def test_a_reply_without_a_root_is_named_and_can_be_deleted(site: Site) -> None:
    root = await site.post("root")
    reply = await site.reply(root, "reply")
    store, (short, page) = site.store, split(root["objectId"])
    await store.redis.change(("HDEL", store.keys.page(page, "bodies"), short))
    await report(store, repair=True)
    (problem,) = (await report(store))[:-1]
    assert f"{reply['objectId']} replies below {short}, which is gone" in problem
    assert "`footfall comments delete`" in problem
    await site.send("DELETE", f"/comment/{reply['objectId']}", by=ADMIN)
    await site.settled()
    assert (await report(store))[:-1] == []


@pytest.mark.parametrize("path", ["/other", None])
async def test_a_page_that_does_not_know_its_path_is_named(site: Site, path: str | None) -> None:
    id = (await site.post("root"))["objectId"]
    key = site.store.keys.page(split(id)[1], "path")
    await site.store.redis.change(("SET", key, path) if path else ("DEL", key))
    await report(site.store, repair=True)
    found = (await report(site.store))[:-1]
    assert len(found) >= 1
    assert "its path is" in found[0]
    assert "a new comment" in found[0]
    await site.post("another one")
    assert (await report(site.store))[:-1] == []


async def test_a_body_that_cannot_be_read_is_named(site: Site) -> None:
    id = (await site.post("root"))["objectId"]
    short, page = split(id)
    await site.store.redis.change(("HSET", site.store.keys.page(page, "bodies"), short, "odd"))
    await report(site.store, repair=True)
    found = (await report(site.store))[:-1]
    assert any("take the page from a backup" in each for each in found), found
