"""Pages that are longer than allowed: readers get a part, and can read the rest."""

from typing import Any

import pytest

from footfall.comments.store import comments as comments_module
from footfall.comments.store.moderation import Actor
from tests.conftest import BOB, Site


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comments_module, "MAX_REPLIES", 3)


async def thread(site: Site, replies: int) -> Any:
    """A root with so many replies."""
    root = await site.post("root")
    for n in range(replies):
        await site.reply(root, str(n))
    return root


@pytest.mark.parametrize("path", ["/api/comment", "/comment"])
async def test_replies_that_do_not_fit_are_counted_and_can_be_read(
    site: Site, few: None, path: str
) -> None:
    root = await thread(site, 7)

    async def read(**params: Any) -> Any:
        answer = await site.get(path, path="/p", **params)
        return answer["data"] if path.startswith("/api") else answer

    page = await read()
    (shown,) = page["data"]
    assert (page["count"], page["totalPages"]) == (8, 1)
    texts = [child["orig"] for child in shown["children"]]
    assert texts == ["0", "1", "2"]
    while "more" in shown:
        assert shown["more"] == {"replies": 7 - len(texts)}
        last = shown["children"][-1]["objectId"]
        rest = await read(rid=root["objectId"], after=last, pageSize=2)
        assert {name: rest[name] for name in ("page", "totalPages", "pageSize", "count")} == {
            "page": 1,
            "totalPages": 1,
            "pageSize": 2,
            "count": 8,
        }
        (shown,) = rest["data"]
        assert shown["objectId"] == root["objectId"]
        assert ("insertedAt" in shown) == (path == "/comment")
        texts += [child["orig"] for child in shown["children"]]
    assert texts == [str(n) for n in range(7)]


async def test_a_thread_continues_at_its_place_although_replies_came_and_went(
    site: Site, few: None
) -> None:
    root = await thread(site, 5)
    (shown,) = (await site.page())["data"]
    gone, last = shown["children"][0], shown["children"][-1]
    (found,) = await site.store.comments.by_ids([gone["objectId"]])
    await site.store.moderation.moderate(found, "spam", 1, Actor("moderator"))
    await site.reply(root, "new")
    rest = await site.page(rid=root["objectId"], after=last["objectId"])
    (shown,) = rest["data"]
    assert [child["orig"] for child in shown["children"]] == ["3", "4", "new"]


async def test_the_answer_about_a_thread_has_an_etag(site: Site) -> None:
    root = await thread(site, 2)
    target = f"/api/comment?path=/p&rid={root['objectId']}"
    first = await site.http.get(target)
    again = await site.http.get(target, headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    await site.reply(root, "new")
    later = await site.http.get(target, headers={"if-none-match": first.headers["etag"]})
    assert len(later.json()["data"]["data"][0]["children"]) == 3


async def test_a_held_root_has_a_thread_for_its_author_only(site: Site) -> None:
    root = await site.post("soon held", by=BOB)
    (found,) = await site.store.comments.by_ids([root["objectId"]])
    await site.store.moderation.moderate(found, "waiting", 1, Actor("moderator"))
    assert (await site.page(rid=root["objectId"]))["data"] == []
    (shown,) = (await site.page(by=BOB, rid=root["objectId"]))["data"]
    assert shown["status"] == "waiting"


@pytest.mark.parametrize(
    ("query", "errmsg"),
    [
        ({"after": "x"}, {"after": "after need a rid"}),
        ({"rid": "x" * 65}, {"rid": "rid should be at most 64 characters long"}),
        ({"rid": "x", "after": "x" * 65}, {"after": "after should be at most 64 characters long"}),
        ({"rid": ["x", "y"]}, {"rid": "rid need a string"}),
    ],
)
async def test_a_malformed_request_for_a_thread_names_the_field(
    site: Site, query: Any, errmsg: Any
) -> None:
    answer = await site.get("/api/comment", path="/p", **query)
    assert answer == {"errno": 1001, "errmsg": errmsg}


async def test_a_text_that_does_not_fit_leaves_the_comment_in_its_place(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comments_module, "MAX_PAGE_BYTES", 2000)
    root = await site.post("x" * 1000)
    (shown,) = (await site.page())["data"]
    assert {name: shown[name] for name in ("objectId", "comment", "orig", "time", "more")} == {
        "objectId": root["objectId"],
        "comment": "<p>…</p>",
        "orig": "",
        "time": root["time"],
        "more": {"text": True},
    }
