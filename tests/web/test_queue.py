"""GET comment?type=list: the moderation queue."""

from typing import Any

import pytest

from footfall.comments.rules import queue
from tests.conftest import ADMIN, BOB, EVE, Site, Sites


async def listed(site: Site, **query: Any) -> Any:
    return (await site.get("/api/comment", by=ADMIN, type="list", **query))["data"]


def words(answer: Any) -> list[str]:
    return [each["orig"] for each in answer["data"]]


async def filled(site: Site, texts: str) -> list[str]:
    ids = [(await site.post(text, url=f"/{n % 2}"))["objectId"] for n, text in enumerate(texts)]
    for n, id in enumerate(ids):
        if status := (None, "waiting", "spam")[n % 3]:
            await site.send("PUT", f"/comment/{id}", {"status": status}, by=ADMIN)
    return ids


@pytest.mark.cluster
async def test_the_queue_has_all_comments_of_the_site_newest_first(site: Site) -> None:
    await filled(site, "abcdefg")
    first = await listed(site, pageSize=3)
    assert words(first) == ["g", "f", "e"]
    assert {name: value for name, value in first.items() if name != "data"} == {
        "page": 1,
        "totalPages": 3,
        "pageSize": 3,
        "spamCount": 2,
        "waitingCount": 2,
    }
    assert words(await listed(site, pageSize=3, page=3)) == ["a"]
    assert words(await listed(site, pageSize=3, page=4)) == []
    (one, *_) = first["data"]
    assert (one["url"], one["mail"], one["status"]) == ("/0", "ann@example.com", "approved")
    assert one["ip"] == "127.0.0.1"


@pytest.mark.parametrize(
    ("status", "expected"), [("approved", "gda"), ("waiting", "eb"), ("spam", "fc")]
)
async def test_the_queue_of_one_status(site: Site, status: str, expected: str) -> None:
    await filled(site, "abcdefg")
    assert words(await listed(site, status=status)) == list(expected)


async def test_the_older_variant_has_it_bare_and_with_dates_as_text(site: Site) -> None:
    await site.post("hello")
    answer = await site.get("/comment", by=ADMIN, type="list")
    assert answer["data"][0]["insertedAt"].endswith("Z")


async def test_others_get_their_own_comments_for_many_tokens(make_site: Sites) -> None:
    site = await make_site("192.0.2.1", COUNTER_RATE="0.001")
    await site.post("mine", by=BOB)
    held = await site.post("held", by=BOB)
    await site.post("another's")
    await site.send("PUT", f"/comment/{held['objectId']}", {"status": "spam"}, by=ADMIN)
    query = {"type": "list", "owner": "mine"}
    answer = (await site.get("/api/comment", by=BOB, **query))["data"]
    assert words(answer) == ["held", "mine"]
    # The answer has no fields for administrators, and not how many comments wait.
    assert not {"mail", "ip"} & answer["data"][0].keys()
    assert (answer["spamCount"], answer["waitingCount"]) == (0, 0)
    assert words((await site.get("/api/comment", by=EVE, **query))["data"]) == []
    assert [(await site.get("/api/comment", by=EVE, **query))["errno"] for _ in range(9)][-1] == 429


@pytest.mark.parametrize(
    "query",
    [
        {"status": "gone"},
        {"owner": "his"},
        {"pageSize": 101},
        {"keyword": "x" * 257},
        {"after": "x"},
        {"page": "one"},
    ],
)
async def test_the_query_is_validated(site: Site, query: dict[str, Any]) -> None:
    answer = await site.get("/api/comment", by=ADMIN, type="list", **query)
    assert answer["errno"] == 1001
    assert answer["errmsg"].keys() == query.keys()


async def test_a_search_ignores_case_and_takes_words_literally(site: Site) -> None:
    for text in ("Hello World", "hello %", "other"):
        await site.post(text)
    assert words(await listed(site, keyword="HELLO")) == ["hello %", "Hello World"]
    assert words(await listed(site, keyword="%")) == ["hello %"]
    assert (await listed(site, keyword="nothing"))["totalPages"] == 0


@pytest.mark.parametrize(
    ("keyword", "found"),
    [
        ("world HELLO", ["by ann"]),
        ("ann hello", ["by ann"]),
        ("ann@home", ["by ann"]),
        ("192.0.2.7", ["by ann"]),
        ("192.0.2.0/24", ["by ann"]),
        ("192.0.2.", ["by ann"]),
        ("2001:db8::/32", ["by eve"]),
        ("deal.example", ["by eve"]),
        ("/far/away", ["by eve"]),
        ("bob@example.com", ["by bob"]),
        ("bob.example", ["by bob"]),
        ("ann eve", []),
        ("nobody", []),
        ("192.0.2.70", []),
    ],
)
async def test_a_search_finds_text_author_address_link_and_page(
    make_site: Sites, keyword: str, found: list[str]
) -> None:
    ann, eve, bob = [
        await make_site(address) for address in ("192.0.2.7", "2001:db8::5", "198.51.100.3")
    ]
    await ann.post("Hello big World by ann", nick="Ann", mail="ann@home.example")
    await eve.post("by eve", nick="Eve", mail="", link="https://deal.example", url="/far/away")
    await bob.post("by bob", by=BOB)
    answer = words(await listed(bob, keyword=keyword))
    assert [text.removeprefix("Hello big World ") for text in answer] == found


async def test_an_administrator_can_list_only_their_own(site: Site) -> None:
    await site.post("mine", by=ADMIN)
    await site.post("his", by=BOB)
    assert words(await listed(site, owner="mine")) == ["mine"]
    assert words(await listed(site, owner="all")) == ["his", "mine"]
    assert words(await listed(site, owner="mine", keyword="i", status="approved")) == ["mine"]


async def test_a_search_finds_days_and_accounts(site: Site) -> None:
    for text, days in (("first", 0), ("second", 1), ("third", 30)):
        site.clock.now = 1_700_000_000_000 + days * 86_400_000
        await site.post(text, by=BOB if days else None)
    for keyword, expected in (
        ("2023-11-14", ["first"]),
        ("2023-11", ["second", "first"]),
        ("2023-11-15..2023-12", ["third", "second"]),
        ("2023-12..2024", ["third"]),
        ("2023-11 second", ["second"]),
        (BOB.id, ["third", "second"]),
        ("2023-13-99", []),
    ):
        assert words(await listed(site, keyword=keyword)) == expected, keyword


async def test_a_search_says_how_far_it_came_and_continues_there(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "QUEUE_STEP_COMMENTS", 2)
    monkeypatch.setattr(queue, "MAX_SEARCHED_COMMENTS", 4)
    ids = [(await site.post(f"{'odd' if n % 2 else 'even'} {n}"))["objectId"] for n in range(9)]
    first = await listed(site, keyword="even", pageSize=1)
    assert (words(first), first["totalPages"]) == (["even 8"], 2)
    assert first["more"] == {"after": ids[5], "searched": 4}
    second = await listed(site, keyword="even", after=ids[5])
    assert words(second) == ["even 4", "even 2"]
    third = await listed(site, keyword="even", after=second["more"]["after"])
    assert words(third) == ["even 0"]
    assert "more" not in third
