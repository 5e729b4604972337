"""Who may see what the private server keeps: its owner alone. Mails and addresses are among it."""

import logging
import os
import stat
from pathlib import Path

log = logging.getLogger(__name__)

OWNERS_FILE, OWNERS_DIRECTORY, UMASK = 0o600, 0o700, 0o077
# What of the directory's content is the server's; whoever chose it may have put other things there.
NAMES = ("redis.*", "lock", "*.rdb", "*.aof", "appendonlydir", "appendonlydir/*")


def close_to_others(data_dir: Path) -> None:
    """Take from others what an earlier version, a copy or a wide umask has let them do."""
    _narrow(data_dir, OWNERS_DIRECTORY)
    for path in (path for name in NAMES for path in data_dir.glob(name)):
        _narrow(path, OWNERS_DIRECTORY if path.is_dir() else OWNERS_FILE)


def owners_alone(path: str, flags: int) -> int:
    """An `opener` for `open`, for files that are made by it."""
    return os.open(path, flags, OWNERS_FILE)


def _narrow(path: Path, most: int) -> None:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        # A server that was left over has just put another in its place.
        return
    if mode & ~most:
        try:
            path.chmod(mode & most)
        except OSError as error:
            log.warning("others may use %s (mode %o): %s", path, mode, error.strerror)
