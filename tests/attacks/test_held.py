"""Held comments: no answer to a stranger tells that they exist, or what they say."""

from typing import Any

import pytest

from footfall.errors import Duplicate
from footfall.ids import SHORT
from tests.conftest import ADMIN, BOB, EVE, Site, Sites, server_of
from tests.support.servers import RealServer

HELD = {"comment": "held words", "url": "/p", "nick": "Nobody"}


@pytest.fixture
async def audited(make_site: Sites) -> Site:
    return await make_site(COMMENT_AUDIT="true")


def none_like(id: str) -> str:
    """An id of the same page that no comment has."""
    return "0" * SHORT + id[SHORT:]


async def replied(site: Site, parent: str, text: str) -> Any:
    draft = {"comment": text, "url": "/p", "nick": "Ed", "pid": parent, "rid": parent, "at": "Ann"}
    return await site.send("POST", "/api/comment", draft)


async def test_a_reply_shows_nothing_of_its_held_parent(audited: Site) -> None:
    """Who: somebody who has the id of a held comment. What: replies to it, to read it in the answer
    or on the page. Instead: they only learn that the id exists, which nobody can guess. The reply
    is stored, as in Waline, since its author may be the parent's, and it is not shown on the
    page before its parent is."""
    id = (await audited.post("a secret", nick="Hidden", link="https://hidden.example"))["objectId"]
    answer = await replied(audited, id, "are you there?")
    assert answer["data"]["pid"] == id
    target = f"/comment/{answer['data']['objectId']}"
    await audited.send("PUT", target, {"status": "approved"}, by=ADMIN)
    for question in ("path=/p", "type=recent"):
        for path in ("/api/comment", "/comment"):
            shown = (await audited.http.get(f"{path}?{question}")).text
            assert "a secret" not in shown
            assert "idden" not in shown
    assert (await audited.page())["data"] == []
    refused = await replied(audited, none_like(id), "are you there?")
    assert refused["errno"] == 1000


@pytest.mark.parametrize("kind", ["valkey", "redis"])
async def test_a_held_comment_takes_no_longer_to_deny(
    audited: Site, kind: str, servers: dict[str, RealServer]
) -> None:
    """Who: somebody with a stop watch. What: likes an id, and takes the answer that is late for
    that of a held comment. Instead: its body is not even read; Redis does no more for it than for
    an id of no comment."""
    id = (await audited.post("held " * 3000, by=BOB))["objectId"]

    async def cost(target: str) -> tuple[int, int]:
        admin.config_resetstat()
        await audited.send("PUT", f"/comment/{target}", {"like": True})
        calls = admin.info("commandstats")["cmdstat_hget"]["calls"]
        return calls, admin.info("stats")["total_net_output_bytes"]

    with server_of(kind, servers).admin() as admin:
        await cost(id)
        (held, held_bytes), (none, none_bytes) = await cost(id), await cost(none_like(id))
    assert held <= none
    assert held_bytes < none_bytes + 1000


@pytest.mark.parametrize(
    "body", [{"status": "approved"}, {"sticky": 1}, {"comment": "x"}, {"like": "true"}, {}]
)
async def test_no_other_change_tells_which_ids_there_are(audited: Site, body: Any) -> None:
    """Who: anybody but an administrator. What: changes something about an id, and learns from the
    refusal whether it exists. Instead: the request is refused for a missing login or right before
    the comment is looked up."""
    held, shown = [(await audited.post(text))["objectId"] for text in ("held", "shown")]
    await audited.send("PUT", f"/comment/{shown}", {"status": "approved"}, by=ADMIN)
    for viewer, errno in ((None, 401), (EVE, 403)):
        answers = [
            await audited.send("PUT", f"/api/comment/{id}", body, by=viewer)
            for id in (held, shown, none_like(held))
        ]
        assert [answer["errno"] for answer in answers] == [errno] * 3
        assert answers[0] == answers[1] == answers[2]


async def test_who_happens_to_say_the_same_is_not_shown_the_held_comment(make_site: Sites) -> None:
    """Who: a stranger at another address without an email. What: sends the text of a held comment
    within the minute in which its author may repeat it, to get its id and region. Instead:
    Duplicate Content, as usual; only somebody with the same email, account or address repeats a
    comment."""
    site = await make_site("192.0.2.1", COMMENT_AUDIT="true")
    elsewhere = await make_site("192.0.2.2", COMMENT_AUDIT="true")
    elsewhere.clock = site.clock
    first = await site.send("POST", "/api/comment", HELD)
    refused = await elsewhere.send("POST", "/api/comment", HELD)
    assert refused == {"errno": 1000, "errmsg": Duplicate.text}
    assert await site.send("POST", "/api/comment", HELD) == first


async def test_a_duplicate_tells_nothing_but_that_it_is_one(audited: Site) -> None:
    """Who: somebody who knows an author's mail, name and link. What: sends a text, to learn whether
    that author has posted just this, unseen. Instead: that is all they learn, of a text that they
    know to the letter: as in Waline, since storing it twice would be worse."""
    author = {"url": "/p", "nick": "Ann", "mail": "ann@example.com"}
    await audited.post("held")
    audited.clock.now += 60_000
    refused = await audited.send("POST", "/api/comment", {"comment": "held", **author})
    assert refused == {"errno": 1000, "errmsg": Duplicate.text}
    for fields in ({"nick": "Ed"}, {"mail": "ed@example.com"}, {"comment": "Held"}):
        answer = await audited.send("POST", "/api/comment", {"comment": "held", **author, **fields})
        assert answer["errno"] == 0
