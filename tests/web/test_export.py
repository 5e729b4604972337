"""Export: data that was exported and imported is exported the same again."""

import csv
import io
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.stores import data_set
from footfall.transfer.export import Export
from footfall.transfer.writing import TABLES, write
from tests.conftest import Site, Sites
from tests.support.importing import DATA, imported, problems
from tests.support.servers import RealServer

ON = ("valkey",)

TYPES = ("time", "reaction0")


@pytest.fixture
async def site(make_site: Sites) -> Site:
    """A site with data that is hard to write down."""
    site = make_site.without_accounts()
    await imported(site, DATA / "waline.json")
    for text in (
        "=1+1",
        "'=x",
        "-1",
        "a\nb\r\nc",
        'say "hi", <b>all</b>',
        "\ufeffñ 日本 🙂",
        "+" * 99,
    ):
        await site.post(
            text, url="/p,q", nick="@ann", link="https://ann.example/?a=1,2", ua="x/1.0"
        )
    root = await site.post("root", url="/" + "long" * 40)
    await site.reply(root, "reply", url="/" + "long" * 40)
    await site.send("PUT", f"/api/comment/{root['objectId']}", {"like": True})
    for _ in range(3):
        await site.count("/" + "long" * 40)
        await site.count("/" + "long" * 40, type="reaction0")
    return site


@pytest.fixture
async def other(servers: Mapping[str, RealServer], store: Store) -> AsyncIterator[Store]:
    """An empty data set, with other buckets and another seed."""
    redis = connect(servers["valkey"].url, timeout=60)
    other = Store(redis, prefix=f"{store.keys.prefix}x", buckets=512)
    await other.create()
    yield other
    await other.redis.close()


async def exported(store: Store, form: str, *tables: str) -> bytes:
    file, complaints = io.BytesIO(), list[str]()
    export = Export(data_set(store), store.accounts, complaints.append, has_secrets=True)
    await write(
        export,
        file,
        form,
        tables or TABLES,
        types=TYPES,
        now_ms=1,
        on_progress=lambda label, share: None,
    )
    assert complaints == []
    return file.getvalue()


@pytest.mark.parametrize("form", ["waline", "ndjson", "csv"])
async def test_export_import_export_is_the_same(
    site: Site, other: Store, form: str, tmp_path: Path
) -> None:
    parts = [("Users",), ("Comment",), ("Counter",)] if form == "csv" else [TABLES]
    first = [await exported(site.store, form, *tables) for tables in parts]
    there = Sites(other).without_accounts()
    for content in first:
        (tmp_path / "file").write_bytes(content)
        await imported(there, tmp_path / "file")
    again = [await exported(other, form, *tables) for tables in parts]
    if form == "csv":
        # A table of accounts has no column for each service by which people log in.
        assert b"github" not in first[0]
    assert (again, await problems(other)) == (first, [])
    assert sum(map(len, first)) > 3000


async def test_a_spreadsheet_runs_no_cell_of_a_table(site: Site) -> None:
    table = await exported(site.store, "csv", "Comment")
    cells = [cell for row in csv.reader(io.StringIO(table.decode())) for cell in row]
    assert {"'=1+1", "'-1", "'@ann", "''=x"} <= set(cells)
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)


async def test_secrets_are_left_out_unless_they_are_asked_for(site: Site) -> None:
    export = Export(data_set(site.store), site.store.accounts, lambda text: None)
    records = [record async for record in export.users()]
    assert len(records) == 3
    for record in records:
        assert not record.keys() & {"password", "2fa", "github"}
