"""Edits and deletions allow nothing that a new comment would not allow."""

import asyncio
from typing import Any

import pytest

from footfall.model import Account
from footfall.process import renderer
from footfall.process.renderer import RenderedText
from tests.conftest import ADMIN, BOB, EVE, Site, Sites

HOSTILE = "<script>alert(1)</script>[x](javascript:alert(1))<img src=x onerror=alert(1)>"


async def change(site: Site, id: str, fields: dict[str, Any], **by: Any) -> Any:
    return await site.send("PUT", f"/api/comment/{id}", fields, **by)


async def test_what_is_held_is_not_let_go_by_its_author(make_site: Sites) -> None:
    """Who: a spammer with an account. What: edits a harmless comment to spam once it is approved,
    or edits a held comment, to have it judged again. Instead: a new text waits as a new comment
    does, a forbidden word makes it spam, and a held comment stays held."""
    site = await make_site(COMMENT_AUDIT="true", FORBIDDEN_WORDS="casino")
    id = (await site.post("nice article", by=BOB))["objectId"]
    await change(site, id, {"status": "approved"}, by=ADMIN)
    for words, status in (("buy here", "waiting"), ("casino", "spam"), ("nice again", "spam")):
        sent = {"comment": words, "status": "approved", "sticky": 1}
        assert (await change(site, id, sent, by=BOB))["data"]["status"] == status
    assert await site.texts() == []


async def test_edited_words_are_made_safe_as_new_ones_are(site: Site) -> None:
    """Who: an author, or a thief of an administrator's token. What: edits markup into the text, the
    name and the link of a comment. Instead: texts are rendered and sanitised like new ones, a name
    starts no tag, and a link runs no script."""
    own = (await site.post("hello", by=BOB))["objectId"]
    other = (await site.post("hello"))["objectId"]
    await change(site, own, {"comment": HOSTILE}, by=BOB)
    fields = {"comment": HOSTILE, "nick": "<img src=x>", "link": "javascript:alert(1)"}
    await change(site, other, fields, by=ADMIN)
    comments = (await site.page())["data"]
    assert comments
    for comment in comments:
        assert "<script" not in comment["comment"]
        assert "onerror" not in comment["comment"]
        assert "javascript:" not in comment["comment"].replace("javascript:alert(1))", "")
        assert not {*"<>"} & {*(comment["nick"] or "")}
        assert "javascript" not in (comment["link"] or "")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_an_id_tells_nothing_to_whoever_may_not_change_it(site: Site, method: str) -> None:
    """Who: anybody, with an account or without. What: asks to change or delete ids, one by one or
    in a list, to learn which exist. Instead: the answer is the same for all ids."""
    id = (await site.post("hello", by=BOB))["objectId"]
    for by in (None, EVE):
        for body in ({"comment": "x"}, {"status": "spam"}):
            found = await site.send(method, f"/comment/{id}", body, by=by)
            none = await site.send(method, f"/comment/{'0' * 32}", body, by=by)
            assert found == none
            assert found["errno"] in (401, 403)
        for ids in ([id], ["0" * 32]):
            answer = await site.send(method, "/comment", {"ids": ids, "status": "spam"}, by=by)
            assert answer["errno"] in (401, 403)


@pytest.mark.rare
@pytest.mark.usefixtures("no_allowance")
async def test_edits_take_tokens(make_site: Sites) -> None:
    """Who: somebody with an account and a loop. What: edits a comment without end, each time with
    another long text to be rendered. Instead: an edit takes as many tokens as a change of a
    counter."""
    site = await make_site("203.0.113.7", COUNTER_RATE="0.01")
    id = (await site.post("hello", by=BOB))["objectId"]
    answers = [await change(site, id, {"comment": f"{n}"}, by=BOB) for n in range(203)]
    assert [answer["errno"] for answer in answers] == [0] * 200 + [429] * 3
    assert await site.texts() == ["199"]


async def test_an_edit_counts_as_a_comment_for_the_rate_limit(make_site: Sites) -> None:
    """Who: somebody with an account. What: posts one comment, and edits it all the time instead of
    posting more. Instead: an address has one cooldown for comments and edits of their text."""
    site = await make_site(IPQPS="60")
    headers = {"x-forwarded-for": "192.0.2.1", "authorization": "Bearer bob"}
    id = (await site.post("hello", by=BOB))["objectId"]
    at_once = await change(site, id, {"comment": "other"}, by=BOB)
    assert (at_once["errno"], at_once["errmsg"][:17]) == (1000, "Comment too fast!")

    async def send(text: str) -> Any:
        target = f"/api/comment/{id}"
        return (await site.http.put(target, json={"comment": text}, headers=headers)).json()

    assert (await send("first"))["data"]["orig"] == "first"
    assert (await send("second"))["errmsg"].startswith("Comment too fast! ")
    draft = {"comment": "hello", "url": "/p"}
    posted = await site.http.post("/api/comment", json=draft, headers=headers)
    assert posted.json()["errmsg"].startswith("Comment too fast! ")
    assert await site.texts() == ["first"]


@pytest.mark.parametrize("by", [BOB, ADMIN])
async def test_an_edit_is_rendered_once_however_many_come_at_once(
    site: Site, monkeypatch: pytest.MonkeyPatch, by: Account
) -> None:
    """Who: an author, or a thief of an administrator's token. What: sends sixteen edits of one
    comment at once, each of which is overtaken by others and made again. Instead: each is rendered
    once, and only stored again."""
    rendered, make = list[str](), renderer._make

    def counted(text: str, *words: Any) -> RenderedText:
        rendered.append(text)
        return make(text, *words)

    id = (await site.post("hello", by=BOB))["objectId"]
    monkeypatch.setattr(renderer, "_make", counted)
    wanted = [f"words {n}" for n in range(16)]
    answers = await asyncio.gather(*(change(site, id, {"comment": text}, by=by) for text in wanted))
    assert {answer["errno"] for answer in answers} == {0}
    assert sorted(rendered) == sorted(wanted)
    (shown,) = (await site.page())["data"]
    assert shown["orig"] in wanted
    assert shown["comment"] == f"<p>{shown['orig']}</p>\n"


async def test_a_list_of_ids_is_no_way_around_the_length_of_a_request(site: Site) -> None:
    """Who: a thief of an administrator's token. What: names a million comments in one request, or
    one a million times. Instead: 200 at most, and each once."""
    id = (await site.post("hello"))["objectId"]
    many = await site.send("DELETE", "/comment", {"ids": [id] * 201}, by=ADMIN)
    assert many["errno"] == 1001
    once = await site.send("DELETE", "/comment", {"ids": [id] * 200}, by=ADMIN)
    assert once["data"]["results"] == {id: "done"}
