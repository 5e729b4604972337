"""Everything of one author: shown, exported, anonymised or deleted.

An author is an account, an email, or both: an email stands for its account, and an account for its
email. There is no index of emails, so all comments of the site are read, in steps. After an
interruption, start again: finished parts are no longer found.

First the account is locked, so that it adds nothing new; then the comments are processed, and last
the account and its traces elsewhere. Likes are only numbers, without a person.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from ...accounts.rules.changes import Changes, edit_account, remove_account
from ...accounts.rules.mails import canonical, is_canonically, is_mail
from ...accounts.store.accounts import AccountStore
from ...errors import BadRequest, Refused
from ...ids import digest, is_id, is_short
from ...model import STATUSES, Account, Caller, Comment, StoredComment
from ...permissions import account_id
from ..noun import Comments
from ..store import codec
from ..store.moderation import Actor
from .moderation import until_settled
from .orders import MAX_AT_ONCE
from .undo import comments_of

Deed = Literal["anonymize", "delete"]
# Of a part of the site's comments, and of a step that reads it.
MAX_SEARCHED_COMMENTS = 1000
ERASE_STEP_COMMENTS = 100
# The actor of an erasure: the log has one entry for it, instead of one per comment.
ERASURE = Actor("erasure")


@dataclass(frozen=True, slots=True)
class Author:
    """`id` of the account, canonical `mail`; "" for none."""

    id: str
    mail: str
    account: Account | None = None

    def wrote(self, stored: StoredComment) -> bool:
        """Damaged comments have no author."""
        if self.id and stored.body.account == self.id:
            return True
        return bool(self.mail) and is_canonically(codec.mail_of(stored), self.mail)


@dataclass(frozen=True, slots=True)
class AuthorPage:
    """Comments of an author among those that were looked at.

    `after` is the id of the last one that was, "" if that was the end of all.
    """

    comments: Sequence[StoredComment]
    searched: int
    after: str


@dataclass(frozen=True, slots=True)
class Erasure:
    """The number of comments changed or deleted, including replies to them; `damaged` ones were
    left.

    `after` continues with the next part; once it is "", `has_account` tells if an account was
    deleted, and `is_logged` if anything of the author was found.
    """

    comments: int
    damaged: int
    searched: int
    after: str
    has_account: bool = False
    is_logged: bool = False


async def find(accounts: AccountStore, who: str) -> Author:
    """The author with this email or account. Raises Refused."""
    who = who.strip()
    mail = canonical(who) if is_mail(who) else ""
    stored = await (accounts.by_mail(mail) if mail else accounts.by_id(who))
    if stored:
        return Author(stored.id, canonical(stored.account.mail), stored.account)
    if not (mail or is_short(who)):
        raise Refused("This is neither an email nor an account")
    return Author("" if mail else who, mail)


async def part(comments: Comments, author: Author, after: str = "") -> AuthorPage:
    """The next part of the author's comments, newest first, after the comment with this id."""
    if after and not is_id(after):
        raise BadRequest({"after": "after need the objectId of a comment"})
    written, searched = list[StoredComment](), 0
    while searched < MAX_SEARCHED_COMMENTS:
        _, ids = await comments.index.listed(STATUSES, size=ERASE_STEP_COMMENTS, behind=after)
        written += filter(author.wrote, await comments.moderation.whole(ids))
        searched += len(ids)
        after = ids[-1] if len(ids) == ERASE_STEP_COMMENTS else ""
        if not after:
            break
    return AuthorPage(written, searched, after)


