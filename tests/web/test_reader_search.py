"""Search for readers: in what everybody sees, and in nothing else."""

from typing import Any

import pytest

from footfall.comments.rules import reader_search
from tests.conftest import ADMIN, BOB, Site, Sites


@pytest.fixture
async def site(make_site: Sites) -> Site:
    return await make_site(SEARCH="true")


async def found(site: Site, q: str, **query: Any) -> list[str]:
    answer = await site.get("/api/comment", type="search", q=q, **query)
    assert answer["errno"] == 0, answer
    return [each["orig"] for each in answer["data"]["data"]]


async def test_comments_are_found_by_all_their_words_in_any_case_newest_first(site: Site) -> None:
    await site.post("The garden gate is **green**", nick="Ann")
    await site.post("Gates of the GARDEN", nick="Tom", url="/q")
    await site.post("A [pond](https://fish.example/koi)", nick="\u00c9va")
    assert await found(site, "garden") == ["Gates of the GARDEN", "The garden gate is **green**"]
    assert await found(site, "GREEN garden") == ["The garden gate is **green**"]
    assert await found(site, "fish.example") == ["A [pond](https://fish.example/koi)"]
    assert await found(site, "\u00e9va") == ["A [pond](https://fish.example/koi)"]
    assert await found(site, "garden", path="/q") == ["Gates of the GARDEN"]
    assert await found(site, "strong") == await found(site, "href") == []


@pytest.mark.parametrize(
    "secret", ["eve@example.com", "example.com", "127.0.0.1", "Firefox", "hidden", "hush", "old"]
)
async def test_nothing_is_found_by_what_readers_do_not_see(site: Site, secret: str) -> None:
    """Who: somebody who asks word by word which address an author has, or what is pending."""
    await site.post("words <!-- hidden -->", nick="Eve", mail="eve@example.com")
    held = await site.post("hush", nick="Tom")
    await site.send("PUT", f"/comment/{held['objectId']}", {"status": "waiting"}, by=ADMIN)
    deleted = await site.post("hush again", nick="Ulla")
    await site.send("DELETE", f"/comment/{deleted['objectId']}", by=ADMIN)
    assert await found(site, secret) == []
    assert await found(site, "words") == ["words <!-- hidden -->"]


async def test_accounts_are_found_by_the_name_that_they_have_now(site: Site) -> None:
    await site.post("words", by=BOB)
    assert await found(site, BOB.nick) == ["words"]
    await site.send("PUT", "/user", {"display_name": "Robert"}, by=BOB)
    assert await found(site, "robert") == ["words"]
    assert await found(site, BOB.mail) == []


async def test_a_search_goes_on_where_it_ended_and_reads_no_more_than_it_may(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_search, "MAX_SEARCHED", 4)
    monkeypatch.setattr(reader_search, "STEP", 2)
    for n in range(11):
        await site.post(f"word {n}" if n % 3 == 0 else f"other {n}", nick=f"N{n}")
    seen, after, parts = list[str](), "", 0
    while parts == 0 or after:
        answer = await site.get("/api/comment", type="search", q="word", count=1, after=after)
        data = answer["data"]
        assert data["searched"] <= 4
        assert len(data["data"]) <= 1
        seen += [each["orig"] for each in data["data"]]
        after, parts = data["after"], parts + 1
        assert parts < 20
    assert seen == ["word 9", "word 6", "word 3", "word 0"]


async def test_wrong_input_is_named_and_a_flood_waits(make_site: Sites) -> None:
    site = await make_site(SEARCH="true", COUNTER_RATE="10", TRUSTED_PROXIES="127.0.0.1")
    for query in ({"q": ""}, {"q": "x" * 300}, {"q": "x", "after": "nonsense"}, {"count": "99"}):
        answer = await site.get("/api/comment", type="search", **query)
        assert answer["errno"] in (400, 1001), query
    url, stranger = "/api/comment?type=search&q=x", {"x-forwarded-for": "192.0.2.7"}
    answers = [await site.http.get(url, headers=stranger) for _ in range(20)]
    assert 429 in {answer.status_code for answer in answers}


async def test_a_site_is_searched_only_if_it_wants_to(make_site: Sites) -> None:
    site = await make_site()
    assert (await site.http.get("/api/comment?type=search&q=x")).status_code == 404
    assert 'id="search"' not in (await site.http.get("/")).text
    site = await make_site(SEARCH="true")
    assert 'id="search"' in (await site.http.get("/")).text
