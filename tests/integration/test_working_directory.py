"""Files in the directory where a service is started are data, and never code."""

from pathlib import Path

import pytest

from tests.support.serving import serving
from tests.support.workers import all_answer


@pytest.mark.rare
def test_no_folder_of_the_working_directory_is_imported(directory: Path) -> None:
    for name in ("footfall", "redis", "http"):
        (directory / name).mkdir(parents=True)
        (directory / name / "__init__.py").write_text(f"raise SystemExit('{name} was imported')")
    with serving(directory, "--workers", "2") as served:
        all_answer(served)
