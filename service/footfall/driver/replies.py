"""Replies of Redis: how waiting callers get them, and which errors error replies become.

Every error reply leaves the driver as an ErrorReply, whether it came through `Connection` or
through redis-py, which has some twenty classes for them and removes the code from the text.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from redis.exceptions import ClusterError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from ..errors import StoreUnavailable
from .url import may_pass

log = logging.getLogger(__name__)

# Why a change is not sent.
REJECTED = "Redis rejects changes"
UNDELIVERED = "an answer from Redis could not be delivered"


class ErrorReply(Exception):
    """An error reply as Redis has sent it, without its place in a script."""

    @property
    def code(self) -> str:
        """The first word of an error, such as NOPERM, WRONGTYPE or the general ERR."""
        return str(self).partition(" ")[0]

    @property
    def is_refusal(self) -> bool:
        """True if this user may not do it, or the server does not have the command."""
        return _REFUSAL.match(str(self)) is not None


class OtherData(Exception):
    """Redis does not have this service's data set; the message describes what to do."""


# Codes of a server that runs but cannot serve now.
TEMPORARY_CODES = {
    "MISCONF",
    "NOREPLICAS",
    "LOADING",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MOVED",
    "ASK",
    "MASTERDOWN",
    "READONLY",
    "OOM",
    "BUSY",
    "UNBLOCKED",
}
_REFUSAL = re.compile(
    # A rejected command; one in a script has other texts in Redis and in Valkey.
    "NOPERM|NOAUTH|ERR (unknown (sub)?command|Unknown Redis command called|ACL failure in script"
    "|The user executing the script can't|.*(unknown subcommand|Unknown subcommand))",
    re.IGNORECASE,
)
_IN_PIPELINE = re.compile(r"Command # .* of pipeline caused error: \(['\"](.*)['\"],\)", re.DOTALL)
# Redis 6.2 puts the place in a script before the code.
_IN_SCRIPT = re.compile(r".*@user_script: \d+: -")


def error_reply(text: str) -> ErrorReply:
    """The ErrorReply of a text, also of an error inside an array that a script has returned."""
    return ErrorReply(_IN_SCRIPT.sub("", text).strip())


def of_client(error: ResponseError) -> ErrorReply:
    """The ErrorReply of redis-py's error, also of one that a pipeline has wrapped in its text."""
    text, code = str(error), error.status_code or ""
    if match := _IN_PIPELINE.fullmatch(text):
        text = match[1]
    return error_reply(f"{code} {text}".strip())


def failure(error: Exception) -> Exception:
    """StoreUnavailable if the server cannot serve now, or rejects the command; else the error."""
    if not isinstance(error, ErrorReply) or not (error.code in TEMPORARY_CODES or error.is_refusal):
        return error
    unavailable = StoreUnavailable()
    unavailable.__cause__ = error
    return unavailable


def is_unknown_script(reply: object) -> bool:
    """True if Redis does not have the script, and so has not run it."""
    return isinstance(reply, ErrorReply) and reply.code == "NOSCRIPT"


def unavailable(reason: str) -> StoreUnavailable:
    """A StoreUnavailable that was caused by a time-out."""
    error = StoreUnavailable()
    error.__cause__ = TimeoutError(reason)
    return error


def cause_of(error: Exception) -> BaseException | None:
    """The cause of a StoreUnavailable; any other error is returned itself."""
    return error.__cause__ if isinstance(error, StoreUnavailable) else error


def is_refused(error: Exception) -> bool:
    """True if Redis has answered with an error that will not pass by itself."""
    cause = cause_of(error)
    return isinstance(cause, ErrorReply) and cause.code not in TEMPORARY_CODES


def sentence(error: Exception) -> str:
    """What went wrong with Redis, in a sentence for an operator."""
    cause = cause_of(error)
    if isinstance(cause, OtherData):
        return str(cause)
    if is_refused(error):
        return f"Redis rejects a command: {cause}"
    return f"Redis {'does not answer' if may_pass(cause) else 'cannot be used'}: {cause}"


# What redis-py raises when a server cannot be reached.
UNREACHABLE = (RedisConnectionError, RedisTimeoutError, TimeoutError, OSError, ClusterError)


@asynccontextmanager
async def answering(deadline: float | None) -> AsyncIterator[None]:
    """A block that calls redis-py: its errors become StoreUnavailable or ErrorReply.

    `deadline` is by the event loop's clock, None for none.
    """
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except UNREACHABLE as error:
        raise StoreUnavailable() from error
    except ResponseError as error:
        ours = failure(of_client(error))
        raise ours from ours.__cause__ or error


def scored(reply: Sequence[Any]) -> Iterator[tuple[bytes, float]]:
    """The members and scores in a reply to WITHSCORES: one after the other, or, as RESP3 has them,
    in pairs."""
    pairs = (
        reply if reply and isinstance(reply[0], list) else zip(reply[::2], reply[1::2], strict=True)
    )
    return ((member, float(score)) for member, score in pairs)


def deliver(done: Callable[[Any], None], answer: Any) -> None:
    """Call `done`; an exception in it is logged, so that other callbacks still get theirs."""
    try:
        done(answer)
    except Exception:
        log.exception(UNDELIVERED)
