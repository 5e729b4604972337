"""PUT and DELETE of a comment: who may do what, and the answers."""

from typing import Any

import pytest

from footfall.comments.store import deletions
from footfall.errors import Duplicate
from tests.conftest import ADMIN, BOB, EVE, Site, Sites
from tests.support.losing import catch_up, lost_replies

NONE = "0" * 32


async def change(site: Site, id: str, fields: dict[str, Any], **by: Any) -> Any:
    return await site.send("PUT", f"/api/comment/{id}", fields, **by)


async def delete(site: Site, id: str, **by: Any) -> Any:
    return await site.send("DELETE", f"/api/comment/{id}", **by)


# Edits by authors.


async def test_an_author_changes_the_text(site: Site) -> None:
    posted = await site.post("hello", by=BOB)
    answer = await change(site, posted["objectId"], {"comment": "**bye**"}, by=BOB)
    assert answer["data"] == posted | {
        "comment": "<p><strong>bye</strong></p>\n",
        "orig": "**bye**",
        "url": "/p",
        "sticky": False,
    }
    (root,) = (await site.page())["data"]
    assert root["orig"] == "**bye**"


async def test_of_an_authors_edit_only_the_text_counts(site: Site) -> None:
    id = (await site.post("hello", by=BOB))["objectId"]
    sent = {
        "comment": "bye",
        "nick": "X",
        "mail": "x@example.com",
        "link": "https://x.example",
        "url": "/other",
        "ua": "X",
        "status": "spam",
        "sticky": 1,
        "like": 7,
        "user_id": "eve",
    }
    data = (await change(site, id, sent, by=BOB))["data"]
    assert (data["nick"], data["url"], data["status"], data["sticky"], data["like"]) == (
        "Bob",
        "/p",
        "approved",
        False,
        0,
    )
    assert data["user_id"] == "bob"


@pytest.mark.parametrize("fields", [{}, {"status": "spam"}, {"like": 3}, {"comment": ""}])
async def test_an_author_who_sends_the_same_text_changes_nothing(
    site: Site, fields: dict[str, Any]
) -> None:
    id = (await site.post("hello", by=BOB))["objectId"]
    assert await change(site, id, fields, by=BOB) == {"errno": 0, "errmsg": "", "data": ""}
    assert (await site.page())["data"][0]["status"] == "approved"


@pytest.mark.parametrize(
    "fields", [{}, {"comment": ""}, {"nick": "X", "mail": "x@example.com"}, {"url": "/q"}]
)
async def test_an_administrator_who_asks_for_nothing_gets_nothing(
    site: Site, fields: dict[str, Any]
) -> None:
    """Names are for comments without an account."""
    id = (await site.post("hello", by=BOB))["objectId"]
    assert await change(site, id, fields, by=ADMIN) == {"errno": 0, "errmsg": "", "data": ""}


@pytest.mark.parametrize("fields", [{"comment": "hello"}, {"status": "approved"}, {"sticky": 0}])
async def test_an_edit_that_is_sent_again_has_the_answer_that_was_lost(
    site: Site, fields: dict[str, Any]
) -> None:
    id = (await site.post("hello", by=BOB))["objectId"]
    for _ in range(2):
        answer = await change(site, id, fields, by=ADMIN)
        assert answer["data"]["orig"] == "hello"


async def test_the_form_that_client_2_14_sends_as_the_comment_is_understood(site: Site) -> None:
    id = (await site.post("hello", by=BOB))["objectId"]
    form = {"comment": "bye", "nick": "Bob", "mail": "", "link": "", "url": "/p", "ua": "x"}
    assert (await change(site, id, {"comment": form}, by=BOB))["data"]["orig"] == "bye"


async def test_a_new_text_is_judged_like_a_new_comment(make_site: Sites) -> None:
    site = await make_site(FORBIDDEN_WORDS="viagra")
    id = (await site.post("hello", by=BOB))["objectId"]
    assert (await change(site, id, {"comment": "viagra"}, by=BOB))["data"]["status"] == "spam"
    assert await site.get("/comment", type="count") == 0
    # An author's edit does not release a held comment.
    assert (await change(site, id, {"comment": "fine"}, by=BOB))["data"]["status"] == "spam"


async def test_a_new_text_waits_where_new_comments_do(make_site: Sites) -> None:
    site = await make_site(COMMENT_AUDIT="true")
    id = (await site.post("hello", by=BOB))["objectId"]
    await change(site, id, {"status": "approved"}, by=ADMIN)
    assert (await change(site, id, {"comment": "hello"}, by=BOB))["data"]["status"] == "approved"
    assert (await change(site, id, {"comment": "other"}, by=BOB))["data"]["status"] == "waiting"
    await change(site, id, {"status": "spam"}, by=ADMIN)
    assert (await change(site, id, {"comment": "more"}, by=BOB))["data"]["status"] == "spam"


async def test_an_author_cannot_post_the_same_text_twice_by_editing(site: Site) -> None:
    await site.post("one", by=BOB)
    id = (await site.post("two", by=BOB))["objectId"]
    answer = await change(site, id, {"comment": "one"}, by=BOB)
    assert answer == {"errno": 1000, "errmsg": Duplicate.text}


