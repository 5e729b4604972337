"""Names are what is seen of them."""

import pytest

from footfall.markup import is_blank, shown_name


@pytest.mark.parametrize(
    "name",
    [
        "Ann Lee",
        "\u5f20\u4e09",
        "\u845b\U000e0100\u57ce",  # a form of a Chinese character
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a non-joiner
        "\u0915\u094d\u200d\u0937",  # Devanagari, with a joiner
        "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",  # Hebrew with vowels
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 family",
        "\u2764\ufe0f\u200d\U0001f525",
        "1\ufe0f\u20e3",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\U0001fae9",  # newer than this Python
    ],
)
def test_a_name_that_people_have_stays_as_it_is(name: str) -> None:
    assert shown_name(name) == name


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\u202enimda", "nimda"),
        ("\u2066a\u2069b", "ab"),
        ("admin\u200b", "admin"),
        ("\ufeffadmin", "admin"),
        ("ad\u200dm\u00adi\u034fn", "admin"),
        ("admin\ufe0f", "admin"),
        ("admin\U000e0041", "admin"),
        ("a\nb\r\n\tc", "a b c"),
        ("a\u2028b", "a b"),
        ("  a \u200b b\u3000", "a b"),
        ("a\x00\x1b[31m", "a[31m"),
        ("<b>Ann</b>", "bAnn/b"),
        ("a" + "\u0301" * 50, "a" + "\u0301" * 4),
    ],
)
def test_what_shows_nothing_or_turns_the_text_around_is_left_out(written: str, shown: str) -> None:
    assert shown_name(written) == shown
    assert shown_name(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\n",
        "\u3000",
        "\u200b\u200b",
        "\u2800",
        "\u3164",
        "\u115f",
        "\xad",
        "\ufeff",
        "\ufe0f",
    ],
)
def test_what_shows_nothing_is_no_name_and_no_text(text: str) -> None:
    assert shown_name(text) == ""
    assert is_blank(text)
