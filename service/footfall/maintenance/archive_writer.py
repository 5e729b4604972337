"""Writes the file of a backup (archive.py)."""

import zlib
from dataclasses import asdict
from hashlib import blake2b
from typing import BinaryIO

import orjson

from .archive import COMPRESSION_LEVEL, DIGEST_BYTES, Line, Totals, proof_of


class Writer:
    def __init__(self, file: BinaryIO) -> None:
        self.totals = Totals()
        self.length_bytes = 0
        self._file = file
        self._packer = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        self._digest = blake2b(digest_size=DIGEST_BYTES)

    def add(self, line: Line) -> None:
        self.totals.add(line)
        self._write(orjson.dumps(line) + b"\n")

    def end(self) -> None:
        self._write(orjson.dumps({"totals": asdict(self.totals)}) + b"\n")
        self._write(proof_of(self._digest))
        self._append(self._packer.flush())
        self._file.flush()

    def _write(self, packed: bytes) -> None:
        self._digest.update(packed)
        self._append(self._packer.compress(packed))

    def _append(self, compressed: bytes) -> None:
        self._file.write(compressed)
        self.length_bytes += len(compressed)
