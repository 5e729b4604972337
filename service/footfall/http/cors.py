"""Answers to CORS preflights: may a page of another site send this, and read what it gets?"""

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
    """Without a word of who may read it, browsers take the answer for a refusal."""
    return Response(204, b"", [(b"allow", allowed.encode())], PRIVATE)
