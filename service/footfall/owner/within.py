"""Requests of our own pages to the API, within the process."""

import asyncio
from collections.abc import Mapping
from datetime import UTC
from typing import Any

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope

from ..http.client import headers_of
from ..http.csrf import CSRF_HEADER, session_cookie
from ..http.policy import Policy
from .pages import query_of, words_of

# By page, below /ui/api, what its script asks for first (ui/admin), beside the account.
# For moderators, the first page is the queue.
FIRST = dict.fromkeys(("", "queue"), "queue?status=waiting&pageSize=20")
ACCOUNT = "token"
# Headers of a request for a page that say nothing of one by the page.
OF_THE_PAGE = (b"if-none-match", b"origin", b"sec-fetch-site")


async def ask(
    api: ASGIApp, scope: Scope, receive: Receive, path: str, query: str
) -> tuple[int, Any]:
    """The API's status, and its JSON answer."""
    sent = list[Message]()

    async def keep(message: Message) -> None:
        sent.append(message)

    asked = {"path": path, "raw_path": path.encode(), "query_string": query.encode()}
    await api({**scope, **asked}, receive, keep)
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], orjson.loads(body)


async def nothing() -> Message:
    """The body of a request without one."""
    return {"type": "http.request", "body": b""}


class FirstAnswers:
    """What an admin page would ask for first, sent with the page: on a phone, each of its requests
    takes as long as the page itself. `tables` are the files of words, by language."""

    def __init__(
        self, apis: Mapping[str, ASGIApp], policy: Policy, tables: Mapping[str, str]
    ) -> None:
        self._apis = apis
        self._policy = policy
        self._tables = tables

    async def __call__(self, scope: Scope) -> dict[str, str]:
        """For the page's template."""
        headers, query = headers_of(scope["headers"]), query_of(scope)
        has_session = session_cookie(headers, scope, self._policy)
        answers = await self._answers(scope, query) if has_session else {}
        language = words_of(query, headers, UTC).language
        return {"early": orjson.dumps(answers).decode(), "table": self._tables[language]}

    async def _answers(self, scope: Scope, query: Mapping[str, str]) -> dict[str, Any]:
        """By what the page would ask for."""
        name, is_plain = scope["path"].rpartition("/")[2], not query.keys() - {"lng"}
        asked = [ACCOUNT, FIRST[name]] if name in FIRST and is_plain else [ACCOUNT]
        headers = [line for line in scope["headers"] if line[0] not in OF_THE_PAGE]
        by_page = {**scope, "method": "GET", "headers": [*headers, (CSRF_HEADER, b"1")]}

        async def answer(asked: str) -> Any:
            name, _, query = asked.partition("?")
            path = f"/ui/api/{name}"
            _, answer = await ask(self._apis[path], by_page, nothing, path, query)
            return answer

        answers = zip(asked, await asyncio.gather(*map(answer, asked)), strict=True)
        # What has failed is asked for again by the page, which shows why.
        return {asked: answer for asked, answer in answers if not answer["errno"]}
