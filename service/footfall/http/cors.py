"""CORS preflights: may a page of another site send this request, and read the response?"""

from .client import Headers
from .response import PRIVATE, Response

METHODS = "GET,HEAD,PUT,POST,DELETE,PATCH"


def permitted(headers: Headers, allowed: str) -> Response:
    """Any header is allowed, and browsers may remember it for a day; `allowed` are the methods."""
    extra = [
        (b"allow", allowed.encode()),
        (b"access-control-allow-methods", METHODS.encode()),
        (b"access-control-max-age", b"86400"),
    ]
    requested = headers.get(b"access-control-request-headers")
    if requested:
        extra.append((b"access-control-allow-headers", requested))
    return Response(204, b"", extra)


def refused(headers: Headers, allowed: str) -> Response:
    """Without CORS headers, browsers treat the answer as a rejection."""
    return Response(204, b"", [(b"allow", allowed.encode())], PRIVATE)
