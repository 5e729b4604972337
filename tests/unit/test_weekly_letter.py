"""The email about a week: when it is time for it, and what it says."""

from datetime import UTC, date, datetime
from email.message import EmailMessage
from zoneinfo import ZoneInfo

import pytest

from footfall.notifications.rules.weekly import last_week
from footfall.notify.mail import MAIL
from footfall.notify.mail_words import LANGUAGES, Words
from footfall.notify.weekly_letter import PageOfWeek, Week, weekly_letter

WEEK = Week(
    date(2026, 11, 16),
    date(2026, 11, 22),
    1_234,
    1_000,
    321,
    [PageOfWeek("A title", 700, 20), PageOfWeek("/b", 300, -7), PageOfWeek("/c", 1, 0)],
    [PageOfWeek("A title", 700, 20)],
    3,
    2,
    "Blog",
    "https://blog.example",
    "https://comments.example",
)


def text_of(week: Week, language: str = "en") -> tuple[str, str]:
    message = EmailMessage(MAIL)
    weekly_letter(Words(language), week).fill(message)
    plain = message.get_body(("plain",))
    assert plain
    return str(message["Subject"]), plain.get_content()


@pytest.mark.parametrize(
    ("now", "monday"),
    [
        # Monday at seven in Berlin is six in UTC.
        (datetime(2026, 11, 23, 5, 59, tzinfo=UTC), 20261109),
        (datetime(2026, 11, 23, 6, 0, tzinfo=UTC), 20261116),
        (datetime(2026, 11, 29, 23, 0, tzinfo=UTC), 20261116),
        (datetime(2027, 1, 4, 12, 0, tzinfo=UTC), 20261228),
    ],
)
def test_a_week_is_told_of_from_monday_at_seven_on(now: datetime, monday: int) -> None:
    assert last_week(int(now.timestamp() * 1000), ZoneInfo("Europe/Berlin")) == monday


def test_it_has_the_numbers_of_the_week_and_leads_to_more() -> None:
    subject, text = text_of(WEEK)
    assert subject == "Blog: 1,234 views last week"
    for part in (
        "The week of Blog, 2026-11-16 – 2026-11-22.",
        "1,234 views. The week before: 1,000. 321 visitors, counted per day.",
        "A title: 700 (+20)",
        "/b: 300 (−7)",
        "/c: 1 (±0)",
        "3 new comments.",
        "2 comments are pending",
        "https://comments.example/ui/statistics",
        "https://comments.example/ui/queue",
    ):
        assert part in text


def test_it_says_nothing_of_what_there_is_not() -> None:
    _, text = text_of(
        WEEK._replace(
            views=1, visitors=None, pages=(), rising=(), comments=0, waiting=0, address=""
        )
    )
    assert "1 view. The week before" in text
    for part in ("visitor", "Most viewed", "comment", "pending", "/ui/"):
        assert part not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_there_in_each_language(language: str) -> None:
    subject, text = text_of(WEEK, language)
    assert "{" not in subject + text
