"""Requests to other services, bounded in time and in how much of the answer is read."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .notification import NotDelivered

if TYPE_CHECKING:
    import httpx2

TIMEOUT_SECONDS = 20.0
MAX_ANSWER_BYTES = 65_536
# How much of the other side's words is in error messages.
MAX_SAID_CHARACTERS = 200
# 408 and 429 request a retry; other statuses from 400 to 499 are final.
AGAIN = (408, 425, 429)


async def post(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[Mapping[str, str], str]:
    """The answer's headers and text, if its status is in the 200s. Raises NotDelivered.

    Redirects are not followed: an operator's address is used as it is.
    """
    import httpx2  # loaded by the first request of this kind

    headers = {"accept-encoding": "identity", **headers}
    try:
        async with (
            httpx2.AsyncClient(timeout=TIMEOUT_SECONDS, trust_env=True) as client,
            client.stream("POST", url, content=body, headers=headers) as answer,
        ):
            text = await _text(answer)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise NotDelivered(f"{type(error).__name__}: {error}") from None
    if not answer.is_success:
        status = answer.status_code
        is_final = 300 <= status < 500 and status not in AGAIN
        raise NotDelivered(f"status {status}: {text[:MAX_SAID_CHARACTERS]}", is_final=is_final)
    return answer.headers, text


async def _text(answer: "httpx2.Response") -> str:
    read = b""
    async for part in answer.aiter_raw():
        read += part
        if len(read) > MAX_ANSWER_BYTES:
            break
    return read[:MAX_ANSWER_BYTES].decode(errors="replace")
