"""The pages of docs/import do what they say: each is a script, which is run line by line.

Blocks of `sh` are run, with the files of tests/data/import under the names that a page has for
them; a block of `text` is what they print. With WRITE_PAGES=1 these are written, not compared.
Blocks of `console` are for the old server, which is not here.
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from footfall.data.store import Store
from footfall.transfer.formats import FORMATS
from tests.support.importing import DATA, database
from tests.support.requirements import program
from tests.support.servers import RealServer
from tests.support.serving import KEPT, ROOT, SOURCES

ON = ("valkey",)

PAGES = sorted((ROOT / "docs/import").glob("*.md"))
BLOCK = re.compile(r"```(\w+)\n(.*?)```\n", re.DOTALL)
# What is done on the old server, page by page.
ON_THE_OLD_SERVER = {
    "artalk.md": ["artalk export artalk.json"],
    "remark42.md": ["docker exec remark42 backup -s SITE"],
    "twikoo.md": [
        'mongoexport --uri "$MONGODB_URI" --collection comment --out twikoo.json',
        'mongoexport --uri "$MONGODB_URI" --collection counter --out twikoo-counters.json',
    ],
    "valine.md": [
        "footfall import leancloud https://SERVER --app-id ID --app-key KEY --keep counters.json",
        "footfall import leancloud https://SERVER --app-id ID --app-key KEY --class Comment "
        "--keep comments.json",
        "footfall import leancloud https://SERVER --app-id ID --app-key KEY --check",
    ],
    "waline.md": ['curl -H "Authorization: Bearer TOKEN" https://OLD/api/db > waline.json'],
}
# The names that pages have for compressed files.
COMPRESSED = {
    "commento.json": "commento.json.gz",
    "disqus.xml": "disqus.xml.gz",
    "remark42.json": "userbackup-SITE.gz",
    "goatcounter.csv": "goatcounter-export.csv.gz",
}


@pytest.fixture
def place(tmp_path: Path, store: Store, servers: Mapping[str, RealServer]) -> tuple[Path, str]:
    """A directory with the old systems' files, and the start of a script for a new data set."""
    program("sqlite3")
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    database(tmp_path, "comments.db")
    database(tmp_path, "artalk.db", "artalk.sql")
    database(tmp_path, "waline.sqlite", "waline.sql")
    for name, compressed in COMPRESSED.items():
        (tmp_path / compressed).write_bytes(gzip.compress((DATA / name).read_bytes()))
    command = tmp_path / "bin/footfall"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m footfall "$@"\n')
    command.chmod(0o755)
    return tmp_path, (
        f"export PYTHONPATH={SOURCES} PATH={command.parent}:$PATH\n"
        f"export REDIS_URL='{servers['valkey'].url}' KEY_PREFIX={store.keys.prefix}\n"
        "export STATISTICS=visitors STATISTICS_MONTHS=120 SITE_URL=https://example.org\n"
    )


@pytest.mark.rare
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
async def test_a_page_about_a_system_is_a_script_that_works(
    page: Path, place: tuple[Path, str]
) -> None:
    directory, first = place
    text = page.read_text()
    blocks = [(found[1], found[2], found.start(2), found.end(2)) for found in BLOCK.finditer(text)]
    said = ""
    old, after = list[str](), list[tuple[int, int, str]]()
    for language, content, start, end in blocks:
        assert language in ("sh", "text", "console"), language
        if language == "console":
            old += [line[2:] for line in content.splitlines() if line.startswith("$ ")]
        elif language == "sh":
            assert not said, "the page does not show what it has printed"
            said = run(first + content, directory)
        else:
            after.append((start, end, said))
            said = ""
    assert not said, "the page does not show what it has printed"
    for start, end, said in reversed(after):
        text = text[:start] + said + text[end:]
    if os.environ.get("WRITE_PAGES"):
        page.write_text(text)
    assert page.read_text() == text
    assert old == ON_THE_OLD_SERVER.get(page.name, [])


def run(script: str, directory: Path) -> str:
    """What a script prints, to its first command that fails."""
    environ = {name: os.environ[name] for name in KEPT if name in os.environ}
    done = subprocess.run(
        [program("bash"), "-euo", "pipefail", "-c", script],
        cwd=directory,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_format_has_a_page_that_shows_it() -> None:
    lines = {line for page in PAGES for line in page.read_text().splitlines()}
    assert {format.title for format in FORMATS} <= lines
