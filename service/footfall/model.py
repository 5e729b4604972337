"""The nouns of the service, frozen; every room imports them and none changes them.

A comment has two kinds of facts. What its author wrote never changes but by an edit and is stored
as JSON (`Comment`, once stored `Body`); its likes, status and pin change all the time and live in
Redis structures of their own. `Shown` joins both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Status = Literal["approved", "waiting", "spam"]
Order = Literal["insertedAt_desc", "insertedAt_asc", "like_desc"]
Role = Literal["administrator", "guest"]
Level = Literal["memory", "everysec", "fsync", "replica"]

STATUSES: tuple[Status, ...] = ("approved", "waiting", "spam")
ORDERS: tuple[Order, ...] = ("insertedAt_desc", "insertedAt_asc", "like_desc")


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who can log in. What their comments show is looked up live, never stored twice."""

    id: str
    role: Role
    nick: str
    mail: str
    link: str = ""
    avatar: str = ""
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Viewer:
    """Whose eyes an answer is for; no account means the public."""

    account: Account | None = None

    @property
    def is_administrator(self) -> bool:
        return self.account is not None and self.account.role == "administrator"

    @property
    def sees(self) -> Literal["public", "own", "all"]:
        """Which comments besides the approved ones: none, the viewer's own held ones, all."""
        if self.is_administrator:
            return "all"
        return "own" if self.account else "public"


PUBLIC = Viewer()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request: the viewer, the address it came from, the language of the reader."""

    viewer: Viewer = PUBLIC
    address: str = ""
    language: str = "en-us"


@dataclass(frozen=True, slots=True)
class Draft:
    """A comment as submitted; None is a field that was not sent, which answers leave out."""

    text: str
    path: str
    nick: str | None = None
    mail: str | None = None
    link: str | None = None
    ua: str | None = None
    parent: str = ""
    at: str | None = None
    # The layout without prefix puts "[@at](#parent): " in front of a reply's text.
    is_mentioning: bool = False


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment as stored: what its author wrote and what was made of it when it was written.

    `id` says when and where (store/ids.py); `at` is ms since the epoch; `root` and `parent` are
    ids, empty on a root; `account` is the author's account id, empty for everybody else; `author`
    names whoever wrote it, by account or a digest of the mail, for tallies.
    """

    id: str
    path: str
    at: int
    html: str
    source: str
    nick: str | None = None
    mail: str | None = None
    link: str | None = None
    ua: str | None = None
    browser: str = ""
    os: str = ""
    region: str = ""
    full_region: str = ""
    avatar: str = ""
    address: str = ""
    parent: str = ""
    root: str = ""
    account: str = ""
    author: str = ""


# How the `person` of somebody with an account begins.
BY_ACCOUNT = b'"user_id":"'
# Where the id of the comment that a reply replies to is in its `content`, which ends in
# "pid":"…","rid":"…".
PARENT = slice(-74, -42)


class Body(NamedTuple):
    """The public half of a stored comment, in pieces of JSON ready to be joined into an answer.

    `person` is nick, link and avatar, or the account that they are looked up by; `content` never
    depends on who looks; `agent` and `region` may be switched off; `tally` is never shown.
    """

    person: bytes
    content: bytes
    agent: bytes
    region: bytes
    tally: bytes

    @property
    def account(self) -> str:
        """The author's account id, empty for everybody else."""
        return account_of(self.person)


def account_of(person: bytes) -> str:
    """The account that a comment's `person` is looked up by, empty for everybody else."""
    return person[len(BY_ACCOUNT) : -1].decode() if person.startswith(BY_ACCOUNT) else ""


class Shown(NamedTuple):
    """A comment with what changes around it: likes, status, pin."""

    id: str
    path: str
    body: Body
    likes: int = 0
    status: Status = "approved"
    is_pinned: bool = False


class More(NamedTuple):
    """What there was no room for: a comment's own text, and so many of a root's replies."""

    text: bool
    replies: int


@dataclass(frozen=True, slots=True)
class Threads:
    """Comments of one page, roots each with its replies behind it, as columns: a page has a
    thousand comments at most, and an object for each would cost more than to join them.

    A column has a value for each comment; from `persons` to `tallies` they are what Body has.
    `replies` says of each root how many follow it here, and so many roots in front are `pinned`.
    `more` is by the ids of those comments that there was not room for all of.
    """

    ids: Sequence[bytes] = ()
    persons: Sequence[bytes] = ()
    contents: Sequence[bytes] = ()
    agents: Sequence[bytes] = ()
    regions: Sequence[bytes] = ()
    tallies: Sequence[bytes] = ()
    likes: Sequence[int] = ()
    statuses: Sequence[Status] = ()
    replies: Sequence[int] = ()
    pinned: int = 0
    more: Mapping[bytes, More] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Live:
    """What is looked up whenever comments are shown: accounts and tallies of their authors, and
    secrets by the comments' ids. An account that has gone is None."""

    accounts: Mapping[str, Account | None] = field(default_factory=dict)
    tallies: Mapping[str, int] = field(default_factory=dict)
    secrets: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Showing:
    """Comments for one viewer, from anywhere on the site."""

    comments: Sequence[Shown]
    live: Live = Live()


@dataclass(frozen=True, slots=True)
class Page:
    """One page of an article's comments, as it was at a version of the article.

    `count` is every comment of the article that the viewer may see, replies and orphans included;
    `roots_total` is how many roots there are to page through; `accounts` is a version of the
    accounts that is not newer than those of its authors.
    """

    version: int = 0
    count: int = 0
    roots_total: int = 0
    threads: Threads = Threads()
    accounts: int = 0


class Durability(NamedTuple):
    """How safe a change is before it is acknowledged.

    `memory`: Redis has it. `everysec`: on disk within a second or two. `fsync`: on disk. `replica`:
    so many replicas have it, too.
    """

    level: Level
    replicas: int = 0

    def __str__(self) -> str:
        return f"{self.level}:{self.replicas}" if self.replicas else self.level


MEMORY = Durability("memory")
FSYNC = Durability("fsync")
