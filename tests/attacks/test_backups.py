"""What somebody may try with the file of a restore."""

import gzip
import tracemalloc
from hashlib import blake2b
from io import BytesIO
from typing import Any

import orjson
import pytest

from footfall import __version__
from footfall.data.store import Store
from footfall.ids import digest
from footfall.maintenance.archive import FORMAT, MAX_LINE_BYTES, Damaged
from footfall.maintenance.restore import verify
from tests.support.backups import restored
from tests.support.fakes import fake_redis

HEADER = {"footfall": FORMAT, "by": __version__, "id": "x"}
ID = "0" * 16
BODY = '"nick":"Ann"\n"comment":"a","orig":"a","time":1\n"browser":"","os":""\n\n'
ACCOUNT = '{"type":"guest","display_name":"Ann","email":"a@b.c","url":"","avatar":"","label":null}'
ROW: list[Any] = [ID, BODY, "{}", 0, "approved", False]
PAGE = {"path": "/a", "version": 1, "comments": [], "fingerprints": {}, "end": True, "moved": False}


def silent(label: str, share: float) -> None:
    assert 0 <= share <= 1, label


def file_of(*lines: Any, **totals: int) -> BytesIO:
    """The file that `footfall backup` would write, with a correct digest."""
    sums = {"counters": 0, "pages": 0, "comments": 0, "accounts": 0, **totals}
    last = {"last": True, "totals": sums}
    each = (line if isinstance(line, bytes) else orjson.dumps(line) for line in (*lines, last))
    text = b"".join(line + b"\n" for line in each)
    proof = orjson.dumps({"digest": blake2b(text, digest_size=32).hexdigest()})
    return BytesIO(gzip.compress(text + proof + b"\n"))


def refusal(file: BytesIO) -> str:
    with pytest.raises(Damaged) as caught:
        verify(file, on_progress=silent)
    return str(caught.value)


def test_the_files_of_these_tests_are_taken_but_for_what_is_wrong_with_them() -> None:
    """Who: somebody who adds a test here. What: makes a file that is refused for another reason
    than the test's. Instead: the same file without the attack is restored."""
    file = file_of(
        HEADER,
        {"counters": {"time /a": 1}},
        PAGE | {"comments": [ROW]},
        {"accounts": {"ann": ACCOUNT}},
        {"log": [["1-1", {"by": "x"}]]},
        counters=1,
        pages=1,
        comments=1,
        accounts=1,
    )
    assert verify(file, on_progress=silent)[0].comments == 1


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"1",
        b"null",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"counters": {"time /a": 1}',
        {},
        {"counters": []},
        {"counters": {"time /a": "1"}},
        {"counters": {"time /a": -1}},
        {"counters": {"time /a": 1.5}},
        {"counters": {"time /a": True}},
        {"format": "x"},
        {"counters": {"time /a": (1 << 63) - 1}},
        {"counters": {}, "DEL": "ff:{site}:format"},
        {"views": {"/a": 1}},
        {"views": {"/a": {"months": {}}}},
        {"views": {"/a": {"months": {}, "hours": {}, "x": 1}}},
        {"views": {"/a": {"months": {"202613": {}}, "hours": {}}}},
        {"views": {"/a": {"months": {"202611": {"32": 1}}, "hours": {}}}},
        {"views": {"/a": {"months": {"202611": {"1": 1 << 63}}, "hours": {}}}},
        {"views": {"/a": {"months": {"202611": {"1": "1"}}, "hours": {}}}},
        {"views": {"/a": {"months": {}, "hours": {"1}:x": 1}}}},
        {"site_views": {"kept": {}, "parts": []}},
        {"site_views": {"kept": {"2026112316": -1}, "parts": {}}},
        {"accounts": {"ann": 1}},
        {"accounts": {"ann": "[]"}},
        {"accounts": {"ann": "no JSON"}},
        {"accounts": {"ann": "{}"}},
        {"accounts": {"ann": ACCOUNT.replace('"a@b.c"', "1")}},
        {"credentials": {"ann": '{"more": 1}'}},
        {"credentials": {"ann": '{"identities": [1]}'}},
        {"log": [["0-0", {"by": "x"}]]},
        {"log": [["2-1", {"by": "x"}], ["2-1", {"by": "x"}]]},
        {"log": 1},
        {"log": [["*", {"by": "x"}]]},
        {"log": [["1-1", {}]]},
        {"log": [["1-1"]]},
        {"log": [["1-1", {"by": 1}]]},
        {"log": [["9" * 40 + "-1", {"by": "x"}]]},
        PAGE | {"path": 1},
        PAGE | {"version": -1},
        PAGE | {"version": "9" * 30},
        PAGE | {"version": 1 << 62},
        PAGE | {"comments": {}},
        PAGE | {"comments": [1]},
        PAGE | {"fingerprints": {"words": 1}},
        PAGE | {"end": 1},
        PAGE | {"more": 1},
    ],
    ids=lambda line: str(line)[:40],
)
def test_a_line_of_another_kind(line: Any) -> None:
    """Who: somebody who gives an operator an edited backup, with a new digest. What: writes numbers
    for texts, numbers that Redis cannot raise, endless lists, or unknown fields. Instead: the file
    is refused before anything is changed, and the line is named."""
    assert refusal(file_of(HEADER, line)).startswith("line 2 ")


