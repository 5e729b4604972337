"""/api/db: exports and imports of Waline's migration page."""

import io
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from footfall.app import data_set
from footfall.transfer.export import TABLES, Export
from footfall.transfer.writing import write
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support.moving_in import DATA, moved, problems


@pytest.fixture(params=("valkey", "cluster"))
def kind(request: pytest.FixtureRequest) -> str:
    """fakeredis cannot be exported as a whole."""
    kind: str = request.param
    return kind


async def test_an_administrator_gets_everything_that_is_stored(
    make_site: Sites, tmp_path: Path
) -> None:
    site = await make_site()
    await moved(site, DATA / "waline.json")
    for layout in ("/api/db", "/db"):
        response = await site.http.get(layout, headers={"authorization": f"Bearer {ADMIN.id}"})
        assert (response.status_code, "content-length" in response.headers) == (200, False)
        answer = response.json()
        assert (answer["errno"], answer["data"]["type"]) == (0, "waline")
    # The same as by command, but for the order, and without secrets of log-ins.
    file, export = io.BytesIO(), Export(data_set(site.store), site.store.accounts, print)
    await write(export, file, "waline", TABLES, types=(), now_ms=1, on_progress=lambda *_: None)
    data = orjson.loads(file.getvalue())["data"]
    for table in TABLES:
        assert sorted(map(orjson.dumps, answer["data"]["data"][table])) == sorted(
            map(orjson.dumps, data[table])
        )
    assert b"$2a$" not in response.content and b"JBSWY3DPEHPK3PXP" not in response.content
    # An import reads it as it is, and finds all of it there.
    path = tmp_path / "db.json"
    path.write_bytes(response.content)
    assert (await moved(site, path)).numbers["comments", "there"] == 5


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
    await moved(site, rows)
    async with site.http.stream(
        "GET", "/api/db", headers={"authorization": f"Bearer {ADMIN.id}"}
    ) as response:
        pieces = [piece async for piece in response.aiter_raw()]
    data = orjson.loads(b"".join(pieces))["data"]["data"]
    assert len(data["Comment"]) == 100 and len(data["Users"]) == 3


# Rows that are sent one at a time.


async def ask(site: Site, method: str, query: str, body: Any = None) -> Any:
    return await site.send(method, f"/api/db?{query}", body, by=ADMIN)


async def migrate(site: Site, path: Path) -> dict[str, str]:
    """Do what Waline's migration page does with a file; returns our ids of comments by those of the
    file.

    It empties each table, sends its rows in their order, and then sends each comment's place.
    """
    data, ids = json.loads(path.read_bytes())["data"], dict[tuple[str, str], str]()
    for table in ("Comment", "Counter", "Users"):
        assert (await ask(site, "DELETE", f"table={table}"))["data"] == {"deleted": 0}
        for row in data.get(table, []):
            answer = await ask(site, "POST", f"table={table}", row)
            if answer["errno"] == 0:
                ids[table, str(row.get("objectId"))] = answer["data"]["objectId"]
    for row in data["Comment"]:
        if id := ids.get(("Comment", str(row["objectId"]))):
            places = {
                name: ids[table, str(row[name])]
                for name, table in (("pid", "Comment"), ("rid", "Comment"), ("user_id", "Users"))
                if (table, str(row.get(name))) in ids
            }
            answer = await ask(site, "PUT", f"table=Comment&objectId={id}", places)
            assert answer == {"errno": 0, "errmsg": "", "data": {"objectId": id}}
    return {old: id for (table, old), id in ids.items() if table == "Comment"}


async def test_rows_of_the_migration_page_are_stored_like_an_import_of_its_file(site: Site) -> None:
    sent = await migrate(site, DATA / "waline.json")
    page = await site.page("/hello/")
    (root,) = page["data"]
    assert [each["nick"] for each in root["children"][:2]] == ["Bob", "Cy"]
    assert root["children"][1]["pid"] == root["children"][0]["objectId"]
    # Over HTTP nobody becomes an administrator, since a token may be a copied one.
    assert (root["type"], root["label"]) == ("guest", "author")
    assert (await problems(site.store)) == []
    # A repetition, also after an interruption anywhere, changes nothing.
    assert await migrate(site, DATA / "waline.json") == sent
    report = (await moved(site, DATA / "waline.json")).summary()
    assert report["comments"]["stored"] == report["accounts"]["stored"] == 0
    assert await site.page("/hello/") == page
    assert (await problems(site.store)) == []


async def test_a_refusal_names_the_field(site: Site) -> None:
    at = "2021-10-28T12:50:15Z"
    comment = {"url": "/p", "comment": "x", "insertedAt": at}
    for table, row, field in (
        ("Comment", {**comment, "comment": " "}, "comment"),
        ("Comment", {**comment, "url": "javascript:1\n"}, "url"),
        ("Comment", {**comment, "insertedAt": "2999-01-01"}, "insertedAt"),
        ("Comment", [comment], "body"),
        ("Counter", {"time": 1}, "url"),
        ("Counter", {"url": "/p", "time": 1 << 60}, "time"),
        ("Users", {"display_name": "Ann"}, "email"),
        ("Users", {"email": "ann@example.com", "createdAt": 1_700_000_000_000_000}, "createdAt"),
        ("Nobody", comment, "table"),
        ("", comment, "table"),
    ):
        answer = await ask(site, "POST", f"table={table}", row)
        assert (answer["errno"], *answer["errmsg"]) == (1001, field), (row, answer)
    for query in ("table=Nobody", ""):
        assert (await ask(site, "DELETE", query))["errmsg"].keys() == {"table"}
    assert (await ask(site, "PUT", "table=Users&objectId=1", {}))["errmsg"].keys() == {"table"}
    known = await ask(site, "POST", "table=Counter", {"url": "/p", "time": 7, "stars": 3})
    assert known["data"]["changed"] == ["stars is no type that COUNTER_TYPES names"]
    assert (await site.get("/api/article", path="/p"))["data"] == [{"time": 7}]


async def test_a_comment_can_only_be_put_into_a_thread_that_exists(site: Site) -> None:
    one, two, three = [await site.post(text) for text in ("one", "two", "three")]
    away = await site.post("away", url="/elsewhere")
    reply = await site.reply(one, "reply", by=BOB)
    ids = {
        name: each["objectId"]
        for name, each in (("one", one), ("two", two), ("away", away), ("reply", reply))
    }
    id = three["objectId"]
    for of, fields, field in (
        ("x", {"pid": ids["one"]}, "objectId"),
        (id, {"pid": id}, "pid"),
        (id, {"pid": ids["away"]}, "pid"),
        (id, {"pid": "1"}, "pid"),
        (id, {"pid": ids["one"], "rid": ids["two"]}, "pid"),
        (id, {"pid": ids["reply"], "rid": ids["two"]}, "pid"),
        (id, {"rid": ids["reply"]}, "rid"),
        (ids["one"], {"pid": ids["two"]}, "rid"),
        (ids["reply"], {"pid": ids["two"]}, "rid"),
        (ids["reply"], {"user_id": ADMIN.id}, "user_id"),
        (id, {"user_id": "nobody"}, "user_id"),
        (id, {"comment": "other"}, "comment"),
    ):
        answer = await ask(site, "PUT", f"table=Comment&objectId={of}", fields)
        assert (answer["errno"], *answer["errmsg"]) == (1001, field), (fields, answer)
    assert await site.texts() == ["three", "two", "one"]
    await ask(site, "PUT", f"table=Comment&objectId={id}", {"pid": ids["reply"]})
    assert await site.texts() == ["two", "one"]
    assert (await problems(site.store)) == []
