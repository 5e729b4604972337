"""The private server's append-only file as it lies in DATA_DIR, before and after a start.

A server cuts off the end of a file that stops within a change, and reports it only in its own log.
If the list of its files is missing, it starts again and overwrites them.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

# The names from Redis 7.0 on, and before.
DIRECTORY, OLDER_FILE = "appendonlydir", "appendonly.aof"
MANIFEST = "appendonly.aof.manifest"
# The files of a server that has stored nothing yet are smaller.
MIN_DATA_BYTES = 1024
# A server that has nothing starts with less.
EMPTY_BYTES = 128
# Beside them, from the first data set on.
MARKER = "data-set"
# A server's message when it has truncated a file; before 7.0 it names none.
_CUT_OFF = re.compile(r"Truncating the AOF (?:(\S+) )?at offset (\d+)")


def is_there(data_dir: Path) -> bool:
    """Does this directory have the data of a private server? It changes nothing there."""
    return any((data_dir / name).exists() for name in (DIRECTORY, OLDER_FILE))


def sizes(data_dir: Path) -> dict[str, int]:
    """The bytes of each of its files, by their names."""
    files = [data_dir / OLDER_FILE, *(data_dir / DIRECTORY).glob("*.aof")]
    return {path.name: path.stat().st_size for path in files if path.is_file()}


def cut_off(before: Mapping[str, int], said: str) -> Iterator[str]:
    """A sentence for each file that a start has made shorter, of sizes before and its log.

    Not of sizes after it: a process that waited for the server may have written since.
    """
    for name, offset in _CUT_OFF.findall(said):
        name = name or OLDER_FILE
        if dropped := before.get(name, 0) - int(offset):
            yield (
                f"{name} ended within a change, as after a crash: its last "
                f"{dropped:,} {'byte was' if dropped == 1 else 'bytes were'} dropped"
            )


def mark(data_dir: Path) -> None:
    """Note that there is a data set, so that empty files are not taken for a new site, which would
    belong to the first visitor. On a full disk it is noted another time."""
    with suppress(OSError):
        marker = data_dir / MARKER
        marker.touch()
        marker.chmod(0o600)


def _base_bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*.rdb"))


def flaw(data_dir: Path) -> str:
    """Why no server may be started on it, in a sentence; "" if one may."""
    directory, marker = data_dir / DIRECTORY, data_dir / MARKER
    if marker.exists() and sum(sizes(data_dir).values()) + _base_bytes(directory) < EMPTY_BYTES:
        return (
            f"{marker} marks a data set, but its files are empty or missing, as after a crash of "
            "the machine: find them, or restore a backup into another DATA_DIR; to start empty "
            "here, remove the mark"
        )
    if (directory / MANIFEST).exists() or (data_dir / OLDER_FILE).exists():
        return ""
    files = [path for path in directory.glob("appendonly.aof.*") if path.is_file()]
    if sum(path.stat().st_size for path in files) < MIN_DATA_BYTES:
        return ""
    return (
        f"{directory} has data but no file {MANIFEST}, without which a server would overwrite "
        "it: copy the whole directory again, or restore a backup into another DATA_DIR"
    )
