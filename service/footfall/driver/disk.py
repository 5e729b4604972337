"""Room on the disk of DATA_DIR, in which the private server writes its files."""

import os
from pathlib import Path
from typing import NamedTuple


class Space(NamedTuple):
    """Bytes of a file system: those that this user may still write, and all."""

    free: int
    total: int


def free_bytes(directory: Path) -> Space:
    """The space of the file system that has this directory. Raises OSError."""
    found = os.statvfs(directory)
    return Space(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)
