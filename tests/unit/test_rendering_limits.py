"""Whatever is written, its HTML has a bounded length. How long it takes, bench/scripts.py says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.constructs import CONSTRUCTS, LENGTH
from footfall.render.allowance import FREE_BYTES, MAX_CELLS, MAX_GROWTH, most_bytes
from footfall.render.bounds import MAX_NESTING_LEVELS
from footfall.render.markdown import render
from footfall.render.sanitize import clean

PIECES = st.sampled_from(
    [
        *("[a]: /b\n\n", "[a]", "![a]", "](", "<b>", "<a href=/b>", "</a>", "<table>", "<td>"),
        *("|a|b\n|-|-\n", "|", "> ", "- ", "1. ", "\n", "\n\n", "*", "_", "`", "```\n", "```py\n"),
        *("$x$", "$$", "\\", "&", "<", '"', "'", "~", "^", ":+1:", ":)", "a.co ", "#", "---", " "),
        *("\xa0", "\0", "&amp;", "字", "😀", "    ", "<code class='language-c'>", "\r\n", "(c)"),
    ]
)


@st.composite
def repeated(draw: st.DrawFn) -> str:
    """A few pieces, repeated."""
    parts = draw(st.lists(st.lists(PIECES, min_size=1, max_size=4), min_size=1, max_size=3))
    return "".join(("".join(pieces) * 2_000)[: draw(st.integers(1, 2_000))] for pieces in parts)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_html_is_a_small_multiple_of_its_text(construct: str) -> None:
    text = CONSTRUCTS[construct]
    html = render(text)
    assert len(html.encode()) <= MAX_GROWTH * len(text.encode()) + FREE_BYTES
    assert clean(html) == html


@settings(max_examples=60, deadline=None)
@given(repeated())
def test_whatever_is_repeated_stays_within_the_bound(text: str) -> None:
    html = render(text)
    assert len(html.encode()) <= most_bytes(text)
    assert clean(html) == html


def test_the_corpus_is_as_long_as_a_comment_may_be() -> None:
    assert max(map(len, CONSTRUCTS.values())) == LENGTH


def test_a_text_that_is_nested_too_deep_keeps_its_words() -> None:
    html = render("> " * (MAX_NESTING_LEVELS + 5) + "words")
    assert html.count("<blockquote>") == MAX_NESTING_LEVELS
    assert "words" in html


def test_references_beyond_the_bound_are_shown_as_text() -> None:
    text = f"[word]: /{'x' * 4_000}\n\n" + "[word] " * 1_000
    html = render(text)
    assert (html.count("word"), 0 < html.count("<a ") < 20) == (1_000, True)


def test_pictures_beyond_the_bound_are_shown_as_text() -> None:
    html = render(f"[word]: /{'x' * 4_000}\n\n" + "![word] " * 1_000)
    assert html.count("word") == 1_000


def test_a_table_with_too_many_cells_stays_as_it_was_written() -> None:
    rows = "| a | b |\n"
    assert "<table>" in render(rows + "|-|-|\n" + rows * (MAX_CELLS // 2 - 1))
    html = render(rows + "|-|-|\n" + rows * MAX_CELLS)
    assert "<table>" not in html
    assert html.count("| a | b |") == MAX_CELLS + 1


def test_a_comment_beyond_all_other_bounds_is_shown_as_plain_text() -> None:
    text = "> " * 20 + "a & b\n\n"
    html = render(text * 400)
    assert html == "<p>" + (("&gt; " * 20) + "a &amp; b<br>\n<br>\n") * 400 + "</p>\n"


ORDINARY = {
    "a dense listing": (
        "```js\n" + "const a = {b: [1, 2], c: (x) => x + 1};\n" * 40 + "```",
        "token",
    ),
    "a sheet of formulas": ("so $\\int_0^1 x^2\\,dx = \\frac{1}{3}$ and " * 20, "<math"),
    "a list of links": ("[this](https://example.com/a/b) and https://a.example/b\n" * 60, "<a "),
    "citations in one paragraph": (
        "as [1] said, [so](/b) it is, [2] but [ not ]( that. " * 250,
        "<a ",
    ),
    "a table": ("| name | value |\n|---|--:|\n" + "| a name | 1,234 |\n" * 100, "<td>"),
    "pictures of a picker": (
        '<img class="wl-emoji" src="//unpkg.com/@waline/emojis/tieba/agree.png" alt="agree"> ' * 60,
        "<img",
    ),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_comment_is_nowhere_near_its_bounds(name: str) -> None:
    text, mark = ORDINARY[name]
    html = render(text)
    unit = render(text[: len(text) // 2])
    assert html.count(mark) >= 1.8 * unit.count(mark) > 0
