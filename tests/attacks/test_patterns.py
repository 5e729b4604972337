"""Operators' expressions, and authors of texts and addresses that are made to be slow for them."""

import threading
from typing import Any

import pytest

from footfall.errors import Duplicate
from footfall.patterns import Patterns
from tests.conftest import ADMIN, Sites

LONGEST = 16_384
SLOW = r"buy.*viagra,(a+)+$,^(\w+\s?)*$x"
# Texts that each of these would have to read again and again.
BAIT = {"buy": "buy " * (LONGEST // 4), "a": "a" * (LONGEST - 1) + "!", "w": "word " * 3276 + "!"}


@pytest.mark.parametrize("text", BAIT.values(), ids=BAIT)
async def test_a_comment_made_to_be_slow_is_searched_in_a_moment(
    make_site: Sites, text: str
) -> None:
    """Who: anybody. What: sends the longest possible comment, of words that an operator's
    expression almost finds, which takes a backtracking engine from a quarter of a second to for
    ever. Instead: the search takes linear time."""
    site = await make_site(FORBIDDEN_WORDS=SLOW)
    forbidden = site.service.comments.rules.forbidden
    assert forbidden is not None
    assert not forbidden.search(text)
    assert (await site.post(text))["status"] == "approved"


async def test_words_are_searched_beside_the_event_loop_and_last_of_all(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: anybody. What: posts by the hundred, so that every comment is searched, refused or not.
    Instead: only a comment that will be stored is searched, after the checks for duplicates,
    parents and cooldown, and in the thread that renders; meanwhile others are answered."""
    searched: list[tuple[str, str]] = []
    search = Patterns.search

    def noted(patterns: Patterns, text: str) -> bool:
        searched.append((text, threading.current_thread().name))
        return search(patterns, text)

    monkeypatch.setattr(Patterns, "search", noted)
    site = await make_site(IPQPS="60", FORBIDDEN_WORDS="casino", DISALLOW_IP_LIST="192.0.2.9")
    searched.clear()

    async def post(text: str, address: str = "192.0.2.1", **fields: Any) -> Any:
        draft = {"comment": text, "url": "/p", "nick": "Ann", **fields}
        headers = {"x-forwarded-for": address}
        answer = await site.http.post("/api/comment", json=draft, headers=headers)
        return answer.json().get("errmsg")

    assert await post("to the casino") == ""
    assert (await post("too soon: casino")).startswith("Comment too fast! ")
    site.clock.now += 60_000
    assert await post("to the casino", "192.0.2.2") == Duplicate.text
    assert "does not exist" in await post("casino", "192.0.2.3", pid="0" * 32)
    assert await post("casino", "192.0.2.9") == "Forbidden"
    await site.post("casino of ours", by=ADMIN)
    assert [text for text, _ in searched] == ["to the casino"]
    assert searched[0][1].startswith("render")
