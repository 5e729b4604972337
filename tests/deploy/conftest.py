"""The image is built once for all tests, in whichever process they run."""

import fcntl
import os
import pickle
import tempfile
from pathlib import Path

import pytest

from .image import Build, Stage


@pytest.fixture(scope="package")
def image(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Built by the first test process that wants it; others wait for that."""
    own = tmp_path_factory.getbasetemp()
    home = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    built = home / "image.pickle"
    with (home / "image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            stage = Build(Path(tempfile.mkdtemp(prefix="image", dir=home))).image
            built.write_bytes(pickle.dumps(stage))
    image: Stage = pickle.loads(built.read_bytes())  # noqa: S301 (it is our own)
    return image


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
