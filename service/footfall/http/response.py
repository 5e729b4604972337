"""An answer before it is sent: status, headers and body, or a 304 if the client has the body.

Endpoints send answers through ASGI, the fast path writes them to the socket; both are made here, so
they cannot differ.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from ..errors import ServiceError
from . import envelope

log = logging.getLogger(__name__)

Headers = Sequence[tuple[bytes, bytes]]

# The release of the reference server whose API this service has; users quote it when they report.
API_VERSION = b"1.39.3"
JSON: Headers = (
    (b"content-type", b"application/json; charset=utf-8"),
    (b"x-waline-version", API_VERSION),
    # The JSON contains what strangers wrote, and no browser may interpret it as a page.
    (b"x-content-type-options", b"nosniff"),
)
COMMON: Headers = (*JSON, (b"access-control-allow-origin", b"*"), (b"vary", b"Origin"))
# For whom the answer alone is, by a cookie: no other site's page reads it, and nothing keeps it.
PRIVATE: Headers = (
    *JSON,
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


# A successful answer: its body, and its ETag or b"". A tuple, since to make an object would take as
# long as to make the body.
Reply = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Response:
    """`stream` is what follows the body, where nobody knows yet how long that is."""

    status: int
    body: bytes
    extra: Headers = ()
    common: Headers = COMMON
    stream: AsyncGenerator[bytes] | None = None

    @property
    def headers(self) -> Headers:
        # A 204 and a 304 have no length; a HEAD has the length of what it leaves out.
        if self.status in (204, 304) or self.stream:
            return [*self.common, *self.extra]
        return [*self.common, (b"content-length", b"%d" % len(self.body)), *self.extra]


def answer_of(reply: Reply, known: bytes) -> Response:
    """200, or 304 if the ETag is in `known`, the value of If-None-Match."""
    body, tag = reply
    if not tag:
        return Response(200, body)
    if known and any(each.strip().removeprefix(b"W/") in (tag, b"*") for each in known.split(b",")):
        return Response(304, b"", tagged(tag))
    return Response(200, body, tagged(tag))


def lines(headers: Headers) -> bytes:
    """Headers in HTTP/1.1's form, each line with its line end."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def failed(
    error: BaseException,
    language: str,
    request: str,
    body_of: Callable[[ServiceError, str], bytes] = envelope.failed,
) -> Response:
    """The answer to a failure, whose body `body_of` makes. An error that is no ServiceError is a
    bug: it is logged, and the client gets a plain 500."""
    if not isinstance(error, ServiceError):
        log.error("%s", request, exc_info=error)
        error = ServiceError()
    extra = [(name.encode(), value.encode()) for name, value in error.headers.items()]
    return Response(error.status, body_of(error, language), extra)


def tagged(tag: bytes) -> Headers:
    return ((b"etag", tag), (b"cache-control", b"no-cache"))


def tagged_by_body(body: bytes) -> Reply:
    return body, b'"%b"' % blake2b(body, digest_size=8).hexdigest().encode()
