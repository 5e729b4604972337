"""A file that an administrator's page sends: what it is told, and what is stored."""

import asyncio
import re
import zipfile
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import pytest

from footfall.owner import importing
from footfall.transfer import importer
from tests.conftest import ADMIN, Site
from tests.support.admin_ui import SENT
from tests.support.importing import DATA, database, problems

# `footfall check` asks more than fakeredis knows.
ON = ("valkey", "cluster")

SCRIPT = Path(__file__).parents[2] / "service/footfall/ui/admin/moving.js"


async def send(
    site: Site, body: bytes | AsyncIterator[bytes], query: str = "dry=false", by: str = ADMIN.id
) -> list[Any]:
    """The lines of the answer."""
    headers = {**SENT, "cookie": f"footfall={by}", "content-type": "application/octet-stream"}
    answer = await site.http.post(f"/ui/api/import?{query}", content=body, headers=headers)
    return [orjson.loads(line) for line in answer.content.splitlines()]


@pytest.mark.parametrize("name", ["waline.json", "disqus.xml", "isso.db"])
async def test_a_file_is_tried_and_then_imported_once(
    site: Site, tmp_path: Path, name: str
) -> None:
    path = database(tmp_path) if name == "isso.db" else DATA / name
    tried = (await send(site, path.read_bytes(), ""))[-1]["data"]
    assert tried["isDry"]
    assert (await site.page("/hello/"))["count"] == 0
    done = (await send(site, path.read_bytes()))[-1]["data"]
    assert done["comments"]["stored"] > 2
    assert not done["isDry"]
    assert {**done, "isDry": True} == tried
    (ann,) = (await site.page("/hello/"))["data"]
    assert ann["nick"] == "Ann"
    again = (await send(site, path.read_bytes()))[-1]["data"]
    assert (again["comments"]["stored"], again["comments"]["there"]) == (
        0,
        done["comments"]["stored"],
    )
    assert (await problems(site.store)) == []


async def test_all_files_of_an_archive_are_imported(site: Site) -> None:
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        for name in ("valine.jsonl", "valine-counters.json"):
            zipped.write(DATA / name, name)
        zipped.writestr("README", "hello")
    done = (await send(site, archive.getvalue()))[-1]["data"]
    assert done["comments"]["stored"]
    assert done["counters"]["stored"]
    assert ("has an unknown format", "file: README") in {
        (each["why"], each["example"]) for each in done["reasons"]
    }


async def test_what_was_changed_here_stays_and_what_was_deleted_comes_back(site: Site) -> None:
    file = (DATA / "waline.json").read_bytes()
    await send(site, file)
    (ann,) = (await site.page("/hello/"))["data"]
    bob, cy = ann["children"]
    await site.send("PUT", f"/comment/{bob['objectId']}", {"comment": "other"}, by=ADMIN)
    await site.send("DELETE", f"/comment/{cy['objectId']}", by=ADMIN)
    assert (await send(site, file))[-1]["data"]["comments"]["stored"] == 1
    (ann,) = (await site.page("/hello/"))["data"]
    assert [each["orig"] for each in ann["children"]] == ["other", cy["orig"]]


async def test_what_is_refused_is_told_row_by_row(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "MAX_ROWS", 2)
    rows = [{"objectId": n, "url": "/p", "comment": " "} for n in range(1, 4)]
    done = (await send(site, orjson.dumps(rows)))[-1]["data"]
    refused = {"kind": "comments", "outcome": "refused", "why": "has no text"}
    assert done["reasons"] == [{**refused, "number": 3, "example": "1"}]
    assert done["rows"] == [{**refused, "row": "1"}, {**refused, "row": "2"}]


@pytest.mark.parametrize(
    ("body", "query", "field"),
    [
        (b"", "dry=false", "file"),
        (b"hello", "dry=false", "file"),
        (b"{", "dry=false", "file"),
        (b"\x1f\x8b broken", "dry=false", "file"),
        (b"[]", "dry=perhaps", "dry"),
        (b"[]", "counters=most", "counters"),
    ],
)
async def test_what_cannot_be_read_is_refused(
    site: Site, body: bytes, query: str, field: str
) -> None:
    answer = (await send(site, body, query))[-1]
    assert (answer["errno"], *answer["errmsg"]) == (1001, field), answer


async def test_a_file_has_a_bound_whether_it_announces_its_length_or_not(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MAX_FILE_BYTES", 1000)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b" " * 100

    for body in (b" " * 1001, pieces()):
        (answer,) = await send(site, body)
        assert answer["errmsg"].keys() == {"file"}
    # The page knows the bound, and does not send what is larger.
    monkeypatch.undo()
    (known,) = re.findall(r"const MOST_MIB = (\d+);", SCRIPT.read_text())
    assert int(known) << 20 == importing.MAX_FILE_BYTES
    assert f"at most {known} MiB" in importing.TOO_LARGE["file"]


@pytest.mark.rare
async def test_readers_are_answered_while_a_file_is_read_and_it_says_how_far_it_is(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "TELL_SECONDS", 0.001)
    rows = (
        {"objectId": n, "url": f"/p{n % 9}", "comment": f"words {n}", "insertedAt": 1635425415 + n}
        for n in range(3000)
    )
    file = b"\n".join(map(orjson.dumps, rows))
    sending = asyncio.create_task(send(site, file))
    answered = 0
    while not sending.done():
        await site.count("/read")
        answered += 1
    *steps, done = await sending
    assert done["data"]["comments"]["stored"] == 3000
    assert {step["step"] for step in steps} >= {"file", "comments"}
    assert all(0 <= step["share"] <= 1 for step in steps)
    # One for each part that is stored, at least.
    assert answered > 3000 / 64


async def test_one_import_at_a_time_and_one_that_nobody_waits_for_ends(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "TELL_SECONDS", 0.001)
    importing_ = site.service.data.importer()
    first = importing_.file(site.service.comments, DATA / "waline.json", "max", is_dry=False)
    await anext(first)
    assert [each["errno"] for each in await send(site, b"[]")] == [503]
    await first.aclose()
    assert (await send(site, b"[]"))[-1]["errno"] == 0
