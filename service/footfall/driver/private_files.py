"""Permissions of the private server's files: its owner's alone, as they contain email addresses."""

import logging
import os
import stat
from pathlib import Path

log = logging.getLogger(__name__)

OWNERS_FILE, OWNERS_DIRECTORY, UMASK = 0o600, 0o700, 0o077
# The server's own files in the data directory, which may have others.
NAMES = ("redis.*", "lock", "*.rdb", "*.aof", "appendonlydir", "appendonlydir/*")


def close_to_others(data_dir: Path) -> None:
    """Remove other users' permissions, which a copy or the umask has given."""
    _narrow(data_dir, OWNERS_DIRECTORY)
    for path in (path for name in NAMES for path in data_dir.glob(name)):
        _narrow(path, OWNERS_DIRECTORY if path.is_dir() else OWNERS_FILE)


def owners_alone(path: str, flags: int) -> int:
    """An `opener` for `open`: new files get the owner's permissions alone."""
    return os.open(path, flags, OWNERS_FILE)


def _narrow(path: Path, most: int) -> None:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        # A server that still runs has just replaced the file.
        return
    if mode & ~most:
        try:
            path.chmod(mode & most)
        except OSError as error:
            log.warning("others may use %s (mode %o): %s", path, mode, error.strerror)
