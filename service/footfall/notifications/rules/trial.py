"""A test notification of a sample comment, which shows whether channels work."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import replace

from ...errors import StoreUnavailable
from ...model import Comment
from ...notify.notification import OWNER_MAIL, NotDelivered, Notification
from .delivery import Delivery

log = logging.getLogger(__name__)

# Seconds per channel and spam filter, one after the other: a person is waiting for their answers.
TRIAL_SECONDS = 15
PATH = "/test"
WORDS = "This is a test of your notifications."
NO_RECIPIENT = "was notified, since emails go only to readers: name one, or set AUTHOR_EMAIL"


async def tell(delivery: Delivery, to: str = "") -> dict[str, str]:
    """Send to all channels, also to a reader at `to` if that is not "", and query spam filters.

    By the name of each, its error; "" for success. Raises StoreUnavailable.
    """
    notification = _news(delivery, to)
    # An owner may want to be notified of only one of both.
    forms = notification, replace(notification, status="waiting", now="waiting")
    answers = dict[str, str]()
    for name, channel in delivery.channels.items():
        if form := next(filter(channel.wants, forms), None):
            # As if tried before, since an owner's first attempt may be for the next digest.
            attempts = int(name == OWNER_MAIL)
            news = replace(form, key=f"{name} {form.key}", attempts=attempts)
            answers[name] = await _failure(channel.send(news))
    for spam_checker in delivery.spam_checkers:
        answers[f"judge {spam_checker.name}"] = await _failure(spam_checker.is_spam(notification))
    return answers or {"nobody": NO_RECIPIENT}


async def _failure(attempt: Awaitable[object]) -> str:
    try:
        async with asyncio.timeout(TRIAL_SECONDS):
            await attempt
    except NotDelivered as failed:
        return str(failed)
    except TimeoutError:
        return f"no answer within {TRIAL_SECONDS} seconds"
    except StoreUnavailable:
        raise
    except Exception:
        log.exception("a trial failed")
        return "it failed: see the log"
    return ""


def _news(delivery: Delivery, to: str) -> Notification:
    """A sample comment, which replies to one by `to`."""
    now_ms = delivery.process.clock()
    root, id = (delivery.process.ids.new(now_ms, PATH) for _ in range(2))
    html = f"<p>{WORDS}</p>\n"
    comment = Comment(id, PATH, now_ms, html, WORDS, nick="Footfall", parent=root, root=root)
    above = Comment(root, PATH, now_ms, "<p>A comment</p>\n", "A comment", nick="You", mail=to)
    return Notification(
        comment,
        "approved",
        above,
        "",
        "approved",
        "author",
        delivery.title,
        delivery.site_url,
        f"{id} {now_ms}",
    )
