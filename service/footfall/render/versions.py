"""The version of a comment: a digest of its text, author and status. A decision is about one.

It is long enough that no author finds two texts with the same one.
"""

from collections.abc import Iterable
from hashlib import blake2b

from ..model import Status, StoredComment


def version_of(status: Status, body: Iterable[bytes]) -> str:
    """`body` are its pieces, as in model.Body."""
    return blake2b(b"\n".join((status.encode(), *body)), digest_size=16).hexdigest()


def version(stored: StoredComment) -> str:
    return version_of(stored.status, stored.body)


def is_seen(stored: StoredComment, seen: str) -> bool:
    """Is it what a caller has seen: this version, or this status? "" fits any."""
    return not seen or seen in (stored.status, version(stored))
