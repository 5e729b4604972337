import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footfall.errors import BadRequest
from footfall.http.body import parse_json
from footfall.http.params import Form, parse_query

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def test_a_query_becomes_texts_and_lists() -> None:
    assert parse_query(b"a=1&b=%20x+y&a=2&a=3&c=&d") == {
        "a": ["1", "2", "3"],
        "b": " x y",
        "c": "",
        "d": "",
    }


def test_broken_escapes_and_bytes_are_kept_or_replaced() -> None:
    assert parse_query(b"a=%zz%&b=%ff") == {"a": "%zz%", "b": "\ufffd"}


HALVES = {
    rb'"\ud800"': "\ufffd",
    rb'"a\uDFFFb"': "a\ufffdb",
    rb'"\ud83d\ude00\ud83d"': "😀\ufffd",
    rb'"\ude00\ud83d"': "\ufffd\ufffd",
    rb'"\ud83d\ud83d\ude00"': "\ufffd😀",
    rb'"\\ud800 \\\ud800 \"\ud800"': '\\ud800 \\\ufffd "\ufffd',
    b'"\\ud800\xff\xed\xa0\x80"': "\ufffd" * 5,
}


@pytest.mark.parametrize(("written", "text"), HALVES.items())
def test_half_a_character_in_json_is_replaced(written: bytes, text: str) -> None:
    assert parse_json(b'{"%b":[%b]}' % (written[1:-1], written)) == {text: [text]}


@given(st.lists(st.characters(categories=["Cs", "Lu"]) | st.sampled_from('\\"/u😀')).map("".join))
def test_any_text_that_a_browser_writes_is_read(text: str) -> None:
    """JSON.stringify escapes halves, and json.dumps does so too."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert parse_json(json.dumps([text]).encode()) == [whole]


@given(st.binary(max_size=200))
def test_no_query_raises_anything_but_bad_request(raw: bytes) -> None:
    try:
        parse_query(raw)
    except BadRequest as error:
        assert error.fields


@given(JUNK)
def test_no_value_raises_anything_but_bad_request(value: object) -> None:
    form = Form({"x": value})
    text = form.text("x", 10)
    number = form.integer("x", 1, 100)
    word = form.word("x", "a", ("a", "b"))
    choice = form.choice("x", "a", ("a", "b"))
    paths = form.paths("x")
    try:
        form.done()
    except BadRequest as error:
        assert list(error.fields) == ["x"]
        assert error.fields["x"].startswith("x ")
    assert text is None or len(text) <= 10
    assert 1 <= number <= 100
    assert {word, choice} <= {"a", "b"}
    assert len(paths) <= 200
    assert all(isinstance(path, str) for path in paths)


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("+7", 7), ("007", 7), ("100", 100), ("0", 5), ("-3", 5), ("", 5)],
)
def test_integers_are_digits_with_a_sign(text: str, number: int) -> None:
    form = Form({"n": text})
    assert form.integer("n", 5, 100) == number
    form.done()


@pytest.mark.parametrize("text", ["101", " 1", "1 ", "1.0", "1e1", "abc", "٣", "1_0", "9" * 5000])
def test_any_other_text_is_no_integer(text: str) -> None:
    form = Form({"n": text})
    form.integer("n", 5, 100)
    with pytest.raises(BadRequest):
        form.done()


def test_one_path_is_split_on_commas_and_several_never() -> None:
    assert Form({"p": "/a,/b,"}).paths("p") == ["/a", "/b", ""]
    assert Form({"p": ["/a,b", "/c"]}).paths("p") == ["/a,b", "/c"]
