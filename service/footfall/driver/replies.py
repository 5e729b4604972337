"""What Redis says no with, and what that is for whoever asked.

Every error reply leaves the driver as an ErrorReply, by whichever way it was asked: by a wire, or
by redis-py, which has a class for each of some twenty and takes the code off the text.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.exceptions import ClusterError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from ..errors import StoreUnavailable
from .url import may_pass


class ErrorReply(Exception):
    """An error reply as Redis has sent it, but for the place in a script; see redis.io/docs."""

    @property
    def code(self) -> str:
        """The word by which it is known, as NOPERM or WRONGTYPE; ERR is all the rest."""
        return str(self).partition(" ")[0]

    @property
    def is_refusal(self) -> bool:
        """May this user not do it, or does the server not know the command, or not any more?"""
        return _REFUSAL.match(str(self)) is not None


class OtherData(Exception):
    """Redis does not hold the data set that this service belongs to; says so, and what to do."""


# Codes of a server that is there but cannot serve now.
NOT_NOW = {
    "MISCONF", "NOREPLICAS", "LOADING", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "MASTERDOWN",
    "READONLY", "OOM", "BUSY", "UNBLOCKED",
}  # fmt: skip
_REFUSAL = re.compile(
    # Of a command; of one in a script, by Redis and by Valkey.
    "NOPERM|NOAUTH|ERR (unknown (sub)?command|Unknown Redis command called|ACL failure in script"
    "|The user executing the script can't|.*(unknown subcommand|Unknown subcommand))",
    re.IGNORECASE,
)
_IN_PIPELINE = re.compile(r"Command # .* of pipeline caused error: \(['\"](.*)['\"],\)", re.DOTALL)
# Redis 6.2 puts the place in a script before the word by which an error is known.
_IN_SCRIPT = re.compile(r".*@user_script: \d+: -")


def error_reply(text: str) -> ErrorReply:
    """An error reply's, also one in the array that a script has returned."""
    return ErrorReply(_IN_SCRIPT.sub("", text).strip())


def of_client(error: ResponseError) -> ErrorReply:
    """The same of redis-py's error, also one of a pipeline's, which comes as words in words."""
    text, code = str(error), error.status_code or ""
    if found := _IN_PIPELINE.fullmatch(text):
        text = found[1]
    return error_reply(f"{code} {text}".strip())


def failure(error: Exception) -> Exception:
    """StoreUnavailable for an error of a server that cannot or may not serve now, else itself."""
    if not isinstance(error, ErrorReply) or not (error.code in NOT_NOW or error.is_refusal):
        return error
    unavailable = StoreUnavailable()
    unavailable.__cause__ = error
    return unavailable


def is_unknown_script(reply: object) -> bool:
    """Has Redis forgotten the script? Then it has not run it."""
    return isinstance(reply, ErrorReply) and reply.code == "NOSCRIPT"


def unavailable(reason: str) -> StoreUnavailable:
    """For whoever has waited for long enough."""
    error = StoreUnavailable()
    error.__cause__ = TimeoutError(reason)
    return error


def cause_of(error: Exception) -> BaseException | None:
    """What is behind a StoreUnavailable; another error itself."""
    return error.__cause__ if isinstance(error, StoreUnavailable) else error


def is_refused(error: Exception) -> bool:
    """Has Redis answered, but not done what it was asked, and would not later on?"""
    cause = cause_of(error)
    return isinstance(cause, ErrorReply) and cause.code not in NOT_NOW


def sentence(error: Exception) -> str:
    """What went wrong with Redis, for an operator."""
    cause = cause_of(error)
    if isinstance(cause, OtherData):
        return str(cause)
    if is_refused(error):
        return f"Redis refuses what it is asked: {cause}"
    return f"Redis {'does not answer' if may_pass(cause) else 'cannot be used'}: {cause}"


# What redis-py raises when the server is away.
AWAY = (RedisConnectionError, RedisTimeoutError, TimeoutError, OSError, ClusterError)


@asynccontextmanager
async def answering(deadline: float | None) -> AsyncIterator[None]:
    """For questions by redis-py: its errors become ours; a bug stays what it is.

    Raises StoreUnavailable, ErrorReply.
    """
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except AWAY as error:
        raise StoreUnavailable() from error
    except ResponseError as error:
        ours = failure(of_client(error))
        raise ours from ours.__cause__ or error
