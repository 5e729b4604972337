"""Limits for an address: the cooldown after a comment or edit, and the token buckets of counters.

A comment, or an author's edit, begins a cooldown, in which its address can send no other. A change
of a counter takes a token out of a bucket, which fills again with time. Neither waits for the disk:
after a crash the limit only begins anew.
"""

import asyncio

from ..driver.batch import Batcher
from ..driver.batch_kinds import CountsCallback, Rate
from ..driver.client import fulfil
from ..driver.keys import Keys
from ..driver.scripts import Scripts
from ..errors import TooFast

# A bucket so large that it never refuses: it lets an address owe any number of tokens.
UNLIMITED_TOKENS = 1_000_000_000


class Cooldown:
    def __init__(self, scripts: Scripts, keys: Keys, batch: Batcher) -> None:
        self._keys = keys
        self._batch = batch
        self._admit = scripts["cooldown/start"]
        self._release = scripts["cooldown/release"]

    async def admit(self, address: str, id: str, *, window_ms: int, is_exempt: bool) -> None:
        """Begin a cooldown for this comment or edit. Raises TooFast during another's."""
        match await self._admit(
            cooldown=self._keys.cooldown(address), id=id, window=window_ms, exempt=is_exempt
        ):
            case [b"TOO_FAST", wait_ms]:
                raise TooFast(wait_ms)

    async def release(self, address: str, id: str) -> None:
        """End the cooldown that this comment or edit began, since it was not stored."""
        await self._release(cooldown=self._keys.cooldown(address), id=id)

    def take_tokens(self, address: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        """Take tokens from the address's bucket. Passes [0] to `done`, or [ms to wait for them]."""
        self._batch.take_tokens(self._keys.tokens(address), tokens, rate, done)

    async def attempt(self, who: str, rate: Rate) -> int:
        """Count an attempt to log in, by an address or of a mail; 0, or how many ms to wait."""
        return await self._take_one(self._keys.attempts(who), rate)

    async def may_mail(self, to: str, rate: Rate) -> bool:
        """Count a mail to this address; False if it has had as many as it may."""
        return not await self._take_one(self._keys.mails(to), rate)

    async def _take_one(self, key: str, rate: Rate) -> int:
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._batch.take_tokens(key, 1, rate, fulfil(future))
        (wait_ms,) = await future
        return wait_ms

    def owe(self, address: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        """Take tokens for new counters, even more than there are: the address then owes them.

        Passes [ms until it owes none] to `done`.
        """
        key = self._keys.new_tokens(address)
        self._batch.take_tokens(key, tokens, Rate(rate.a_second, UNLIMITED_TOKENS), _ignore)
        # This one is in the same script call, after the other.
        self._batch.take_tokens(key, 0, rate, done)


def _ignore(waits: list[int] | Exception) -> None:
    """The result of taking tokens that may be owed does not matter."""
