"""Rows of a table in CSV, whatever wrote it: Excel's first line `sep=;`, line ends of old Macs, a
quotation mark that is never closed."""

import csv
import re
from collections.abc import Callable, Iterator
from itertools import chain

from .source import MAX_FIELD_BYTES, Damaged, Source

# Of a table's columns; raises Damaged for another table.
Names = Callable[[list[str]], list[str]]
# By which Excel learns the separator of its own files.
_SEPARATOR = re.compile(r'"?sep=(.)"?\s*\Z', re.IGNORECASE)
# A row that does not end is read again without its first line, so often.
MAX_REREAD = 100


def records(source: Source, names_of: Names) -> Iterator[tuple[int, dict[str, str] | str]]:
    """The line in which each row ends, and its fields by the names that `names_of` gives to the
    columns of the head; or what is wrong with the row. Raises Damaged, OSError."""
    names: list[str] | None = None
    for number, row in _rows(source):
        if names is None:
            if isinstance(row, str):
                raise Damaged(f"it is not a table: its first row {row}")
            names = names_of(row)
        elif isinstance(row, str):
            yield number, row
        elif row:
            yield number, dict.fromkeys(names, "") | dict(zip(names, row, strict=False))


def _rows(source: Source) -> Iterator[tuple[int, list[str] | str]]:
    csv.field_size_limit(4 * MAX_FIELD_BYTES)
    lines = _Lines(source)
    first = next(lines, "")
    told = _SEPARATOR.match(first)
    if not told:
        lines.read_again([first])
    delimiter = told[1] if told else max(",;\t|", key=first.count)
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        start, lines.of_row = lines.number + 1, []
        try:
            row: list[str] | str = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = f"is not a row: {error}"
        is_open = lines.is_over and "".join(lines.of_row).count('"') % 2
        if not is_open or lines.reread >= MAX_REREAD:
            yield lines.number, row
            continue
        lines.read_again(lines.of_row[1:])
        yield start, "has a quotation mark that is never closed"
        reader = csv.reader(lines, delimiter=delimiter)


class _Lines:
    """The lines of a file. Those of a row may be read again."""

    def __init__(self, source: Source) -> None:
        head = source.head()
        end = b"\r" if b"\r" in head and b"\n" not in head else b"\n"
        lines = source.lines(has_blank=True, end=end)
        self._lines: Iterator[str] = (line.decode(errors="replace") + "\n" for _, line in lines)
        self.number = 0
        self.of_row: list[str] = []
        self.is_over = False
        self.reread = 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = next(self._lines, None)
        if line is None:
            self.is_over = True
            raise StopIteration
        self.number += 1
        self.of_row.append(line)
        return line

    def read_again(self, lines: list[str]) -> None:
        self._lines = chain(lines, self._lines)
        self.number -= len(lines)
        self.reread += self.is_over
        self.is_over = False
