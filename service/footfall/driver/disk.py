"""Free space on the disk of DATA_DIR, in which the private server writes its files.

A full disk stops that server at its next change. It needs space beyond its files, since it rewrites
them, beside the old ones, whenever they have doubled.
"""

import errno
import os
from pathlib import Path
from typing import NamedTuple

# Below either of them a warning is given.
LOW_SHARE = 0.1
LOW_BYTES = 1 << 30
# With less than this the disk is full: the next changes may not fit.
FULL_BYTES = 1 << 20
NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
NO_RIGHT = {errno.EACCES, errno.EPERM}

# Code, text, and whether changes are rejected: a Problem of safety.py.
Finding = tuple[str, str, bool]
CODES = ("disk_full", "disk_low")


class Space(NamedTuple):
    """Bytes of a file system: those that this user may still write, and all."""

    free: int
    total: int


def free_bytes(directory: Path) -> Space:
    """The space of the file system that has this directory. Raises OSError."""
    volume = os.statvfs(directory)
    return Space(volume.f_bavail * volume.f_frsize, volume.f_blocks * volume.f_frsize)


def is_full(directory: Path) -> bool:
    """False if unknown."""
    try:
        free, total = free_bytes(directory)
        volume = os.statvfs(directory)
    except OSError:
        return False
    # Some file systems report 0 for files, or for everything.
    has_no_inodes = volume.f_files > 0 and volume.f_favail == 0
    return (total > 0 and free < FULL_BYTES) or has_no_inodes


def room(directory: Path) -> str:
    """The free space as text; a full disk is called full."""
    try:
        free = free_bytes(directory).free
    except OSError as error:
        return f"DATA_DIR={directory}: {error.strerror}"
    full = "disk full: " if is_full(directory) else ""
    no_files = ", and no file can be added" if full and free >= FULL_BYTES else ""
    return f"{full}DATA_DIR={directory} has {free:,} bytes free{no_files}"


def reason(directory: Path, error: OSError) -> str:
    """Why something could not be written there."""
    why = error.strerror or str(error)
    if error.filename:
        why += f": {error.filename}"
    if error.errno in NO_RIGHT:
        why += f", for user {os.geteuid()}, as whom the service runs"
    return f"{why}; {room(directory)}" if error.errno in NO_ROOM else why


def find(directory: Path) -> Finding | None:
    """The problem of the space there; None if there is none, or it is unknown."""
    if is_full(directory):
        return "disk_full", f"{room(directory)}: free some, or no change is stored", True
    try:
        free, total = free_bytes(directory)
    except OSError:
        return None
    # A small volume must not cause a warning from its first day on.
    if total and free < max(LOW_SHARE * total, min(LOW_BYTES, total // 4)):
        text = f"{room(directory)}, {free / total:.0%} of its disk: free some before it is full"
        return "disk_low", text, False
    return None
