"""A change without effect, to learn whether Redis would accept one now.

`SET key value XX` of a key that never exists is rejected like any other change for lack of memory,
disk, replicas or permissions; otherwise it does nothing, whatever data set is there. The result is
noted where the reply arrives (server_state.py).
"""

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..errors import StoreUnavailable
from .client import RedisClient
from .cluster import SLOTS, Cluster, slot_of_key
from .commands import Command, pack, pack_word
from .replies import ErrorReply, is_unknown_script
from .rights import KINDS, RIGHTS, name_of
from .scripts import Scripts
from .server_state import PROBE

# The wait for replies, so that /readyz answers within two seconds.
PROBE_SECONDS = 1.5
# The further wait for scripts to be loaded that a server has lost.
LOAD_SECONDS = 0.1
# Redis has two texts for it.
_OF_KEYS = re.compile("access (a|one of the) key")
_OF_SCRIPTS = re.compile("['`]evalsha\\b", re.IGNORECASE)
_TRIED = [pack_word(right.tried) for right in RIGHTS.values() if right.tried]


class Probe:
    def __init__(self, redis: RedisClient, scripts: Scripts, key_of: Callable[[int], str]) -> None:
        self._redis = redis
        self._scripts = scripts
        # The name of a key that never exists; the numbers lie in most slots.
        self._key_of = key_of
        # On a Cluster each node -> a key in one of its slots.
        self._known: dict[str, str] = {}

    async def answers(self) -> dict[str, bool]:
        """Does each server that takes writes answer? Those that do not have all scripts get them.

        Raises StoreUnavailable if it is not known which they are.
        """
        redis = self._redis
        deadline = asyncio.get_running_loop().time() + min(redis.timeout, PROBE_SECONDS)
        asked = {
            name: (sender, self._commands(name))
            for name, sender in (await redis.masters(anew=False)).items()
        }
        prompt = redis.each(asked, deadline)
        if redis.changes is redis.prompt or not any(map(self._is_troubled, asked)):
            replies = await prompt
        else:
            replies, _ = await asyncio.gather(prompt, self._change())
        if any(isinstance(reply, list) and not _are_loaded(reply) for reply in replies.values()):
            # Without them each script is sent in full.
            with suppress(StoreUnavailable, ErrorReply, TimeoutError):
                async with asyncio.timeout_at(deadline + LOAD_SECONDS):
                    await self._scripts.load()
        return {name: isinstance(reply, list) for name, reply in replies.items()}

    async def refused(self) -> dict[str, list[str]]:
        """The permissions that each server that accepts writes denies this user, in the terms of
        ACL: such as +hincrby, or the pattern of keys.

        It tries all of them, as permissions may change at any time. Raises StoreUnavailable.
        """
        redis, script = self._redis, self._scripts["site/try"]
        senders = await redis.masters(anew=False)
        asked = {
            name: (sender, [script.call(len(_TRIED), self._keys(name) + _TRIED)])
            for name, sender in senders.items()
        }
        replies = await redis.each(asked, redis.deadline())
        if any(
            isinstance(reply, list) and is_unknown_script(reply[0]) for reply in replies.values()
        ):
            # It is the start. A user without permission to load scripts gets an error soon.
            with suppress(StoreUnavailable, ErrorReply):
                await redis.every_server(("SCRIPT", "LOAD", script.source))
            replies = await redis.each(asked, redis.deadline())
        return {
            name: self._refusals(reply)
            for name, reply in replies.items()
            if isinstance(reply, list)
        }

    def _refusals(self, replies: list[Any]) -> list[str]:
        (reply,) = replies
        if isinstance(reply, ErrorReply):
            return self._of_script(reply)
        pairs = zip(reply[::2], reply[1::2], strict=True)
        return [
            name_of(tried.decode())
            for tried, error in pairs
            if ErrorReply(error.decode()).is_refusal
        ]

    def _of_script(self, reply: ErrorReply) -> list[str]:
        """What is denied if not even the script that tries the others may run."""
        if not reply.is_refusal:
            return []
        if _OF_KEYS.search(str(reply)):
            return [f"'~{self._key_of(0).partition(':')[0]}:*'"]
        return ["+evalsha"] if _OF_SCRIPTS.search(str(reply)) else []

    def _keys(self, name: str) -> list[bytes]:
        key = self._key(name)
        return [pack_word(f"{key}:{kind}") for kind in KINDS]

    async def _change(self) -> None:
        """Try a change by the connections for changes that wait until they are durable."""
        redis = self._redis
        senders = await redis.masters(anew=False, durably=True)
        asked = {name: (sender, self._commands(name)[:2]) for name, sender in senders.items()}
        # The wait has a time-out of its own, which may be longer.
        with suppress(TimeoutError):
            async with asyncio.timeout(PROBE_SECONDS):
                await redis.each(asked, redis.deadline())

    def _is_troubled(self, name: str) -> bool:
        return bool(self._redis.stats.server(name).troubles)

    def _commands(self, name: str) -> list[Command]:
        return [
            pack(PROBE, self._key(name), "", "XX"),
            # Called without keys, it only finds out if this user may not call scripts.
            pack("EVALSHA", self._scripts["counters/add"].digest, 0),
            pack("SCRIPT", "EXISTS", *self._scripts.digests),
        ]

    def _key(self, name: str) -> str:
        cluster = self._redis.prompt
        if not isinstance(cluster, Cluster):
            return self._key_of(0)
        key = self._known.get(name, "")
        if not key or not cluster.has(name, slot_of_key(key.encode())):
            every = map(self._key_of, range(SLOTS))
            key = next((k for k in every if cluster.has(name, slot_of_key(k.encode()))), "")
            self._known[name] = key
        return key or self._key_of(0)


def _are_loaded(replies: list[Any]) -> bool:
    known = replies[-1]
    return not isinstance(known, list) or all(known)
