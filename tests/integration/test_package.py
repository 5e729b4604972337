"""The wheel contains everything: the Lua files, the pages, the commands."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


def test_a_wheel_runs_away_from_its_checkout(tmp_path: Path) -> None:
    wheel = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path / "dist")))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
        names = set(archive.namelist())
    # The wheel installs no other package: no `service`, no `lua`, no `tests`.
    assert {name.partition("/")[0] for name in names} == {
        "footfall",
        *(path.name for path in (tmp_path / "site").glob("footfall-*.dist-info")),
    }
    scripts = {path.relative_to(ROOT) for path in (ROOT / "lua").rglob("*.lua")}
    assert {f"footfall/{path}" for path in scripts} <= names
    pages = [path for path in (ROOT / "service/footfall/ui").rglob("*") if path.is_file()]
    assert {str(path.relative_to(ROOT / "service")) for path in pages} <= names
    assert "footfall/py.typed" in names
    (metadata,) = (tmp_path / "site").glob("*.dist-info/entry_points.txt")
    assert "footfall = footfall.__main__:main" in metadata.read_text()

    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "site")}
    program = "from footfall.driver.scripts import *; print(PACKAGED.is_dir(), len(files()))"
    output = subprocess.check_output(
        [sys.executable, "-c", program], env=environ, cwd=tmp_path, text=True
    )
    assert output == f"True {len(scripts)}\n"
