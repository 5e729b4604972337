"""The file that a backup is: JSON lines in chunks, each of which proves everything before it.

A chunk is a member of a gzip file, so that `zcat` shows the lines. Its last line is a digest of all
lines so far, digests aside: a chunk that is damaged, missing or out of place is noticed before
anything of it is used, and so is the end of a file that has none. Whoever goes on with a file that
was cut off cuts away what is behind the last chunk that says where to go on.
"""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, BinaryIO

import orjson

Line = dict[str, Any]

FORMAT = 1
DIGEST_BYTES = 32
# So much makes a chunk; a few times that is what writing and reading take in memory.
CHUNK_BYTES = 1 << 20
# No chunk is longer: a line more than CHUNK_BYTES has at most a step of a walk over long comments.
MOST_BYTES = 1 << 28
READ_BYTES = 1 << 16
# Of 9: three quarters of the size that 1 makes, in twice the time.
LEVEL = 4


class Damaged(Exception):
    """The file is not, or not any more, what `footfall backup` wrote."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where reading goes on: with this bucket of counters, then behind the page of this digest."""

    bucket: int
    page: str


@dataclass(slots=True)
class Totals:
    """How much lies in a file. A comment that had to be read twice counts twice."""

    counters: int = 0
    pages: int = 0
    comments: int = 0
    accounts: int = 0

    def add(self, line: Line) -> None:
        self.counters += len(line.get("counters", ()))
        self.pages += line.get("end", False)
        self.comments += len(line.get("comments", ()))
        self.accounts += len(line.get("accounts", ()))

    def __str__(self) -> str:
        return (
            f"{self.counters:,} counters, {self.comments:,} comments on {self.pages:,} pages, "
            f"{self.accounts:,} accounts"
        )


@dataclass(slots=True)
class Writer:
    """Writes chunks, from the first one or behind another one."""

    file: BinaryIO
    number: int = 0
    totals: Totals = field(default_factory=Totals)
    digest: blake2b = field(default_factory=lambda: blake2b(digest_size=DIGEST_BYTES))
    lines: list[bytes] = field(default_factory=list)
    size: int = 0

    @classmethod
    def behind(cls, chunk: "Chunk", file: BinaryIO) -> "Writer":
        return cls(file, chunk.number + 1, chunk.totals, chunk.digest)

    def add(self, line: Line) -> None:
        self.totals.add(line)
        packed = orjson.dumps(line)
        self.lines.append(packed)
        self.size += len(packed)

    @property
    def is_full(self) -> bool:
        return self.size >= CHUNK_BYTES

    def cut(self, place: Place | None, *, is_last: bool = False) -> None:
        """End a chunk; from `place` one may go on behind it, unless it is None."""
        tail = {"chunk": self.number, "place": place, "last": is_last, "totals": self.totals}
        content = b"\n".join([*self.lines, orjson.dumps(tail), b""])
        self.digest.update(content)
        proof = orjson.dumps({"digest": self.digest.hexdigest()})
        self.file.write(gzip.compress(content + proof + b"\n", LEVEL, mtime=0))
        self.file.flush()
        self.number += 1
        self.lines, self.size = [], 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk that has proved itself, and what a Writer needs to go on behind it."""

    number: int
    lines: list[bytes]
    place: Place | None
    is_last: bool
    totals: Totals
    # In the file, behind it.
    end: int
    digest: blake2b

    def __iter__(self) -> Iterator[Line]:
        return map(orjson.loads, self.lines)


def chunks(file: BinaryIO) -> Iterator[Chunk]:
    """All of a file; the header is the only line of the first. Raises Damaged."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    is_last, number = False, 0
    for content, end in _members(file):
        if is_last:
            raise Damaged("something follows its end")
        chunk = _chunk(content, end, digest, is_first=number == 0)
        is_last, number = chunk.is_last, number + 1
        yield chunk
    if not is_last:
        raise Damaged(f"it ends after {number} chunks, before its end")


def _chunk(content: bytes, end: int, digest: blake2b, *, is_first: bool) -> Chunk:
    """Proves a chunk; `digest` is that of all before, and then of this one too."""
    content, _, proof = content[:-1].rpartition(b"\n")
    content += b"\n"
    digest.update(content)
    try:
        is_proved = orjson.loads(proof) == {"digest": digest.hexdigest()}
    except ValueError:
        is_proved = False
    if not is_proved:
        raise Damaged(f"what lies before byte {end:,} was changed, or never was a backup")
    *lines, last = content[:-1].split(b"\n")
    if is_first:
        header = orjson.loads(lines[0])
        if header["footfall"] != FORMAT:
            raise Damaged(
                f"it has format {header['footfall']} and was made by Footfall {header['by']}; "
                f"this one reads format {FORMAT}"
            )
    tail = orjson.loads(last)
    return Chunk(
        tail["chunk"], lines, tail["place"] and Place(**tail["place"]), tail["last"],
        Totals(**tail["totals"]), end, digest.copy(),
    )  # fmt: skip


def _members(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Each member of a gzip file unpacked, with its end's place in the file."""
    end, rest = 0, file.read(READ_BYTES)
    if not rest:
        raise Damaged("it is empty")
    while rest:
        member, unpacked = zlib.decompressobj(zlib.MAX_WBITS | 16), bytearray()
        while not member.eof:
            if not rest:
                raise Damaged(f"it ends at byte {end:,}, in the middle of a chunk")
            try:
                unpacked += member.decompress(rest, MOST_BYTES + 1 - len(unpacked))
            except zlib.error:
                where = f"from byte {end:,} on"
                raise Damaged(f"{where} it was changed, or never was a backup") from None
            if len(unpacked) > MOST_BYTES:
                raise Damaged(f"from byte {end:,} on a chunk has more than {MOST_BYTES:,} bytes")
            end += len(rest) - len(member.unused_data)
            rest = member.unused_data or file.read(READ_BYTES)
        yield bytes(unpacked), end
