"""`footfall authors …`: shows or removes everything that is stored about an author, as data
protection law demands.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, TextIO

import click

from ..accounts.noun import Accounts
from ..accounts.rules.bans import until_of
from ..accounts.rules.changes import facts as facts_of_account
from ..comments.noun import Comments
from ..comments.rules import authors
from ..comments.rules.authors import Author, Deed, facts, iso
from ..ids import created_ms
from ..model import Account, StoredComment
from ..plurals import number_of
from .commands import Group
from .console import printable
from .dataset import CONSOLE, with_site

# The pause between two parts of the site's comments, in which services answer requests.
PACE_SECONDS = 0.05

_who = click.argument("who", metavar="MAIL_OR_ACCOUNT")
_yes = click.option("--yes", "is_meant", is_flag=True, help="Do it instead of only showing.")


@click.group("authors", cls=Group)
def authors_() -> None:
    """Manage all data of an author: account, email, and the comments of both.

    This reads all comments of the site in small steps, while services may keep running. After an
    interruption, run the command again for the rest.
    """


@authors_.command()
@_who
def show(who: str) -> None:
    """Summarise an author's data. Exit 1 if there is none."""
    click.echo(with_site(lambda site: _summary(site.comments, who)))


async def _summary(comments: Comments, who: str) -> str:
    author = await authors.find(comments.accounts.store, who)
    statuses, pages, times = Counter[str](), set[str](), list[int]()
    async for comment in _comments(comments, author):
        statuses[comment.status] += 1
        pages.add(comment.path)
        at = created_ms(comment.id)
        times = [min(times[0], at), max(times[1], at)] if times else [at, at]
    lines = [f"account {' '.join(_words(author.account))}"] if author.account else []
    if times:
        which = ", ".join(f"{number:,} {status}" for status, number in statuses.items())
        lines.append(
            f"{number_of(statuses.total(), 'comment')} on {number_of(len(pages), 'page')}: {which}"
        )
        lines.append(f"from {iso(times[0])} to {iso(times[1])}")
    lines += [
        f"banned {until_of(ban) or 'for ever'}" for ban in await _bans(comments.accounts, author)
    ]
    if not lines:
        raise _nothing_of(who)
    return "\n".join(lines)


@authors_.command()
@_who
@click.option("--output", type=click.File("w"), default="-", help="File to write; - by default.")
def export(who: str, output: TextIO) -> None:
    """Export an author's data as JSON lines. Exit 1 if there is none."""

    async def write(comments: Comments) -> int:
        author = await authors.find(comments.accounts.store, who)
        number = 0
        async for line in _lines(comments, author):
            click.echo(json.dumps(line), file=output)
            number += 1
        return number

    number = with_site(lambda site: write(site.comments))
    if not number:
        raise _nothing_of(who)
    click.echo(f"{number_of(number, 'line')} written", err=True)


async def _lines(comments: Comments, author: Author) -> AsyncIterator[dict[str, Any]]:
    if author.account:
        yield {"account": facts_of_account(author.account)}
    for ban in await _bans(comments.accounts, author):
        yield {"ban": {"value": ban.value, "until": until_of(ban) or None, "reason": ban.reason}}
    async for comment in _comments(comments, author):
        try:
            yield {"comment": facts(comment)}
        except (TypeError, ValueError):
            click.echo(f"comment {comment.id} is damaged and left out", err=True)


@authors_.command()
@_who
@_yes
def anonymize(who: str, is_meant: bool) -> None:
    """Anonymise an author's comments and delete the account.

    The texts stay. Without --yes, it only shows what it would do.
    """
    _erase(who, "anonymize", is_meant)


@authors_.command()
@_who
@_yes
def delete(who: str, is_meant: bool) -> None:
    """Delete an author's comments, their replies, and the account.

    This cannot be undone. Without --yes, it only shows what it would do.
    """
    _erase(who, "delete", is_meant)


def _erase(who: str, deed: Deed, is_meant: bool) -> None:
    done = {"anonymize": "made anonymous", "delete": "deleted, with the replies to them"}[deed]

    async def work(comments: Comments) -> str:
        if not is_meant:
            what = await _summary(comments, who)
            return f"{what}\nwould be {done}. Nothing was done; --yes does it."
        author = await authors.find(comments.accounts.store, who)
        erased, damaged, after = 0, 0, ""
        while True:
            outcome = await authors.erase(
                comments, author, deed, CONSOLE, after, is_started=erased > 0
            )
            erased, damaged = erased + outcome.comments, damaged + outcome.damaged
            if not (after := outcome.after):
                break
            await asyncio.sleep(PACE_SECONDS)
        if not (outcome.is_logged or damaged):
            raise _nothing_of(who)
        sentence = f"{number_of(erased, 'comment')} {done}" if erased else "no comment was found"
        sentence += "; the account is deleted" if outcome.has_account else "; no account"
        if damaged:
            click.echo(sentence)
            left = "is damaged and was" if damaged == 1 else "are damaged and were"
            raise click.ClickException(f"{damaged:,} {left} left: `footfall check` says more")
        return sentence

    click.echo(with_site(lambda site: work(site.comments)))


async def _comments(comments: Comments, author: Author) -> AsyncIterator[StoredComment]:
    after = ""
    while True:
        part = await authors.part(comments, author, after)
        for comment in part.comments:
            yield comment
        if not (after := part.after):
            return
        await asyncio.sleep(PACE_SECONDS)


async def _bans(accounts: Accounts, author: Author) -> list[Any]:
    bans = [await accounts.bans.store.get(name) for name in (author.id, author.mail) if name]
    return [ban for ban in bans if ban]


def _nothing_of(who: str) -> click.ClickException:
    return click.ClickException(f"there is nothing of {printable(who)}")


def _words(account: Account) -> list[str]:
    return [printable(word) for word in (account.id, account.role, account.mail, account.nick)]
