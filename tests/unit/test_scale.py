"""docs/scaling.md has the figures that bench.scale has measured."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench import scale


def results() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(scale.FILE.read_text())
    return read


def test_the_documents_tables_are_what_was_measured() -> None:
    document = scale.DOCUMENT.read_text()
    assert scale.filled(document, results()) == document
    assert sorted(re.findall(r"<!-- (\w+) -->\n\n\|", document)) == sorted(scale.TABLES)


def test_disturbed_figures_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async def measure() -> dict[str, Any]:
        return {"batches": [{"foreign": 0.01}], "fills": [{"foreign": 0.5}]}

    monkeypatch.setattr(scale, "measure", measure)
    monkeypatch.setattr(scale, "FILE", tmp_path / "scale.json")
    assert scale.main([]) == 1
    assert "up to 50% of these cores" in capsys.readouterr().err
    assert not scale.FILE.exists()
