"""Forms sent as multipart/form-data, parsed by python-multipart.

Names and values are UTF-8, whatever charset, filename* or Content-Transfer-Encoding claim.

Starlette has such a parser as well, but two of our bounds do not hold there: a form that ends
before its last boundary is accepted without the truncated field, and bytes that are not UTF-8 are
read as Latin-1. Nor does it distinguish its errors, each of which has its own message here.
tests/unit/test_multipart.py fails as soon as that changes.
"""

import re
from collections.abc import Callable
from typing import Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from ..errors import BadRequest, Unreadable
from .params import MAX_FIELDS

# One header of a part: parse_options_header takes quadratic time for a quote that does not end.
MAX_HEADER_BYTES = 512
# RFC 2046, section 5.1.1.
_BOUNDARY = re.compile(rb"[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]")


def parse_multipart(content_type: bytes, raw: bytes) -> dict[str, Any]:
    """The form's fields; a repeated name becomes a list. Raises Unreadable and BadRequest."""
    boundary = parse_options_header(content_type[:MAX_HEADER_BYTES])[1].get(b"boundary", b"")
    if not _BOUNDARY.fullmatch(boundary):
        raise Unreadable("a multipart form needs a boundary of 1 to 70 characters of RFC 2046")
    form = _Form()
    try:
        parser = MultipartParser(boundary, form.callbacks, max_header_size=MAX_HEADER_BYTES)
        parser.write(raw)
    except FormParserError as error:
        raise Unreadable("the multipart form is broken") from error
    if not form.is_whole:
        raise Unreadable("the multipart form ends before its last boundary")
    return form.fields


class _Form:
    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.is_whole = False
        self._parts = 0
        self._header = self._disposition = self._name = b""
        self._value: list[bytes] = []

    @property
    def callbacks(self) -> Any:
        """The parser's callbacks; it passes data as a buffer, a start and an end."""
        return {
            "on_part_begin": self._start,
            "on_header_field": self._taking(self._take_header),
            "on_header_value": self._taking(self._take_header_value),
            "on_headers_finished": self._take_name,
            "on_part_data": self._taking(self._value_append),
            "on_part_end": self._end,
            "on_end": self._finish,
        }

    @staticmethod
    def _taking(take: Callable[[bytes], None]) -> Callable[[bytes, int, int], None]:
        return lambda data, start, end: take(data[start:end])

    def _start(self) -> None:
        self._parts += 1
        if self._parts > MAX_FIELDS:
            raise BadRequest({"form": f"form should be at most {MAX_FIELDS} fields"})
        self._disposition, self._value = b"", []

    def _take_header(self, name: bytes) -> None:
        self._header = name.lower()

    def _take_header_value(self, value: bytes) -> None:
        if self._header == b"content-disposition":
            self._disposition = value

    def _take_name(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._name = options.get(b"name", b"")
        if not self._name:
            raise Unreadable("every part of a form needs a name")
        if b"filename" in options:
            raise Unreadable("files are not accepted")

    def _value_append(self, data: bytes) -> None:
        self._value.append(data)

    def _end(self) -> None:
        name = self._name.decode(errors="replace")
        value = b"".join(self._value).decode(errors="replace")
        if name not in self.fields:
            self.fields[name] = value
        elif isinstance(self.fields[name], list):
            self.fields[name].append(value)
        else:
            self.fields[name] = [self.fields[name], value]

    def _finish(self) -> None:
        self.is_whole = True
