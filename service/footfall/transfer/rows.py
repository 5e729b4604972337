"""The common form of every system's rows: comments, counters and accounts.

Ids are the other system's, as text. The texts are checked later, in one place (checks.py), so an
importer only finds the values in its file.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from ..model import Standing

Kind = Literal["comments", "counters", "accounts"]


class CommentRow(NamedTuple):
    """`at` is in ms since the epoch, None if the file has no date.

    `path` is the page's address or path as in the file; importing.py maps it to a page. `hidden` is
    the reason why the other system did not show the comment publicly, unless its status is the
    reason: it becomes pending here.

    `parents` are the ids of the comment that this one replies to and, in case that is missing, of
    others above it. A `deleted` comment is not stored, but replies to it stay in its thread.
    `account` is the id of an account in the same file. The text is Markdown, or HTML if `is_html`.
    `notes` describe values that did not fit their fields.

    `id`, `account_id`, `parent_id` and `root_id` are not of the file, but of this site: they are
    known once all rows are staged (staging.py), and "" for none.
    """

    source: str
    path: str
    text: str
    at: int | None
    nick: str = ""
    mail: str = ""
    link: str = ""
    ua: str = ""
    address: str = ""
    parents: tuple[str, ...] = ()
    status: Standing = "approved"
    likes: int = 0
    is_pinned: bool = False
    hidden: str = ""
    account: str = ""
    is_html: bool = False
    notes: tuple[str, ...] = ()
    id: str = ""
    account_id: str = ""
    parent_id: str = ""
    root_id: str = ""


class CounterRow(NamedTuple):
    path: str
    type: str
    number: int


class AccountRow(NamedTuple):
    """`password` is a hash, `role` the other system's word, `totp` a two-factor secret;
    `identities` are ids by which other services know the account."""

    source: str
    nick: str
    mail: str
    at: int | None
    role: str = "guest"
    link: str = ""
    avatar: str = ""
    label: str = ""
    password: str = ""
    totp: str = ""
    identities: dict[str, str] = {}
    notes: tuple[str, ...] = ()


class Refusal(NamedTuple):
    """A row that cannot be used; `where` names its place in the file."""

    kind: Kind
    where: str
    why: str


ImportRow = CommentRow | CounterRow | AccountRow | Refusal
ImportRows = Iterator[ImportRow]
