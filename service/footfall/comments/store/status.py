"""A comment's status as a page stores it, in the hash `held`; approved comments have none there.

`waiting` or `spam`, followed by a mark if the comment was approved before: 1 if it was announced, 0
if not. `deleted`, with its former status, and `pinned` if it was.
"""

import re
from typing import cast

from ...model import Standing, Status

# Of a comment in a backup, which has no deleted ones.
LASTING = re.compile("approved|(waiting|spam)( [01])?")

# Of a stored one that is not approved.
STORED = re.compile(rb"(waiting|spam)( [01])?|deleted (approved|(waiting|spam)( [01])?)( pinned)?")


def status_of(stored: bytes | None) -> Standing:
    if not stored:
        return "approved"
    word = stored.partition(b" ")[0]
    return "spam" if word == b"spam" else "deleted" if word == b"deleted" else "waiting"


def status_in(stored: str) -> Status:
    """The status in the words of a comment in a backup."""
    return cast(Status, stored.partition(" ")[0])
