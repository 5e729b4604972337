"""Stores staged rows while services run, by the same scripts.

The id of every row follows from its file alone, so existing rows stay as they are: a repeated
import, also after a kill, stores missing rows and nothing twice.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import groupby, islice
from typing import NamedTuple, Protocol, TypeVar

from ..accounts.rules.mails import canonical
from ..accounts.store.accounts import AccountStore
from ..comments.noun import Comments
from ..comments.rules.comments import with_author
from ..comments.store.deletions import SWEEPER
from ..comments.store.outcomes import IdTaken
from ..counting.rules import Counting
from ..data.imports import Imports, Merged, Way
from ..errors import IdentityTaken, NoSuchParent, UserExists
from ..ids import SHORT, created_ms, digest, fixed, is_id, is_short, low_bits
from ..model import ROLES, Account, Comment, Credentials, OnShare, Role, Status
from ..process.renderer import RenderedText
from .report import ImportReport
from .rows import AccountRow, CommentRow, Refusal
from .staging import Staging

# Comments that are looked up, rendered and stored together.
IMPORT_STEP_COMMENTS = 64
# Counters of one script call, half a millisecond of Redis, and the calls that are under way.
BATCH_COUNTERS = 250
BATCHES_AT_ONCE = 8

MAIL_IS_USED = "has the email of an account here: that one is used"

T = TypeVar("T")


class Offload(Protocol):
    """Runs work that waits for nothing: directly, or in a thread, so that an event loop
    continues."""

    async def __call__(self, work: Callable[[], T]) -> T: ...


async def at_once(work: Callable[[], T]) -> T:
    return work()


# Ids.


def name_comments(staging: Staging, system: str) -> None:
    """Give every staged comment its id: its time, and bits that follow from its old id."""
    for source, at, path in staging.unnamed():
        low = low_bits_of(system, source, at, path)
        while not staging.name(source, fixed(at, low, path)):
            # One in four thousand million, for comments of the same moment on the same page.
            low += 1


def low_bits_of(system: str, source: str, at: int, path: str) -> int:
    """The bits that distinguish a comment's id from others of its moment and page; the same in each
    import."""
    is_ours = is_id(source) and source[SHORT:] == digest(path) and created_ms(source) == at
    return low_bits(source) if is_ours else _low_bits(system, source)


def _low_bits(system: str, source: str) -> int:
    if source.isascii() and source.isdigit() and len(source) < 10:
        # Numbers keep the order of comments of the same second.
        return int(source)
    return int.from_bytes(blake2b(f"{system}\0{source}".encode(), digest_size=4).digest())


# Accounts.


async def store_accounts(
    accounts: AccountStore, staging: Staging, system: str, report: ImportReport
) -> None:
    """An account whose email has one here becomes that one. Raises StoreUnavailable."""
    for row in staging.accounts():
        staging.name_account(row.source, await store_account(accounts, system, row, report))


def account_id(system: str, row: AccountRow) -> str:
    """The id that the account gets here; the same in each import."""
    at = row.at or 0
    is_ours = is_short(row.source) and created_ms(row.source) == at
    return row.source if is_ours else fixed(at, _low_bits(system, row.source), "")


async def store_account(
    accounts: AccountStore, system: str, row: AccountRow, report: ImportReport
) -> str:
    """The id that the account has here. Raises StoreUnavailable."""
    id, mail, role = account_id(system, row), canonical(row.mail), _role(row)
    account = Account(id, role, row.nick, row.mail, row.link, row.avatar, row.label or None)
    credentials = Credentials(row.password, row.totp, identities=row.identities)
    if await accounts.by_id(id):
        report.count("accounts", "there")
        return id
    try:
        try:
            await accounts.register(account, account, mail, credentials)
        except IdentityTaken:
            report.change(
                "accounts", row.source, "has a login service that another account here uses"
            )
            unlinked = replace(credentials, identities={})
            await accounts.register(account, account, mail, unlinked)
    except UserExists:
        report.change("accounts", row.source, MAIL_IS_USED)
        found = await accounts.by_mail(mail)
        return found.id if found else id
    report.count("accounts", "stored")
    return id


def _role(row: AccountRow) -> Role:
    """An email that was never verified has to be verified here."""
    if row.role.startswith("verify"):
        return "unverified"
    return next((role for role in ROLES if role == row.role), "guest")


# Comments.


async def store_comments(
    comments: Comments,
    imports: Imports,
    staging: Staging,
    report: ImportReport,
    on_share: OnShare,
    apart: Offload = at_once,
) -> None:
    """Roots first, since a reply needs its root. Raises StoreUnavailable."""
    total, done = max(staging.number("comments"), 1), 0
    parts = staging.ready(IMPORT_STEP_COMMENTS)
    while part := await apart(lambda: next(parts, [])):
        await store_part(comments, imports, part, report)
        done += len(part)
        on_share(done / total)


async def store_part(
    comments: Comments, imports: Imports, part: list[CommentRow], report: ImportReport
) -> None:
    """Store comments that do not reply to each other. Raises StoreUnavailable."""
    missing = await _missing(comments, imports, await _owned(comments.accounts.store, part), report)
    await _prepare(comments, missing)
    made = await comments.process.renderer.make_all(
        [(comment.text, comment.ua) for comment in missing], comments.pictures
    )
    pairs = zip(missing, made, strict=True)
    # All at once, so that they share round trips and writes to the disk.
    await asyncio.gather(*(_store(comments, *pair, report) for pair in pairs))


async def _owned(accounts: AccountStore, part: list[CommentRow]) -> list[CommentRow]:
    """With accounts that are not in the file, but exist here with the same id."""
    named = {
        comment.account for comment in part if is_short(comment.account) and not comment.account_id
    }
    accounts_by_id = await accounts.by_ids(named)
    return [
        comment._replace(account_id=comment.account)
        if comment.account in accounts_by_id
        else comment
        for comment in part
    ]


async def _prepare(comments: Comments, missing: list[CommentRow]) -> None:
    now = comments.process.clock()
    # The comments are old, and versions are times: no version may be older than one that was lost.
    touched = (comments.store.touch(page, now) for page in {digest(e.path) for e in missing})
    await asyncio.gather(*touched)


async def _missing(
    comments: Comments, imports: Imports, part: list[CommentRow], report: ImportReport
) -> list[CommentRow]:
    """The rows that are not stored yet. One that is in the bin is restored by the import."""
    ids, now = [comment.id for comment in part], comments.process.clock()
    deleted = await imports.deleted(ids)
    # Those that went with another one come back with that.
    for id in sorted(deleted):
        await comments.deletions.restore(id, now, SWEEPER)
        await comments.deletions.sweep(id[SHORT:], now, 0)
    restored = len(deleted) - len(await imports.deleted(deleted)) if deleted else 0
    are_there = await imports.are_there(ids)
    report.count("comments", "stored", restored)
    report.count("comments", "there", sum(are_there) - restored)
    return [comment for comment, is_there in zip(part, are_there, strict=True) if not is_there]


async def _store(
    comments: Comments, row: CommentRow, made: RenderedText, report: ImportReport
) -> None:
    try:
        await comments.store.publish(
            _comment(comments, row, made),
            _status(row),
            "",
            by="import",
            likes=row.likes,
            is_pinned=row.is_pinned and not row.root_id,
        )
    except IdTaken:
        report.count("comments", "there")
    except NoSuchParent:
        why = "is of a thread that was deleted meanwhile, or has another root here"
        report.refuse(Refusal("comments", row.source, why))
    else:
        report.count("comments", "stored")


def _status(row: CommentRow) -> Status:
    assert row.status != "deleted"
    return row.status


def _comment(comments: Comments, row: CommentRow, made: RenderedText) -> Comment:
    comment = Comment(
        row.id,
        row.path,
        created_ms(row.id),
        made.html,
        row.text,
        ua=row.ua or None,
        browser=made.browser,
        os=made.os,
        address=row.address,
        parent=row.parent_id,
        root=row.root_id,
    )
    nick, mail, link = row.nick or None, row.mail or None, row.link or None
    return with_author(comments, comment, row.account_id, nick=nick, mail=mail, link=link)


# Counters.


class Comparison(NamedTuple):
    """The number of counters elsewhere, their sums there and here, and those that are lower here,
    as text."""

    compared: int
    theirs: int
    ours: int
    lower: list[str]


async def store_counters(
    imports: Imports,
    staging: Staging,
    way: Way,
    report: ImportReport,
    on_share: OnShare,
    apart: Offload = at_once,
) -> None:
    """Raises StoreUnavailable."""
    total, done = max(staging.number("counters"), 1), 0
    of = await apart(lambda: digest_of(staging)) if way == "sum" else ""
    batches = batches_of(imports, staging)
    while some := await apart(lambda: list(islice(batches, BATCHES_AT_ONCE))):
        changed = await asyncio.gather(
            *(imports.merge(batch, way, of=of, number=number) for number, batch in some)
        )
        number = sum(len(batch) for _, batch in some)
        report.count("counters", "stored", sum(changed))
        report.count("counters", "there", number - sum(changed))
        done += number
        on_share(done / total)


async def compare_counters(
    counting: Counting, staging: Staging, apart: Offload = at_once
) -> Comparison:
    """Compare staged counters with those here. Raises StoreUnavailable."""
    rows = staging.counters()
    compared = theirs = ours = 0
    lower = list[str]()
    while some := await apart(lambda: list(islice(rows, BATCH_COUNTERS))):
        counts = await counting.counters.read([name for _, name, _ in some])
        compared += len(some)
        for (_, name, count), here in zip(some, counts, strict=True):
            theirs += count
            ours += here
            if here < count:
                lower.append(f"{name}: {count:,} there, {here:,} here")
    return Comparison(compared, theirs, ours, lower)


def batches_of(imports: Imports, staging: Staging) -> Iterator[tuple[int, list[Merged]]]:
    """Counters of one group each, with the batch's number in it; they are always the same."""
    for _, found in groupby(staging.counters(), lambda row: imports.group(row[0])):
        number = 0
        while batch := list(islice(found, BATCH_COUNTERS)):
            number += 1
            yield number, batch


def digest_of(staging: Staging) -> str:
    """A digest of these counters, by which a repeated sum is recognised."""
    made = blake2b(str(BATCH_COUNTERS).encode(), digest_size=10)
    for _, name, count in staging.counters():
        made.update(f"{name}\0{count}\n".encode())
    return made.hexdigest()
