"""Which rows may be stored, and the changes that this needs: the rules for readers' comments and
accounts, applied to imported ones."""

import re
from collections.abc import Callable, Iterable
from ipaddress import ip_address

from ..accounts.rules import phpass
from ..accounts.rules.mails import is_mail
from ..accounts.rules.passwords import BCRYPT_HASH
from ..comments.rules.admission import Rules
from ..counters import MAX_COUNT
from ..http.params import MAX_LINK, MAX_MAIL, MAX_NICK, MAX_PATH, MAX_UA
from ..ids import digest
from ..markup import is_blank, is_safe_url, safe_link, shown_name
from ..model import MODERATORS
from ..render.reading import is_cut, shows_nothing
from .rows import AccountRow, CommentRow, CounterRow

# Hashes that logins can verify, and that are no slower than those made here: a hash that takes
# minutes could keep a service busy.
_HASHES = re.compile(
    rf"{BCRYPT_HASH.pattern}|{phpass.HASH.pattern}"
    r"|\$argon2id\$v=19\$m=\d{1,6},t=\d,p=\d\$[+/A-Za-z0-9]{8,64}\$[+/A-Za-z0-9]{16,128}"
)
_TOTP = re.compile(r"[A-Z2-7]{16,64}")
# A row may be this much newer than now: clocks differ, and dates without a zone are off by hours.
DAY_MS = 86_400_000
MAX_LABEL = 64
# The name of an account without one.
NOBODY = "Anonymous"

# Called with a sentence for each change.
Note = Callable[[str], None]


class Unusable(Exception):
    """The row cannot be stored; the text is the reason, and `field` is Waline's name of the invalid
    field, if it is one."""

    def __init__(self, text: str, field: str = "") -> None:
        super().__init__(text)
        self.field = field


def comment(row: CommentRow, rules: Rules, note: Note, undated_ms: int | None) -> CommentRow:
    """The row as it may be stored; without a date it gets that of `undated_ms`, or is rejected.
    Raises Unusable."""
    if not row.path or len(row.path) > MAX_PATH or not is_safe_url(row.path):
        raise Unusable("has no valid page", "url")
    if shows_nothing(row.text) if row.is_html else is_blank(row.text):
        raise Unusable("has no text", "comment")
    _tell(row.notes, note)
    status = row.status
    if row.hidden and status == "approved":
        note(f"{row.hidden}: it waits")
        status = "waiting"
    text = row.text
    if row.is_html and is_cut(text):
        note("has HTML that comments may not contain: it is left out")
    if len(text) > rules.comment_length:
        note("has a longer text than COMMENT_LENGTH: the rest is left out")
        text = text[: rules.comment_length]
    at = _date(row.at, undated_ms, "insertedAt", note)
    if not 0 <= row.likes <= MAX_COUNT:
        note("has a number of likes below zero or too large: it gets the nearest")
    return row._replace(
        text=text,
        at=at,
        status=status,
        nick=nick(row.nick, note),
        mail=_short("mail", row.mail, MAX_MAIL, note),
        link=link(row.link, note),
        ua=_cut("user agent", row.ua, MAX_UA, note),
        address=_address(row.address, note),
        likes=min(max(0, row.likes), MAX_COUNT),
    )


def counter(row: CounterRow, types: tuple[str, ...]) -> CounterRow:
    """Raises Unusable."""
    if row.type not in types:
        raise Unusable("has a type that is not in COUNTER_TYPES", row.type)
    if not row.path or len(row.path) > MAX_PATH:
        raise Unusable("has no valid page", "url")
    if row.number < 0 or row.number > MAX_COUNT:
        raise Unusable("is below zero, or too large", row.type)
    return row


def account(
    row: AccountRow, latest_ms: int, note: Note, undated_ms: int | None, *, may_administer: bool
) -> AccountRow:
    """Raises Unusable, also for a date after `latest_ms`.

    With a copied token anyone could import an administrator whose password they know, so over HTTP
    no account `may_administer`.
    """
    has_mail = len(row.mail) <= MAX_MAIL and is_mail(row.mail)
    if not (has_mail or row.source):
        raise Unusable("has no email address", "email")
    if (row.at or 0) > latest_ms:
        raise Unusable("has a date in the future", "createdAt")
    _tell(row.notes, note)
    role = row.role
    if role in MODERATORS and not may_administer:
        article = "an" if role == "administrator" else "a"
        note(f"was {article} {role}'s: it is a guest's until an administrator gives it that role")
        role = "guest"
    password, totp = row.password, row.totp
    if password and not _HASHES.fullmatch(password):
        note("has an unsupported password hash: it needs a new password")
        password = ""
    if totp and not _TOTP.fullmatch(totp):
        note("has an invalid two-factor secret: it must be set up again")
        totp = ""
    if not has_mail:
        note("has no email address: it keeps its comments, but nobody can log in with one")
        # Emails are unique. This one is undeliverable, and the same in each import.
        row = row._replace(mail=f"{digest(row.source)}@mail.import")
    return row._replace(
        nick=nick(row.nick, note) or (row.mail.partition("@")[0] if has_mail else NOBODY),
        at=_date(row.at, undated_ms, "createdAt", note),
        role=role,
        link=link(row.link, note),
        avatar=link(row.avatar, note),
        label=_cut("label", row.label, MAX_LABEL, note),
        password=password,
        totp=totp,
    )


def _tell(notes: Iterable[str], note: Note) -> None:
    for each in notes:
        note(each)


def _date(at: int | None, undated_ms: int | None, field: str, note: Note) -> int:
    """Raises Unusable."""
    if at is None and undated_ms is None:
        raise Unusable("has no readable date", field)
    if at is None:
        note("has no readable date: it gets the file's")
    elif at < 0:
        note("is from before 1970: it gets the earliest possible date")
    return max(0, (undated_ms or 0) if at is None else at)


def nick(written: str, note: Note) -> str:
    made = shown_name(written)
    if made != " ".join(written.split()):
        note("has a name with characters that no name may contain: they are left out")
    return _cut("name", made, MAX_NICK, note)


def link(written: str, note: Note) -> str:
    made = safe_link(_short("link", written, MAX_LINK, note))
    if written and not made:
        note("has an unsafe link: it is left out")
    return made


def _cut(what: str, text: str, limit: int, note: Note) -> str:
    if len(text) > limit:
        note(f"has a {what} of more than {limit} characters: the rest is left out")
    return text[:limit]


def _short(what: str, text: str, limit: int, note: Note) -> str:
    """Half an address leads nowhere, so a long one is left out."""
    if len(text) <= limit:
        return text
    note(f"has a {what} of more than {limit} characters: it is left out")
    return ""


def _address(written: str, note: Note) -> str:
    if not written:
        return ""
    try:
        return str(ip_address(written.strip()))
    except ValueError:
        note("has an invalid IP address: it is left out")
        return ""
