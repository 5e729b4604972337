"""Files in the directory where a service is started are data, and never code."""

from pathlib import Path

import pytest

from tests.support.serving import serving
from tests.support.workers import both_answer


@pytest.mark.parametrize("name", ["footfall", "redis", "http"])
def test_no_folder_of_the_working_directory_is_imported(directory: Path, name: str) -> None:
    (directory / name).mkdir(parents=True)
    (directory / name / "__init__.py").write_text("raise SystemExit('imported')")
    with serving(directory, "--workers", "2") as served:
        both_answer(served)
