"""The searchable texts of a comment: its text, its author, its page and addresses."""

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_network
from typing import NamedTuple

from ...accounts.rules.ban_list import BanList
from ...ids import is_id
from ...model import Ban, Comment, StoredComment, iso
from ...netaddr import Networks, network_text
from ...render.reading import names_of, texts_of
from ..noun import Comments
from ..store import codec

MAX_BEGINNING_CHARACTERS = 100
# Does it match?
Test = Callable[[Comment], bool]


class Start(NamedTuple):
    """A comment's page, its first words, and its author."""

    url: str
    orig: str
    author: str


UNKNOWN = Start("", "", "")


async def with_authors(comments: Comments, stored: Sequence[StoredComment]) -> dict[str, Comment]:
    """Id -> the comment, with its author as their account is now, without comments whose private
    part is damaged."""
    secrets, accounts = await asyncio.gather(
        comments.store.secrets([comment.id for comment in stored]),
        comments.accounts.store.by_ids({comment.body.account for comment in stored} - {""}),
    )
    read = dict[str, Comment]()
    for each in stored:
        with suppress(TypeError, ValueError):
            comment = codec.comment(each._replace(private=secrets.get(each.id, b"")))
            if account := accounts.get(comment.account):
                nick, mail, link = account.nick, account.mail, account.link
                comment = replace(comment, nick=nick, mail=mail, link=link)
            read[each.id] = comment
    return read


# A part of an address; else any number would be in most of them.
_ADDRESS = re.compile(r"[0-9a-f]*[.:][0-9a-f.:]*")
# A day, a month or a year, or from one to another.
_PERIOD = re.compile(r"[0-9]{4}(-[0-9]{2}){1,2}(\.\.[0-9]{4}(-[0-9]{2}){0,2})?")


def has_words(words: str) -> Test:
    """Each of them somewhere, in any order and in any case; an address or a network is the one
    that the comment was sent from, or in which that is, an id the comment's or its author's, and a
    date when it was written."""
    sought = [(word, _senders(word), _days(word)) for word in words.casefold().split()]

    def test(comment: Comment) -> bool:
        # Once for all words, which may be a hundred.
        texts = comment.source, comment.nick, comment.mail, comment.link, comment.path
        text = "\n".join(filter(None, texts)).casefold()
        return all(
            word in text
            or word in (comment.id, comment.account)
            or is_sender(comment.address)
            or is_day(comment.at)
            for word, is_sender, is_day in sought
        )

    return test


def _senders(word: str) -> Callable[[str], bool]:
    """Does this word name an address, a network around it, or a part of it?"""
    if network := network_text(word):
        return Networks([ip_network(network)]).__contains__
    if _ADDRESS.fullmatch(word):
        return lambda address: word in address
    return lambda address: False


def _days(word: str) -> Callable[[int], bool]:
    """Does this word name the day of a time in ms, as 2026-11-23, 2026-11 or 2026-11..2027 do?"""
    if not _PERIOD.fullmatch(word):
        return lambda at: False
    first, _, last = word.partition("..")
    last = last or first

    def is_day(at: int) -> bool:
        day = iso(at)[: len("2026-11-23")]
        return first <= day and day[: len(last)] <= last

    return is_day


def is_caught_by(value: str) -> Test:
    """Would a ban of this catch it, if it were written now?"""
    bans = BanList([Ban(value)])

    def test(comment: Comment) -> bool:
        author = bans.of(comment.address, comment.account, comment.mail or "")
        names = names_of(comment.nick, comment.link)
        texts = (*texts_of(comment.source, comment.html), *names)
        text = bans.in_text(texts, comment.html, comment.link or "")
        return any(True for each in (author, text) for _ in each)

    return test


async def beginnings(comments: Comments, ids: Sequence[str]) -> dict[str, Start]:
    """Page, first words and author of those comments that are still there, or in the bin."""
    known = [id for id in dict.fromkeys(ids) if is_id(id)]
    stored = await comments.store.by_ids(known) if known else []
    gone = {*known} - {each.id for each in stored}
    binned = [each.stored for each in await comments.bin.by_ids(sorted(gone))] if gone else []
    whole = await with_authors(comments, [*stored, *binned])
    return {
        id: Start(each.path, each.source[:MAX_BEGINNING_CHARACTERS], each.nick or "")
        for id, each in whole.items()
    }
