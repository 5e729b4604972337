"""How a language model would have decided on stored comments, beside what they are now."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from ...comments.noun import Comments
from ...comments.store import codec
from ...model import OnProgress, StoredComment
from ...notify.language_model import LanguageModel
from ...notify.notification import NotDelivered, Notification
from ...notify.spam_checkers import HAM, SPAM

# Questions at the same time, and comments that are read together.
AT_ONCE, PART = 4, 100


@dataclass(slots=True)
class Tally:
    """Comments by what they are and what the model says. `wrongly_spam` are approved ones, and
    `wrongly_ham` those that are spam; `failed` got no answer, `why` the first time."""

    alike: int = 0
    wrongly_spam: int = 0
    wrongly_ham: int = 0
    unsure: int = 0
    failed: int = 0
    why: str = ""

    @property
    def total(self) -> int:
        return self.alike + self.wrongly_spam + self.wrongly_ham + self.unsure + self.failed


async def judge(
    comments: Comments,
    model: LanguageModel,
    last: int,
    site: tuple[str, str],
    on_progress: OnProgress,
) -> Tally:
    """Ask about the newest comments that are approved or spam; nothing changes. `site` is its name
    and address. Raises StoreUnavailable."""
    total, ids = await comments.index.listed(("approved", "spam"), size=last)
    tally, turns = Tally(), asyncio.Semaphore(AT_ONCE)

    async def ask(stored: StoredComment, parents: dict[str, StoredComment]) -> None:
        async with turns:
            await _ask(model, _notification(stored, parents, site), tally)
        on_progress("judging", tally.total / min(total, last))

    for first in range(0, len(ids), PART):
        some = await comments.moderation.whole(ids[first : first + PART])
        parents = await _parents(comments, some)
        await asyncio.gather(*(ask(stored, parents) for stored in some))
    return tally


async def _parents(comments: Comments, some: Sequence[StoredComment]) -> dict[str, StoredComment]:
    ids = {codec.comment(stored).parent for stored in some} - {""}
    return {stored.id: stored for stored in await comments.moderation.whole([*ids])}


def _notification(
    stored: StoredComment, parents: dict[str, StoredComment], site: tuple[str, str]
) -> Notification:
    about = codec.comment(stored)
    parent = parents.get(about.parent)
    return Notification(
        about, stored.status, codec.comment(parent) if parent else None, "", "waiting", "", *site
    )


async def _ask(model: LanguageModel, notification: Notification, tally: Tally) -> None:
    try:
        verdict = (await model.verdict(notification)).verdict
    except NotDelivered as failed:
        tally.failed += 1
        tally.why = tally.why or str(failed)
        return
    is_spam = notification.status == "spam"
    if verdict not in (SPAM, HAM):
        tally.unsure += 1
    elif (verdict == SPAM) == is_spam:
        tally.alike += 1
    elif is_spam:
        tally.wrongly_ham += 1
    else:
        tally.wrongly_spam += 1