async def erase(
    comments: Comments,
    author: Author,
    deed: Deed,
    caller: Caller,
    after: str = "",
    *,
    is_started: bool | None = None,
) -> Erasure:
    """Anonymise the next part of an author's comments, or delete them with their replies; the last
    part removes everything else. Call it again with the outcome's `after` until that is "".

    It is logged once, unless nothing of the author was found: `is_begun` tells whether earlier
    parts have done anything; None: yes if there were any.

    Raises LastAdministrator, Unavailable, and Refused for the caller's own account.
    """
    if author.account:
        if author.id == account_id(caller):
            raise Refused("This is your own account. Another administrator must do this.")
        if author.account.role != "banned":
            await edit_account(comments.accounts, author.id, Changes(role="banned"))
    step = await part(comments, author, after)
    one = partial(_anonymize if deed == "anonymize" else _delete, comments)
    await _forget_said(comments, [stored.id for stored in step.comments])
    numbers = await _each(step.comments, one)
    done, damaged = sum(filter(None, numbers)), numbers.count(None)
    if step.after:
        return Erasure(done, damaged, step.searched, step.after)
    done += await comments.deletions.erase(author.wrote, comments.process.clock())
    is_forgotten = await _forget(comments, author)
    has_account = bool(author.account) and await remove_account(comments.accounts, author.id)
    is_started = bool(after) if is_started is None else is_started
    is_logged = bool(is_started or done or is_forgotten or has_account)
    if is_logged:
        # A digest, since the log must not be where the email is still known.
        name = author.id or f"mail {digest(author.mail)}"
        await comments.log.add(by=account_id(caller), did=f"{deed} author", id=name, was="", now="")
    return Erasure(done, damaged, step.searched, "", has_account, is_logged)


async def _forget_said(comments: Comments, ids: Sequence[str]) -> None:
    """What was said of comments: a model's reason may quote the author."""
    await comments.verdicts.forget(ids)
    await comments.reports.forget(ids)


async def _each(
    comments: Sequence[StoredComment], one: Callable[[StoredComment], Awaitable[int | None]]
) -> list[int | None]:
    room = asyncio.Semaphore(MAX_AT_ONCE)

    async def number(whole: StoredComment) -> int | None:
        async with room:
            return await one(whole)

    return await asyncio.gather(*map(number, comments))


async def _delete(comments: Comments, stored: StoredComment) -> int | None:
    """Delete a comment with its replies, and remove their data immediately."""

    async def attempt(stored: StoredComment) -> int | None:
        return await comments.deletions.delete(stored, comments.process.clock(), ERASURE)

    if await until_settled(comments.moderation, stored, attempt) is None:
        # It has gone with another one.
        return 0
    return await comments.deletions.remove(stored.id, comments.process.clock())


async def _anonymize(comments: Comments, stored: StoredComment) -> int | None:
    """None for a damaged comment."""
    if _is_damaged(stored):
        return None
    return int(
        bool(await until_settled(comments.moderation, stored, partial(_anonymize_once, comments)))
    )


def _is_damaged(stored: StoredComment) -> bool:
    try:
        return not codec.comment(stored)
    except (TypeError, ValueError):
        return True


async def _anonymize_once(comments: Comments, stored: StoredComment) -> bool:
    """Raises Overtaken; ValueError, TypeError for a damaged comment."""
    after, now_ms = _anonymous(codec.comment(stored)), comments.process.clock()
    done = await comments.moderation.moderate(stored, None, now_ms, ERASURE, after=after)
    return done is not None


def _anonymous(comment: Comment) -> Comment:
    """The comment's words, place and time alone; readers see it as those of accounts that are
    gone."""
    return replace(
        comment,
        nick=None,
        mail=None,
        link=None,
        ua=None,
        browser="",
        os="",
        region="",
        full_region="",
        avatar="",
        address="",
        account="",
        author="",
    )


async def _forget(comments: Comments, author: Author) -> bool:
    """Remove what else identifies an author, except comments and account; False if nothing does."""
    number = int(bool(author.id) and await comments.index.forget_pages_of(author.id))
    for value in filter(None, (author.id, author.mail)):
        number += await comments.accounts.bans.forget(value)
    if author.mail:
        number += await comments.log.forget(author.mail)
        number += await comments.forget_undelivered(author.mail)
    async for name, entries in comments.actions.every():
        if any(map(author.wrote, comments_of(entries.values()))):
            await comments.actions.remove(name)
            number += 1
    return number > 0


def facts(stored: StoredComment) -> dict[str, Any]:
    """Everything stored of a comment. Raises ValueError, TypeError for a damaged one."""
    comment = codec.comment(stored)
    return {
        "id": stored.id,
        "page": stored.path,
        "status": stored.status,
        "pinned": stored.is_pinned,
        "likes": stored.likes,
        "at": iso(comment.at),
        "nick": comment.nick,
        "mail": comment.mail,
        "link": comment.link,
        "account": comment.account,
        "ip": comment.address,
        "region": comment.full_region,
        "ua": comment.ua,
        "replies_to": comment.parent,
        "text": comment.source,
    }


def iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")
