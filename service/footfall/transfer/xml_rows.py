"""Elements of XML files, one at a time, without entities of their own.

The parser is expat, which reads text in pieces: so a field of any length takes no memory, and all
after its first megabyte is left out. A file that declares an entity is rejected, since entities are
used for bombs and for reading other files; no address in a file is ever fetched.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple
from xml.parsers import expat

from .source import CHUNK_BYTES, Damaged, Source

MAX_FIELD_CHARACTERS = 1 << 20
# The longest tag, with its attributes.
MAX_TAG_BYTES = 1 << 20
MAX_DEPTH = 64
# Characters that XML must not contain, but old databases do.
_NEVER = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")
# What stands for one of them, so that its field is known: no text may contain it, but XML may.
_MARK = "\ufdd0".encode()
# A character by its number, and the start of one that may continue in the next chunk.
_NUMBERED = re.compile(rb"&#(?:x([0-9a-fA-F]{1,8})|([0-9]{1,8}));")
_CUT = re.compile(rb"(?:&#?[x0-9a-fA-F]{0,9}|\xef\xbf?)\Z")
_CUT_BYTES = 11
_BEFORE = b" \t\r\n\xef\xbb\xbf"

# Texts by names, without namespaces; an attribute is `element@name`, or `@name` of the element
# itself; the text of an inner element is `outer/inner`.
Fields = dict[str, str]


class Element(NamedTuple):
    """`around` has the fields so far of the wanted element around this one."""

    name: str
    fields: Fields
    around: Fields


def elements(source: Source, names: Collection[str]) -> Iterator[Element]:
    """Elements with these names when they end, so inner ones come first; a name is `outer/inner`.

    Raises Damaged.
    """
    reader = _Reader(frozenset(names))
    fed = 0
    for sound in _sound(source.every_chunk()):
        reader.feed(sound, is_last=False)
        fed += len(sound)
        yield from reader.taken()
        if fed - reader.position > MAX_TAG_BYTES + 2 * CHUNK_BYTES:
            raise Damaged(f"it has a tag of more than {MAX_TAG_BYTES:,} bytes")
    reader.feed(b"", is_last=True)
    yield from reader.taken()


def _sound(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Without characters that XML must not contain: for one such number the parser would reject the
    file."""
    rest, has_started = b"", False
    for chunk in chunks:
        # A declaration must come first, but some programs write blanks before it.
        chunk = rest + (chunk if has_started else chunk.lstrip(_BEFORE))
        has_started = has_started or bool(chunk)
        cut = _CUT.search(chunk, max(0, len(chunk) - _CUT_BYTES))
        end = cut.start() if cut else len(chunk)
        whole, rest = chunk[:end], chunk[end:]
        yield _NEVER.sub(_MARK, _NUMBERED.sub(_allowed, whole))
    yield rest


def _allowed(match: re.Match[bytes]) -> bytes:
    number = int(match[1], 16) if match[1] else int(match[2])
    is_character = number in (9, 10, 13) or 32 <= number < 0xD800 or 0xE000 <= number < 0xFFFE
    return match[0] if is_character or 0x10000 <= number < 0x110000 else _MARK


class _Reader:
    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._found: list[Element] = []
        # Open elements: their names, and those of them that are wanted.
        self._path: list[str] = []
        self._open: list[tuple[int, Fields]] = []
        self._text: list[str] = []
        self._length = 0
        # Whatever encoding the file names, the source has converted it to UTF-8.
        self._parser = parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        parser.EntityDeclHandler = self._refuse

    @property
    def position(self) -> int:
        return self._parser.CurrentByteIndex

    def feed(self, chunk: bytes, *, is_last: bool) -> None:
        try:
            self._parser.Parse(chunk, is_last)
        except expat.ExpatError as error:
            raise Damaged(f"it is not complete XML: {error}") from error

    def taken(self) -> Iterator[Element]:
        elements, self._found = self._found, []
        yield from elements

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        if len(self._path) >= MAX_DEPTH:
            raise Damaged(f"it has more than {MAX_DEPTH} elements in each other")
        self._path.append(name)
        self._text, self._length = [], 0
        if "/".join(self._path[-2:]) in self._names:
            self._open.append((len(self._path), {}))
        for key, value in attributes.items():
            self._put(f"@{key.rpartition(' ')[2]}", value)

    def _end(self, tag: str) -> None:
        text = "".join(self._text)
        self._text, self._length = [], 0
        if self._open and self._open[-1][0] == len(self._path):
            _, fields = self._open.pop()
            around = self._open[-1][1] if self._open else {}
            self._found.append(Element(self._path[-1], fields, around))
        elif text.strip():
            self._put("", text.strip())
        self._path.pop()

    def _put(self, suffix: str, text: str) -> None:
        if self._open:
            depth, fields = self._open[-1]
            # The first text counts, as a field of a comment comes before inner elements.
            fields.setdefault("/".join(self._path[depth:]) + suffix, text)

    def _data(self, text: str) -> None:
        if self._open and self._length < MAX_FIELD_CHARACTERS:
            self._text.append(text)
            self._length += len(text)

    def _refuse(self, *declared: object) -> None:
        raise Damaged("it declares entities, which no such file needs")
