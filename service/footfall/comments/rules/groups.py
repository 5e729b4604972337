"""Groups of comments that are alike, of the newest ones of a list, for one decision on each."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from ...limits.clients import pool_client_of
from ...model import Caller, Comment
from ...render.versions import version
from ..noun import Comments
from . import search
from .likeness import Group, Kind, groups_of
from .queue import Wanted, steps

MAX_GROUPED_COMMENTS = 1000


@dataclass(frozen=True, slots=True)
class AlikeComments:
    """`value` is what they share, "" for their text; `versions` are those of `ids`; `authors` and
    `addresses` are numbers."""

    kind: Kind
    value: str
    ids: Sequence[str]
    versions: Sequence[str]
    authors: int
    addresses: int
    samples: Sequence[Comment]


@dataclass(frozen=True, slots=True)
class QueueGroups:
    """`others` are the ids of those in no group; it `is_part` of the list where that has more."""

    groups: Sequence[AlikeComments]
    others: Sequence[str]
    is_part: bool
    waiting: int
    spam: int


async def groups(comments: Comments, wanted: Wanted, caller: Caller) -> QueueGroups:
    """Groups of at most MAX_GROUPED_COMMENTS. Raises TooManyAtOnce, Busy."""
    client = pool_client_of(caller)
    with comments.process.pools.bulk_actions.room(client):
        held, versions, others, is_cut = await _held(comments, wanted)
        # In the renderer's thread, so that the event loop does not wait for it.
        work = partial(groups_of, held, comments.counting.own_hosts)
        done = await comments.process.renderer.run(work, client)
    alike = [_alike(group, held, versions) for group in done]
    grouped = {id for group in alike for id in group.ids}
    others += [comment.id for comment in held if comment.id not in grouped]
    numbers = await comments.index.held()
    return QueueGroups(alike, sorted(others, reverse=True), is_cut, *numbers)


async def _held(
    comments: Comments, wanted: Wanted
) -> tuple[list[Comment], dict[str, str], list[str], bool]:
    """The comments, their versions, the ids of damaged ones, which are shown as they are, and
    whether there are more than can be grouped."""
    held, versions, damaged, after = list[Comment](), dict[str, str](), list[str](), ""
    async with aclosing(steps(comments, wanted, "", most=MAX_GROUPED_COMMENTS)) as looked_at:
        async for step in looked_at:
            read = await search.with_authors(comments, step.matching)
            held += read.values()
            versions |= {comment.id: version(comment) for comment in step.matching}
            damaged += [comment.id for comment in step.matching if comment.id not in read]
            after = step.after
    return held, versions, damaged, bool(after)


def _alike(group: Group, held: Sequence[Comment], versions: Mapping[str, str]) -> AlikeComments:
    members = [held[place] for place in group.members]
    samples = [held[place] for place in group.samples]
    kind, value = group.trait
    if kind == "account":
        value = samples[0].nick or ""
    return AlikeComments(
        kind,
        value if kind != "text" else "",
        [member.id for member in members],
        [versions[member.id] for member in members],
        len({member.author or member.nick for member in members}),
        len({member.address for member in members}),
        samples,
    )
