"""Data sets and backups of older formats, made by their own code: tests/data/formats."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from redis.crc import key_slot

from .clusters import RealCluster
from .servers import RealServer

HERE = Path(__file__).parents[1] / "data" / "formats"
PREFIX = "ff:"


def backup_of(number: int, kind: str = "backup") -> Path:
    return HERE / f"{number}.{kind}.gz"


def answers_of(number: int) -> dict[str, Any]:
    """What that version said about its data set, by what it was asked."""
    return dict(_lines(f"{number}.answers.gz"))


def load(number: int, server: RealServer | RealCluster, prefix: str) -> None:
    """Load a data set of this format under another prefix."""
    if isinstance(server, RealCluster):
        for words in _commands(number, prefix):
            key = next(word for word in words if word.startswith(f"{prefix}:"))
            server.ask(server.master_of(key_slot(key.encode())), *words)
        return
    with server.admin() as admin:
        for words in _commands(number, prefix):
            admin.execute_command(*words)


def _commands(number: int, prefix: str) -> Iterator[list[str]]:
    for words in _lines(f"{number}.commands.gz"):
        at = next(i for i, word in enumerate(words) if word.startswith(PREFIX))
        yield [*words[:at], f"{prefix}:{words[at].removeprefix(PREFIX)}", *words[at + 1 :]]


def _lines(name: str) -> Iterator[Any]:
    return map(json.loads, gzip.decompress((HERE / name).read_bytes()).splitlines())
