"""WEBHOOK: Waline's request for each new comment, signed if there is a secret.

The signature is `sha256=` and the HMAC of the time stamp, a dot and the body. A receiver that
rejects old time stamps is safe from replayed requests.
"""

import hmac
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import orjson

from ..model import Comment, Status, iso
from .client import post
from .notification import Notification


class Webhook:
    name = "webhook"

    def __init__(
        self,
        url: str,
        secret: str = "",
        clock: Callable[[], float] = time.time,
        type: str = "new_comment",
    ) -> None:
        self._url = url
        self._secret = secret
        self._clock = clock
        self._type = type

    def wants(self, notification: Notification) -> bool:
        return notification.is_new and notification.now != "spam"

    async def send(self, notification: Notification) -> None:
        await self.ask(notification)

    async def ask(self, notification: Notification) -> str:
        """The other side's answer. Raises NotDelivered."""
        body = orjson.dumps({"type": self._type, "data": _data(notification)})
        stamp = str(int(self._clock()))
        headers = {
            "content-type": "application/json",
            "footfall-delivery": notification.key,
            "footfall-timestamp": stamp,
        }
        if self._secret:
            headers["footfall-signature"] = signature(self._secret, stamp, body)
        _, answer = await post(self._url, body, headers)
        return answer


def signature(secret: str, stamp: str, body: bytes) -> str:
    signed = hmac.new(secret.encode(), stamp.encode() + b"." + body, sha256)
    return f"sha256={signed.hexdigest()}"


def _data(notification: Notification) -> dict[str, Any]:
    data = {"comment": record_of(notification)}
    if notification.parent:
        data["reply"] = _record(notification.parent, notification.parent_status)
    return data


def record_of(notification: Notification) -> dict[str, Any]:
    """The comment that it is about, with its source."""
    about = notification.about
    return _record(about, notification.status) | {"rawComment": about.source}


def _record(comment: Comment, status: Status) -> dict[str, Any]:
    """A comment with Waline's names; a root lacks some of them."""
    record: dict[str, Any] = {
        "objectId": comment.id,
        "url": comment.path,
        "comment": comment.html,
        "nick": comment.nick or "",
        "mail": comment.mail or "",
        "link": comment.link or "",
        "user_id": comment.account,
        "ip": comment.address,
        "ua": comment.ua or "",
        "status": status,
        "insertedAt": iso(comment.at),
    }
    if comment.parent:
        record |= {"pid": comment.parent, "rid": comment.root}
    return record
