"""Request bodies: JSON, forms and multipart, each to the same dict of fields.

A body of any other kind counts as empty, as in the reference; only POST article takes text/plain
too, since that is the one kind that a page can send to another origin without asking first.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import orjson
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers as StarletteHeaders
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.types import Receive

from ..errors import Unreadable
from .parse import MAX_BODY, MAX_FIELDS, parse_query

# The longest comment there may be, each of its bytes in percent; taking one apart takes its time.
MAX_FORM = 256 * 1024

Headers = Mapping[bytes, bytes]


async def read_body(
    method: str, headers: Headers, receive: Receive, query: Mapping[str, Any], path: str
) -> Any:
    """The body's fields, or a JSON list; the query's where there is no body. Raises Unreadable."""
    if b"content-length" not in headers and b"transfer-encoding" not in headers:
        return query if method == "POST" else {}
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    raw = await _bytes(headers, receive)
    if not raw and (query or method != "POST"):
        return query if method == "POST" else {}
    if kind == b"application/json" or (kind == b"text/plain" and path == "/article"):
        return _json(raw)
    if kind == b"application/x-www-form-urlencoded":
        if len(raw) > MAX_FORM:
            raise Unreadable("the form is too large")
        return parse_query(raw)
    if kind == b"multipart/form-data":
        return await _multipart(headers, raw)
    return {}


async def _bytes(headers: Headers, receive: Receive) -> bytes:
    announced = headers.get(b"content-length", b"0")
    if announced.isdigit() and int(announced) > MAX_BODY:
        raise Unreadable("the body is too large")
    chunks, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Unreadable("the client went away")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > MAX_BODY:
            raise Unreadable("the body is too large")
        chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)


def _json(raw: bytes) -> Any:
    """An object or a list; other values have no fields. Bytes that are no UTF-8 become U+FFFD."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        try:
            value = orjson.loads(raw.decode(errors="replace"))
        except orjson.JSONDecodeError as error:
            raise Unreadable() from error
    return value if isinstance(value, dict | list) else {}


async def _multipart(headers: Headers, raw: bytes) -> dict[str, Any]:
    async def stream() -> AsyncGenerator[bytes]:
        yield raw

    # The sender may not choose the encoding: some codecs take seconds, some yield what is no text.
    # Latin-1 keeps every byte, to be read as UTF-8 here.
    _, options = parse_options_header(headers[b"content-type"])
    boundary = options.get(b"boundary", b"").decode("latin-1")
    kind = f'multipart/form-data; boundary="{boundary}"; charset=latin-1'
    parser = MultiPartParser(
        StarletteHeaders({"content-type": kind}), stream(), max_files=0, max_fields=MAX_FIELDS,
        max_part_size=MAX_BODY,
    )  # fmt: skip
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError, LookupError) as error:
        raise Unreadable() from error
    fields: dict[str, Any] = {}
    for name in form:
        values = [_utf8(value) for value in form.getlist(name) if isinstance(value, str)]
        fields[_utf8(name)] = values if len(values) > 1 else values[0]
    return fields


def _utf8(latin: str) -> str:
    return latin.encode("latin-1").decode(errors="replace")
