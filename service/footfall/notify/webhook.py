"""WEBHOOK: the reference server's request for each new comment, signed if there is a secret.

The signature is `sha256=` and the HMAC of the time stamp, a dot and the body. A receiver that
refuses old time stamps cannot be sent a request again by somebody who has intercepted it.
"""

import hmac
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import orjson

from ..model import iso
from .client import post
from .news import News, Told


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

    def wants(self, news: News) -> bool:
        return news.is_new and news.now != "spam"

    async def send(self, news: News) -> None:
        await self.ask(news)

    async def ask(self, news: News) -> str:
        """The other side's answer. Raises Failed."""
        body = orjson.dumps({"type": self._type, "data": _data(news)})
        stamp = str(int(self._clock()))
        headers = {
            "content-type": "application/json",
            "footfall-delivery": news.key,
            "footfall-timestamp": stamp,
        }
        if self._secret:
            headers["footfall-signature"] = signature(self._secret, stamp, body)
        _, answer = await post(self._url, body, headers)
        return answer


def signature(secret: str, stamp: str, body: bytes) -> str:
    signed = hmac.new(secret.encode(), stamp.encode() + b"." + body, sha256)
    return f"sha256={signed.hexdigest()}"


def _data(news: News) -> dict[str, Any]:
    comment = record(news.told) | {"rawComment": news.told.comment.source}
    data = {"comment": comment}
    if news.parent:
        data["reply"] = record(news.parent)
    return data


def record(told: Told) -> dict[str, Any]:
    """A comment with the reference server's names; a root lacks some of them."""
    comment, author = told.comment, told.author
    record: dict[str, Any] = {
        "objectId": comment.id,
        "url": comment.path,
        "comment": comment.html,
        "nick": author.nick,
        "mail": author.mail,
        "link": author.link,
        "user_id": author.account,
        "ip": comment.address,
        "ua": comment.ua or "",
        "status": told.status,
        "insertedAt": iso(comment.at),
    }
    if comment.parent:
        record |= {"pid": comment.parent, "rid": comment.root}
    return record