@pytest.mark.parametrize(
    "row",
    [
        [],
        ROW[:5],
        [*ROW, 1],
        ["../../etc/passwd", *ROW[1:]],
        [ID, 1, *ROW[2:]],
        [ID, "no pieces", *ROW[2:]],
        [ID, BODY + "\n", *ROW[2:]],
        [ID, BODY.replace('"a"', "1", 1), *ROW[2:]],
        [ID, BODY.replace('"Ann"', "[1]"), *ROW[2:]],
        [ID, BODY.replace('"time":1', '"time":1,"pid":"x","rid":"x"'), *ROW[2:]],
        [ID, BODY.replace('"time":1', f'"time":1,"pid":"{ID * 2}","rid":"{ID * 2}"'), *ROW[2:]],
        [ID, BODY.replace('"time":1', '"time":1},{"x":1'), *ROW[2:]],
        [ID, BODY, "[]", *ROW[3:]],
        [ID, BODY, "{", *ROW[3:]],
        [*ROW[:3], -1, *ROW[4:]],
        [*ROW[:3], 1 << 63, *ROW[4:]],
        [*ROW[:4], "administrator", False],
        [*ROW[:5], 1],
        *(
            [*ROW[:4], words, False]
            for words in (
                "",
                "deleted",
                "deleted approved",
                "approved 1",
                "spam 2",
                "waiting  1",
                "spam 1 pinned",
                "waiting\n",
                "held",
            )
        ),
        *(
            [ID, BODY.replace('"nick"', f'"user_id":"{account}","nick"'), *ROW[2:]]
            for account in ("a b", "a:b", "-", "a\\nb", "a\\u0020b")
        ),
        [ID, BODY + "two words", *ROW[2:]],
        [ID, BODY + "-", *ROW[2:]],
    ],
    ids=lambda row: str(row)[:40],
)
def test_a_comment_that_no_service_wrote(row: Any) -> None:
    """Who: the same. What: gives a comment an id that is a path, a body that ends its JSON early, a
    parent on another page, or likes below zero. Instead: the file is refused before anything is
    changed, and the line and the error are named."""
    assert refusal(file_of(HEADER, PAGE | {"comments": [row]})).startswith("line 2 ")


A, B, C, D = (f"{n}" * 16 for n in range(1, 5))


def thread(*comments: tuple[str, str, str], path: str = "/a", **fields: Any) -> Any:
    """The line of a page with these comments, each with its parent and its root."""
    end = digest(path)
    rows = [
        [
            id,
            BODY.replace('"time":1', f'"time":1,"pid":"{parent}{end}","rid":"{root}{end}"')
            if root
            else BODY,
            *ROW[2:],
        ]
        for id, parent, root in comments
    ]
    return PAGE | {"path": path, "comments": rows} | fields


ROOTS = ((A, "", ""), (B, "", ""))
# What no page could have: a reply without its root, or in two threads, or below itself.
TORN = {
    "its root is missing": (*ROOTS, (C, D, D)),
    "its root is a reply itself": (*ROOTS, (C, A, A), (D, C, C)),
    "it replies to a comment of another thread": (*ROOTS, (C, A, A), (D, C, B)),
    "it replies to itself": (*ROOTS, (D, D, A)),
}


