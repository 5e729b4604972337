"""Archives of several files, a tar or a zip, compressed or not: each member is a file to read.

They are recognised by their first bytes, whatever their names. Members are unpacked into a
directory that disappears with the import, so readers may read them more than once.
"""

import os
import re
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from .source import CHUNK_BYTES, Damaged, Source, require_ratio

# An export has some files of each kind.
MAX_MEMBERS = 1_000
# Of all files together, and what must be left free where they are unpacked: Redis may write there.
MAX_UNPACKED_BYTES, LEFT_FREE_BYTES = 1 << 30, 64 << 20
_BLOCK = 512
_ZIP, _TAR = (b"PK\x03\x04", b"PK\x05\x06"), b"ustar"
# What systems add for themselves: __MACOSX/, .DS_Store; but tar also writes ./name.
_NOBODYS = re.compile(r"(\A|/)(__MACOSX/|\.(?!\.?/))")


class _Member(NamedTuple):
    name: str
    chunks: Iterator[bytes]


@contextmanager
def members(source: Source) -> Iterator[list[Source]]:
    """The files of an archive, or the file itself if it is not one. Raises Damaged, OSError."""
    first = source.beginning(_BLOCK)
    if first.startswith(_ZIP):
        contents = _zipped(source.path)
    elif first[257:].startswith(_TAR):
        contents = _of_tar(source.unpacked())
    else:
        yield [source]
        return
    with tempfile.TemporaryDirectory(prefix="footfall-import-") as directory:
        yield list(_kept(contents, source, Path(directory)))


def _kept(members: Iterator[_Member], source: Source, directory: Path) -> Iterator[Source]:
    about, unpacked = source.path.stat(), 0
    for number, member in enumerate(members):
        if number >= MAX_MEMBERS:
            raise Damaged(f"it has more than {MAX_MEMBERS:,} files")
        path = directory / str(number)
        with path.open("wb") as file:
            for chunk in member.chunks:
                unpacked += len(chunk)
                require_ratio(about.st_size, unpacked)
                _require_space(directory, unpacked, len(chunk))
                file.write(chunk)
        # Rows without a date may get that of the file, the same in each import.
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        if path.stat().st_size and not _NOBODYS.search(member.name):
            yield source.beside(path, member.name)


def _require_space(directory: Path, unpacked: int, more: int) -> None:
    """Raises Damaged for more than MAX_UNPACKED_BYTES, or than there is space for."""
    if unpacked > MAX_UNPACKED_BYTES:
        raise Damaged(f"it unpacks to more than {MAX_UNPACKED_BYTES:,} bytes: import its files")
    free = shutil.disk_usage(directory).free
    if free - more < LEFT_FREE_BYTES:
        raise Damaged(
            f"it needs more space than {directory.parent} has, which is TMPDIR: {free:,} bytes are "
            "free"
        )


def _zipped(path: Path) -> Iterator[_Member]:
    with _reading(), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                with archive.open(member) as file:
                    yield _Member(member.filename, _chunks(file))


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    # Their reader gets the error, not the walk through the archive.
    with _reading():
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


@contextmanager
def _reading() -> Iterator[None]:
    """Raises Damaged for whatever is wrong with a zip: it was changed, needs a password, or is
    packed in a way that this Python does not know. Each has errors of its own."""
    try:
        yield
    except Damaged:
        raise
    except Exception as error:
        raise Damaged(f"it is not a readable zip: {error}") from error


def _of_tar(chunks: Iterator[bytes]) -> Iterator[_Member]:
    """The plain files of a tar. The library's reader would take a name of any length into
    memory."""
    rest = _Bytes(chunks)
    while (header := rest.take(_BLOCK)).strip(b"\0"):
        try:
            about = tarfile.TarInfo.frombuf(header, "utf-8", "replace")
        except tarfile.TarError as error:
            raise Damaged(f"it is not a complete tar: {error}") from error
        body = rest.pieces(about.size)
        if about.isreg():
            yield _Member(about.name, body)
        for _ in body:
            pass
        rest.take(-about.size % _BLOCK)


class _Bytes:
    """Chunks, read by numbers of bytes. Raises Damaged if there are fewer."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def pieces(self, size: int) -> Iterator[bytes]:
        while size > 0:
            self._rest = self._rest or next(self._chunks, b"")
            if not self._rest:
                raise Damaged("it was cut off")
            piece, self._rest = self._rest[:size], self._rest[size:]
            size -= len(piece)
            yield piece

    def take(self, size: int) -> bytes:
        return b"".join(self.pieces(size))
