"""Open Kounter's counters, as its `export_all` writes them: {"counters": {name: {"time": 7}}}."""

from collections.abc import Iterator

import ijson

from ..counters import VIEWS
from .json_bytes import sound
from .rows import CounterRow, ImportRow, ImportRows, Refusal
from .source import Damaged, Source, Stream
from .values import whole


def read(source: Source) -> ImportRows:
    """Raises Damaged."""
    try:
        for name, record in ijson.kvitems(Stream(sound(source.chunks())), "counters"):
            yield from _row(name, record)
    except ijson.JSONError as error:
        raise Damaged(f"it is not complete JSON: {str(error).splitlines()[0][:200]}") from error


def _row(name: str, record: object) -> Iterator[ImportRow]:
    number = whole(record.get("time")) if isinstance(record, dict) else None
    if number is None:
        yield Refusal("counters", name[:200], "is not a whole number")
    elif number:
        yield CounterRow(name, VIEWS, number)
