"""Files of other systems, made by hand: tests/data/import."""

import sqlite3
from contextlib import closing
from pathlib import Path

from footfall.data.imports import Imports, Way
from footfall.data.store import Store
from footfall.maintenance.check import check
from footfall.stores import data_set
from footfall.transfer.archives import members
from footfall.transfer.formats import chosen
from footfall.transfer.importing import Import, run
from footfall.transfer.report import ImportReport
from footfall.transfer.source import Source
from tests.conftest import Site

DATA = Path(__file__).parents[1] / "data/import"


def database(directory: Path, name: str = "isso.db", statements: str = "isso.sql") -> Path:
    """Isso's database, or another one, made by its statements."""
    path = directory / name
    with closing(sqlite3.connect(path)) as db:
        db.executescript((DATA / statements).read_text())
        db.commit()
    return path


async def imported(
    site: Site,
    path: Path,
    way: Way = "max",
    *,
    is_dry: bool = False,
    lines: list[bytes] | None = None,
) -> ImportReport:
    """Import a file as the command does."""
    store, report = site.store, ImportReport((lines if lines is not None else []).append)
    imports = Imports(store.redis, store.scripts, store.keys)
    with members(Source(path)) as files:
        format, files = chosen(files, report)
        wanted = Import(format, way, is_dry)
        await run(site.service.comments, imports, files, wanted, report, lambda label, share: None)
    return report


async def problems(store: Store) -> list[str]:
    """The problems that `footfall check` finds."""
    found = check(data_set(store), repair=False)
    return [line async for line in found if line.is_problem]
