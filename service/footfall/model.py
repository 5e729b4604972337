"""The nouns of the service, as frozen data that all other modules import.

What a comment's author wrote is stored as JSON (`Comment`; its public half is read back as `Body`).
Its likes, status and pin are in Redis structures of their own. `StoredComment` joins both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, NamedTuple

Status = Literal["approved", "waiting", "spam"]
# The status of a comment: a deleted one is shown to nobody.
Standing = Status | Literal["deleted"]
Order = Literal["insertedAt_desc", "insertedAt_asc", "like_desc"]
Role = Literal["administrator", "moderator", "guest", "unverified", "banned"]
# Only administrators make accounts with `invited`, and with `closed` the first is made by command.
Registration = Literal["open", "invited", "closed"]
# How much of the statistics is public: each level includes those before it.
StatisticsPublic = Literal["none", "totals", "top", "all"]
# The types of a page's counters, unless a site has others.
COUNTERS = ("time", *(f"reaction{n}" for n in range(9)))
# The type of counters that are of no page, which other protocols have: no view of the site.
NO_VIEWS = "count"
# Other counters' protocols that a site may speak (compat/).
PROTOCOLS = ("leancloud", "open-kounter", "busuanzi", "goatcounter", "abacus", "badges")
Level = Literal["memory", "everysec", "fsync", "replica"]
# Called with the current step and the share that is done, 0 to 1; or with the step alone.
OnProgress = Callable[[str, float], None]
OnShare = Callable[[float], None]

STATUSES: tuple[Status, ...] = ("approved", "waiting", "spam")
# Moderating roles: administrators can do everything, moderators manage comments and bans.
MODERATORS: tuple[Role, ...] = ("administrator", "moderator")
MAY_LOG_IN: tuple[Role, ...] = (*MODERATORS, "guest")
ROLES: tuple[Role, ...] = (*MAY_LOG_IN, "unverified", "banned")
ORDERS: tuple[Order, ...] = ("insertedAt_desc", "insertedAt_asc", "like_desc")


@dataclass(frozen=True, slots=True)
class Account:
    """A person who can log in. Their comments show nick, link and avatar as they are now."""

    id: str
    role: Role
    nick: str
    mail: str
    link: str = ""
    avatar: str = ""
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    """The secrets that authenticate the owner of an account; never shown.

    `password` is a hash, "" if there is none yet; `totp` the secret of an authenticator, "" if
    there is none, and `step` the number of the last step whose code was used; `recovery` holds
    digests of codes; `identities` the ids at other services. `confirmed` is the email, in canonical
    form, whose ownership is confirmed.
    """

    password: str = ""
    totp: str = ""
    step: int = 0
    recovery: tuple[str, ...] = ()
    identities: Mapping[str, str] = field(default_factory=dict)
    confirmed: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """A session: start and end, ms.

    `by` is "password", or the login service. Of its place only browser, system and the network of
    the address are stored.
    """

    id: str
    started_ms: int = 0
    ends_ms: int = 0
    by: str = ""
    browser: str = ""
    system: str = ""
    network: str = ""


@dataclass(frozen=True, slots=True)
class Ban:
    """A ban of people, hosts or words: `value` is one of accounts/rules/ban_list.py, in canonical
    form.

    It ends at `until_ms`, 0 for never; `reason` is for moderators; `by` is the account of the
    moderator who banned, at `at_ms`.
    """

    value: str
    until_ms: int = 0
    reason: str = ""
    at_ms: int = 0
    by: str = ""

    def holds(self, now_ms: int) -> bool:
        return not self.until_ms or now_ms < self.until_ms


class Catch(NamedTuple):
    """How often a ban has caught something, and when last, in ms since the epoch; 0 for never."""

    number: int = 0
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody as another service knows them. With `is_vouched` that service has verified that the
    email is theirs."""

    service: str
    id: str
    nick: str = ""
    mail: str = ""
    link: str = ""
    avatar: str = ""
    is_vouched: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who will see a response, and by which session; no account means the public.

    `former` is the account of an ended session: it grants no permission, but a ban of that account
    is reported to holders of the token.
    """

    account: Account | None = None
    session: str = field(default="", compare=False)
    former: str = field(default="", compare=False)

    @property
    def is_administrator(self) -> bool:
        return self.account is not None and self.account.role == "administrator"

    @property
    def is_moderator(self) -> bool:
        return self.account is not None and self.account.role in MODERATORS

    @property
    def sees(self) -> Literal["public", "own", "all"]:
        """Which unpublished comments the viewer sees: none, their own, or all."""
        return "all" if self.is_moderator else "own" if self.account else "public"


PUBLIC = Viewer()


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request: the viewer, the IP address, the language (a client's `lang`, or the
    browser's Accept-Language), the client's name, and the way on which moderators decide.
    `is_anybody`: the address is a trusted proxy's own, or unknown."""

    viewer: Viewer = PUBLIC
    address: str = ""
    language: str = "en-us"
    is_sent_elsewhere: bool = False  # perhaps made by a page of another site, or a picture
    agent: str = ""
    purpose: bytes = b""  # Sec-Purpose: set if no reader has opened the page yet
    door: Literal["panel", "api", "mail", "command"] = "api"
    is_anybody: bool = False


