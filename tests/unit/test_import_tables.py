"""Tables as spreadsheets, databases and people write them."""

from pathlib import Path

import pytest

from footfall.transfer.formats import guess
from footfall.transfer.rows import CommentRow, CounterRow, ImportRow, Refusal
from footfall.transfer.source import Damaged, Source

HEAD = "url,nick,comment,insertedAt\n"
DATE = "2024-01-02 03:04:05"


def read(directory: Path, content: str | bytes, **options: str) -> list[ImportRow]:
    path = directory / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    source = Source(path, **options)  # type: ignore[arg-type]
    format = guess(source)
    assert format is not None
    return list(format.read(source))


def texts(rows: list[ImportRow]) -> list[str]:
    return [row.text if isinstance(row, CommentRow) else f"{row.where} {row.why}" for row in rows]  # type: ignore[union-attr]


@pytest.mark.parametrize("sep", ["sep=;", '"sep=;"', "SEP=;\r", "\ufeffsep=;"])
def test_excels_own_first_line_names_the_separator(tmp_path: Path, sep: str) -> None:
    rows = read(tmp_path, f'{sep}\npath;time\n/a,b,c/;1.234\n"/b;c/";7\n')
    assert rows == [
        Refusal("counters", "line 3: time /a,b,c/", "is not a whole number"),
        CounterRow("/b;c/", "time", 7),
    ]


def test_a_quotation_mark_that_is_never_closed_costs_its_own_line_alone(tmp_path: Path) -> None:
    lines = [f'/a,Ann,"one\ntwo",{DATE}', f'/a,Bo,"never,{DATE}', f"/a,Cy,three,{DATE}"]
    assert texts(read(tmp_path, HEAD + "\n".join(lines))) == [
        "one\ntwo",
        "line 4 has a quotation mark that is never closed",
        "three",
    ]


@pytest.mark.parametrize("last", ['/a,Bo,"never', f'/a,Bo,"ne""ver,{DATE}\n'])
def test_it_may_be_in_the_last_line(tmp_path: Path, last: str) -> None:
    assert texts(read(tmp_path, f"{HEAD}/a,Ann,one,{DATE}\n{last}")) == [
        "one",
        "line 3 has a quotation mark that is never closed",
    ]


def test_a_mark_within_a_field_is_not_one_that_is_open(tmp_path: Path) -> None:
    assert texts(read(tmp_path, f'{HEAD}/a,Ann,a 5" disk,{DATE}\n/a,Bo,two,{DATE}')) == [
        'a 5" disk',
        "two",
    ]


@pytest.mark.parametrize(
    "head",
    [
        "ID,URL,Comment,Nick,InsertedAt",
        "id,url,comment,nick,insertedat",
        "objectid, Url , COMMENT,nick,CREATEDAT",
        "id,path,comment,nick,time",
    ],
)
def test_columns_are_known_in_any_case_and_with_blanks(tmp_path: Path, head: str) -> None:
    (row,) = read(tmp_path, f"{head}\n1,/case/,hello,Ann,{DATE}\n")
    assert isinstance(row, CommentRow)
    assert (row.source, row.path, row.text, row.nick) == ("1", "/case/", "hello", "Ann")
    assert row.at == 1_704_164_645_000


def test_a_column_of_the_very_name_counts_before_one_that_resembles_it(tmp_path: Path) -> None:
    (row,) = read(tmp_path, "URL,url,time\n/other/,/own/,3\n")
    assert row == CounterRow("/own/", "time", 3)


def test_counts_of_a_database_in_lower_case_are_counts_alone(tmp_path: Path) -> None:
    rows = read(tmp_path, f"ID,Time,URL,createdat,updatedat\n1,12,/a/,{DATE},{DATE}\n")
    assert rows == [CounterRow("/a/", "time", 12)]


def test_a_file_whose_columns_are_named_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "postviews.jsonl"
    path.write_text('{"slug":"hello","views":12,"ACL":{"*":{"read":true}}}\n')
    source = Source(path, columns={"url": "slug", "time": "views"})
    format = guess(source)
    assert format is not None
    assert list(format.read(source)) == [CounterRow("hello", "time", 12)]


def test_a_table_of_something_else_says_what_it_has_and_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="no column url, path, email or table; it has page, text"):
        read(tmp_path, "page,text\n/a,hello\n")


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_lines_end_as_on_any_system(tmp_path: Path, end: str) -> None:
    lines = [HEAD.strip(), f"/a,Ann,one,{DATE}", f"/a,Bo,two,{DATE}", ""]
    assert texts(read(tmp_path, end.join(lines))) == ["one", "two"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-8-sig"])
def test_utf_16_is_known_without_a_mark(tmp_path: Path, encoding: str) -> None:
    content = f"{HEAD}/a,Ann,\u5f88\u597d,{DATE}\n".encode(encoding)
    assert texts(read(tmp_path, content)) == ["\u5f88\u597d"]
