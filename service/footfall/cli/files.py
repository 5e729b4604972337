"""Files that commands read, local or not."""

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from ..transfer.download import CannotFetch, fetch, is_address


@contextlib.contextmanager
def local(name: str) -> Iterator[Path]:
    """The path of the file; one from an address or the standard input is stored temporarily."""
    if name != "-" and not is_address(name):
        if not Path(name).is_file():
            raise click.ClickException(f"there is no file {name}")
        yield Path(name)
        return
    with tempfile.TemporaryDirectory(prefix="footfall-import-") as directory:
        path = Path(directory, "file")
        if name == "-":
            with path.open("wb") as kept:
                _copy(sys.stdin.buffer, kept)
        else:
            try:
                fetch(name, path)
            except CannotFetch as error:
                raise click.ClickException(str(error)) from error
        yield path


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    while chunk := source.read(1 << 16):
        target.write(chunk)
