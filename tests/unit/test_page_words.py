"""What the pages that the server makes say, as each language does."""

from datetime import UTC, date
from zoneinfo import ZoneInfo

import pytest

from footfall.http.page_words import PageWords, language_of


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr, zh-TW;q=0.5", "zh"),
        ("*", "en"),
        ("../../de", "en"),
        ("x" * 10_000, "en"),
    ],
)
def test_the_first_language_that_there_are_words_in_is_taken(asked: str, language: str) -> None:
    assert language_of(asked) == language


def test_a_number_chooses_the_plural_and_is_written_as_the_language_does() -> None:
    assert PageWords("en").say("viewsOf", 1) == "1 view"
    assert PageWords("en").say("viewsOf", 12_345) == "12,345 views"
    assert PageWords("de").say("viewsOf", 12_345) == "12.345 Aufrufe"
    assert PageWords("zh").say("viewsOf", 1) == "1 次浏览"


def test_a_value_with_braces_is_only_a_value() -> None:
    assert PageWords("en").say("by", nick="{count} {0.__class__}") == (
        "Comment by {count} {0.__class__}"
    )


@pytest.mark.parametrize(
    ("now", "before", "change"),
    [(3, 2, "+50%"), (1, 2, "-50%"), (2, 2, "0%"), (900, 1, "+89,900%")],
)
def test_a_change_has_its_sign(now: int, before: int, change: str) -> None:
    assert PageWords("en").change(now, before) == change


def test_a_time_is_that_of_the_sites_zone() -> None:
    at_ms = 1_795_463_133_000
    assert PageWords("en", UTC).time(at_ms).startswith("Nov 23, 2026, 7:45")
    assert PageWords("de", ZoneInfo("Asia/Tokyo")).time(at_ms) == "24.11.2026, 04:45"
    assert PageWords("de").day(date(2026, 2, 3)) == "03.02.2026"
