"""Answers from the owner's queue."""

from typing import Any

import pytest

from footfall.comments.rules import replies
from footfall.errors import StoreUnavailable
from tests.conftest import Site, Sites
from tests.web.test_owner_queue import WAITS, asked, part


async def reply(site: Site, id: str, text: str = "Thank you!") -> Any:
    return await asked(site, "POST", "queue/reply", {"pid": id, "comment": text})


async def statuses(site: Site) -> dict[str, str]:
    return {each["orig"]: each["status"] for each in (await part(site))["data"]}


@pytest.mark.cluster
async def test_what_is_answered_is_approved_and_the_approval_can_be_undone(
    make_site: Sites,
) -> None:
    site = await make_site(**WAITS)
    root = await site.post("root")
    child = await site.reply(root, "child")
    answer = (await reply(site, child["objectId"], "**Thank** you"))["data"]
    assert answer["results"] == {child["objectId"]: "done"}
    assert answer["reply"]["comment"] == "<p><strong>Thank</strong> you</p>\n"
    assert (answer["reply"]["pid"], answer["reply"]["rid"]) == (child["objectId"], root["objectId"])
    assert await statuses(site) == {
        "root": "waiting",
        "child": "approved",
        "**Thank** you": "approved",
    }
    await asked(site, "PUT", "comment", {"undo": answer["undo"]})
    assert (await statuses(site))["child"] == "waiting"


async def test_a_retry_is_the_same_reply_and_the_same_words_to_another_are_another(
    site: Site,
) -> None:
    first, second = [(await site.post(text))["objectId"] for text in ("a", "b")]
    answers = [(await reply(site, id))["data"] for id in (first, first, second)]
    ids = [answer["reply"]["objectId"] for answer in answers]
    assert ids[0] == ids[1] != ids[2]
    assert len((await part(site))["data"]) == 4


async def test_a_reply_that_is_lost_halfway_approves_nothing(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site(**WAITS)
    id = (await site.post("root"))["objectId"]

    async def gone(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable()

    with monkeypatch.context() as patch:
        patch.setattr(replies, "publish", gone)
        assert (await reply(site, id))["errno"] != 0
    assert await statuses(site) == {"root": "waiting"}
    with monkeypatch.context() as patch:
        patch.setattr(type(site.service.comments.moderation), "moderate", gone)
        assert (await reply(site, id))["data"]["results"] == {id: "failed"}
    assert await statuses(site) == {"root": "waiting", "Thank you!": "approved"}
    assert (await reply(site, id))["data"]["results"] == {id: "done"}
    assert await statuses(site) == {"root": "approved", "Thank you!": "approved"}


async def test_a_comment_that_is_gone_is_not_answered(site: Site) -> None:
    id = (await site.post("root"))["objectId"]
    await asked(site, "DELETE", "comment", {"ids": [id]})
    for each in (id, "x"):
        refused = await reply(site, each)
        assert refused["errmsg"] == "The comment you are replying to does not exist"


@pytest.mark.parametrize(
    ("body", "wrong"), [({"comment": "x"}, "pid"), ({"pid": "x", "comment": ""}, "comment")]
)
async def test_an_answer_needs_its_fields(site: Site, body: dict[str, str], wrong: str) -> None:
    answer = await asked(site, "POST", "queue/reply", body)
    assert (answer["errno"], wrong in str(answer["errmsg"])) == (1001, True)


async def test_a_preview_is_what_the_comment_will_be(site: Site) -> None:
    text = "**bold** <script>x</script> [a](javascript:1)"
    html = (await asked(site, "POST", "queue/preview", {"comment": text}))["data"]["html"]
    assert html == (await site.post(text))["comment"]
    assert (await asked(site, "POST", "queue/preview", {"comment": "x" * 20_000}))["errno"] != 0
