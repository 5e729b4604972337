"""A value of a file is taken, changed or refused, and where it is not taken, the report names
it."""

import copy
import json
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footfall.comments.rules.admission import Rules
from footfall.transfer import checks
from footfall.transfer.formats import guess, named
from footfall.transfer.rows import CommentRow, CounterRow, ImportRow, Refusal
from footfall.transfer.source import Source
from footfall.transfer.values import moment, text, truth, whole
from tests.support.importing import DATA

AT = 1635425415000


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("1,234", 1234),
        ("12,345,678", 12345678),
        ("1 234", 1234),
        ("1'234", 1234),
        ("1\u202f234", 1234),
        (3.0, 3),
        ("3.0", 3),
        ("47.0", 47),
        (1e3, 1000),
        ("1e3", 1000),
        (" 7 ", 7),
        ("+5", 5),
        (-1, -1),
        ("0", 0),
        ("１２", 12),
        (10**30, 10**30),
        ({"$numberLong": "45"}, 45),
        ({"$numberInt": "45"}, 45),
        ({"$numberDouble": "45.0"}, 45),
    ],
)
def test_whole_numbers_are_read_in_any_usual_spelling(written: object, number: int) -> None:
    assert whole(written) == number


@pytest.mark.parametrize(
    "written",
    [
        "x",
        "",
        None,
        True,
        False,
        1.5,
        "1.5",
        "1.234",
        "1,23",
        "1,234 567",
        "1_000",
        "0x10",
        "NaN",
        "1e999999999",
        float("inf"),
        float("nan"),
        [1],
        {},
        {"$numberLong": "x"},
    ],
)
def test_nothing_else_is_a_number(written: object) -> None:
    assert whole(written) is None


@pytest.mark.parametrize(
    "written",
    [
        "2021-10-28 20:50:15 +0800 CST",
        "2021-10-28 20:50:15.0 +0800 CST m=+0.12",
        "2021-10-28 12:50:15 UTC",
        "Thu, 28 Oct 2021 20:50:15 +0800",
        "Thu Oct 28 2021 20:50:15 GMT+0800 (China Standard Time)",
        "2021-10-28 20:50:15 +08",
        "Oct 28, 2021, 12:50:15 PM",
        "28 October 2021 12:50:15",
        "20211028125015",
        "1635425415",
    ],
)
def test_dates_are_read_in_any_spelling_that_has_one_meaning(written: str) -> None:
    assert moment(written) == AT


def test_a_date_may_lack_zeros() -> None:
    assert moment("2020-1-2 3:4:5") == moment("2020-01-02T03:04:05Z")


@pytest.mark.parametrize(
    "written",
    [
        "10/11/2020",
        "2021-10-28 20:50:15 CST",
        "Friday",
        "20:15",
        "28 October",
        "5",
        0,
        1,
        "soon",
        "0000-00-00 00:00:00",
        "2020-13-01",
        "x" * 10_000,
        "2026-11-03T06:00" + "9" * 50 + ":00Z",
        [],
        True,
    ],
)
def test_what_could_be_several_dates_is_none(written: object) -> None:
    assert moment(written) is None


def read(directory: Path, name: str, format_name: str, content: bytes) -> list[ImportRow]:
    path = directory / name
    path.write_bytes(content)
    found = named(format_name) if format_name else guess(Source(path))
    assert found is not None
    return list(found.read(Source(path)))


def test_counts_that_are_no_numbers_are_refused_by_their_line(tmp_path: Path) -> None:
    counts = ["1,234", 3.0, "1e3", "x", "47.0", {"$numberLong": "45"}, True, 1.5]
    lines = [json.dumps({"url": f"/{n}", "time": count}) for n, count in enumerate(counts)]
    rows = read(tmp_path, "counts.json", "ndjson", "\n".join(lines).encode())
    taken = {row.path: row.number for row in rows if isinstance(row, CounterRow)}
    assert taken == {"/0": 1234, "/1": 3, "/2": 1000, "/4": 47, "/5": 45}
    refused = [row for row in rows if isinstance(row, Refusal)]
    assert [row.where for row in refused] == [
        "line 4: time /3",
        "line 7: time /6",
        "line 8: time /7",
    ]
    assert {row.why for row in refused} == {"is not a whole number"}


def test_a_number_too_large_for_any_count_refuses_its_row_alone(tmp_path: Path) -> None:
    content = b'[{"url": "/a", "time": 123456789012345678901234567890}, {"url": "/b", "time": 2}]'
    rows = [row for row in read(tmp_path, "x.json", "ndjson", content)]
    large, small = (row for row in rows if isinstance(row, CounterRow))
    with pytest.raises(checks.Unusable, match="too large"):
        checks.counter(large, ("time",))
    assert checks.counter(small, ("time",)).number == 2


# Of each system's comments: a field of its file, and what a comment has of it.
TEXTS = {
    "waline.json": (
        "data.Comment",
        {
            "nick": "nick",
            "mail": "mail",
            "link": "link",
            "ua": "ua",
            "ip": "address",
            "comment": "text",
        },
    ),
    "artalk.json": ("", {"nick": "nick", "email": "mail", "link": "link", "ua": "ua"}),
    "twikoo.json": ("", {"nick": "nick", "mail": "mail", "link": "link", "ua": "ua"}),
    "commento.json": ("comments", {"markdown": "text"}),
    "remark42.json": ("", {"orig": "text"}),
}
NUMBERS = {"waline.json": "like", "artalk.json": "vote_up", "commento.json": "score"}
TRUTHS = {"waline.json": "sticky", "artalk.json": "is_pinned", "twikoo.json": "top"}
DATES = {
    "waline.json": "insertedAt",
    "artalk.json": "created_at",
    "twikoo.json": "created",
    "commento.json": "creationDate",
}

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.text(max_size=20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["$numberLong", "iso", "$date", "x"]), st.text(), max_size=2),
    st.sampled_from(
        [
            "1,234",
            "3.0",
            "1e3",
            "-1",
            "maybe",
            "2021-10-28 20:50:15 +0800 CST",
            "10/11/2020",
            "true",
            "0",
            "\ud800",
        ]
    ),
)


