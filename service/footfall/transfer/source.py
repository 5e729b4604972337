"""The bytes of a file to import: decompressed, in UTF-8, and without fields too large for memory.

A file may be larger than memory, be compressed, have another encoding, or one field of a hundred
megabytes: its readers get chunks in which all of that is taken care of.
"""

import codecs
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from datetime import UTC, timezone
from itertools import chain
from pathlib import Path
from typing import Protocol

from ..http.surrogates import whole_text
from ..model import OnShare
from .encodings import advice

CHUNK_BYTES = 1 << 17
# Compressed text is rarely smaller than a thirtieth; a bomb is smaller than a thousandth.
MAX_RATIO = 200
# What may be decompressed in any case.
FREE_BYTES = 1 << 26
# Up to nearly twice as much of a field may be read; the longest comment is shorter.
MAX_FIELD_BYTES = 1 << 18
# The longest line of a format with one row a line.
MAX_LINE_BYTES = 1 << 22
_HALF_ESCAPE = re.compile(rb"(?<!\\)(\\\\)*\\(u[0-9a-fA-F]{0,3})?\Z")
# What xz may take of memory, twice of what its strongest setting needs.
MAX_XZ_BYTES = 1 << 27
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Signs of ASCII as UTF-16 without its mark; a database has none at its start.
_HALVES = (
    (re.compile(rb"(?:[\t\n\r -~]\0){4}"), "utf-16-le"),
    (re.compile(rb"(?:\0[\t\n\r -~]){4}"), "utf-16-be"),
)


class Damaged(Exception):
    """The file cannot be read to its end; nothing of it was imported."""


class Source:
    """A file that can be read more than once.

    `encoding` is the one given: bytes that do not fit become U+FFFD, and it `is_misread`. Without
    one, a file must be UTF-8. `zone` is the time zone of dates without one; `columns` maps our
    names of fields to the file's, for formats without names of their own; `page_by` decides whether
    `address` or `identifier` names a page, for formats with both; `on_progress` gets the share that
    was read.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str = "",
        encoding: str = "",
        zone: timezone = UTC,
        columns: dict[str, str] | None = None,
        page_by: str = "address",
        on_progress: OnShare = lambda share: None,
    ) -> None:
        self.path = path
        self.name = name or str(path)
        self.zone = zone
        self.columns = columns or {}
        self.page_by = page_by
        self.is_misread = False
        self.encoding = encoding
        # The files that are imported together, this one included.
        self.together: Sequence[Source] = [self]
        self._on_progress = on_progress

    @property
    def changed_ms(self) -> int:
        """When the file was changed."""
        return self.path.stat().st_mtime_ns // 1_000_000

    def head(self, size: int = 1 << 16) -> bytes:
        """The first bytes, in UTF-8; a database has bytes that are not text."""
        return _first(self._as_utf8(self.unpacked(), "replace"), size)

    def beginning(self, size: int) -> bytes:
        """The first bytes as they are, decompressed."""
        return _first(self.unpacked(), size)

    def unpacked(self) -> Iterator[bytes]:
        """The bytes as they are, decompressed. Raises Damaged, OSError."""
        return _unpacked(self._raw())

    def beside(self, path: Path, name: str) -> "Source":
        """Another file, that is read in the same way."""
        other = copy(self)
        other.path, other.name = path, f"{self.name}: {name}"
        return other

    def chunks(self) -> Iterator[bytes]:
        """From the start, without the rest of very long fields. Raises Damaged, OSError."""
        return filter(None, _bounded(self.every_chunk()))

    def every_chunk(self) -> Iterator[bytes]:
        """The whole file. Raises Damaged, OSError."""
        errors = "replace" if self.encoding else "strict"
        try:
            yield from self._as_utf8(self.unpacked(), errors)
        except UnicodeDecodeError:
            raise Damaged(advice(self.unpacked())) from None

    def lines(self, *, has_blank: bool = False, end: bytes = b"\n") -> Iterator[tuple[int, bytes]]:
        """Lines with their numbers from 1, without blank ones; a longer one is cut off at
        MAX_LINE_BYTES."""
        kept, number = b"", 0
        for chunk in self.chunks():
            *whole, rest = (kept + chunk).split(end)
            for line in whole:
                number += 1
                if has_blank or line.strip():
                    yield number, line
            kept = rest[:MAX_LINE_BYTES]
        if kept.strip():
            yield number + 1, kept

    def _raw(self) -> Iterator[bytes]:
        length = max(self.path.stat().st_size, 1)
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk
                self._on_progress(file.tell() / length)

    def _as_utf8(self, chunks: Iterator[bytes], errors: str) -> Iterator[bytes]:
        first = next(chunks, b"")
        encoding = _marked(first) or self.encoding or _without_mark(first)
        decoder = codecs.getincrementaldecoder(encoding)(errors)
        for chunk in _with_end(first, chunks):
            decoded = decoder.decode(chunk or b"", chunk is None)
            if self.encoding and "\ufffd" in decoded and "\ufffd".encode() not in (chunk or b""):
                self.is_misread = True
            yield whole_text(decoded.removeprefix("\ufeff")).encode()


class Stream:
    """Chunks as a file, for parsers that read bytes from one."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def read(self, size: int = -1) -> bytes:
        """The next chunk, however long; b"" at the end."""
        return b"" if size == 0 else next(self._chunks, b"")


