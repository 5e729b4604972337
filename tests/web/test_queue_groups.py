"""Groups of the owner's queue: what is alike is decided at once."""

from typing import Any

import pytest

from footfall.comments.rules import groups, queue
from footfall.model import Account
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support.accounts import save_account
from tests.web.test_owner_queue import WAITS, asked, part, words


async def group_of(site: Site, **query: Any) -> Any:
    asks = "&".join(f"{name}={value}" for name, value in query.items())
    answer = await asked(site, "GET", f"queue/groups?{asks}")
    assert answer["errno"] == 0, answer
    return answer["data"]


async def wave(site: Site, count: int, host: str, **fields: Any) -> list[str]:
    """Ids of comments, the newest first, that link to a host and have no words."""
    links = [f"https://{host}/{n}" for n in range(count)]
    posted = [await site.post(each, mail=f"{n}@{host}", **fields) for n, each in enumerate(links)]
    return [each["objectId"] for each in reversed(posted)]


@pytest.mark.cluster
async def test_what_is_alike_is_a_group_that_is_decided_and_undone_as_one(make_site: Sites) -> None:
    site = await make_site(**WAITS)
    ids = await wave(site, 5, "shop.example")
    good = await site.post("Thank you for this.")
    (group,) = (found := await group_of(site, status="waiting"))["data"]
    samples = group.pop("samples")
    seen = group.pop("versions")
    assert seen == [
        each["version"] for each in (await part(site))["data"] if each["objectId"] in ids
    ]
    assert group == {
        "kind": "host",
        "value": "shop.example",
        "ids": ids,
        "authors": 5,
        "addresses": 1,
    }
    assert len(samples) == 3
    assert samples[0].keys() == {"objectId", "nick", "orig", "url", "time"}
    assert (found["others"], found["isPart"]) == ([good["objectId"]], False)
    assert (found["waiting"], found["spam"]) == (6, 0)
    body = {"do": "spam", "ids": ids, "seen": seen}
    action = (await asked(site, "POST", "queue/bulk", body))["data"]
    assert words(await part(site, status="waiting")) == ["Thank you for this."]
    assert (await group_of(site, status="waiting"))["data"] == []
    (spam,) = (await group_of(site, status="spam"))["data"]
    assert spam["ids"] == ids
    await asked(site, "PUT", "queue/bulk", {"name": action["name"]})
    assert len((await group_of(site, status="waiting"))["data"][0]["ids"]) == 5


async def test_only_the_newest_are_compared_and_that_is_said(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "QUEUE_STEP_COMMENTS", 2)
    monkeypatch.setattr(groups, "MAX_GROUPED_COMMENTS", 4)
    ids = await wave(site, 7, "shop.example")
    found = await group_of(site)
    assert (found["data"][0]["ids"], found["isPart"]) == (ids[:4], True)


async def test_groups_of_a_search_have_what_it_finds(site: Site) -> None:
    await wave(site, 3, "shop.example")
    ids = await wave(site, 2, "other.example")
    (group,) = (await group_of(site, keyword="OTHER."))["data"]
    assert (group["value"], group["ids"]) == ("other.example", ids)


async def test_an_account_is_named_as_it_is_called_now(site: Site) -> None:
    await wave(site, 3, "shop.example", by=BOB)
    renamed = Account(BOB.id, "guest", "Robert", BOB.mail)
    await save_account(site.store, renamed)
    (group,) = (await group_of(site))["data"]
    assert (group["kind"], group["value"]) == ("account", "Robert")
    assert {each["nick"] for each in group["samples"]} == {"Robert"}


async def test_a_long_text_is_cut_in_a_sample(site: Site) -> None:
    for n in range(2):
        await site.post(f"{'long ' * 100}{n}")
    (group,) = (await group_of(site))["data"]
    assert {len(each["orig"]) for each in group["samples"]} == {280}


async def test_what_is_damaged_is_in_no_group_and_hides_none(site: Site) -> None:
    ids = await wave(site, 3, "shop.example")
    page, short = ids[0][-16:], ids[0][:-16]
    await site.store.redis.change(("HSET", site.store.keys.page(page, "private"), short, "{"))
    found = await group_of(site)
    assert (found["data"][0]["ids"], found["others"]) == (ids[1:], ids[:1])


@pytest.mark.parametrize("query", ["status=gone", f"keyword={'x' * 257}"])
async def test_its_query_is_validated(site: Site, query: str) -> None:
    answer = await asked(site, "GET", f"queue/groups?{query}", by=ADMIN.id)
    assert answer["errmsg"].keys() == {query.partition("=")[0]}
