"""Everything about one author is shown, made anonymous or deleted, and nothing of it is left
anywhere.
"""

import gzip
from collections.abc import AsyncIterator
from typing import Any

import pytest

from footfall.comments.rules import authors
from footfall.comments.store import deleted
from footfall.ids import digest
from footfall.tasks import Task
from tests.conftest import ADMIN, BOB, EVE, Site, Sites
from tests.support.accounts import save_account
from tests.support.backups import report, taken

ON = ("valkey", "cluster")

MAIL = "Jörg@Example.com"


async def content(store: Any) -> AsyncIterator[tuple[str, str]]:
    """Every key of the data set, with its whole content."""
    for type, command in (
        ("string", ("GET",)),
        ("hash", ("HSCAN", 0, "COUNT", 100_000)),
        ("zset", ("ZRANGE", 0, -1, "WITHSCORES")),
        ("stream", ("XRANGE", "-", "+")),
    ):
        async for names in store.redis.scan(store.keys.every_key, type=type):
            for name in names:
                (reply,) = await store.redis.ask((command[0], name, *command[1:]))
                yield name.decode(), _texts(reply)


def _texts(found: Any) -> str:
    if isinstance(found, bytes):
        return found.decode(errors="replace")
    if isinstance(found, list | tuple):
        return " ".join(map(_texts, found))
    return str(found)


async def traces(site: Site, *words: str) -> list[str]:
    """Where one of these words is found, in any case: in a key, or in a backup made now."""
    found = [
        f"{key}: {word}"
        async for key, text in content(site.store)
        for word in words
        if word.casefold() in f"{key} {text}".casefold()
    ]
    backup = gzip.decompress((await taken(site.store, has_secrets=True)).getvalue()).decode()
    return found + [f"backup: {word}" for word in words if word.casefold() in backup.casefold()]


async def erased(site: Site, method: str, who: str, **by: Any) -> Any:
    """The results of all parts together."""
    after, comments = "", 0
    while True:
        answer = await site.send(
            method, "/api/author", {"who": who, "after": after}, **(by or {"by": ADMIN})
        )
        assert answer["errno"] == 0, answer
        comments += answer["data"]["comments"]
        after = answer["data"].get("more", {}).get("after", "")
        if not after:
            await site.settled()
            return {**answer["data"], "comments": comments}


async def status(site: Site, comment: Any, status: str) -> None:
    target = f"/api/comment/{comment['objectId']}"
    assert (await site.send("PUT", target, {"status": status}, by=ADMIN))["errno"] == 0


@pytest.fixture
async def written(make_site: Sites) -> Site:
    """A site on which Jörg and Bob have left everything that somebody can leave."""
    site = await make_site("192.0.2.77", LEVELS="0,5")
    jörg: dict[str, Any] = {
        "nick": "Jörg",
        "mail": MAIL,
        "link": "https://jorg.example",
        "ua": "Jorgs/1.0",
    }
    root = await site.post("first", **jörg)
    await site.reply(root, "an answer", by=BOB)
    await site.reply(root, "another's answer", by=EVE)
    bob = await site.post("by Bob", by=BOB)
    await site.reply(bob, "an answer of Jörg's", **{**jörg, "mail": "jörg@EXAMPLE.com"})
    for n, word in enumerate(("waiting", "spam", "waiting")):
        await status(site, await site.post(f"held {n}", url=f"/{n}", **jörg), word)
        await status(site, await site.post(f"held {n}", url=f"/{n}", by=BOB), word)
    pinned = {"sticky": 1}
    await site.send("PUT", f"/api/comment/{root['objectId']}", pinned, by=ADMIN)
    await site.send("PUT", f"/api/comment/{root['objectId']}", {"like": True})
    for value in (MAIL, "192.0.2.99"):
        await site.send("POST", "/api/ban", {"value": value}, by=ADMIN)
    gone = await site.post("gone in a minute", by=ADMIN)
    for id in (gone["objectId"], (await site.post("other", nick="Ann"))["objectId"]):
        await site.send("DELETE", "/api/comment", {"ids": [id]}, by=ADMIN)
    await site.send("POST", "/api/ban", {"value": MAIL, "reason": "again"}, by=ADMIN)
    await site.send("DELETE", "/api/ban", {"value": MAIL}, by=ADMIN)
    last = await site.post("to be undone", **jörg)
    await site.send("DELETE", "/api/comment", {"ids": [last["objectId"]]}, by=ADMIN)
    await site.send("POST", "/api/ban", {"value": MAIL}, by=ADMIN)
    key, task = site.store.keys.site("undelivered"), Task("mail", root["objectId"], "", "", "", 1)
    error = ("error", f"550 <{MAIL}> is not here")
    await site.store.redis.change(("XADD", key, "*", "task", task.dump(), *error))
    return site


async def sources(site: Site) -> set[str]:
    answer = await site.get("/api/comment", type="list", pageSize=100, by=ADMIN)
    return {each["orig"] for each in answer["data"]["data"]}


