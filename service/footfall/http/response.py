"""An answer before it is sent: status, headers and body, or a 304 if the client has the body.

Endpoints send answers through ASGI, the fast path writes them to the socket; both are made here, so
they cannot differ.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from ..errors import ServiceError
from . import envelope

log = logging.getLogger(__name__)

Headers = Sequence[tuple[bytes, bytes]]

# The release of Waline whose API this service has; users quote it when they report.
API_VERSION = b"1.39.3"
JSON_TYPE = b"application/json; charset=utf-8"
_VERSION = (b"x-waline-version", API_VERSION)
# Answers contain what strangers wrote: no browser may take JSON for a page.
NOSNIFF = (b"x-content-type-options", b"nosniff")
# The headers of what pages of any site may read, and the same in Waline's API.
SHARED: Headers = (NOSNIFF, (b"access-control-allow-origin", b"*"), (b"vary", b"Origin"))
COMMON: Headers = (_VERSION, *SHARED)
NO_STORE = (b"cache-control", b"no-store")
# Prevents scripts in responses that a browser may open as a page, such as a picture with a
# visitor's text.
SANDBOX = (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; sandbox")
# For the cookie's owner alone: no other site's page reads it, and nothing caches it.
PRIVATE: Headers = (_VERSION, NOSNIFF, NO_STORE, (b"cross-origin-resource-policy", b"same-origin"))


# A successful answer: its body, and its ETag or b"". A tuple, since to make an object would take as
# long as to make the body.
Reply = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Response:
    """`common` are the headers of all responses of an API variant, `extra` those of this one.
    `stream` follows the body, if its length is not known yet."""

    status: int
    body: bytes
    extra: Headers = ()
    common: Headers = COMMON
    stream: AsyncGenerator[bytes] | None = None
    type: bytes = JSON_TYPE
    # Its ETag, or b"".
    tag: bytes = b""

    @property
    def headers(self) -> Headers:
        headers = [(b"content-type", self.type), *self.common]
        # A 204 and a 304 have no length; a HEAD has the length of the omitted body.
        if self.status not in (204, 304) and not self.stream:
            headers.append((b"content-length", b"%d" % len(self.body)))
        if self.tag:
            headers += tagged(self.tag)
        return [*headers, *self.extra]

    def under(self, common: Headers) -> "Response":
        return self if common is self.common else replace(self, common=common)


def answer_of(reply: Reply | Response, tags: bytes) -> Response:
    """The whole answer, or 304 if its ETag is in `known`, the value of If-None-Match."""
    answer = reply if isinstance(reply, Response) else Response(200, reply[0], tag=reply[1])
    if not answer.tag or not tags:
        return answer
    if any(tag.strip().removeprefix(b"W/") in (answer.tag, b"*") for tag in tags.split(b",")):
        return replace(answer, status=304, body=b"")
    return answer


def lines(headers: Headers) -> bytes:
    """Headers in HTTP/1.1's form, each line with its line end."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


# The answer with an error, in a language.
Refuse = Callable[[ServiceError, str], Response]


def refused(error: ServiceError, language: str) -> Response:
    return Response(error.status, envelope.failed(error, language))


def failed(error: BaseException, language: str, request: str, refuse: Refuse = refused) -> Response:
    """The answer to a failure. An error that is not a ServiceError is a bug: it is logged, and the
    client gets a plain 500."""
    if not isinstance(error, ServiceError):
        log.error("%s", request, exc_info=error)
        error = ServiceError()
    answer = refuse(error, language)
    extra = [(name.encode(), value.encode()) for name, value in error.headers.items()]
    return replace(answer, extra=[*answer.extra, *extra]) if extra else answer


def tagged(tag: bytes) -> Headers:
    return ((b"etag", tag), (b"cache-control", b"no-cache"))


def tagged_by_body(body: bytes) -> Reply:
    return body, b'"%b"' % blake2b(body, digest_size=8).hexdigest().encode()
