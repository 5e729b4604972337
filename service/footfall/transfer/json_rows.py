"""Rows of JSON files, one at a time, however large the file is."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import chain
from typing import Any

import ijson
import orjson

from ..http.surrogates import whole_escapes
from .json_bytes import sound
from .rows import ImportRow, ImportRows, Refusal
from .source import Damaged, Source, Stream

# The objects of a list of this name, or objects that follow each other in the file.
LIST, RESULTS, SEQUENCE = "item", "results.item", ""
# A list in the first object, as in {"results": [
_RESULTS = re.compile(rb'\s*\{\s*"results"\s*:\s*\[')
_LONG_NUMBER = re.compile(rb"\d{19}")
# LeanCloud's files start with this line, and are nothing else for a class without objects.
_COMMENT = re.compile(rb"\A\s*#[^\n]*\n?")

Record = dict[str, Any]
LocatedRecord = tuple[str, Record]
Make = Callable[[str, Record], Iterable[ImportRow]]


def rows(source: Source, make: Make, prefix: str | None = None) -> ImportRows:
    """The results of `make` for the place and the fields of each object. Raises Damaged."""
    for item in objects(source, prefix):
        yield from [item] if isinstance(item, Refusal) else make(*item)


def objects(source: Source, prefix: str | None = None) -> Iterator[LocatedRecord | Refusal]:
    """Each object with the words that name its place: those below `prefix`, in ijson's notation, or
    those of whatever list the file is. Raises Damaged."""
    head = _COMMENT.sub(b"", source.head(), count=1).lstrip()
    if not head:
        return
    if prefix is None and _is_one_a_line(head):
        yield from _of_lines(source)
        return
    if prefix is None:
        prefix = LIST if head.startswith(b"[") else RESULTS if _RESULTS.match(head) else SEQUENCE
    chunks = _without_comment(source.chunks())
    if prefix == SEQUENCE and _has_commas(head):
        chunks, prefix = chain([b"["], chunks, [b"]"]), LIST
    try:
        stream = Stream(sound(chunks))
        items = ijson.items(stream, prefix, multiple_values=True)
        for number, value in enumerate(items, 1):
            yield _object(f"row {number}", value)
    except ijson.JSONError as error:
        raise Damaged(f"it is not complete JSON: {str(error).splitlines()[0][:200]}") from error


def _without_comment(chunks: Iterator[bytes]) -> Iterator[bytes]:
    first = b""
    for chunk in chunks:
        first += chunk
        if b"\n" in first.lstrip():
            break
    yield _COMMENT.sub(b"", first, count=1)
    yield from chunks


def _has_commas(head: bytes) -> bool:
    """Is there a comma between the first two objects, as in a list without its brackets?"""
    text = head.decode(errors="replace")
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return text[end:].lstrip().startswith(",")


def _is_one_a_line(head: bytes) -> bool:
    line = head.partition(b"\n")[0].strip().rstrip(b",")
    if not line.startswith(b"{") or _RESULTS.match(line):
        return False
    try:
        orjson.loads(whole_escapes(line))
    except ValueError:
        return False
    return True


def _of_lines(source: Source) -> Iterator[LocatedRecord | Refusal]:
    for number, line in source.lines():
        if line.startswith(b"#"):
            continue
        where = f"line {number}"
        try:
            yield _object(where, _parsed(whole_escapes(line).strip().rstrip(b",")))
        except (ValueError, RecursionError):
            yield Refusal("comments", where, "is not JSON")


def _parsed(line: bytes) -> Any:
    # orjson is fast, but rounds what does not fit into 64 bits.
    return (
        json.loads(line, parse_float=Decimal) if _LONG_NUMBER.search(line) else orjson.loads(line)
    )


def _object(where: str, value: object) -> LocatedRecord | Refusal:
    return (
        (where, value)
        if isinstance(value, dict)
        else Refusal("comments", where, "is not an object")
    )
