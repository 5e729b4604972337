"""What strangers have named is shown so that each character of it can be seen."""

import pytest

from footfall.markup import shortened, visible


@pytest.mark.parametrize("text", ["/post", "/a b", "/köln/日本語/עברית", "/100%25", "", "/👍🏽"])
def test_a_text_that_can_be_read_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/a\u202egpj.exe", "/a%E2%80%AEgpj.exe"),
        ("/a\u2066b\u2069", "/a%E2%81%A6b%E2%81%A9"),
        ("/a\u200bb", "/a%E2%80%8Bb"),
        ("/a\x00\x1b[31m\n", "/a%00%1B[31m%0A"),
        ("/a\u2028b", "/a%E2%80%A8b"),
        ("/\ufeff", "/%EF%BB%BF"),
        ("/\ud83d", "/%3F"),
    ],
)
def test_what_shows_nothing_or_turns_others_around_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_of_a_long_text_beginning_and_end_are_shown() -> None:
    assert shortened("/a/long/path", 12) == "/a/long/path"
    assert shortened("/a/long/path/to/nowhere", 12) == "/a/long/\N{HORIZONTAL ELLIPSIS}ere"
    assert all(len(shortened("x" * 2000, most)) == most for most in range(3, 200))