class Origin(NamedTuple):
    """What only a page knows of its view: its source, and the class of the bot that its browser
    reports; "" for none."""

    source: str = ""
    bot: str = ""


NO_ORIGIN = Origin()


class Verdict(NamedTuple):
    """What a language model says of a comment: spam, ham or unsure, and why; and how many ms it
    took."""

    verdict: str
    reason: str
    model: str
    ms: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A comment as it was sent; None is a field that was not sent, which answers leave out. `link`
    is safe."""

    text: str
    path: str
    nick: str | None = None
    mail: str | None = None
    link: str | None = None
    ua: str | None = None
    parent: str = ""
    # A captcha's token.
    captcha: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A stored comment: its author's input and what was derived from it then.

    `id` contains the time and the page (ids.py); `at` is in ms since the epoch;
    `root` and `parent` are ids, "" on a root; `account` is the author's id or ""; `author` is for
    tallies, an account id or a digest of the email. One that `is_edited` has a moderator's text.
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
    is_edited: bool = False


# The first bytes of `person` if the author has an account.
BY_ACCOUNT = b'"user_id":"'
# The parent's id in the `content` of a reply, which ends in "pid":"…","rid":"…".
PARENT = slice(-74, -42)


class Body(NamedTuple):
    """The public part of a stored comment, in pieces of JSON that are joined to an answer.

    `person` is nick, link and avatar, or the account's id; `content` is the same for all viewers;
    `agent` and `region` may be turned off; `tally` is the author's key in tallies, never shown.
    """

    person: bytes
    content: bytes
    agent: bytes
    region: bytes
    tally: bytes

    @property
    def account(self) -> str:
        """The author's account id, or ""."""
        return account_of(self.person)


def account_of(person: bytes) -> str:
    """The account id in a comment's `person`, or ""."""
    return person[len(BY_ACCOUNT) : -1].decode() if person.startswith(BY_ACCOUNT) else ""


class StoredComment(NamedTuple):
    """A comment as Redis has it: its public half, and what changes around it.

    `private` is the half for administrators, which most readers do without: None where it was not
    read. `path` is "" where only the id is known.
    """

    id: str
    path: str
    body: Body
    likes: int = 0
    status: Status = "approved"
    is_pinned: bool = False
    private: bytes | None = None


class More(NamedTuple):
    """What an answer's limits left out: a comment's own text, and how many of a root's replies."""

    text: bool
    replies: int


@dataclass(frozen=True, slots=True)
class Threads:
    """Comments of one page as columns, each root followed by its replies. A page may have a
    thousand comments, and an object for each would cost more than joining them.

    A column has a value for each comment; `persons` to `tallies` are the fields of Body. `replies`
    has, for each root, the number of replies that follow; the first `pinned` roots are pinned.
    `more` maps ids to what was left out of these comments.
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
class Lookups:
    """Data looked up whenever comments are shown: account id -> account, None if it is gone; author
    -> number of approved comments; comment id -> private part as JSON; and for moderators the
    administrators by what their names look like."""

    accounts: Mapping[str, Account | None] = field(default_factory=dict)
    tallies: Mapping[str, int] = field(default_factory=dict)
    secrets: Mapping[str, bytes] = field(default_factory=dict)
    administrators: Mapping[str, Account] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """What a viewer may see of an article: `count` has replies, `roots_total` has not."""

    version: int = 0
    count: int = 0
    roots_total: int = 0
    threads: Threads = Threads()


class Durability(NamedTuple):
    """How durable a change is before it is acknowledged.

    `memory`: Redis has it in memory. `everysec`: the same, and it will be on disk within a second
    or two. `fsync`: it is on disk. `replica`: this many replicas have it, too.
    """

    level: Level
    replicas: int = 0

    def __str__(self) -> str:
        return f"{self.level}:{self.replicas}" if self.replicas else self.level


MEMORY = Durability("memory")
FSYNC = Durability("fsync")


def iso(at_ms: int) -> str:
    """A time in ms since the epoch as Waline writes it: ISO 8601 in UTC."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
