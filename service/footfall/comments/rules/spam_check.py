"""Decides on comments that wait for spam filters: spam for one of them is spam, and a comment
pending for another reason, or of which one of them is not sure, stays pending."""

from collections.abc import Sequence
from dataclasses import replace

from ...model import Status, StoredComment
from ...notify.notification import NotDelivered, Notification
from ...notify.spam_checkers import SpamChecker, Unsure
from ...tasks import Task
from ..noun import Comments
from ..store import codec
from ..store.moderation import Actor, Overtaken

KIND = "judge"
# A comment waits for unreachable spam filters for ten to sixteen minutes, depending on how long
# each attempt takes; then the site's owner is notified, and decides.
MAX_ATTEMPTS = 8


class Undecided(Exception):
    """A comment is not what its task is about, and that may still be undone: look again later."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.name)
        self.task = task


def require_decided(task: Task, stored: StoredComment) -> None:
    """Raises Undecided if the comment's status has only just changed."""
    if task.met != stored.status:
        raise Undecided(replace(task, met=stored.status))


def is_wanted(task: Task) -> bool:
    """Do spam filters check a comment before notifications are sent?"""
    return (task.by, task.now) == ("author", "waiting") and not task.is_judged


def after(task: Task) -> Task:
    """Notify people, after the spam filters have answered or failed."""
    return replace(task, kind="event", attempts=0, is_judged=True)


async def decide(
    comments: Comments,
    spam_checkers: Sequence[SpamChecker],
    whole: StoredComment,
    notification: Notification,
    task: Task,
) -> Sequence[Task]:
    """Ask the spam filters, and move the comment; what follows. If it has changed meanwhile, ask
    again: a verdict is about the text that was sent.

    Raises Failed, Undecided, StoreUnavailable.
    """
    if whole.status != "waiting":
        # A moderator was faster.
        require_decided(task, whole)
        return ()
    is_spam, is_sure = False, True
    for spam_checker in spam_checkers:
        try:
            is_spam = is_spam or await spam_checker.is_spam(notification)
        except Unsure:
            # Another filter may be sure that it is spam.
            is_sure = False
        except NotDelivered as failed:
            raise NotDelivered(f"{spam_checker.name}: {failed}", is_final=failed.is_final) from None
    if not is_spam and (not is_sure or comments.rules.holds(codec.comment(whole).html)):
        return [after(task)]
    status: Status = "spam" if is_spam else "approved"
    try:
        await comments.moderation.moderate(whole, status, comments.process.clock(), Actor("judge"))
    except Overtaken:
        return [replace(task, attempts=0)]
    return ()
