"""The image is built once for all tests."""

import os
from pathlib import Path

import pytest

from .image import Build, Stage


@pytest.fixture(scope="package")
def image(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Build(tmp_path_factory.mktemp("image")).image


@pytest.fixture
def volumes(image: Stage, tmp_path: Path) -> dict[str, Path]:
    """A new volume: it takes over owner and mode of the directory that it is mounted on."""
    (path,) = image.volumes
    status = Path(f"{image.root}{path}").stat()
    volume = tmp_path / "volume"
    volume.mkdir()
    os.chown(volume, status.st_uid, status.st_gid)
    volume.chmod(status.st_mode)
    return {path: volume}
