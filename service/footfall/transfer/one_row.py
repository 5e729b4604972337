"""Stores rows one at a time, as Waline's migration page sends them, by the rules of an import.

A row's id follows from the row, so a repetition is recognised. A comment that comes before the one
that it replies to, or before its author's account, is a root without account until it is put into
its place.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..domain.moderation import until_settled
from ..domain.site import Site
from ..driver.keys import digest
from ..errors import BadRequest
from ..model import Comment
from ..store import codec
from ..store.ids import SHORT, fixed, is_id, is_short
from ..store.imports import Imports, Merged
from ..store.moderation import Actor, Apart, Whole, Words
from . import checks, waline
from .checks import DAY_MS, Unusable
from .report import Report
from .rows import CommentRow, CounterRow, Refusal
from .source import Source
from .staging import Ready
from .storing import low_bits_of, store_account, store_part

SYSTEM = "waline"
# It says how dates and ids are written; there is no file.
_SOURCE = Source(Path())

Record = Mapping[str, Any]


async def add(site: Site, imports: Imports, table: str, record: Record) -> dict[str, Any]:
    """Store a record of a table; returns its id here, and what had to be changed in it.

    Raises BadRequest, StoreUnavailable.
    """
    report = Report()
    try:
        if table == "Comment":
            id = await _add_comment(site, imports, record, report)
        elif table == "Users":
            id = await _add_account(site, record, report)
        else:
            id = await _add_counters(site, imports, record, report)
    except Unusable as error:
        raise BadRequest({error.field: f"the row {error}"}) from None
    return {"objectId": id, "changed": [why for _, _, why in report.reasons]}


async def _add_account(site: Site, record: Record, report: Report) -> str:
    notes = list[str]()
    latest_ms = site.process.clock() + DAY_MS
    found = waline.account(_SOURCE, record)
    row = checks.account(found, latest_ms, notes.append, None, may_administer=False)
    row = row._replace(source=row.source or digest(row.mail))
    for note in notes:
        report.change("accounts", row.source, note)
    return await store_account(site, SYSTEM, row, report)


async def _add_comment(site: Site, imports: Imports, record: Record, report: Report) -> str:
    row, notes = waline.comment(_SOURCE, record), list[str]()
    row = checks.comment(row, site.rules, notes.append, None)
    at, source = row.at or 0, row.source or digest(row.path, str(row.at), row.nick, row.text)
    if at > site.process.clock() + DAY_MS:
        raise Unusable("is from the future", "insertedAt")
    parent, root = await _thread_of(site, row)
    if row.parents and not parent:
        notes.append("replies to a comment that is not there: now a root")
    for note in notes:
        report.change("comments", source, note)
    id = fixed(at, low_bits_of(SYSTEM, source, at, row.path), row.path)
    # Its account is looked for where comments are stored: by the id here.
    ready = Ready(id, row.path, at, row, "", parent, root)
    await store_part(site, imports, [ready], report)
    return id


async def _thread_of(site: Site, row: CommentRow) -> tuple[str, str]:
    """The comment that this one replies to, and its root, if its page has both; else neither."""
    page = digest(row.path)
    known = [each for each in row.parents if is_id(each) and each[SHORT:] == page]
    for found in await site.comments.by_ids(known):
        return found.id, codec.root_of(found.body) or found.id
    return "", ""


async def _add_counters(site: Site, imports: Imports, record: Record, report: Report) -> str:
    """Store a page's counts, of which the larger one is kept; unknown types are named."""
    merged, path = list[Merged](), ""
    for row in waline.counters("", record):
        if isinstance(row, Refusal):
            raise Unusable(row.why, "url")
        assert isinstance(row, CounterRow)
        path = row.path
        if row.type not in site.counter_types:
            report.change("counters", row.type, f"{row.type} is no type that COUNTER_TYPES names")
            continue
        checks.counter(row, site.counter_types)
        name = f"{row.type} {row.path}"
        merged.append((imports.place(name), name, row.number))
    if merged:
        await imports.merge(merged, "max", of="", number=1)
    return digest(path)


# Putting a comment into its place.


async def place(site: Site, id: str, fields: Record) -> None:
    """Make a comment a reply (`pid`, `rid`), and give it its account (`user_id`).

    Raises BadRequest, StoreUnavailable, Unavailable.
    """
    found = await site.moderation.whole([id]) if is_id(id) else []
    if not found:
        raise BadRequest({"objectId": "objectId is no comment"})
    account = str(fields.get("user_id") or "")
    if account:
        await site.site_index.note_page(account, id[SHORT:])

    async def attempt(whole: Whole) -> None:
        await _place(site, whole, fields, account)

    await until_settled(site, found[0], attempt)


async def _place(site: Site, whole: Whole, fields: Record, account: str) -> None:
    before = whole.comment
    after = await _under(site, before, str(fields.get("pid") or ""), str(fields.get("rid") or ""))
    if account:
        after = await _owned_by(site, after, account)
    if after == before:
        return
    words = Words(whole, after, is_compared=False)
    try:
        await site.moderation.moderate(
            whole.shown, None, site.process.clock(), Actor("import"), words=words
        )
    except Apart:
        text = "rid is no root, or the comment has replies itself"
        raise BadRequest({"rid": text}) from None


async def _under(site: Site, comment: Comment, pid: str, rid: str) -> Comment:
    if not (pid or rid):
        return comment
    roots = dict[str, str]()
    for name, id in (("pid", pid or rid), ("rid", rid or pid)):
        is_here = is_id(id) and id[SHORT:] == comment.id[SHORT:] and id != comment.id
        found = await site.comments.by_ids([id]) if is_here else []
        if not found:
            raise BadRequest({name: f"{name} is no other comment of the same page"})
        roots[name] = codec.root_of(found[0].body) or id
    root = rid or roots["pid"]
    if roots["rid"] != root or comment.root not in ("", root):
        raise BadRequest({"rid": "rid is not the root of this thread"})
    # A comment that is to become a reply, too, is a root until then, without replies.
    is_to_come = roots["pid"] == pid != root and not await site.moderation.has_replies(pid)
    if roots["pid"] != root and not is_to_come:
        raise BadRequest({"pid": "pid is in another thread"})
    return replace(comment, parent=pid or rid, root=root)


async def _owned_by(site: Site, comment: Comment, account: str) -> Comment:
    if comment.account not in ("", account):
        raise BadRequest({"user_id": "user_id is not the account that the comment has"})
    if not (is_short(account) and await site.accounts.by_id(account)):
        raise BadRequest({"user_id": "user_id is no account"})
    return replace(
        comment, account=account, author=account, nick=None, mail=None, link=None, avatar=""
    )
