"""Spam filters: Akismet, a web service, or a function in Python; language_model.py has another.

A comment waits until all of them have answered; it is spam if one of them finds it to be.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import EntryPoint
from threading import Thread
from typing import Any, Protocol
from urllib.parse import urlencode

import orjson

from .client import MAX_SAID_CHARACTERS, post
from .notification import NotDelivered, Notification
from .webhook import Webhook, record_of

log = logging.getLogger(__name__)

# Calls of a plugin that have not ended.
MAX_RUNNING = 4
# The answers that a spam filter may give.
SPAM, HAM = "spam", "ham"
FORM = {"content-type": "application/x-www-form-urlencoded"}


class Unsure(Exception):
    """It does not say: people decide."""


class SpamChecker(Protocol):
    name: str

    async def is_spam(self, notification: Notification) -> bool:
        """Raises NotDelivered, Unsure."""


class Akismet:
    """Akismet's three requests: https://akismet.com/developers/."""

    name = "akismet"

    def __init__(self, key: str, url: str) -> None:
        self._key = key
        self._url = url

    async def is_spam(self, notification: Notification) -> bool:
        headers, answer = await self._ask("comment-check", notification)
        if answer.strip() == "true":
            return True
        if code := headers.get("x-akismet-alert-code"):
            # As when its limit is used up: then it lets everything through.
            said = headers.get("x-akismet-alert-msg", "")[:MAX_SAID_CHARACTERS]
            raise NotDelivered(f"alert {code} {said}".strip())
        if answer.strip() != "false":
            said = headers.get("x-akismet-debug-help") or answer[:100]
            raise NotDelivered(f"neither true nor false: {said}")
        return False

    async def fault(self, site_url: str) -> str:
        """Why it would not check comments; "" if it takes the key. Raises NotDelivered."""
        form = urlencode({"api_key": self._key, "blog": site_url})
        headers, answer = await post(f"{self._url}/1.1/verify-key", form.encode(), FORM)
        if answer.strip() == "valid":
            return ""
        said = headers.get("x-akismet-debug-help") or answer[:MAX_SAID_CHARACTERS]
        return f"it answers {said!r}: check AKISMET_KEY and SITE_URL"

    # As a channel, it receives moderators' corrections.

    def wants(self, notification: Notification) -> bool:
        return (
            notification.by == "moderator"
            and "spam" in (notification.was, notification.now)
            and notification.now != "waiting"
        )

    async def send(self, notification: Notification) -> None:
        await self._ask("submit-spam" if notification.now == "spam" else "submit-ham", notification)

    async def _ask(self, what: str, notification: Notification) -> tuple[Mapping[str, str], str]:
        body = urlencode(
            {"api_key": self._key, "blog": notification.site_url, **_form(notification)}
        )
        return await post(f"{self._url}/1.1/{what}", body.encode(), FORM)


def _form(notification: Notification) -> dict[str, str]:
    comment = notification.about
    written = datetime.fromtimestamp(comment.at / 1000, UTC).isoformat(timespec="seconds")
    return {
        "user_ip": comment.address,
        "user_agent": comment.ua or "",
        "permalink": notification.post_url,
        "comment_type": "reply" if comment.parent else "comment",
        "comment_author": comment.nick or "",
        "comment_author_email": comment.mail or "",
        "comment_author_url": comment.link or "",
        "comment_content": comment.source,
        "comment_date_gmt": written,
    }


class WebJudge:
    """A web service: it gets the same signed request as a webhook, and answers {"verdict": …}."""

    name = "webhook"

    def __init__(self, url: str, secret: str) -> None:
        self._hook = Webhook(url, secret, type="judge")

    async def is_spam(self, notification: Notification) -> bool:
        answer = await self._hook.ask(notification)
        try:
            reply = orjson.loads(answer)
        except orjson.JSONDecodeError:
            reply = None
        return _verdict(reply.get("verdict") if isinstance(reply, dict) else answer[:100])


class PluginJudge:
    """A function, or a coroutine function, of a dictionary with Waline's names.

    It runs in a thread of its own, and a coroutine in that thread's own event loop: somebody else's
    code may wait, or compute, for as long as it likes. A thread cannot be ended, so there are
    MAX_RUNNING at most.
    """

    name = "plugin"

    def __init__(self, place: str, seconds: float) -> None:
        """`place` is module:function, and `seconds` how long it may take. Raises ValueError."""
        self._place = place
        self._seconds = seconds
        self._running = 0
        try:
            self._function: Callable[[Mapping[str, Any]], object] = EntryPoint(
                "judge", place, "footfall.judges"
            ).load()
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(f"{place!r} cannot be loaded: {error}") from None
        if not callable(self._function):
            raise ValueError(f"{place!r} is not a function")

    async def is_spam(self, notification: Notification) -> bool:
        if self._running >= MAX_RUNNING:
            raise NotDelivered(
                f"{self._running} calls of JUDGE_PLUGIN {self._place} have not ended"
            )
        loop, record = asyncio.get_running_loop(), record_of(notification)
        answered: asyncio.Future[object] = loop.create_future()

        def deliver(answer: object) -> None:
            self._running -= 1
            if not answered.done():
                answered.set_result(answer)

        def check() -> None:
            answer: object = None
            try:
                answer = self._function(record)
                if inspect.isawaitable(answer):
                    answer = asyncio.run(_awaited(answer))
            except BaseException as error:
                log.exception("JUDGE_PLUGIN %s failed", self._place)
                answer = error
            # It may end after the service has.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(deliver, answer)

        self._running += 1
        # It keeps no process from ending.
        Thread(target=check, name="judge", daemon=True).start()
        try:
            async with asyncio.timeout(self._seconds):
                return _verdict(await answered)
        except TimeoutError:
            raise NotDelivered(
                f"JUDGE_PLUGIN {self._place} has not answered within {self._seconds:g} seconds "
                "(JUDGE_SECONDS)"
            ) from None


async def _awaited(answer: Awaitable[object]) -> object:
    return await answer


def _verdict(answer: object) -> bool:
    """Raises NotDelivered."""
    if answer not in (SPAM, HAM):
        raise NotDelivered(f"a verdict is {SPAM} or {HAM}, and not {answer!r}")
    return answer == SPAM