def _marked(first: bytes) -> str:
    return next((name for mark, name in _BOMS if first.startswith(mark)), "")


def _without_mark(first: bytes) -> str:
    return next((name for sign, name in _HALVES if sign.match(first)), "utf-8")


def _with_end(first: bytes, chunks: Iterable[bytes]) -> Iterator[bytes | None]:
    yield first
    yield from chunks
    yield None


def _first(chunks: Iterable[bytes], size: int) -> bytes:
    unpacked_data = b""
    for chunk in chunks:
        unpacked_data += chunk
        if len(unpacked_data) >= size:
            break
    return unpacked_data[:size]


class _Unpacker(Protocol):
    def decompress(self, data: bytes, max_length: int) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


class _Gzip:
    """zlib's decompressor, whose caller must keep the input that is left."""

    def __init__(self) -> None:
        self._of = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._has_more = False

    def decompress(self, data: bytes, max_length: int) -> bytes:
        unpacked_data = self._of.decompress(self._of.unconsumed_tail + data, max_length)
        self._has_more = len(unpacked_data) == max_length
        return unpacked_data

    @property
    def eof(self) -> bool:
        return self._of.eof

    @property
    def needs_input(self) -> bool:
        return not (self._has_more or self._of.unconsumed_tail)

    @property
    def unused_data(self) -> bytes:
        return self._of.unused_data


# Loaded by the first such file; not every Python has them.
def _bzip2() -> _Unpacker:
    from bz2 import BZ2Decompressor

    return BZ2Decompressor()


def _xz() -> _Unpacker:
    from lzma import FORMAT_XZ, LZMADecompressor

    return LZMADecompressor(FORMAT_XZ, memlimit=MAX_XZ_BYTES)


# By the first bytes of the unpacked file.
_PACKERS: dict[bytes, Callable[[], _Unpacker]] = {
    b"\x1f\x8b": _Gzip,
    b"BZh": _bzip2,
    b"\xfd7zXZ\0": _xz,
}


def _unpacked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    first = next(chunks, b"")
    make = next((make for sign, make in _PACKERS.items() if first.startswith(sign)), None)
    if make is None:
        yield first
        yield from chunks
        return
    packed = unpacked = 0
    try:
        unpacker = make()
    except ImportError as error:
        raise Damaged(f"this Python cannot unpack it: {error}") from error
    for data in chain([first], chunks):
        packed += len(data)
        while data or not unpacker.needs_input:
            if unpacker.eof:
                # Another member follows, or zeros that fill up a block.
                data = data.lstrip(b"\0")
                if not data:
                    break
                unpacker = make()
            try:
                unpacked_data = unpacker.decompress(data, CHUNK_BYTES)
            # Each way of packing has errors of its own.
            except Exception as error:
                raise Damaged(f"what is packed in it was changed: {error}") from error
            unpacked += len(unpacked_data)
            require_ratio(packed, unpacked)
            if unpacked_data:
                yield unpacked_data
            data = unpacker.unused_data if unpacker.eof else b""
    if not unpacker.eof:
        raise Damaged("it was cut off")


def require_ratio(packed: int, unpacked: int) -> None:
    """Raises Damaged for what unpacks to more than comments do."""
    if unpacked > FREE_BYTES + packed * MAX_RATIO:
        raise Damaged(
            f"{packed:,} bytes unpack to more than {unpacked:,}: those cannot be comments"
        )


def _bounded(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Leave out the inside of long fields: chunks in which no field and no row ends.

    Comments are shorter, so nothing useful is lost. An escape that is cut in two is left out, too.
    """
    length, is_escaping = 0, False
    for chunk in chunks:
        if length > MAX_FIELD_BYTES and is_escaping:
            chunk, is_escaping = chunk[1:], False
        is_escaping = _is_open(chunk, is_escaping)
        if _has_end(chunk):
            length = 0
        elif length > MAX_FIELD_BYTES:
            continue
        else:
            length += len(chunk)
            if length > MAX_FIELD_BYTES:
                chunk = _HALF_ESCAPE.sub(b"", chunk)
        yield chunk


def _has_end(chunk: bytes) -> bool:
    """Is there a quote without a backslash before it, or the end of a line?"""
    if b"\\" in chunk:
        chunk = chunk.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b'"' in chunk or b"\n" in chunk


def _is_open(chunk: bytes, was_open: bool) -> bool:
    """Does it end inside an escape?"""
    slashes = len(chunk) - len(chunk.rstrip(b"\\"))
    return (slashes + (was_open and slashes == len(chunk))) % 2 == 1