@pytest.mark.parametrize("why", TORN)
def test_a_reply_that_hangs_in_the_air(why: str) -> None:
    """Who: the same. What: makes replies that no moderator could reach, or that go with another
    thread than the one they are shown in. Instead: the file is refused, and the line and the
    comment are named."""
    whole = thread((A, "", ""), (B, A, A), (C, B, A), (D, "9" * 16, A))
    file = file_of(HEADER, whole, pages=1, comments=4)
    assert verify(file, on_progress=silent)[1] == set()
    told = refusal(file_of(HEADER, {"counters": {"time /a": 1}}, thread(*TORN[why])))
    assert told == f"line 3 has the comment {TORN[why][-1][0]}, and {why}"


@pytest.mark.parametrize(
    "lines",
    [
        [thread(*ROOTS, (C, A, A), end=False), thread((A, B, B))],
        [thread(*ROOTS, (C, A, A)), thread((A, B, B))],
        [thread(*ROOTS, end=False), thread(path="/b")],
        [thread((C, A, A), end=False), {"counters": {"time /a": 1}}],
        [thread((C, A, A), end=False)],
        [thread(path=path) for path in sorted(("/a", "/b"), key=digest, reverse=True)],
    ],
)
def test_a_page_in_pieces(lines: list[Any]) -> None:
    """Who: the same. What: starts a page and never ends it, or brings it once more, so that a root
    becomes a reply behind the back of those who looked at its thread. Instead: a page's lines have
    to follow each other, and the file is refused."""
    assert refusal(file_of(HEADER, *lines)).startswith("line ")


def test_such_a_reply_in_a_file_that_may_have_some() -> None:
    """Who: the same. What: says that the file's pages changed during the backup, since such replies
    are no reason to refuse those. Instead: a restore leaves them out."""
    paths = sorted((f"/{n}" for n in range(len(TORN))), key=digest)
    torn = dict(zip(paths, TORN.values(), strict=True))
    pages = [thread(*comments, path=path, moved=True) for path, comments in torn.items()]
    number = sum(map(len, TORN.values()))
    file = file_of(HEADER, *pages, pages=len(TORN), comments=number)
    assert verify(file, on_progress=silent).strays == {
        comments[-1][0] + digest(path) for path, comments in torn.items()
    }


@pytest.mark.rare
def test_a_file_that_is_small_until_it_is_unpacked() -> None:
    """Who: somebody who can replace the file. What: compresses a line of gigabytes into a megabyte.
    Instead: it is refused at the limit of a line, and never was in memory as a whole."""
    bomb = BytesIO()
    with gzip.GzipFile(fileobj=bomb, mode="wb", compresslevel=9) as packed:
        packed.write(orjson.dumps(HEADER) + b"\n")
        for _ in range(16):
            packed.write(b" " * (MAX_LINE_BYTES // 4))
    assert len(bomb.getvalue()) < 1_000_000
    tracemalloc.start()
    try:
        assert "has a line of more than" in refusal(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * MAX_LINE_BYTES


@pytest.mark.parametrize(
    "file",
    [b"", b"\x1f\x8b", b"PK\x03\x04 zip", b"ustar", b"REDIS0011", gzip.compress(b"", mtime=0)],
)
def test_another_file_altogether(file: bytes) -> None:
    """Who: an operator in a hurry. What: restores an empty file, an archive of another kind, or
    Redis's own. Instead: it is refused in words."""
    assert "Errno" not in refusal(BytesIO(file))


def test_totals_that_are_not_those_of_the_lines() -> None:
    """Who: somebody who edits a file, with a new digest. What: takes comments out and leaves their
    number. Instead: the file is refused, since its totals are wrong."""
    assert "unlike its own totals" in refusal(file_of(HEADER, PAGE, pages=1, comments=5))


async def test_nothing_is_touched_by_a_file_that_is_refused() -> None:
    """Who: the same. What: relies on --replace, to have the old data removed before the file's last
    line is found to be wrong. Instead: the file is first read to its end, and the old data is still
    there."""
    store = Store(fake_redis(), prefix="ff", buckets=256)
    await store.create()
    assert await store.counters.add([("/a", "time", 1)]) == [1]
    whole = file_of(HEADER, {"counters": {"time /b": 1}}, counters=1)
    cut = BytesIO(whole.getvalue()[:-9])
    with pytest.raises(Damaged, match="cut off"):
        await restored(store, cut, replaces=True)
    assert await store.counters.read(["time /a", "time /b"]) == [1, 0]
    await store.open()
    await store.redis.close()