# The cooldown of edits.


def from_(address: str, by: str = "bob") -> dict[str, str]:
    return {"x-forwarded-for": address, "authorization": f"Bearer {by}"}


async def put(site: Site, id: str, text: str, headers: dict[str, str]) -> Any:
    target = f"/api/comment/{id}"
    return (await site.http.put(target, json={"comment": text}, headers=headers)).json()


async def test_an_edit_that_is_sent_again_is_answered_with_what_is_stored(make_site: Sites) -> None:
    site = await make_site(IPQPS="60")
    id, headers = (await site.post("hello", by=BOB))["objectId"], from_("192.0.2.1")
    first = await put(site, id, "bye", headers)
    assert first["data"]["orig"] == "bye"
    assert await put(site, id, "bye", headers) == first
    assert (await put(site, id, "more", headers))["errmsg"].startswith("Comment too fast! ")


async def test_an_edit_whose_twin_was_faster_is_answered_with_what_is_stored(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site(IPQPS="60")
    id, headers = (await site.post("hello", by=BOB))["objectId"], from_("192.0.2.1")
    retry_after = type(site.store.buckets).retry_after
    twins: list[Any] = []

    async def late(buckets: Any, which: Any) -> int:
        if not twins:
            twins.append(None)
            # The same edit arrives between the look at the comment and the cooldown.
            twins[0] = await put(site, id, "bye", headers)
        return await retry_after(buckets, which)

    monkeypatch.setattr(type(site.store.buckets), "retry_after", late)
    answer = await put(site, id, "bye", headers)
    assert answer["data"]["orig"] == "bye"
    assert twins == [answer]


async def test_an_edit_that_stores_nothing_starts_no_cooldown(make_site: Sites) -> None:
    site = await make_site(IPQPS="60")
    await site.http.post("/api/comment", json={"comment": "one", "url": "/p"}, headers=from_("::1"))
    id, headers = (await site.post("two", by=BOB))["objectId"], from_("192.0.2.1")
    assert (await put(site, id, "two", headers))["errno"] == 0
    assert (await put(site, id, "one", headers))["errmsg"] == Duplicate.text
    assert (await put(site, id, "three", headers))["errno"] == 0


async def test_an_edit_of_which_redis_loses_the_reply_can_be_sent_again(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site(IPQPS="60")
    id, headers = (await site.post("hello", by=BOB))["objectId"], from_("192.0.2.1")
    with lost_replies(monkeypatch, "comments/moderate"):
        assert (await put(site, id, "bye", headers))["errno"] == 503
    assert (await put(site, id, "bye", headers))["data"]["orig"] == "bye"


async def test_administrators_have_no_cooldown_for_edits_and_start_none(make_site: Sites) -> None:
    site = await make_site(IPQPS="60")
    id, theirs = (await site.post("hello", by=BOB))["objectId"], from_("192.0.2.1", "admin")
    for text in ("one", "two"):
        assert (await put(site, id, text, theirs))["data"]["orig"] == text
    assert (await put(site, id, "three", from_("192.0.2.1")))["errno"] == 0


async def test_a_text_that_is_too_long_is_refused(site: Site) -> None:
    id = (await site.post("hello", by=BOB))["objectId"]
    answer = await change(site, id, {"comment": "x" * 20_000}, by=BOB)
    assert answer["errno"] == 1000
    assert "too long" in answer["errmsg"]


async def test_a_disallowed_address_cannot_edit(make_site: Sites) -> None:
    site = await make_site()
    id = (await site.post("hello", by=BOB))["objectId"]
    barred = await make_site(DISALLOW_IP_LIST="127.0.0.1")
    assert (await change(barred, id, {"comment": "bye"}, by=BOB))["errno"] == 403


# Callers without the right.


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_a_refusal_does_not_tell_whether_the_comment_exists(site: Site, method: str) -> None:
    id = (await site.post("hello", by=BOB))["objectId"]
    for target in (id, NONE, "1", "x" * 500):
        for by, errno in ((None, 401), (EVE, 403)):
            answer = await site.send(method, f"/comment/{target}", {"comment": "x"}, by=by)
            assert answer["errno"] == errno, target
    assert await site.texts() == ["hello"]


# Edits by administrators.


async def test_an_administrator_changes_text_status_and_pin_at_once(site: Site) -> None:
    id = (await site.post("hello"))["objectId"]
    fields = {"comment": "better", "status": "waiting", "sticky": 1}
    data = (await change(site, id, fields, by=ADMIN))["data"]
    assert (data["orig"], data["status"], data["sticky"]) == ("better", "waiting", True)
    assert await site.texts() == []
    assert await site.get("/comment", type="count") == 0


async def test_an_administrators_comment_box_does_not_rename_the_author(site: Site) -> None:
    id = (await site.post("hello", link="https://ann.example"))["objectId"]
    form = {
        "comment": "better",
        "nick": "Boss",
        "mail": "boss@example.com",
        "link": "https://boss.example",
        "url": "/p",
        "ua": "Firefox",
    }
    data = (await change(site, id, form, by=ADMIN))["data"]
    assert (data["orig"], data["nick"], data["mail"], data["link"]) == (
        "better",
        "Ann",
        "ann@example.com",
        "https://ann.example",
    )


async def test_a_tool_can_rename_the_author(site: Site) -> None:
    posted = await site.post("hello")
    fields = {"nick": "<b>Anna", "mail": "", "link": "javascript:alert(1)"}
    data = (await change(site, posted["objectId"], fields, by=ADMIN))["data"]
    assert (data["nick"], data["mail"], data["link"]) == ("bAnna", "ann@example.com", None)
    assert data["orig"] == "hello"
    moved = (await change(site, posted["objectId"], {"mail": "new@example.com"}, by=ADMIN))["data"]
    assert moved["mail"] == "new@example.com"
    assert moved["avatar"] != posted["avatar"]


async def test_the_name_of_an_account_is_not_changed_with_a_comment(site: Site) -> None:
    id = (await site.post("hello", by=BOB))["objectId"]
    fields = {"nick": "X", "mail": "x@example.com", "status": "approved"}
    data = (await change(site, id, fields, by=ADMIN))["data"]
    assert (data["nick"], data["mail"]) == ("Bob", "bob@example.com")


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"status": "gone"}, "status"),
        ({"sticky": "yes"}, "sticky"),
        ({"comment": 1}, "comment"),
        ({"nick": ["a"]}, "nick"),
    ],
)
async def test_an_administrators_edit_is_validated(
    site: Site, fields: dict[str, Any], wrong: str
) -> None:
    id = (await site.post("hello"))["objectId"]
    answer = await change(site, id, fields, by=ADMIN)
    assert answer["errno"] == 1001
    assert answer["errmsg"].keys() == {wrong}


