"""Request bodies: JSON, forms and multipart, each to the same dict of fields.

JSON may come as text/plain or without a type, too: the first is the one kind that a page can send
to another origin without asking first. Anything else is refused in words that say what to send. No
codec is ever chosen by what a request says of itself: text is UTF-8.
"""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.types import Receive

from ..errors import Unreadable, UnsupportedMediaType
from .multipart import parse_multipart
from .params import MAX_BODY, parse_query

# A form besides its comment; taking one apart takes its time.
MAX_OTHER_FIELDS_BYTES = 64 * 1024
# A character of four bytes, each of them written in percent.
FORM_BYTES_A_CHARACTER = 12

JSON, FORM, MULTIPART = (
    b"application/json",
    b"application/x-www-form-urlencoded",
    b"multipart/form-data",
)
AS_JSON = (JSON, b"text/plain", b"")
# As a UTF-16 or UTF-32 text begins, and no UTF-8 one.
_OTHER_BOMS = (BOM_UTF16_LE, BOM_UTF16_BE)

Headers = Mapping[bytes, bytes]


async def read_body(
    method: str,
    headers: Headers,
    receive: Receive,
    query: Mapping[str, Any],
    *,
    comment_length: int,
) -> Any:
    """The body's fields, or a JSON list; the query's where there is no body.

    `comment_length` is how many characters a comment may have: a form has room for one. Raises
    Unreadable, UnsupportedMediaType and BadRequest.
    """
    if b"content-length" not in headers and b"transfer-encoding" not in headers:
        return query if method == "POST" else {}
    kind = kind_of(headers)
    raw = await _bytes(headers, receive)
    if not raw and (query or method != "POST" or kind != JSON):
        return query if method == "POST" else {}
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise UnsupportedMediaType("send the body as it is, without a Content-Encoding")
    if kind in AS_JSON:
        return parse_json(raw)
    if kind not in (FORM, MULTIPART):
        raise UnsupportedMediaType()
    if len(raw) > comment_length * FORM_BYTES_A_CHARACTER + MAX_OTHER_FIELDS_BYTES:
        raise Unreadable("the form is too large")
    if kind == MULTIPART:
        return parse_multipart(headers[b"content-type"], raw)
    if raw.lstrip()[:1] in (b"{", b"["):
        # What curl makes of JSON that it is given.
        raise Unreadable("the body looks like JSON: send it with Content-Type: application/json")
    return parse_query(raw)


def kind_of(headers: Headers) -> bytes:
    """The media type of a body, without parameters and in lower case; empty if it has none."""
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower()


async def _bytes(headers: Headers, receive: Receive) -> bytes:
    announced = headers.get(b"content-length", b"0")[:20]
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


def parse_json(raw: bytes) -> Any:
    """An object or a list; other values have no fields. Bytes that are no UTF-8 become U+FFFD.

    Raises Unreadable.
    """
    raw = raw.removeprefix(BOM_UTF8)
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        if raw.startswith(_OTHER_BOMS) or b"\0" in raw[:4]:
            raise Unreadable("the body is not UTF-8: send JSON in UTF-8") from None
        try:
            value = orjson.loads(raw.decode(errors="replace"))
        except orjson.JSONDecodeError as error:
            raise Unreadable() from error
    return value if isinstance(value, dict | list) else {}
