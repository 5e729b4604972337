"""The newest comments are cached while nothing about them changes."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from footfall.comments.store import recent as recent_module
from footfall.comments.store.moderation import Actor
from footfall.model import Account
from tests.conftest import ADMIN, BOB, EVE, Site, Sites
from tests.support.accounts import save_account

RECENT = "/api/comment?type=recent"


async def tag(site: Site) -> str:
    response = await site.http.get(RECENT)
    return str(response.headers["etag"])


async def test_an_unchanged_list_is_neither_sent_nor_read_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.post("hello")
    await site.post("elsewhere", url="/q")
    known = await tag(site)

    async def unwanted(*args: object) -> Any:
        pytest.fail("read once more")

    monkeypatch.setattr(type(site.store.recent), "read", unwanted)
    again = await site.http.get(RECENT, headers={"if-none-match": known})
    assert (again.status_code, again.headers["etag"]) == (304, known)
    assert [each["orig"] for each in (await site.get(RECENT))["data"]] == ["elsewhere", "hello"]


async def test_another_service_has_the_same_etag(make_site: Sites) -> None:
    one, other = await make_site(), await make_site()
    await one.post("hello")
    assert await tag(one) == await tag(other)


async def _moderate(site: Site, id: str, status: str) -> None:
    await site.send("PUT", f"/api/comment/{id}", {"status": status}, by=ADMIN)


CHANGES: dict[str, Callable[[Site, str], Awaitable[object]]] = {
    "a comment": lambda site, id: site.post("new"),
    "a comment elsewhere": lambda site, id: site.post("new", url="/new"),
    "a like": lambda site, id: site.send("PUT", f"/api/comment/{id}", {"like": True}),
    "a hold": lambda site, id: _moderate(site, id, "spam"),
    "a pin": lambda site, id: site.send("PUT", f"/api/comment/{id}", {"sticky": 1}, by=ADMIN),
    "an account": lambda site, id: save_account(
        site.store, Account("bob", "guest", "Bobby", "bob@example.com")
    ),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("path", ["/api/comment", "/comment"])
async def test_every_visible_change_shows_at_once(make_site: Sites, name: str, path: str) -> None:
    site, other = await make_site(), await make_site()
    id = (await site.post("by bob", by=BOB))["objectId"]
    await site.post("fine", url="/q")
    before = [await each.get(path, type="recent") for each in (site, other)]
    assert before[0] == before[1]
    await CHANGES[name](other, id)
    after = [await each.get(path, type="recent") for each in (site, other)]
    assert after[0] == after[1] != before[0]
    await save_account(site.store, BOB)


async def test_a_hold_that_the_sites_index_does_not_know_is_respected(site: Site) -> None:
    id = (await site.post("soon spam"))["objectId"]
    assert len((await site.get(RECENT))["data"]) == 1
    (shown,) = await site.store.comments.by_ids([id])
    await site.store.moderation.moderate(shown, "spam", 1, Actor("moderator"))
    assert (await site.get(RECENT))["data"] == []


async def test_each_account_sees_its_own_held_comments_and_no_others(make_site: Sites) -> None:
    site = await make_site(COMMENT_AUDIT="true")
    await site.post("bob's", by=BOB)
    await site.post("eve's", by=EVE)
    await site.post("admin's", by=ADMIN)
    for viewer, seen in (
        (None, ["admin's"]),
        (BOB, ["admin's", "bob's"]),
        (EVE, ["admin's", "eve's"]),
    ):
        found = (await site.get(RECENT, by=viewer))["data"]
        assert [each["orig"] for each in found] == seen


async def test_comments_that_do_not_fit_are_the_longest(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_module, "MAX_RECENT_BYTES", 3000)
    for text in ("oldest", "x" * 2000, "y" * 500, "newest"):
        await site.post(text)
    response = await site.http.get(RECENT)
    assert [each["orig"] for each in response.json()["data"]] == ["newest", "y" * 500, "oldest"]
    assert len(response.content) < 3500


async def test_lists_of_different_counts_differ_only_in_length(site: Site) -> None:
    for n in range(5):
        await site.post(str(n), url=f"/{n}")
    all_of_them = (await site.get("/api/comment", type="recent", count=5))["data"]
    for count in range(1, 5):
        assert (await site.get("/api/comment", type="recent", count=count))["data"] == all_of_them[
            :count
        ]


async def test_the_cache_of_the_newest_comments_is_bounded(site: Site) -> None:
    await site.post("hello")
    for count in range(-5, 60):
        for path in ("/api/comment", "/comment"):
            await site.get(path, type="recent", count=count)
    assert len(site.service.comments.recent_ids) == 100
