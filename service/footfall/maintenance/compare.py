"""Compares a backup with a data set that no service changes meanwhile.

Indexes are not compared, since check.py verifies them, nor are pages' versions, which only have to
rise.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import BinaryIO

from ..comments.store.indexes import DELETED
from ..comments.store.status import status_of
from ..ids import digest
from ..model import OnProgress
from ..plurals import number_of
from . import view_lines
from .archive import Line, Totals, lines
from .backup import Pages
from .dataset import DataSet
from .page_walk import row
from .restore import verify, without

# Of a comment that is in the file twice, the second one counts: this many differences are delayed
# for that.
MAX_HELD_BACK = 1000
# Lines with one hash each, and the name of an entry.
NAMES = {
    "accounts": "account",
    "credentials": "credentials of account",
    "bans": "ban of",
    "closed": "rule of",
}


async def compare(data: DataSet, file: BinaryIO, *, on_progress: OnProgress) -> AsyncIterator[str]:
    """A sentence for each difference. Raises Damaged, StoreUnavailable."""
    strays = verify(file, on_progress=on_progress).strays
    totals, before = Totals(), 0
    differing: dict[str, str] = {}
    for each in lines(file, lambda share: on_progress("comparing", share)):
        line = without(each, strays)
        async for name, difference in _compared(data, line):
            differing.pop(name, None)
            if difference:
                differing[name] = difference
        totals.add(line)
        if line.get("end"):
            if difference := await _length(data, line, totals.comments - before):
                yield difference
            before = totals.comments
        if "path" not in line or line["end"] or len(differing) > MAX_HELD_BACK:
            for name, difference in differing.items():
                yield f"{name} {difference}"
            differing.clear()
    (accounts,) = await data.redis.ask(("HLEN", data.keys.accounts))
    pages = len(await Pages.of(data))
    # Counted, since the stored numbers may not be maintained.
    counters = (await data.numbers.recount(mends=False)).number
    there = Totals(counters, pages, totals.comments, accounts)
    if there != totals:
        yield f"there are {there} instead of {totals}"


async def _compared(data: DataSet, line: Line) -> AsyncIterator[tuple[str, str]]:
    """(name, difference) for everything in a line; the difference is "" if there is none."""
    parts = list[AsyncIterator[tuple[str, str]]]()
    if "counters" in line or "views" in line:
        parts.append(_compared_counts(data, line))
    if "site_views" in line:
        parts.append(view_lines.compared_of_site(data, line["site_views"]))
    parts += (_compared_entries(data, kind, line[kind]) for kind in NAMES if line.get(kind))
    if "unsubscribed" in line:
        parts.append(_compared_unsubscribed(data, line["unsubscribed"]))
    if "path" in line:
        parts.append(_compared_page(data, line))
    for part in parts:
        async for compared in part:
            yield compared


async def _compared_unsubscribed(
    data: DataSet, names: Sequence[str]
) -> AsyncIterator[tuple[str, str]]:
    if names:
        key = data.keys.site("unsubscribed")
        (reply,) = await data.redis.ask(("SMISMEMBER", key, *names))
        for name, is_there in zip(names, reply, strict=True):
            yield f"unsubscribed {name}", "" if is_there else "is not there"


async def _compared_entries(
    data: DataSet, kind: str, wanted: Mapping[str, str]
) -> AsyncIterator[tuple[str, str]]:
    keys = data.keys
    key = {
        "accounts": keys.accounts,
        "credentials": keys.account("credentials"),
        "bans": keys.site("bans"),
        "closed": keys.site("closed"),
    }[kind]
    (reply,) = await data.redis.ask(("HMGET", key, *wanted))
    for (id, body), there in zip(wanted.items(), reply, strict=True):
        yield f"{NAMES[kind]} {id}", "" if there == body.encode() else "differs"


async def _compared_counts(data: DataSet, line: Line) -> AsyncIterator[tuple[str, str]]:
    async for compared in view_lines.compared(data, line.get("views", {})):
        yield compared
    counters = line.get("counters", {})
    fields = ((data.keys.counts(name), name) for name in counters)
    replies = await data.redis.ask(*(("HGET", *field) for field in fields))
    for (name, count), there in zip(counters.items(), replies, strict=True):
        yield f"counter {name!r}", _differing(count, there and int(there))


async def _compared_page(data: DataSet, line: Line) -> AsyncIterator[tuple[str, str]]:
    keys, page = data.keys, digest(line["path"])
    step = await data.comments.copy(page, "", "", 1, [each[0] for each in line["comments"]])
    stored = {
        comment[0].decode(): row(page, *comment)[0]
        for comment in step.comments
        if status_of(comment[4]) != "deleted"
    }
    for comment in line["comments"]:
        there = stored.get(comment[0])
        yield f"comment {comment[0]}{page}", _differing(comment, there)
    fingerprints = line["fingerprints"]
    if fingerprints:
        (reply,) = await data.redis.ask(("HMGET", keys.page(page, "fingerprints"), *fingerprints))
        for (fingerprint, id), there in zip(fingerprints.items(), reply, strict=True):
            # If the page changed during the backup, its comment may not be in the file.
            is_known = there == id.encode() or (line["moved"] and there is None)
            yield f"fingerprint {fingerprint} on {line['path']!r}", "" if is_known else "differs"


def _differing(wanted: object, there: object) -> str:
    if there is None:
        return f"is not there; it should be {wanted}"
    return "" if there == wanted else f"is {there} instead of {wanted}"


async def _length(data: DataSet, line: Line, read: int) -> str:
    page = digest(line["path"])
    bodies, hidden, *deleted = await data.redis.ask(
        ("HLEN", data.keys.page(page, "bodies")),
        ("HMGET", data.keys.page(page, "hidden"), "approved", "held"),
        *(("ZCARD", data.keys.page(page, name)) for name in DELETED),
    )
    there = bodies - sum(deleted) - sum(int(number or 0) for number in hidden)
    if there == read or (there < read and line["moved"]):
        return ""
    return f"page {line['path']!r} has {number_of(there, 'comment')} instead of {read:,}"