def first_comment(name: str, field: str, value: object) -> ImportRow:
    """The first comment of a file in which a field of it has another value."""
    lines = (DATA / name).read_text().splitlines()
    is_lines = name == "remark42.json"
    whole_file = [json.loads(line) for line in lines] if is_lines else json.loads("\n".join(lines))
    changed: Any = copy.deepcopy(whole_file)
    records = changed
    for step in filter(None, PLACES[name].split(".")):
        records = records[step]
    records[1 if is_lines else 0][field] = value
    content = "\n".join(map(json.dumps, changed)) if is_lines else json.dumps(changed)
    with TemporaryDirectory() as directory:
        rows = read(Path(directory), name, guessed(name), content.encode())
    return next(row for row in rows if isinstance(row, CommentRow | Refusal))


def as_read(value: object) -> object:
    """A value as it comes out of JSON, where a number has the digits that were written."""
    return json.loads(json.dumps(value), parse_float=Decimal)


PLACES = {name: place for name, (place, _) in TEXTS.items()}


def guessed(name: str) -> str:
    found = guess(Source(DATA / name))
    assert found is not None
    return found.name


def reported(row: ImportRow) -> tuple[str, ...]:
    """What the report says of a comment: why it is refused, or what is changed of it."""
    if isinstance(row, Refusal):
        return (row.why,)
    assert isinstance(row, CommentRow)
    notes = list[str]()
    try:
        checks.comment(row, Rules(), notes.append, None)
    except checks.Unusable as error:
        return (str(error),)
    return tuple(notes)


@settings(deadline=None)
@given(value=odd, name=st.sampled_from(sorted(TEXTS)), data=st.data())
def test_no_text_is_lost_in_silence(value: object, name: str, data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(sorted(TEXTS[name][1])))
    row = first_comment(name, field, value)
    if value not in (None, "") and not reported(row):
        assert isinstance(row, CommentRow)
        taken = getattr(row, TEXTS[name][1][field]), row.text
        assert {text(value), text(as_read(value))} & {*taken}


@settings(deadline=None)
@given(value=odd, name=st.sampled_from(sorted(NUMBERS)))
def test_no_number_is_lost_in_silence(value: object, name: str) -> None:
    row = first_comment(name, NUMBERS[name], value)
    if value not in (None, "", True) and not reported(row):
        assert isinstance(row, CommentRow)
        assert row.likes == whole(as_read(value))


@settings(deadline=None)
@given(value=odd, name=st.sampled_from(sorted(TRUTHS)))
def test_no_answer_is_lost_in_silence(value: object, name: str) -> None:
    row = first_comment(name, TRUTHS[name], value)
    if not reported(row):
        assert isinstance(row, CommentRow)
        assert row.is_pinned is truth(value)


@settings(deadline=None)
@given(value=odd, name=st.sampled_from(sorted(DATES)))
def test_no_date_becomes_another_in_silence(value: object, name: str) -> None:
    row = first_comment(name, DATES[name], value)
    if value not in (None, "") and not reported(row):
        assert isinstance(row, CommentRow)
        assert row.at == moment(as_read(value))


@pytest.mark.parametrize("locator", [5, None, [], {}, {"url": []}, {"url": ""}])
def test_a_comment_of_remark42_without_a_page_is_refused(tmp_path: Path, locator: object) -> None:
    about = {"version": 1, "users": [], "posts": []}
    comment = {"id": "7", "orig": "Hello", "time": "2021-10-28T12:50:15Z", "locator": locator}
    content = "\n".join(map(json.dumps, (about, comment))).encode()
    (row,) = read(tmp_path, "x", "remark42", content)
    assert reported(row) == ("has no valid page",)


@pytest.mark.parametrize("value", [5.5, True, [], {"a": 1}])
def test_an_odd_name_of_a_commenter_is_reported_with_their_comments(
    tmp_path: Path, value: object
) -> None:
    file = {
        "commenters": [{"commenterHex": "c", "name": value, "email": "c@example.com"}],
        "comments": [
            {
                "commentHex": "1",
                "commenterHex": "c",
                "url": "/p",
                "markdown": "Hello",
                "creationDate": "2021-10-28T12:50:15Z",
                "state": "approved",
            }
        ],
    }
    (row,) = read(tmp_path, "x", "commento", json.dumps(file).encode())
    assert isinstance(row, CommentRow)
    assert row.nick == "5.5" or "has a name that is not text: it is left out" in reported(row)


@pytest.mark.parametrize("comments", [{}, "", 0, False])
def test_a_thread_of_isso_without_a_list_is_refused(tmp_path: Path, comments: object) -> None:
    content = json.dumps([{"id": "/p", "title": "", "comments": comments}]).encode()
    (row,) = read(tmp_path, "x", "isso-json", content)
    assert isinstance(row, Refusal)
    assert row.why == "has no list of comments"