async def test_an_administrators_text_may_be_a_duplicate(site: Site) -> None:
    await site.post("hello", by=ADMIN)
    id = (await site.post("other", by=ADMIN))["objectId"]
    assert (await change(site, id, {"comment": "hello"}, by=ADMIN))["errno"] == 0


# Deletion.


@pytest.mark.parametrize("which", ["root", "child"])
async def test_a_long_thread_is_hidden_at_once_and_its_replies_follow_in_steps(
    site: Site, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "STEP_REPLIES", 3)
    root = await site.post("root")
    child = await site.reply(root, "child")
    for n in range(10):
        await site.reply(child if n % 2 else root, f"{n}", by=BOB)
    going = root if which == "root" else child
    await delete(site, going["objectId"], by=ADMIN)
    page = await site.page()
    texts = [each["orig"] for each in page["data"][0]["children"]] if page["data"] else []
    assert texts == ([] if which == "root" else ["0", "2", "4", "6", "8"])
    assert page["count"] == (await site.page(by=ADMIN))["count"] == len(texts) + bool(texts)
    assert (await site.get("/comment", type="count", url="/p")) == page["count"]
    await site.kept_up()
    assert (await site.get("/comment", type="count")) == page["count"]
    assert (await site.page(by=ADMIN))["count"] == page["count"]


async def test_what_is_deleted_is_removed_when_it_cannot_be_put_back_any_more(site: Site) -> None:
    root = await site.post("root")
    await site.reply(root, "reply", by=BOB)
    await delete(site, root["objectId"], by=ADMIN)
    await site.kept_up()
    keys, client = site.store.keys, site.store.redis.client
    bodies = keys.page(root["objectId"][16:], "bodies")
    assert await client.hlen(bodies) == 2
    site.clock.now += 61_000
    await site.kept_up()
    assert await client.hlen(bodies) == 0
    assert await client.zcard(keys.site("removals")) == 0


# Redis does not answer.


@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize("what", ["delete", "moderate"])
async def test_a_change_whose_reply_was_lost_is_followed_if_it_was_done(
    site: Site, monkeypatch: pytest.MonkeyPatch, what: str, *, is_done: bool
) -> None:
    id = (await site.post("hello"))["objectId"]
    with lost_replies(monkeypatch, f"comments/{what}", is_done=is_done):
        send = {"delete": delete(site, id, by=ADMIN)}
        send["moderate"] = change(site, id, {"status": "spam"}, by=ADMIN)
        wanted = send.pop(what)
        send.popitem()[1].close()
        assert (await wanted)["errno"] == 503
    await catch_up(site.service.comments.journal, monkeypatch)
    assert await site.get("/comment", type="count") == (0 if is_done else 1)
    assert len(await site.get("/comment", type="recent")) == (0 if is_done else 1)


async def test_a_change_is_followed_although_the_site_could_not_be_told(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = (await site.post("hello"))["objectId"]
    with lost_replies(monkeypatch, "journal/apply", is_done=False):
        assert (await delete(site, id, by=ADMIN))["errno"] == 0
        await site.settled()
    assert await site.get("/comment", type="count") == 1
    await catch_up(site.service.comments.journal, monkeypatch)
    assert await site.get("/comment", type="count") == 0
