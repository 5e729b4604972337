"""Moving a page: its counters, statistics and comments go to another path; existing data there
stays.

comments/store/moves.py explains why nothing is lost or added twice. Later views of the old path
stay there. An interrupted move is continued by every service (keeping_up.py).
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from secrets import token_hex
from typing import NamedTuple

from ...counting.rules import Counting
from ...driver.replies import ErrorReply
from ...errors import NoSuchParent, Refused, StoreUnavailable
from ...ids import SHORT, digest
from ...model import COUNTERS, NO_VIEWS, Comment, OnShare, StoredComment
from ..noun import Comments
from ..store import codec
from ..store.comments import WalkStep
from ..store.moves import MoveNote, MoveUnderWay, TakenComment
from ..store.outcomes import AlreadyPublished, IdTaken
from ..store.status import status_in, status_of

# Of a step, during which they are on neither page.
STEP_COMMENTS = 64
# A page that gets comments all the time is walked over so often.
MAX_WALKS = 3
# A move without progress for this long was interrupted.
LEFT_MS = 60_000


class Holding(NamedTuple):
    """What a page has: its views, the sum of its other counters, its comments."""

    views: int
    others: int
    comments: int


async def holding(comments: Comments, path: str) -> Holding:
    """Raises StoreUnavailable."""
    views, *others = await comments.counting.counters.read(
        [f"{type} {path}" for type in _types(comments.counting)]
    )
    return Holding(views, sum(others), await comments.moves.comments_of(digest(path)))


def _types(counting: Counting) -> Sequence[str]:
    """All types of counters that a page may have: a site's may have been others before."""
    return tuple(dict.fromkeys((*COUNTERS, *counting.types, NO_VIEWS)))


async def move(
    comments: Comments, source: str, target: str, by: str, on_share: OnShare = lambda share: None
) -> bool:
    """Move all of a page; False if some of it waits for comments that may be restored on the other
    page, and follows within minutes. `by` is an account.

    Raises MoveUnderWay; StoreUnavailable, after which a service continues it.
    """
    note = MoveNote(source, target, by, comments.process.clock())
    await comments.moves.start(note)
    return await _carry_out(comments, note, on_share)


async def start(comments: Comments, source: str, target: str, by: str) -> asyncio.Event:
    """Move a page in the background; the event is set when it has ended, or was left to a service.

    Raises Refused, StoreUnavailable.
    """
    note, ended = MoveNote(source, target, by, comments.process.clock()), asyncio.Event()
    try:
        await comments.moves.start(note)
    except MoveUnderWay as error:
        raise Refused("One of these pages is being moved. Try again later.") from error

    async def carry_out() -> None:
        await _try_again(comments, note)
        ended.set()

    comments.process.background.start(carry_out())
    return ended


async def carry_on(comments: Comments) -> None:
    """Continue interrupted moves, after everything else. Raises StoreUnavailable."""
    now = comments.process.clock()
    for note in await comments.moves.under_way():
        if note.at < now - LEFT_MS:
            await comments.moves.go_on(note._replace(at=now))
            comments.process.background.start(_try_again(comments, note))


async def _try_again(comments: Comments, note: MoveNote) -> None:
    # What fails is retried when it was left for long enough.
    with suppress(StoreUnavailable, ErrorReply):
        await _carry_out(comments, note, lambda share: None)


async def follow_restored(comments: Comments, ids: Iterable[str], by: str) -> None:
    """Move comments that were restored on a page that had been moved, in the background, for the
    account that has restored them."""
    by_page = {id[SHORT:]: id for id in ids}
    # They are restored: what fails here is not that. A move that is under way takes them along.
    with suppress(Refused, StoreUnavailable, ErrorReply):
        for id in by_page.values():
            moved, stored = await comments.forwards.follow(id), await comments.store.by_ids([id])
            if moved and stored:
                await start(comments, stored[0].path, moved[0], by)


async def _carry_out(comments: Comments, note: MoveNote, on_share: OnShare) -> bool:
    await comments.forwards.lead(note.source, note.target)
    if not await _move_comments(comments, note, on_share):
        return False
    await _move_counters(comments, note)
    await comments.views.relist(note.source, note.target)
    await comments.store.closings.move(note.source, note.target)
    await comments.move_unsubscribed(digest(note.source), digest(note.target))
    await comments.log.add(by=note.by, did="move", id=note.target, was=note.source, now=note.target)
    await comments.moves.end(note)
    return True


# Counters.


