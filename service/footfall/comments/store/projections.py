"""What the site makes of the entries of pages' journals: its projections.

The scripts that change a comment write down what happened (lua/includes/record.lua). Here an entry
is read back, and turned into what lua/journal/apply.lua does to the site: its lists, totals,
tallies, the log of moderation, the outbox, and the pages with something to remove.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...driver.keys import Keys
from ...ids import created_ms
from ...plurals import number_of
from ...tasks import Task

log = logging.getLogger(__name__)

# For so long a change of moderators can be undone, and deleted comments are stored.
UNDO_MS = 60_000
# A due time for every service's clock; a page's version may be ahead of it.
AT_ONCE_MS = 1
# Whose changes people are notified of.
TELLING = ("author", "moderator", "judge", "readers")
# Who is no moderator, and has a log of their own -> the way on which they came.
DOORS = {"judge": "filter", "readers": "readers"}


@dataclass(frozen=True, slots=True)
class CommentChange:
    """A change of a comment; "" for missing values.

    `id` is the short one; `was` and `now` may be `deleted`, or `gone` with another one; `mark` as
    in an unpublished comment's status (lua/includes/status_of.lua).
    """

    id: str
    was: str
    now: str
    mark: str
    was_pinned: bool
    is_pinned: bool
    account_was: str
    account: str
    author_was: str
    author: str

    @classmethod
    def parse(cls, line: str) -> "CommentChange":
        """Raises ValueError."""
        id, was, now, mark, was_pinned, is_pinned, *people = line.split(" ")
        account_was, account, author_was, author = map(_given, people)
        return cls(
            id,
            _given(was),
            now,
            _given(mark),
            was_pinned == "1",
            is_pinned == "1",
            account_was,
            account,
            author_was,
            author,
        )


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """What one script has done to comments of a page, `visible` of which are approved since; below
    zero if that is not known.

    `version` is the page's, which no other entry has. `did` is publish, moderate, edit, delete,
    restore or move; `by` author, moderator, `judge`, readers, import, erasure, sweeper, check or
    move; `actor` a moderator's account, with the `door` on which they came and the `action` that it
    is a part of; `lengths` the characters of a text before and now.
    """

    version: int
    did: str
    by: str
    actor: str
    visible: int
    lengths: tuple[str, ...]
    changes: Sequence[CommentChange]
    door: str = ""
    action: str = ""

    @classmethod
    def parse(cls, id: bytes, pairs: Sequence[bytes]) -> "JournalEntry":
        """What no script has written is an entry without changes: others are followed all the
        same."""
        version = int(id.partition(b"-")[0])
        try:
            texts = [word.decode() for word in pairs]
            fields = dict(zip(texts[::2], texts[1::2], strict=True))
            # Older versions wrote the account alone.
            actor, door, action, *_ = [*map(_given, fields["actor"].split(" ")), "", ""]
            return cls(
                version,
                fields["did"],
                fields["by"],
                actor,
                int(fields["visible"]),
                tuple(fields["lengths"].split()),
                [CommentChange.parse(line) for line in fields["comments"].splitlines()],
                door,
                action,
            )
        except (KeyError, ValueError):
            log.error("a page's journal had something that is not an entry: %.200r", pairs)
            return cls(version, "", "", "", -1, (), ())


def _given(word: str) -> str:
    return "" if word == "-" else word


class Applying:
    """The arguments of lua/journal/apply.lua for some entries of a page, in their order."""

    def __init__(
        self, keys: Keys, page: str, entries: Sequence[JournalEntry], *, tells: bool
    ) -> None:
        self._keys = keys
        self._page = page
        self._tells = tells
        self._places: dict[str, int] = {}
        self.words = [word for entry in entries for word in self._words(entry)]

    @property
    def lists(self) -> Sequence[str]:
        return list(self._places)

    def _words(self, entry: JournalEntry) -> Iterator[object]:
        # The sweep of the page hides or restores the rest of the thread, and finds the next
        # removal.
        due_ms = AT_ONCE_MS if entry.did in ("delete", "restore") else 0
        yield from (entry.version, entry.visible, due_ms, len(entry.changes))
        for change in entry.changes:
            yield from self._followed(change)
        logged = [word for pair in logged_as(self._page, entry).items() for word in pair]
        yield from (int(entry.by in DOORS), len(logged), *logged)
        task = task_of(self._page, entry) if self._tells else None
        yield task.dump() if task else ""

    def _followed(self, change: CommentChange) -> Iterator[object]:
        id, keys = change.id + self._page, self._keys
        yield from (id, created_ms(id), change.now)
        yield self._place(change.account_was and keys.own(change.account_was))
        yield self._place(change.account and keys.own(change.account))
        yield self._place(change.author_was and keys.by(change.author_was))
        yield self._place(change.author and keys.by(change.author))
        yield from (change.author_was, change.author)

    def _place(self, key: str) -> int:
        return self._places.setdefault(key, len(self._places) + 1) if key else 0


def logged_as(page: str, entry: JournalEntry) -> Mapping[str, str]:
    """The log's entry for an action of a moderator, a spam filter or readers: who, what, which
    comment, before and after, on which way, and the name of what it is a part of. Empty for other
    actors, and for replies deleted with a comment.

    It has no text of the comment: deleted text must not remain there.
    """
    first = entry.changes[0] if entry.changes else None
    if entry.by not in ("moderator", *DOORS) or first is None:
        return {}
    was, now = [first.was], [first.now]
    if entry.did in ("moderate", "edit"):
        if first.was_pinned and not first.is_pinned:
            was.append("pinned")
        if first.is_pinned and not first.was_pinned:
            now.append("pinned")
    if entry.lengths:
        was.append(number_of(int(entry.lengths[0]), "character"))
        now.append(number_of(int(entry.lengths[1]), "character"))
    return {
        "by": entry.actor,
        "did": entry.did,
        "id": first.id + page,
        "was": ", ".join(was),
        "now": ", ".join(now),
        "door": DOORS.get(entry.by, entry.door),
        "action": entry.action,
    }


def task_of(page: str, entry: JournalEntry) -> Task | None:
    """What people may be notified of: a new comment, and another status."""
    if entry.by not in TELLING or entry.did not in ("publish", "moderate", "edit"):
        return None
    (change,) = entry.changes
    if change.was == change.now:
        return None
    id = change.id + page
    return Task("event", id, change.was, change.now, entry.by, entry.version, seen=change.mark)
