"""An answer before it is sent: status, headers, body; and when a client has it already.

The endpoints send answers through ASGI, the fast path writes them itself: both take them from here,
so that they cannot differ.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from ..errors import ServiceError
from . import envelope

log = logging.getLogger(__name__)

Headers = Sequence[tuple[bytes, bytes]]

# The release of the reference server whose API this is; people quote it in support questions.
API_VERSION = b"1.39.3"
COMMON: Headers = (
    (b"content-type", b"application/json; charset=utf-8"),
    (b"access-control-allow-origin", b"*"),
    (b"vary", b"Origin"),
    (b"x-waline-version", API_VERSION),
    # What strangers wrote is in here: no browser is to take it for a page.
    (b"x-content-type-options", b"nosniff"),
)


# What is answered when all went well: a body, and a tag by which clients may ask whether it has
# changed, or b"". No class, since to make one takes as long as to make what is in it.
Reply = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: bytes
    extra: Headers = ()

    @property
    def headers(self) -> Headers:
        # A 204 and a 304 have no length; a HEAD has the length of what it leaves out.
        if self.status in (204, 304):
            return [*COMMON, *self.extra]
        return [*COMMON, (b"content-length", b"%d" % len(self.body)), *self.extra]


def answer_of(said: Reply, known: bytes) -> Response:
    """200, or 304 if the tag is among those of If-None-Match."""
    body, tag = said
    if not tag:
        return Response(200, body)
    if known and any(each.strip().removeprefix(b"W/") in (tag, b"*") for each in known.split(b",")):
        return Response(304, b"", tagged(tag))
    return Response(200, body, tagged(tag))


def lines(headers: Headers) -> bytes:
    """Headers as they go over the wire."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def failed(error: BaseException, language: str, request: str) -> Response:
    """What a failure is answered with; one that is not ours is a bug, logged and not shown."""
    if not isinstance(error, ServiceError):
        log.error("%s", request, exc_info=error)
        error = ServiceError()
    extra = [(name.encode(), value.encode()) for name, value in error.headers.items()]
    return Response(error.status, envelope.failed(error, language), extra)


def tagged(tag: bytes) -> Headers:
    return ((b"etag", tag), (b"cache-control", b"no-cache"))


def tagged_by_body(body: bytes) -> Reply:
    return body, b'"%b"' % blake2b(body, digest_size=8).hexdigest().encode()
