"""Signed tokens (RFC 7519, HS256), whose claims nobody else can have made.

The library is imported with the first token: a process that only counts has none.
"""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import Any

ALGORITHM = "HS256"
_HEADER = {"alg": ALGORITHM, "typ": "JWT"}


def key_of(purpose: str, secret: str) -> bytes:
    """A key for tokens of one purpose: those of another one are signed differently.

    It has the 32 bytes that HS256 wants; JWT_TOKEN may be a word, and is Waline's own key.
    """
    return sha256(f"footfall {purpose}\0{secret}".encode()).digest()


def sign(claims: Mapping[str, Any], key: bytes) -> str:
    from joserfc import jwt
    from joserfc.jwk import OctKey

    signing = OctKey.import_key(key)
    return jwt.encode(_HEADER, dict(claims), signing, [ALGORITHM], default_type=None)


@cache
def _first_part() -> str:
    return sign({}, bytes(32)).partition(".")[0]


def claims_of(token: str, key: bytes) -> Mapping[str, Any] | None:
    """The claims of a token; None if it was not signed with this key."""
    # Strangers' headers do not come to the library: some of them make it raise TypeErrors.
    if token.partition(".")[0] != _first_part():
        return None
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import OctKey

    try:
        return jwt.decode(token, OctKey.import_key(key), [ALGORITHM]).claims
    except (JoseError, ValueError):
        return None