async def test_a_made_anonymous_author_is_nowhere_and_the_texts_stay(written: Site) -> None:
    before = await sources(written)
    page = await written.page(by=ADMIN)
    assert await traces(written, "jörg@example.com", "jorg.example", "Jorgs/1.0")
    done = await erased(written, "PUT", "jÖrg@example.com")
    # Five, and one that was deleted a moment ago.
    assert done == {"comments": 6, "damaged": 0, "account": False}
    assert await sources(written) == before
    assert await traces(
        written, "jörg@example.com", "jorg.example", "Jorgs/1.0", digest("jörg@example.com")
    ) == [
        f"{written.store.keys.site('log')}: {digest('jörg@example.com')}",
        f"backup: {digest('jörg@example.com')}",
    ]
    # Readers see the comment in its place, liked, pinned and without a name.
    after = await written.page(by=ADMIN)
    root, was = after["data"][0], page["data"][0]
    assert (root["orig"], root["sticky"], root["like"]) == ("first", True, 1)
    assert (root["nick"], root["link"], root["avatar"], was["nick"]) == (None, None, "", "Jörg")
    assert after["count"] == page["count"]
    assert (await report(written.store))[-1].endswith(" 0 problems")
    logged = await written.store.log.newest(100)
    assert await erased(written, "PUT", MAIL) == {"comments": 0, "damaged": 0, "account": False}
    assert await written.store.log.newest(100) == logged


async def test_an_account_that_is_made_anonymous_goes_with_its_mail(written: Site) -> None:
    await written.post("without the account", mail=BOB.mail, nick="Bobby")
    before = await sources(written)
    done = await erased(written, "PUT", BOB.id)
    assert done == {"comments": 6, "damaged": 0, "account": True}
    assert await traces(written, BOB.mail, "Bobby", "bob.example") == []
    keys = [key async for key, _ in content(written.store)]
    assert [key for key in keys if key.endswith(":bob")] == []
    assert await sources(written) == before
    assert (await report(written.store))[-1].endswith(" 0 problems")
    entry = (await written.store.log.newest(1))[0].fields
    assert (entry["by"], entry["did"], entry["id"]) == ("admin", "anonymize author", "bob")


async def test_a_deleted_authors_replies_are_deleted_too(written: Site) -> None:
    done = await erased(written, "DELETE", MAIL)
    # Five comments of Jörg's own, two replies to the first, and one that was deleted a moment ago.
    assert done == {"comments": 8, "damaged": 0, "account": False}
    assert await sources(written) == {"by Bob", "held 0", "held 1", "held 2"}
    assert await traces(written, "jörg@example.com", "jorg.example") == []
    assert (await report(written.store))[-1].endswith(" 0 problems")


async def test_a_long_site_is_worked_through_in_parts(
    written: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authors, "MAX_SEARCHED_COMMENTS", 2)
    monkeypatch.setattr(authors, "ERASE_STEP_COMMENTS", 2)
    answer = await written.get("/api/author", who=BOB.mail, by=ADMIN)
    assert answer["data"]["more"]["searched"] == 2
    first = await written.send("PUT", "/api/author", {"who": BOB.mail}, by=ADMIN)
    assert first["data"]["account"] is False
    # The account is locked out from the first part on; then the deletion is interrupted and started
    # again.
    stored = await written.store.accounts.by_id(BOB.id)
    assert stored is not None
    assert stored.account.role == "banned"
    done = await erased(written, "PUT", BOB.mail)
    assert first["data"]["comments"] + done["comments"] == 5
    assert done["account"]
    assert await traces(written, BOB.mail) == []


async def test_an_author_is_shown_with_all_that_is_stored(written: Site) -> None:
    shown = (await written.get("/api/author", who="JÖRG@example.com", by=ADMIN))["data"]
    assert (shown["account"], shown["mail"]) == (None, "jörg@example.com")
    newest, *_, oldest = shown["data"]
    assert (newest["text"], newest["status"]) == ("held 2", "waiting")
    assert {name: oldest[name] for name in ("nick", "mail", "link", "ua", "ip", "page")} == {
        "nick": "Jörg",
        "mail": MAIL,
        "link": "https://jorg.example",
        "ua": "Jorgs/1.0",
        "ip": "192.0.2.77",
        "page": "/p",
    }
    shown = (await written.get("/api/author", who=BOB.id, by=ADMIN))["data"]
    assert (shown["account"]["email"], len(shown["data"])) == (BOB.mail, 5)
    shown = (await written.get("/api/author", who="nobody@example.com", by=ADMIN))["data"]
    assert shown == {"account": None, "mail": "nobody@example.com", "data": []}


async def test_nobody_deletes_themselves_or_the_last_administrator(site: Site) -> None:
    answer = await site.send("PUT", "/api/author", {"who": ADMIN.mail}, by=ADMIN)
    assert "your own account" in answer["errmsg"]
    await site.post("mine", by=ADMIN)
    other = BOB.__class__("other", "administrator", "Other", "other@example.com")
    await save_account(site.store, other)
    done = await erased(site, "DELETE", "other@example.com")
    assert done == {"comments": 0, "damaged": 0, "account": True}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, {"who": "who can not be blank"}),
        ({"who": ["x"]}, {"who": "who need a string"}),
        ({"who": "x" * 300}, {"who": "who should be at most 254 characters long"}),
        ({"who": "neither this nor that"}, "This is neither an email nor an account"),
        (
            {"who": "ann@example.com", "after": "nothing"},
            {"after": "after need the objectId of a comment"},
        ),
    ],
    ids=str,
)
async def test_a_name_of_nobody_is_refused(site: Site, fields: Any, words: Any) -> None:
    for method in ("PUT", "DELETE"):
        answer = await site.send(method, "/api/author", fields, by=ADMIN)
        assert answer["errmsg"] == words


async def test_what_went_with_others_is_erased_however_long_it_is(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deleted, "STEP_BYTES", 5_000)
    site = await make_site()
    root = await site.post("root", by=EVE)
    for n in range(12):
        await site.reply(root, f"{n} " + "x" * 2_000, mail=MAIL)
    await site.send("DELETE", f"/api/comment/{root['objectId']}", by=ADMIN)
    await site.kept_up()
    assert (await erased(site, "DELETE", MAIL))["comments"] == 12
    assert await traces(site, "jörg@example.com") == []
