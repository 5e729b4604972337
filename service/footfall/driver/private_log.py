"""redis.log: the private server's log, in two files of MAX_LOG_BYTES or little more."""

import os
import re
from pathlib import Path
from typing import BinaryIO

from . import disk
from .private_files import owners_alone

MAX_LOG_BYTES = 1 << 20
# The part that is repeated if the server does not start.
SHOWN_LINES, READ_BYTES = 5, 65_536

_NO_ROOM = re.compile("No space left|[Qq]uota exceeded")
# A server's messages about files that a newer one, or one of another kind, has written. Its own
# advice is to truncate them.
_UNREADABLE = re.compile(
    "Bad file format|Can't handle RDB format|Unrecoverable error|Unexpected EOF|RDB check"
    "|Invalid AOF manifest|obtain the AOF file|AOF .* doesn't exist"
)
HOW_TO_READ_THEM = (
    "The files in DATA_DIR were written by another server, or are damaged. Do not repair them "
    "yet: start the server that wrote them with REDIS_SERVER (empty: the Valkey of the package), "
    "make a backup with `footfall backup`, and restore it with this one into another DATA_DIR. If "
    "no server reads them, restore your last backup there"
)


class ServerLog:
    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._path = data_dir / "redis.log"
        # Where in the file the present server's lines start.
        self._start = 0

    def open(self) -> BinaryIO:
        """The file, for a server that is started now. Raises OSError."""
        self.rotate()
        file = owners_alone(str(self._path), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._start = os.fstat(file).st_size
        return os.fdopen(file, "ab")

    def rotate(self) -> None:
        """Start a new file if this one is large. A server that runs continues in the new one, since
        it opens the file again for each line. Raises OSError."""
        if self._path.exists() and self._path.stat().st_size > MAX_LOG_BYTES:
            self._path.replace(self._path.with_name("redis.log.1"))
            self._start = 0

    def last_lines(self) -> str:
        """The last lines of the server that was started last; "" if there is no file."""
        try:
            end = self._path.stat().st_size
        except OSError:
            # It was rotated, and is empty since.
            return ""
        said = self._read(max(self._start, end - READ_BYTES))
        return "\n".join(said.splitlines()[-SHOWN_LINES:])

    def first_lines(self) -> str:
        """The log's first lines."""
        return self._read(self._start)

    def _read(self, start: int) -> str:
        try:
            with open(self._path, "rb") as file:
                file.seek(start)
                return file.read(READ_BYTES).decode(errors="replace")
        except OSError:
            return ""

    def explained(self) -> str:
        """Why a server did not start, and what to do about it."""
        said = self.last_lines() or "it has said nothing"
        lines = [said]
        if _NO_ROOM.search(said) or disk.is_full(self._data_dir):
            lines.append(disk.room(self._data_dir))
        if _UNREADABLE.search(said):
            lines.append(HOW_TO_READ_THEM)
        return "\n".join(lines)
