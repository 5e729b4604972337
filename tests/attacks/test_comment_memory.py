"""Comments of strangers do not fill the memory of Redis."""

import pytest

from footfall.comments.rules import room
from footfall.comments.rules.room import CLIENTS
from tests.conftest import BOB, Sites
from tests.web.test_comment_limit import write


async def test_one_network_does_not_fill_the_memory_in_a_night(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: a stranger with a /48, or with an address. What: writes the longest comments as fast as
    it may, all night. Instead: each has a small share of COMMENT_LIMIT for a day, and others write
    as ever."""
    monkeypatch.setattr(room, "MIN_CLIENT_BYTES", 0)
    share = 40_000
    site = await make_site(COMMENT_LIMIT=str(share * CLIENTS), IPQPS="0")
    texts = [f"{n} " + "x" * 7_000 for n in range(12)]
    answers = [await write(site, text, "192.0.2.1") for text in texts]
    stored = [answer["errno"] == 0 for answer in answers]
    assert stored == [True, True] + [False] * 10
    assert answers[-1]["errmsg"].startswith("Too much was written from your address today. Try")
    assert (await write(site, "me too", "192.0.2.2"))["errno"] == 0
    network = 0
    for n in range(40):
        for text in texts[:2]:
            answer = await write(site, f"{n} {text}", f"2001:db8:5:{n:x}::1")
            network += answer["errno"] == 0
    assert network <= 32 * share // 14_000
    assert (await write(site, "and me", "2001:db8:6::1"))["errno"] == 0


async def test_an_edit_takes_as_much_as_a_comment(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: a spammer with an account. What: writes little, and edits it to much. Instead: an edit
    takes of the same share."""
    monkeypatch.setattr(room, "MIN_CLIENT_BYTES", 0)
    site = await make_site(COMMENT_LIMIT=str(20_000 * CLIENTS), IPQPS="0")
    id = (await write(site, "hello", "192.0.2.1", BOB))["data"]["objectId"]
    headers = {"x-forwarded-for": "192.0.2.1", "authorization": f"Bearer {BOB.id}"}
    answers = []
    for n in range(4):
        body = {"comment": f"{n}" + "x" * 7_000}
        put = await site.http.put(f"/api/comment/{id}", json=body, headers=headers)
        answers.append(put.json()["errno"])
    assert answers == [0, 1000, 1000, 1000]
