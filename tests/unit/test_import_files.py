"""Imported files that are cut off, compressed, in another encoding, or made to do harm."""

import bz2
import contextlib
import gzip
import json
import lzma
import os
import tarfile
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest

from footfall.transfer import archives, tabular
from footfall.transfer import source as sources
from footfall.transfer.archives import members
from footfall.transfer.formats import chosen, guess, named
from footfall.transfer.json_bytes import MAX_DEPTH
from footfall.transfer.report import ImportReport
from footfall.transfer.rows import AccountRow, CommentRow, CounterRow, ImportRow, Refusal
from footfall.transfer.source import Damaged, Source
from footfall.transfer.values import moment, path_of, text, truth, zone_of
from tests.support.importing import DATA

MB = 1 << 20


def read(path: Path, **options: str) -> list[ImportRow]:
    source = Source(path, **options)  # type: ignore[arg-type]
    found = guess(source)
    assert found is not None
    return list(found.read(source))


def made(directory: Path, name: str, content: bytes) -> Path:
    path = directory / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "name", ["waline.json", "twikoo.json", "commento.json", "disqus.xml", "wordpress.xml"]
)
def test_a_file_that_was_cut_off_is_refused_as_a_whole(name: str, tmp_path: Path) -> None:
    whole = (DATA / name).read_bytes()
    for cut in (len(whole) // 2, len(whole) - 20):
        with pytest.raises(Damaged, match="not .*complete"):
            read(made(tmp_path, name, whole[:cut]))


def test_a_line_that_was_cut_off_is_refused_alone(tmp_path: Path) -> None:
    whole = (DATA / "remark42.json").read_bytes()
    *rows, last = read(made(tmp_path, "r.json", whole[:-40]))
    assert len(rows) == 3
    assert last == Refusal("comments", "line 5", "is not JSON")


@pytest.mark.parametrize("name", ["waline.json", "valine.jsonl", "disqus.xml", "comments.ndjson"])
def test_a_file_is_the_same_when_compressed_or_in_another_encoding(
    name: str, tmp_path: Path
) -> None:
    whole, plain = (DATA / name).read_bytes(), read(DATA / name)
    assert read(made(tmp_path, "x.gz", gzip.compress(whole))) == plain
    assert read(made(tmp_path, "bom", b"\xef\xbb\xbf" + whole)) == plain
    assert read(made(tmp_path, "utf16", whole.decode().encode("utf-16"))) == plain
    assert read(made(tmp_path, "gb", whole.decode().encode("gb18030")), encoding="gb18030") == plain


def test_a_file_in_an_unknown_encoding_is_refused_with_a_reason(tmp_path: Path) -> None:
    source = Source(made(tmp_path, "x", (DATA / "waline.json").read_text().encode("gb18030")))
    with pytest.raises(Damaged, match="is not UTF-8"):
        list(source.chunks())
    source = Source(DATA / "waline.json")
    assert list(source.chunks())
    assert not source.is_misread
    # A guess by one byte would spoil all the others.
    one = "é\n".encode() * 3 + b"ab\xe9\n" + "é".encode()
    with pytest.raises(
        Damaged, match="UTF-8 but for 1 byte, the first byte 11 in line 4: name utf-8"
    ):
        list(Source(made(tmp_path, "x", one)).chunks())


@pytest.mark.rare
def test_gzip_that_is_cut_off_or_a_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = gzip.compress((DATA / "waline.json").read_bytes())
    with pytest.raises(Damaged, match="cut off"):
        read(made(tmp_path, "x", packed[:-9]))
    with pytest.raises(Damaged, match="was changed"):
        read(made(tmp_path, "x", packed[:100] + b"\0" * 50 + packed[150:]))
    monkeypatch.setattr(sources, "FREE_BYTES", MB)
    many = gzip.compress(b'[{"page_key":"') + gzip.compress(b" " * (MB // 2)) * 400
    assert len(many) < MB
    with pytest.raises(Damaged, match="unpack to more"):
        read(made(tmp_path, "x", many))
    bomb = gzip.compress(b'[{"page_key":"' + b" " * (100 * MB))
    assert len(bomb) < MB
    with pytest.raises(Damaged, match="unpack to more"):
        read(made(tmp_path, "x", bomb))


def packed(how: str, files: dict[str, bytes]) -> bytes:
    whole = BytesIO()
    if how == "zip":
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("export/", b"")
            for name, content in files.items():
                archive.writestr(f"export/{name}", content)
        return whole.getvalue()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for name, content in files.items():
            about = tarfile.TarInfo(f"./export/{name}")
            about.size = len(content)
            tar.addfile(about, BytesIO(content))
        about = tarfile.TarInfo("link")
        about.type, about.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(about)
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
    }
    return packers.get(how, bytes)(whole.getvalue())


HEAD = b"#filetype:JSON-streaming\n"
LEANCLOUD = {
    "Comment.0.jsonl": HEAD + b'{"objectId":"1","url":"/a/","comment":"hi","mailMd5":""}\n',
    "Counter.0.jsonl": HEAD + b'{"objectId":"2","url":"/a/","time":12,"xid":"/a/"}\n',
}
NOBODYS = {"__MACOSX/x": b"\0\1", ".DS_Store": b"\0", "empty.json": b"", "notes.md": b"hello"}


def class_file(name: str, *lines: str) -> bytes:
    head = {"type": "Class", "class": name}
    return "\n".join([f"#filetype:JSON-streaming {json.dumps(head)}", *lines, ""]).encode()


def test_an_archive_of_leancloud_has_classes_without_objects_and_of_others(tmp_path: Path) -> None:
    markdown = {"objectId": "1", "url": "/a/", "comment": "*hi*", "status": "approved"}
    files = {
        "_Role.0.jsonl": class_file("_Role"),
        "_User.0.jsonl": class_file("_User", '{"objectId":"7","username":"ann"}'),
        "Comment.0.jsonl": class_file("Comment"),
        "Comment.1.jsonl": class_file("Comment", json.dumps(markdown)),
        "Counter.0.jsonl": class_file("Counter", '{"objectId":"2","url":"/a/","time":12}'),
        "Users.0.jsonl": class_file("Users", '{"objectId":"3","display_name":"Ann"}'),
    }
    rows, report = list[ImportRow](), ImportReport()
    with members(Source(made(tmp_path, "x.zip", packed("zip", files)))) as sources:
        format, sources = chosen(sources, report)
        for source in sources:
            rows += format.read(source)
    assert format.name == "valine"
    own, comment, counter, account = rows
    assert isinstance(own, Refusal)
    assert own.why == "is LeanCloud's own class _User, which has neither comments nor counters"
    assert isinstance(comment, CommentRow)
    # Waline's, by its status.
    assert (comment.text, comment.is_html) == ("*hi*", False)
    assert counter == CounterRow("/a/", "time", 12)
    assert isinstance(account, AccountRow)
    assert account.nick == "Ann"


@pytest.mark.parametrize("chunk", [7, 1 << 17])
@pytest.mark.parametrize(
    "content",
    [
        class_file("Comment"),
        class_file("Comment").strip(),
        b"#filetype:JSON-streaming;version=1.0;class=Counter\r\n",
        b"\n\n" + class_file("_Role"),
        class_file("Counter", "[]"),
        class_file("Counter", '{"results": []}'),
    ],
)
def test_a_class_of_leancloud_without_objects_has_no_rows(
    content: bytes, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "CHUNK_BYTES", chunk)
    assert read(made(tmp_path, "x", content)) == []


@pytest.mark.parametrize(
    "content",
    [
        '[{"url":"/a/","time":12}]',
        '{"results":[{"url":"/a/","time":12}]}',
        '\n{"url":"/a/","time":12}',
    ],
)
def test_any_form_of_json_may_follow_leanclouds_first_line(content: str, tmp_path: Path) -> None:
    path = made(tmp_path, "x", class_file("Counter", content))
    assert read(path) == [CounterRow("/a/", "time", 12)]


@pytest.mark.parametrize("chunk", [7, 1 << 17])
@pytest.mark.parametrize("how", ["zip", "tar", "gz", "bz2", "xz"])
def test_the_files_of_an_archive_are_read_as_one(
    how: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "CHUNK_BYTES", chunk)
    report = ImportReport()
    path = made(tmp_path, "x", packed(how, LEANCLOUD | NOBODYS))
    os.utime(path, (1_500_000_000, 1_500_000_000))
    with members(Source(path)) as files:
        format, files = chosen(files, report)
        dated = [(each.name, each.changed_ms) for each in files]
        rows = [row for each in files for row in format.read(each)]
    assert format.name == "valine"
    assert [type(row) for row in rows] == [CommentRow, CounterRow]
    ((refused, file),) = report.examples.items()
    assert refused == ("comments", "refused", "has an unknown format")
    assert file.endswith("export/notes.md")
    # Rows without a date may be as old as the file, in each import.
    assert {when for _, when in dated} == {1_500_000_000_000}


@pytest.mark.parametrize("how", ["zip", "tar", "gz"])
def test_an_archive_that_is_damaged_or_too_large_is_refused(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(content: bytes) -> None:
        with members(Source(made(tmp_path, "x", content))):
            raise AssertionError("was opened")

    whole = packed(how, LEANCLOUD)
    with pytest.raises(Damaged, match=r"cut off|not a readable zip"):
        opened(whole[: min(700, len(whole) // 2)])
    if how == "zip":
        for n in range(40, len(whole)):
            changed = whole[:n] + bytes([whole[n] ^ 0x55]) + whole[n + 1 :]
            # What nobody reads may be changed.
            with contextlib.suppress(Damaged, AssertionError):
                opened(changed)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 1)
    with pytest.raises(Damaged, match="more than 1 files"):
        opened(whole)
    monkeypatch.setattr(sources, "FREE_BYTES", 1_000)
    with pytest.raises(Damaged, match="unpack to more"):
        opened(packed("zip", {"bomb": b" " * MB}))


def test_files_of_two_systems_are_not_mixed(tmp_path: Path) -> None:
    both = {"a": (DATA / "waline.json").read_bytes(), "b": (DATA / "disqus.xml").read_bytes()}
    with (
        members(Source(made(tmp_path, "x", packed("zip", both)))) as files,
        pytest.raises(Damaged, match="files of disqus and waline: import them one by one"),
    ):
        chosen(files, ImportReport())


@pytest.mark.parametrize(
    ("head", "command"),
    [
        (b"2Path,Title,Event,UserAgent,Browser\n", "goatcounter"),
        (b'{"export_version": "1.0", "goatcounter_version": "v2.8"}', "goatcounter"),
        (b'192.0.2.1 - - [28/Oct/2021:12:50:15 +0000] "GET / HTTP/1.1" 200 5\n', "access-log"),
    ],
)
def test_a_file_of_another_command_names_that(head: bytes, command: str, tmp_path: Path) -> None:
    with pytest.raises(Damaged, match=f"use `footfall import {command}`"):
        chosen([Source(made(tmp_path, "x", head))], ImportReport())


@pytest.mark.parametrize("between", ["", " ", ",", ", \n", "\n"])
def test_objects_may_follow_each_other_in_any_way(between: str, tmp_path: Path) -> None:
    rows = [f'{{"url":"/{n}","time":{n}}}' for n in (1, 2, 3)]
    assert read(made(tmp_path, "x", between.join(rows).encode())) == [
        CounterRow(f"/{n}", "time", n) for n in (1, 2, 3)
    ]


@pytest.mark.parametrize("chunk", [2, 40, 1 << 17])
def test_gzip_of_several_members_is_one_file(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = (DATA / "comments.ndjson").read_bytes()
    members = [gzip.compress(plain[:100]), gzip.compress(b""), gzip.compress(plain[100:])]
    monkeypatch.setattr(sources, "CHUNK_BYTES", chunk)
    for zeros in (b"", b"\0" * 300):
        path = made(tmp_path, "x", zeros.join([*members, b""]))
        assert b"".join(Source(path).every_chunk()) == plain
    for cut in (-9, 1 - len(members[2])):
        with pytest.raises(Damaged, match="cut off"):
            list(Source(made(tmp_path, "x", b"".join(members)[:cut])).every_chunk())
    with pytest.raises(Damaged, match="was changed"):
        list(Source(made(tmp_path, "x", members[0] + b"other")).every_chunk())


BOMB = b"""<?xml version="1.0"?><!DOCTYPE disqus [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>
<disqus xmlns="http://disqus.com"><thread><link>&b;</link></thread></disqus>"""
READER = b"""<!DOCTYPE disqus [<!ENTITY a SYSTEM "file:///etc/passwd">]>
<disqus xmlns="http://disqus.com"><thread><link>&a;</link></thread></disqus>"""
DEEP = b'<disqus xmlns="http://disqus.com">' + b"<a>" * 100_000
LONG_TAG = b'<disqus xmlns="http://disqus.com"><a b="' + b"x" * (4 * MB)


@pytest.mark.parametrize("content", [BOMB, READER, DEEP, LONG_TAG], ids=str.split("b r d l"))
def test_xml_that_is_made_to_do_harm_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="declares entities|in each other|a tag of more"):
        read(made(tmp_path, "x", content))


HALF, PAIR = "\\udc00 \\uD83d\\ud83d\\ude00\\ud83d", '\\ud83d\\ude00 \\\\ud800 \\"'
HALVES = '{"url":"/p","objectId":"1","\\ud800":1,"comment":"%s"}' % (HALF + PAIR)
WHOLE = '\ufffd \ufffd😀\ufffd😀 \\ud800 "'


@pytest.mark.parametrize("chunk", range(1, 14))
@pytest.mark.parametrize("content", [f"[{HALVES}]", f"{HALVES}\n{HALVES}"], ids=["list", "lines"])
def test_half_a_character_does_not_spoil_a_file(
    content: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path, "x", content.encode())
    found = guess(Source(path))
    assert found
    monkeypatch.setattr(sources, "CHUNK_BYTES", chunk)
    rows = list(found.read(Source(path)))
    assert {row.text for row in rows if isinstance(row, CommentRow)} == {WHOLE}


@pytest.mark.parametrize("chunk", [1, 2, 5, 11, 1 << 17])
def test_the_number_of_no_character_does_not_spoil_a_file(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "CHUNK_BYTES", chunk)
    numbers = "&#xD83D;&#56832;&#x8;&#0;&#xFFFF;&#1114112; &#x1F600;&#65;&amp;#x8; a"
    content = (DATA / "disqus.xml").read_bytes()
    content = content.replace(b"<![CDATA[<p>Me too</p>]]>", numbers.encode())
    rows = read(made(tmp_path, "x.xml", content))
    assert len(rows) == len(read(DATA / "disqus.xml"))
    texts = [row.text for row in rows if isinstance(row, CommentRow)]
    assert "<p>😀A&#x8; a</p>" in texts
    (note,) = {note for row in rows if isinstance(row, CommentRow) for note in row.notes}
    assert note == "has a message with characters that no text may contain: they are left out"


def nested(depth: int) -> bytes:
    """Lists around a comment whose text has more brackets than may be open."""
    text = b'[{\\"' * MAX_DEPTH + b"\\\\"
    lists = b'{"z":%b},' % (b"[" * depth + b"1" + b"]" * depth)
    comment = b'{"url":"/p","objectId":"1","comment":"%b","nick":"]}]}"}' % text
    return b"[" + comment + b"," + lists + comment + b"]"


@pytest.mark.parametrize("chunk", [1, 2, 7, 1 << 17])
def test_json_is_read_to_a_depth(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "CHUNK_BYTES", chunk)
    rows = list(tabular.read_json(Source(made(tmp_path, "x", nested(MAX_DEPTH - 2)))))
    assert [type(row) for row in rows] == [CommentRow, Refusal, CommentRow]
    with pytest.raises(Damaged, match="more than 64 lists and objects in each other"):
        list(tabular.read_json(Source(made(tmp_path, "x", nested(MAX_DEPTH - 1)))))


DEEP_JSON = b"[" * 100_000


@pytest.mark.parametrize("name", ["waline", "commento", "artalk", "valine"])
def test_deep_json_is_refused_in_every_format(name: str, tmp_path: Path) -> None:
    format, path = named(name), made(tmp_path, "x", b'{"data":' + DEEP_JSON)
    assert format
    with pytest.raises(Damaged, match="in each other"):
        list(format.read(Source(path)))


def test_a_deep_line_and_deep_values_spoil_no_other_line(tmp_path: Path) -> None:
    dates = b'{"iso":' * 600 + b"1" + b"}" * 600
    row = b'{"url":"/p","comment":"x","created":1635425415,"top":0,"uid":""'
    lines = [
        row + b"}",
        b'%b,"like":"%b"}' % (row, DEEP_JSON),
        b'{"url":"/p","comment":"x","created":%b}' % dates,
        b'{"z":%b}' % DEEP_JSON,
    ]
    found = read(made(tmp_path, "x", b"\n".join(lines)))
    assert [row.at if isinstance(row, CommentRow) else row for row in found] == [
        1635425415000,
        1635425415000,
        None,
        Refusal("comments", "line 4", "is not JSON"),
    ]


def test_threads_of_isso_without_comments_are_refused(tmp_path: Path) -> None:
    threads: list[object] = [
        {"id": "/x", "comments": [{"id": 1, "remote_addr": "", "text": "x"}, 2]},
        {"id": "/y", "comments": 3},
        {"id": "/z", "comments": {"id": 4}},
        {"id": "/0", "comments": None},
    ]
    one, *others = read(made(tmp_path, "x", json.dumps(threads).encode()))
    assert isinstance(one, CommentRow)
    assert one.text == "x"
    assert others == [
        Refusal("comments", "row 1", "has a comment that is not an object"),
        Refusal("comments", "row 2", "has no list of comments"),
        Refusal("comments", "row 3", "has no list of comments"),
    ]


def _one_field(before: bytes, filler: bytes, after: bytes) -> Callable[[], Iterator[bytes]]:
    def chunks() -> Iterator[bytes]:
        yield before
        for _ in range(100):
            yield filler * (MB // len(filler))
        yield after

    return chunks


_ROW = b'{"url":"/p","objectId":"%d","nick":"Ann","comment":"'
HUGE = {
    "list": _one_field(b"[" + _ROW % 1, b"x", b'"},' + _ROW % 2 + b'y"}]'),
    "escapes": _one_field(b"[" + _ROW % 1, b'\\n\\"\\\\\\u00e4z', b'"},' + _ROW % 2 + b'y"}]'),
    "lines": _one_field(_ROW % 1, b"\\n", b'"}\n' + _ROW % 2 + b'y"}\n'),
    "csv": _one_field(b"url,objectId,comment\n/p,1,", b"x", b"\n/p,2,y\n"),
    "xml": _one_field(
        b'<disqus xmlns="http://disqus.com"><thread id="t"><link>/p</link></thread>'
        b'<post id="1"><thread id="t"/><message>',
        b"x",
        b'</message></post><post id="2"><thread id="t"/><message>y</message></post></disqus>',
    ),
}


@pytest.mark.rare
@pytest.mark.parametrize("name", HUGE)
def test_a_field_of_a_hundred_megabytes_takes_no_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.writelines(HUGE[name]())
    tracemalloc.start()
    try:
        rows = [(row.source, len(row.text)) for row in read(path) if isinstance(row, CommentRow)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [source for source, _ in rows] == ["1", "2"]
    assert rows[0][1] > 100_000
    assert rows[1][1] <= 10
    assert peak < 20 * MB


def test_values_are_read_however_they_are_written() -> None:
    written: list[object] = [
        1635425415,
        1635425415000,
        "1635425415000",
        "2021-10-28T12:50:15Z",
        "2021-10-28 20:50:15 +0800",
        "2021/10/28 12:50:15",
        {"$numberLong": "1635425415000"},
        {"iso": "2021-10-28T12:50:15Z"},
        {"$date": {"$numberLong": "1635425415000"}},
    ]
    assert list(map(moment, written)) == [1635425415000] * len(written)
    assert moment(1635425415.5) == 1635425415500
    assert moment("2021-10-28 20:50:15", zone_of("+08:00")) == 1635425415000
    none: list[object] = [
        "soon",
        "",
        None,
        True,
        [],
        {},
        float("nan"),
        {"iso": {"$date": {"iso": 1}}},
    ]
    assert list(map(moment, none)) == [None] * len(none)
    assert moment("0001-01-01") == -62135596800000
    assert list(map(truth, [1, "1", True, "true", 0, "", "0", None])) == [True] * 4 + [False] * 4
    assert list(map(truth, ["maybe", 2, [], {}])) == [None] * 4
    assert text("a\0\ud800b") == "a\ufffdb"


def test_pages_are_named_as_clients_name_them() -> None:
    pages = {
        "https://a.example/%E6%97%A5/?x=1#y": "/日/?x=1",
        "https://a.example/?p=12": "/?p=12",
        "https://a.example/blog/?fbclid=1&p=12&utm_source=x&from=singlemessage": "/blog/?p=12",
        "https://a.example/a/?from=singlemessage&isappinstalled=0": "/a/",
        "https://a.example/a/?from=2020&reference=1": "/a/?from=2020&reference=1",
        "https://a.example/?": "/",
        "//a.example": "/",
        "/a%20b": "/a%20b",
        "https://a.example/a%20b%2Fc": "/a b%2Fc",
        "http://[": "",
        "/p?q": "/p?q",
        "https://a.example/%ff": "/%ff",
    }
    assert {address: path_of(address) for address in pages} == pages


def test_a_file_of_no_known_format_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"hello", b"\x89PNG\r\n\x1a\n", b"<html></html>"):
        assert guess(Source(made(tmp_path, "x", content))) is None


def test_rows_that_are_no_objects_are_refused(tmp_path: Path) -> None:
    path = made(tmp_path, "x", json.dumps([1, "a", None, [], {"url": "/p", "time": 1}]).encode())
    assert [row.why for row in read(path) if isinstance(row, Refusal)] == ["is not an object"] * 4


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_fills_neither_its_bound_nor_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = made(tmp_path, "x", packed(kind, {"a.json": b"x" * 3_000, "b.json": b"y" * 3_000}))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def refused() -> str:
        with pytest.raises(Damaged) as error, members(Source(path)):
            pass
        return str(error.value)

    with monkeypatch.context() as bounded:
        bounded.setattr(archives, "MAX_UNPACKED_BYTES", 5_000)
        assert "unpacks to more than 5,000 bytes" in refused()
    monkeypatch.setattr(archives, "LEFT_FREE_BYTES", 1 << 60)
    assert f"needs more space than {tmp_path} has, which is TMPDIR" in refused()
    assert [*tmp_path.iterdir()] == [path]