async def _move_counters(comments: Comments, note: MoveNote) -> None:
    types, arrived = _types(comments.counting), ""
    # Only the rest of an interrupted move, and existing data.
    for wanted in (types, types, ()):
        taken = await comments.moves.take_counters(note.source, note.target, wanted, arrived)
        if not taken:
            return
        await comments.moves.give_counters(note.source, taken)
        arrived = taken.id


# Comments.


async def _move_comments(comments: Comments, note: MoveNote, on_share: OnShare) -> bool:
    """False if some are still on their way."""
    page, clock = digest(note.source), comments.process.clock
    # Replies below deleted comments record that from now on, and stay with them.
    await comments.deletions.sweep(page, clock(), 0)
    # Comments are older than the page may be, and versions are times.
    await comments.store.touch(digest(note.target), clock())
    are_all_there = await _arrive(comments, note)
    number, moved = max(await comments.moves.comments_of(page), 1), 0
    for _ in range(MAX_WALKS):
        before = moved
        for are_replies in (False, True):
            async for step in comments.store.walk(page, STEP_COMMENTS):
                await comments.moves.go_on(note._replace(at=clock()))
                moved += await _take(comments, note, step, are_replies=are_replies)
                are_all_there = await _arrive(comments, note)
                on_share(min(moved / number, 1))
        if moved == before:
            break
    return are_all_there


async def _take(comments: Comments, note: MoveNote, step: WalkStep, *, are_replies: bool) -> int:
    """Take the readable comments of a step whose id the other page does not have; their number."""
    copies = dict[str, tuple[Comment, bytes]]()
    for short, body, private, _, held, _ in step.comments:
        try:
            comment = _read(short.decode(), body, private, note.source)
        except (TypeError, ValueError):
            # `footfall check` reports it.
            continue
        if status_of(held) != "deleted" and bool(comment.root) == are_replies:
            copies[short.decode()] = comment, body
    for short in await comments.moves.ids_on(digest(note.target), list(copies)):
        del copies[short]
    if not copies:
        return 0
    now = comments.process.clock()
    return await comments.moves.take_comments(
        digest(note.source), token_hex(4), copies.values(), now
    )


async def _arrive(comments: Comments, note: MoveNote) -> bool:
    """Publish moved comments; False if some of them have to wait."""
    page = digest(note.source)
    while taken := await comments.moves.taken_comments(page):
        read = [(_read(one.id, one.body, one.private, note.source), one) for one in taken]
        arrived = list[TakenComment]()
        for are_replies in (False, True):
            part = [each for each in read if bool(each[0].root) == are_replies]
            done = await asyncio.gather(*(_publish(comments, note, *each) for each in part))
            arrived += [each for (_, each), is_there in zip(part, done, strict=True) if is_there]
        if not arrived:
            return False
        await comments.moves.forget_comments(page, arrived)
    return True


async def _publish(
    comments: Comments, note: MoveNote, comment: Comment, taken: TakenComment
) -> bool:
    """False for a reply whose root may be restored."""
    moved = _moved(comment, note)
    status = status_in(taken.held or "approved")
    # Somebody may have written the same on both pages.
    for fingerprint in (codec.fingerprint(comment), ""):
        try:
            await comments.store.publish(
                moved,
                status,
                fingerprint,
                by="move",
                likes=taken.likes,
                is_pinned=taken.is_pinned,
                mark=taken.held.partition(" ")[2],
                decision=taken.decision,
            )
        except AlreadyPublished:
            continue
        except IdTaken:
            # The reply to the same was lost.
            return True
        except NoSuchParent:
            # Its thread was deleted on the other page, and it goes with that.
            return not await comments.deletions.is_undoable(moved.root, comments.process.clock())
        return True
    raise AssertionError("without a fingerprint there are no duplicates")


def _read(short: str, body: bytes, private: bytes, path: str) -> Comment:
    """Raises ValueError or TypeError for a damaged one."""
    id = short + digest(path)
    return codec.comment(StoredComment(id, path, codec.parse_body(body), private=private))


def _moved(comment: Comment, note: MoveNote) -> Comment:
    """With ids of the other page, also where its text links to comments."""
    page = digest(note.target)
    links = re.compile(rf"([0-9a-v]{{{SHORT}}}){digest(note.source)}")
    return replace(
        comment,
        id=comment.id[:SHORT] + page,
        path=note.target,
        parent=comment.parent and comment.parent[:SHORT] + page,
        root=comment.root and comment.root[:SHORT] + page,
        html=links.sub(rf"\g<1>{page}", comment.html),
        source=links.sub(rf"\g<1>{page}", comment.source),
    )
