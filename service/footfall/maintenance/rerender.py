"""Renders stored comments again, by this version's rules and the current settings.

Services may run meanwhile. A comment is replaced only if it has not changed since it was read, so
no other change is lost; likes, pins and statuses are stored elsewhere. Each step raises the page's
version, so readers see the result immediately. After an interruption, run it again: comments that
would not change are skipped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..comments.noun import Comments
from ..comments.store import codec
from ..comments.store.bodies import Bodies, Replacement
from ..comments.store.comments import WalkStep
from ..ids import digest
from ..model import Comment, OnProgress, StoredComment
from .backup import Pages
from .dataset import DataSet

# Per step of a walk: comments read, and bytes written.
RERENDER_STEP_COMMENTS = 64
STEP_BYTES = 1 << 16


class What(NamedTuple):
    """What to make again in addition to the HTML; with `is_dry` nothing is written."""

    agents: bool = False
    avatars: bool = False
    is_dry: bool = False


@dataclass(slots=True)
class Tally:
    """Numbers of comments: `changed` ones, also in a dry run, and `overtaken` ones, which were not
    replaced because something else changed them."""

    pages: int = 0
    comments: int = 0
    changed: int = 0
    overtaken: int = 0


async def rerender(
    comments: Comments,
    data: DataSet,
    bodies: Bodies,
    paths: Sequence[str],
    what: What,
    *,
    on_progress: OnProgress,
    complain: Callable[[str], None],
) -> Tally:
    """Render the comments of these articles, or of all. Raises StoreUnavailable.

    `complain` gets a sentence for each damaged comment, and for each article without comments.
    """
    tally, named = Tally(), dict(zip(map(digest, paths), paths, strict=True))
    pages = named or await Pages.of(data)
    for number, page in enumerate(pages):
        count, length = 0, 0
        async for step in data.comments.walk(page, RERENDER_STEP_COMMENTS):
            count += len(step.comments)
            await _take(comments, bodies, page, step, what, tally, complain)
            length = length or await _length(bodies, page, step)
            on_progress("rendering", (number + min(count / max(length, 1), 1)) / len(pages))
        if count:
            tally.pages += 1
            tally.comments += count
        elif page in named:
            complain(f"there are no comments on {named[page]}")
    return tally


async def _length(bodies: Bodies, page: str, step: WalkStep) -> int:
    """The number of a page's comments; Redis is queried only if the first step was not all of
    it."""
    if not step.cursor:
        return len(step.comments)
    return await bodies.number(page)


async def _take(
    comments: Comments,
    bodies: Bodies,
    page: str,
    step: WalkStep,
    what: What,
    tally: Tally,
    complain: Callable[[str], None],
) -> None:
    """Render the comments of a step, and replace those that differ."""
    changes: list[Replacement] = []
    for short, body, private, *_ in step.comments:
        try:
            id, parsed = short.decode() + page, codec.parse_body(body)
            comment = codec.comment(StoredComment(id, step.path, parsed, private=private))
            made = codec.body(await _made_anew(comments, comment, what))
        except (TypeError, ValueError) as error:
            complain(f"page {step.path}: comment {short!r}: {error}")
            continue
        if made != body:
            changes.append(Replacement(short.decode(), body, made))
    tally.changed += len(changes)
    if what.is_dry or not changes:
        return
    for part in _parts(changes):
        done = await bodies.replace(page, part, comments.process.clock())
        tally.changed -= len(part) - done
        tally.overtaken += len(part) - done


def _parts(changes: Sequence[Replacement]) -> list[list[Replacement]]:
    """Replacements in parts of STEP_BYTES, so that no script call is long; a larger one alone."""
    parts, room = list[list[Replacement]](), 0
    for change in changes:
        room -= len(change.before) + len(change.after)
        if room < 0 or not parts:
            parts.append([])
            room = STEP_BYTES - len(change.before) - len(change.after)
        parts[-1].append(change)
    return parts


async def _made_anew(comments: Comments, comment: Comment, what: What) -> Comment:
    (made,) = await comments.process.renderer.make_all(
        [(comment.source, comment.ua or "")], comments.pictures
    )
    comment = replace(comment, html=made.html)
    if what.agents and comment.ua is not None:
        comment = replace(comment, browser=made.browser, os=made.os)
    if what.avatars and not comment.account:
        mail = (comment.mail or "").strip().lower()
        avatar = comments.display.avatar(comment.nick or "", mail, comment.link or "")
        comment = replace(comment, avatar=avatar)
    return comment
