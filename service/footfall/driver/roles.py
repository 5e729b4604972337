"""Which of the servers that accept writes answer, and the roles they report."""

import asyncio

from ..callbacks import fulfil
from ..errors import StoreUnavailable
from .client import RedisClient
from .commands import pack
from .connection import CommandSender
from .replies import ErrorReply

MASTER, REPLICA, UNKNOWN, AWAY = ROLES = ("master", "replica", "unknown", "away")
_ASK = pack("INFO", "replication")
_WORDS = {b"role:master": MASTER, b"role:slave": REPLICA}


async def roles(redis: RedisClient, wait_seconds: float) -> list[str]:
    """One of ROLES for each server, in any order: AWAY if it does not answer within `wait_seconds`,
    UNKNOWN if the user has no permission to read it."""
    deadline = redis.deadline()
    try:
        async with asyncio.timeout(wait_seconds):
            senders = await redis.masters(anew=False)
    except (StoreUnavailable, TimeoutError):
        return [AWAY]
    asked = (_role(sender, deadline, wait_seconds) for sender in senders.values())
    return await asyncio.gather(*asked)


async def _role(sender: CommandSender, deadline: float, wait_seconds: float) -> str:
    answer: asyncio.Future[list[bytes | ErrorReply]] = asyncio.get_running_loop().create_future()
    sender.ask([_ASK], fulfil(answer), deadline)
    try:
        async with asyncio.timeout(wait_seconds):
            (reply,) = await answer
    except (StoreUnavailable, TimeoutError):
        return AWAY
    lines = reply.splitlines() if isinstance(reply, bytes) else []
    return next((_WORDS[line] for line in lines if line in _WORDS), UNKNOWN)
