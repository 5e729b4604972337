"""/api/db: the export, for Waline's admin pages and for scripts."""

import io
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from footfall.stores import data_set
from footfall.transfer.export import TABLES, Export
from footfall.transfer.writing import write
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support.importing import DATA, imported

# fakeredis cannot be exported as a whole.
ON = ("valkey", "cluster")


async def test_an_administrator_gets_everything_that_is_stored(
    make_site: Sites, tmp_path: Path
) -> None:
    site = await make_site()
    await imported(site, DATA / "waline.json")
    for target in ("/api/db", "/db"):
        response = await site.http.get(target, headers={"authorization": f"Bearer {ADMIN.id}"})
        assert (response.status_code, "content-length" in response.headers) == (200, False)
        answer = response.json()
        assert (answer["errno"], answer["data"]["type"]) == (0, "waline")
    # The same as by command, but for the order, and without secrets of logins.
    file, export = io.BytesIO(), Export(data_set(site.store), site.store.accounts, print)
    await write(export, file, "waline", TABLES, types=(), now_ms=1, on_progress=lambda *_: None)
    data = orjson.loads(file.getvalue())["data"]
    for table in TABLES:
        assert sorted(map(orjson.dumps, answer["data"]["data"][table])) == sorted(
            map(orjson.dumps, data[table])
        )
    assert b"$2a$" not in response.content
    assert b"JBSWY3DPEHPK3PXP" not in response.content
    # An import reads it as it is, and finds all of it there.
    path = tmp_path / "db.json"
    path.write_bytes(response.content)
    assert (await imported(site, path)).numbers["comments", "there"] == 5


async def test_who_will_send_nothing_more_gets_everything_all_the_same(site: Site) -> None:
    """A client may close its half of the connection behind its request: it is still reading."""
    transport, pieces = site.http._transport, list[bytes]()
    assert isinstance(transport, httpx.ASGITransport)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/db",
        "raw_path": b"/api/db",
        "query_string": b"",
        "headers": [(b"host", b"site.test"), (b"authorization", f"Bearer {ADMIN.id}".encode())],
        "client": ("192.0.2.1", 1),
    }
    coming = iter([{"type": "http.request", "body": b""}])

    async def receive() -> Any:
        return next(coming, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        pieces.append(message.get("body", b""))

    await transport.app(scope, receive, send)
    assert orjson.loads(b"".join(pieces))["data"]["tables"]


async def test_nobody_else_gets_anything(site: Site) -> None:
    await site.count("/a")
    assert (await site.get("/api/db"))["errno"] == 401
    assert (await site.get("/api/db", by=BOB))["errno"] == 403
    head = await site.http.head("/api/db", headers={"authorization": f"Bearer {ADMIN.id}"})
    assert (head.status_code, head.content) == (200, b"")
    assert (await site.send("PATCH", "/api/db", by=ADMIN))["errno"] == 405


async def test_a_site_larger_than_a_piece_is_sent_in_pieces(site: Site, tmp_path: Path) -> None:
    rows, words = tmp_path / "rows.ndjson", "word " * 600
    made = (
        {"objectId": n, "url": f"/p{n % 7}", "comment": words, "insertedAt": 1635425415 + n}
        for n in range(100)
    )
    rows.write_bytes(b"\n".join(map(orjson.dumps, made)))
    await imported(site, rows)
    async with site.http.stream(
        "GET", "/api/db", headers={"authorization": f"Bearer {ADMIN.id}"}
    ) as response:
        pieces = [piece async for piece in response.aiter_raw()]
    data = orjson.loads(b"".join(pieces))["data"]["data"]
    assert len(data["Comment"]) == 100
    assert len(data["Users"]) == 3


@pytest.mark.parametrize("path", ["/api/db", "/db", "/api/db/"])
async def test_no_row_is_imported_and_the_refusal_says_how_to_import(site: Site, path: str) -> None:
    await site.post("kept")
    row = {"url": "/p", "time": 7}
    for method, query in (
        ("DELETE", "table=Comment"),
        ("POST", "table=Counter"),
        ("PUT", "table=Comment&objectId=1"),
    ):
        for headers in ({"authorization": f"Bearer {ADMIN.id}"}, {}):
            answer = await site.http.request(
                method, f"{path}?{query}&lang=en", json=row, headers=headers
            )
            assert (answer.status_code, answer.json()) == (
                405,
                {
                    "errno": 405,
                    "errmsg": "Nothing is imported by single rows here: upload the file at /ui, "
                    'under "Import and export", or run `footfall import FILE`',
                },
            )
            assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
    assert (await site.get("/api/article", path="/p"))["data"] == [{"time": 0}]
    assert await site.texts() == ["kept"]
