"""The bytes of a file to import: decompressed, in UTF-8, and without fields too large for memory.

A file may be larger than memory, be compressed with gzip, have another encoding, or one field of a
hundred megabytes: its readers get chunks in which all of that is taken care of.
"""

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, timezone
from itertools import chain
from pathlib import Path

from ..http.surrogates import whole_text
from ..model import OnShare

CHUNK_BYTES = 1 << 17
# Compressed text is rarely smaller than a thirtieth; a bomb is smaller than a thousandth.
MAX_RATIO = 200
# What may be decompressed in any case.
FREE_BYTES = 1 << 26
# Up to nearly twice as much of a field may be read; the longest comment is shorter.
MAX_FIELD_BYTES = 1 << 18
# The longest line of a format with one row a line.
MAX_LINE_BYTES = 1 << 22
# Words that are not ASCII: all that says which encoding they have.
_FOREIGN = re.compile(rb'[^"\n\t,:<>]*[\x80-\xff][^"\n\t,:<>]*')
# So many bytes of them are enough to tell.
MAX_SAMPLE_BYTES = 1 << 14
_HALF_ESCAPE = re.compile(rb"(?<!\\)(\\\\)*\\(u[0-9a-fA-F]{0,3})?\Z")
_GZIP = zlib.MAX_WBITS | 16
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Damaged(Exception):
    """The file cannot be read to its end; nothing of it was imported."""


class Source:
    """A file that can be read more than once.

    `encoding` is what somebody has named: what is not of it becomes U+FFFD, and `is_misread`. A
    file of no named one has to be UTF-8. `zone` is the time zone of dates without one; `columns`
    maps our names of fields to the file's, for formats without names of their own; `page_by` says
    whether `address` or `identifier` names a page, where a format has both; `on_progress`
    gets the share that was read.
    """

    def __init__(
        self,
        path: Path,
        *,
        encoding: str = "",
        zone: timezone = UTC,
        columns: dict[str, str] | None = None,
        page_by: str = "address",
        on_progress: OnShare = lambda share: None,
    ) -> None:
        self.path = path
        self.zone = zone
        self.columns = columns or {}
        self.page_by = page_by
        self.is_misread = False
        self.encoding = encoding
        self._on_progress = on_progress

    @property
    def changed_ms(self) -> int:
        """When the file was changed."""
        return self.path.stat().st_mtime_ns // 1_000_000

    def head(self, size: int = 1 << 16) -> bytes:
        """The first bytes, in UTF-8; a database has bytes that are no text."""
        found = b""
        for chunk in self._as_utf8(_unpacked(self._raw()), "replace"):
            found += chunk
            if len(found) >= size:
                break
        return found[:size]

    def chunks(self) -> Iterator[bytes]:
        """From the beginning, without the rest of very long fields. Raises Damaged, OSError."""
        return filter(None, _bounded(self.every_chunk()))

    def every_chunk(self) -> Iterator[bytes]:
        """The whole file. Raises Damaged, OSError."""
        errors = "replace" if self.encoding else "strict"
        try:
            yield from self._as_utf8(_unpacked(self._raw()), errors)
        except UnicodeDecodeError:
            raise Damaged(self._misread()) from None

    def lines(self, *, has_blank: bool = False) -> Iterator[tuple[int, bytes]]:
        """Lines with their numbers from 1, without blank ones; a longer one is cut off at
        MAX_LINE_BYTES."""
        kept, number = b"", 0
        for chunk in self.chunks():
            *whole, rest = (kept + chunk).split(b"\n")
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
        first, named = next(chunks, b""), self.encoding or "utf-8"
        encoding = next((name for bom, name in _BOMS if first.startswith(bom)), named)
        decoder = codecs.getincrementaldecoder(encoding)(errors)
        for chunk in _with_end(first, chunks):
            decoded = decoder.decode(chunk or b"", chunk is None)
            if self.encoding and "\ufffd" in decoded and "\ufffd".encode() not in (chunk or b""):
                self.is_misread = True
            yield whole_text(decoded.removeprefix("\ufeff")).encode()

    def _misread(self) -> str:
        """What to do about a file that is not UTF-8."""
        # Loaded by the first such file.
        from charset_normalizer import from_bytes

        sample = b""
        for chunk in _unpacked(self._raw()):
            sample += b"\n".join(_FOREIGN.findall(chunk))
            if len(sample) > MAX_SAMPLE_BYTES:
                break
        found = from_bytes(sample[:MAX_SAMPLE_BYTES]).best()
        if found is None or found.encoding == "utf_8":
            return (
                "it is not UTF-8: name its encoding, or utf-8 if some of its characters are broken"
            )
        return f"it is not UTF-8 but looks like {found.encoding}: name that as its encoding"


class Stream:
    """Chunks as a file, for parsers that ask one for bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def read(self, size: int = -1) -> bytes:
        """The next chunk, however long; b"" at the end."""
        return b"" if size == 0 else next(self._chunks, b"")


def _with_end(first: bytes, chunks: Iterable[bytes]) -> Iterator[bytes | None]:
    yield first
    yield from chunks
    yield None


def _unpacked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    first = next(chunks, b"")
    if not first.startswith(b"\x1f\x8b"):
        yield first
        yield from chunks
        return
    packed = unpacked = 0
    unpacker = zlib.decompressobj(_GZIP)
    for rest in chain([first], chunks):
        packed += len(rest)
        while rest:
            if unpacker.eof:
                # Another member follows, or zeros that fill up a block.
                rest = rest.lstrip(b"\0")
                if not rest:
                    break
                unpacker = zlib.decompressobj(_GZIP)
            try:
                found = unpacker.decompress(rest, CHUNK_BYTES)
            except zlib.error as error:
                raise Damaged(f"what gzip has packed was changed: {error}") from error
            unpacked += len(found)
            if unpacked > FREE_BYTES + packed * MAX_RATIO:
                raise Damaged(
                    f"{packed:,} bytes unpack to more than {unpacked:,}: that is no comments"
                )
            yield found
            rest = unpacker.unconsumed_tail or unpacker.unused_data
    if not unpacker.eof:
        raise Damaged("it was cut off")


def _bounded(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Leave out the inside of long fields: chunks in which no field and no row ends.

    Comments are shorter, so nobody needs what is left out. An escape that is cut in two is left
    out, too.
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
