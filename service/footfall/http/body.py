"""Request bodies: JSON, forms and multipart, each parsed to the same dict of fields.

JSON may also come as text/plain, which a page can send to another origin without a preflight, or
without a Content-Type. Other types are rejected with a message that names the accepted ones. Text
is always UTF-8, whatever charset a request claims.
"""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.types import Receive

from ..errors import Unreadable, UnsupportedMediaType
from .multipart import parse_multipart
from .params import MAX_BODY, parse_query
from .surrogates import whole_escapes

# A form without its comment. It is bounded, since forms take much longer to parse than JSON.
MAX_OTHER_FIELDS_BYTES = 64 * 1024
# A character of four bytes in UTF-8, each percent-encoded.
FORM_BYTES_A_CHARACTER = 12

JSON, FORM, MULTIPART = (
    b"application/json",
    b"application/x-www-form-urlencoded",
    b"multipart/form-data",
)
AS_JSON = (JSON, b"text/plain", b"")
# The first bytes of a text in UTF-16 or UTF-32; no text in UTF-8 starts with them.
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
    """The body's fields as a dict, or a JSON list; a POST without a body has its query's fields.

    `comment_length` is how many characters a comment may have; it bounds the size of a form.
    Raises Unreadable, UnsupportedMediaType and BadRequest.
    """
    if b"content-length" not in headers and b"transfer-encoding" not in headers:
        # Anything after the whole request means that the client has disconnected.
        while (await receive()).get("more_body"):
            pass
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
        # `curl -d '{…}'` sends JSON with the Content-Type of a form.
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
    """A dict or a list; an empty dict for other values, as they have no fields. Bytes that are not
    UTF-8 and halves of characters become U+FFFD. Raises Unreadable."""
    raw = raw.removeprefix(BOM_UTF8)
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        if raw.startswith(_OTHER_BOMS) or b"\0" in raw[:4]:
            raise Unreadable("the body is not UTF-8: send JSON in UTF-8") from None
        try:
            value = orjson.loads(whole_escapes(raw.decode(errors="replace").encode()))
        except orjson.JSONDecodeError as error:
            raise Unreadable() from error
    return value if isinstance(value, dict | list) else {}
