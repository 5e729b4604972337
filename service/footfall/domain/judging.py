"""What becomes of a comment that waits for judges: what one of them calls spam is spam, and what is
held for another reason goes on waiting."""

from collections.abc import Sequence
from dataclasses import replace

from ..errors import StoreUnavailable
from ..model import Status
from ..notify.judges import Judge
from ..notify.news import Failed, News
from ..store.moderation import Overtaken, Whole
from ..store.outbox import Task
from .announcements import announce, announce_as_it_is
from .service import Service

KIND = "judge"
# A comment waits for judges that are away for ten to sixteen minutes, by how long each attempt
# takes; then whoever runs the site is told, and decides.
MAX_ATTEMPTS = 8


def is_wanted(task: Task) -> bool:
    """Is a comment to be judged before anybody is told of it?"""
    return (task.by, task.now) == ("author", "waiting") and not task.is_judged


def after(task: Task) -> Task:
    """Telling people, now that judges were asked, or could not be."""
    return replace(task, kind="event", attempts=0, is_judged=True)


async def decide(
    service: Service, judges: Sequence[Judge], whole: Whole, news: News, task: Task
) -> Sequence[Task]:
    """Ask the judges, and move the comment; what follows. Raises Failed, StoreUnavailable."""
    if whole.shown.status != "waiting":
        # A moderator was faster.
        return ()
    is_spam = False
    for judge in judges:
        try:
            is_spam = is_spam or await judge.is_spam(news)
        except Failed as failed:
            raise Failed(f"{judge.name}: {failed}", is_final=failed.is_final) from None
    if not is_spam and service.rules.holds(whole.comment.html):
        return [after(task)]
    status: Status = "spam" if is_spam else "approved"
    try:
        change = await service.moderation.moderate(
            whole.shown, status, service.clock(), only="waiting", by="judge"
        )
    except Overtaken:
        return ()
    except StoreUnavailable:
        announce_as_it_is(service, whole.shown, status)
        raise
    if change:
        await announce(service, change)
    return ()
