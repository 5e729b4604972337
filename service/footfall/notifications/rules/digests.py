"""What a digest says: the comments that stand alone first, then waves by what they share."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ...comments.noun import Comments
from ...comments.rules.likeness import Group, groups_of
from ...comments.rules.search import with_authors
from ...model import Comment
from ...notify.comment_letters import MAX_SAMPLES, Wave

# Comments that are read: of the older ones only the number is given.
MAX_READ = 1000
# So many comments that are alike are a wave. Fewer may be a conversation.
MIN_WAVE = 5


class Undecided(NamedTuple):
    """Comments that nobody has decided on: their number, those in no wave, and the waves, largest
    first."""

    number: int
    alone: Sequence[Comment]
    waves: Sequence[Wave]


async def undecided(comments: Comments, ids: Sequence[str]) -> Undecided:
    """Which of these are undecided, newest first."""
    stored = await comments.store.by_ids(ids[:MAX_READ])
    last = await comments.moderation.decisions([comment.id for comment in stored])
    decided = {id for id, decision in last.items() if decision.actor.by == "moderator"}
    news = [each for each in stored if each.status != "spam" and each.id not in decided]
    read = [*(await with_authors(comments, news)).values()]
    work = partial(_waves_of, read, comments.counting.own_hosts)
    alone, waves = await comments.process.renderer.run_behind(work)
    number = len(ids) - min(len(ids), MAX_READ) + len(news) if news else 0
    return Undecided(number, alone[:MAX_SAMPLES], waves)


def _waves_of(
    read: Sequence[Comment], own_hosts: frozenset[str]
) -> tuple[list[Comment], list[Wave]]:
    """The comments in no wave, and the waves, largest first."""
    groups = [each for each in groups_of(read, own_hosts) if len(each.members) >= MIN_WAVE]
    waves = [Wave(*_named(group, read), len(group.members)) for group in groups]
    inside = {place for group in groups for place in group.members}
    return [comment for place, comment in enumerate(read) if place not in inside], waves


def _named(group: Group, read: Sequence[Comment]) -> tuple[str, str]:
    kind, value = group.trait
    return kind, (read[group.samples[0]].nick or "") if kind == "account" else value
