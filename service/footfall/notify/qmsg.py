"""Qmsg, which sends messages to QQ: Apprise does not know it."""

from urllib.parse import quote, urlencode

import orjson

from .client import MAX_SAID_CHARACTERS, post
from .notification import NotDelivered, Notification
from .push import message_of

_FORM = {"content-type": "application/x-www-form-urlencoded"}


class Qmsg:
    name = "qmsg"

    def __init__(self, host: str, key: str, receiver: str = "") -> None:
        """`receiver` is a number of QQ; without one the service decides who gets messages."""
        self._url = f"{host}/send/{quote(key, safe='')}"
        self._receiver = receiver

    def wants(self, notification: Notification) -> bool:
        return notification.is_for_owner

    async def send(self, notification: Notification) -> None:
        form = {"msg": "\n\n".join(message_of(notification))}
        if self._receiver:
            form["qq"] = self._receiver
        _, answer = await post(self._url, urlencode(form).encode(), _FORM)
        # It rejects a message with status 200, and an error in its answer.
        try:
            is_taken = orjson.loads(answer)["success"] is True
        except (orjson.JSONDecodeError, LookupError, TypeError):
            is_taken = False
        if not is_taken:
            raise NotDelivered(f"it was rejected: {answer[:MAX_SAID_CHARACTERS]}")
