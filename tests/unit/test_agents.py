"""People are never taken for machines; machines that say what they are have its class."""

import random
import re
from pathlib import Path
from typing import Any

import pytest
from crawleruseragents import CRAWLER_USER_AGENTS_DATA
from hypothesis import given
from hypothesis import strategies as st

from footfall.statistics import agents
from footfall.statistics.agents import CLASSES, MAX_AGENT_BYTES, TAGS, class_of, class_of_view

HERE = Path(__file__).parent
# Common browsers on desks and phones, those inside of applications, and those of devices whose
# names look like a crawler's.
BROWSERS = (HERE / "browsers.txt").read_text().splitlines()
# Of test_agent.py; two of them are not a person's.
NAMED = [
    ua
    for line in (HERE / "agents.tsv").read_text().splitlines()
    if not re.search("Headless|jsdom", ua := line.split("\t")[2])
]
CHROME = BROWSERS[-1]


@pytest.mark.parametrize("ua", [*BROWSERS, *NAMED])
def test_a_person_has_no_class(ua: str) -> None:
    assert class_of(ua.encode()) == ""


@pytest.mark.parametrize(
    ("ua", "expected"),
    [
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://google.com/bot)", "search-engine"),
        ("Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com)", "ai-crawler"),
        ("Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)", "seo"),
        ("facebookexternalhit/1.1 (+http://www.facebook.com/)", "social-preview"),
        ("TelegramBot (like TwitterBot)", "social-preview"),
        ("Viber", "social-preview"),
        ("Sogou web spider/4.0(+http://www.sogou.com/docs/help)", "search-engine"),
        ("Mozilla/5.0 (X11) AppleWebKit/537.36 HeadlessChrome/120.0.0.0", "browser-automation"),
        ("curl/8.5.0", "http-library"),
        ("python-requests/2.32.3", "http-library"),
        ("Mozilla/5.0 (compatible; NobodyKnowsThisBot/1.0)", "other-bot"),
        ("Unheard-of link checker (+https://example.com/about)", "other-bot"),
        ("An archive, ann@example.com", "other-bot"),
        ("", "no-user-agent"),
        (" \t", "no-user-agent"),
    ],
)
def test_a_machine_has_the_class_of_what_it_says(ua: str, expected: str) -> None:
    assert class_of(ua) == class_of(ua.encode()) == expected


def test_every_crawler_of_the_list_is_found_but_those_that_look_like_a_browser() -> None:
    missed = {
        crawler["pattern"]
        for crawler in CRAWLER_USER_AGENTS_DATA
        for ua in crawler["instances"]
        if class_of(ua) == ""
    }
    assert missed == {pattern for pattern, better in agents.REPLACED.items() if not better}


def test_a_crawler_of_several_tags_has_the_first_of_the_order() -> None:
    ua = "Mozilla/5.0 (compatible; Googlebot/2.1) HeadlessChrome/120 python-requests/2"
    assert class_of(ua) == "search-engine"
    assert class_of(ua + " GPTBot/1.2") == "ai-crawler"


def test_every_tag_of_the_list_is_a_class() -> None:
    assert {tag for each in CRAWLER_USER_AGENTS_DATA for tag in each["tags"]} == set(TAGS)


def test_a_newer_list_may_have_other_tags_none_and_patterns_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    newer: list[dict[str, Any]] = [
        {"pattern": "Newer", "tags": ["quantum", "seo"]},
        {"pattern": "Unknown", "tags": ["quantum"]},
        {"pattern": "Untagged"},
        {"pattern": "(?=looks ahead)x"},
    ]
    monkeypatch.setattr("crawleruseragents.CRAWLER_USER_AGENTS_DATA", newer)
    patterns, ranks = agents._patterns.__wrapped__()
    assert "(?=looks ahead)x" not in patterns.sources
    assert [CLASSES[ranks[name]] for name in ("Newer", "Unknown", "Untagged")] == [
        "seo",
        "other-bot",
        "other-bot",
    ]


def test_no_pattern_of_the_list_is_left_out() -> None:
    patterns, ranks = agents._patterns()
    assert patterns.sources == list(ranks)


@pytest.mark.parametrize(
    ("purpose", "expected"),
    [
        (b"prefetch", "prefetch"),
        (b"prefetch;prerender", "prefetch"),
        (b"Prefetch; anonymous-client-ip", "prefetch"),
        (b"prerender", "prefetch"),
        (b"", ""),
        (b"prefetched", ""),
        (b";" * 100_000 + b"prefetch", ""),
    ],
)
def test_a_page_that_is_fetched_ahead_is_no_view(purpose: bytes, expected: str) -> None:
    assert class_of_view(CHROME, purpose=purpose) == expected


def test_a_user_agent_counts_before_a_script_and_that_before_a_header() -> None:
    assert class_of_view("curl/8", purpose=b"prefetch", is_automated=True) == "http-library"
    assert class_of_view(CHROME, purpose=b"prefetch", is_automated=True) == "webdriver"
    assert class_of_view(CHROME) == ""


@given(st.binary(max_size=600) | st.text(max_size=600))
def test_whatever_is_sent_has_a_class_or_none(ua: bytes | str) -> None:
    assert class_of(ua) in (*CLASSES, "")


def test_a_set_finds_what_each_expression_finds_alone() -> None:
    patterns, _ = agents._patterns()
    alone = {source: re.compile(source.encode()) for source in patterns.sources}
    drawn = random.Random(1)
    for _ in range(50):
        text = b"".join(
            drawn.choice(patterns.sources).replace("\\", "").encode()[: drawn.randint(1, 30)]
            for _ in range(20)
        )
        assert set(patterns.found(text)) == {each for each in alone if alone[each].search(text)}


def test_the_cache_is_bounded_in_entries_and_in_bytes() -> None:
    class_of("curl/8 " + "x" * MAX_AGENT_BYTES)
    hits = agents._class_of.cache_info().hits
    class_of("curl/8 " + "x" * 10_000_000)
    assert agents._class_of.cache_info().hits == hits + 1
    assert agents._class_of.cache_info().maxsize == agents.MAX_CACHED_AGENTS
