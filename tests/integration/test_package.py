"""The wheel carries everything: the Lua files, the pages, the commands."""

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
    scripts = {path.relative_to(ROOT) for path in (ROOT / "lua").rglob("*.lua")}
    assert {f"service/{path}" for path in scripts} <= names
    assert {f"service/ui/{path.name}" for path in (ROOT / "service/ui").iterdir()} <= names
    assert "service/py.typed" in names
    (metadata,) = (tmp_path / "site").glob("*.dist-info/entry_points.txt")
    assert "footfall = service.cli:main" in metadata.read_text()

    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "site")}
    program = "from service.store.scripts import *; print(PACKAGED.is_dir(), len(sources()))"
    output = subprocess.check_output(
        [sys.executable, "-c", program], env=environ, cwd=tmp_path, text=True
    )
    assert output == f"True {len(scripts)}\n"
