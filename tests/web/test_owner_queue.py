"""The queue of the owner's own page: read on by a cursor, whatever happens meanwhile."""

from typing import Any

import pytest

from footfall.comments.rules import queue
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support.admin_ui import SENT, last

WAITS = {"COMMENT_AUDIT": "true"}


async def asked(site: Site, method: str, path: str, body: Any = None, by: str = ADMIN.id) -> Any:
    """The whole answer to a request of the page of the account whose token this is."""
    headers = {**SENT, "cookie": f"footfall={by}"}
    return last(await site.http.request(method, f"/ui/api/{path}", json=body, headers=headers))


async def part(site: Site, **query: Any) -> Any:
    words = "&".join(f"{name}={value}" for name, value in query.items())
    answer = await asked(site, "GET", f"queue?{words}")
    assert answer["errno"] == 0, answer
    return answer["data"]


def words(answer: Any) -> list[str]:
    return [each["orig"] for each in answer["data"]]


async def posted(site: Site, texts: str) -> list[str]:
    return [(await site.post(text, url=f"/{n % 3}"))["objectId"] for n, text in enumerate(texts)]


@pytest.mark.cluster
async def test_a_list_is_read_on_though_comments_are_decided_and_new_ones_come(
    make_site: Sites,
) -> None:
    site = await make_site(**WAITS)
    ids = await posted(site, "abcdefghij")
    first = await part(site, status="waiting", pageSize=4)
    assert words(first) == ["j", "i", "h", "g"]
    assert (first["total"], first["waiting"], first["spam"]) == (10, 10, 0)
    # Among them the one behind which the list goes on.
    await asked(site, "PUT", "comment", {"ids": ids[6:9], "status": "spam"})
    await asked(site, "DELETE", "comment", {"ids": ids[:1]})
    await posted(site, "kl")
    second = await part(site, status="waiting", pageSize=4, after=first["after"])
    assert words(second) == ["f", "e", "d", "c"]
    assert (second["total"], second["waiting"], second["spam"]) == (8, 8, 3)
    third = await part(site, status="waiting", pageSize=4, after=second["after"])
    assert (words(third), third["after"]) == (["b"], "")


async def test_a_search_is_read_on_without_a_gap(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "QUEUE_STEP_COMMENTS", 3)
    monkeypatch.setattr(queue, "MAX_SEARCHED_COMMENTS", 6)
    for n in range(20):
        await site.post(f"{'odd' if n % 2 else 'even'} {n}")
    found, after, parts = [], "", 0
    while after or not parts:
        answer = await part(site, keyword="EVEN", pageSize=2, after=after)
        assert answer["total"] is None
        assert answer["searched"] <= 6
        found += words(answer)
        after, parts = answer["after"], parts + 1
    assert found == [f"even {n}" for n in reversed(range(0, 20, 2))]


async def test_what_is_new_is_told_by_ids_that_come_late_or_not(make_site: Sites) -> None:
    site = await make_site(**WAITS)
    ids = await posted(site, "abc")
    assert (await asked(site, "GET", "queue/new?status=waiting"))["data"] == {
        "ids": ids[::-1],
        "total": 3,
        "waiting": 3,
        "spam": 0,
    }
    await asked(site, "PUT", "comment", {"ids": ids[1:2], "status": "approved"})
    assert (await asked(site, "GET", "queue/new?status=waiting"))["data"]["ids"] == [ids[2], ids[0]]


async def test_comments_are_asked_for_by_their_ids(site: Site) -> None:
    ids = await posted(site, "abc")
    await asked(site, "DELETE", "comment", {"ids": ids[:1]})
    named = await part(site, ids=",".join([*ids, "0" * 32, "x"]))
    assert (words(named), named["after"]) == (["b", "c"], "")
    many = await asked(site, "GET", f"queue?ids={','.join(['0' * 32] * 101)}")
    assert many["errmsg"] == {"ids": "ids should be at most 100 ids of comments"}


async def test_others_read_on_in_their_own(site: Site) -> None:
    for n in range(5):
        await site.post(f"mine {n}", by=BOB)
        await site.post(f"another's {n}")
    query = "queue?owner=mine&pageSize=3"
    first = (await asked(site, "GET", query, by=BOB.id))["data"]
    assert words(first) == ["mine 4", "mine 3", "mine 2"]
    assert (first["waiting"], first["spam"]) == (0, 0)
    assert not {"mail", "ip"} & first["data"][0].keys()
    rest = (await asked(site, "GET", f"{query}&after={first['after']}", by=BOB.id))["data"]
    assert words(rest) == ["mine 1", "mine 0"]
    named = await asked(site, "GET", f"queue?owner=mine&ids={'0' * 32}", by=BOB.id)
    assert named["errno"] == 403


@pytest.mark.parametrize(
    "query", ["status=gone", "owner=his", "pageSize=101", f"keyword={'x' * 257}", "after=x"]
)
async def test_its_query_is_validated(site: Site, query: str) -> None:
    answer = await asked(site, "GET", f"queue?{query}")
    assert answer["errno"] == 1001
    assert answer["errmsg"].keys() == {query.partition("=")[0]}
