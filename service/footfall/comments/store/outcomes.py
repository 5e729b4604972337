"""What comes of publishing a comment, by the words of its script."""

from typing import Any

from ...errors import NoSuchParent


class IdTaken(Exception):
    """The id is in use: make another one."""


class AlreadyPublished(Exception):
    """The comment with this `id` has the same author and the same text."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.id = id


def require_stored(outcome: Any, id: str, page: str) -> None:
    """Raises AlreadyPublished, NoSuchParent, IdTaken."""
    match outcome:
        case [b"OK", _]:
            return
        case [b"DUPLICATE", same]:
            raise AlreadyPublished(same.decode() + page)
        case [b"ORPHAN"]:
            raise NoSuchParent()
    raise IdTaken(id)
