"""SQLite databases of other systems, opened read-only, with a row at a time.

A value that is larger than any comment is rejected. What a file says of itself runs nothing.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from .source import Damaged, Source

MAX_VALUE_BYTES = 1 << 20


@contextmanager
def opened(source: Source, title: str) -> Iterator[sqlite3.Connection]:
    """Raises Damaged."""
    address = f"{source.path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as db:
            db.execute("PRAGMA trusted_schema = OFF")
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            db.text_factory = lambda raw: raw.decode(errors="surrogateescape")
            yield db
    except sqlite3.Error as error:
        raise Damaged(f"it is not a complete database of {title}: {error}") from error
