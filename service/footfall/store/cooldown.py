"""Who may post now, and who may count: limits for an address, however many requests arrive at once.

A comment begins a cooldown, in which its address posts no other. A change of a counter takes a
token out of a bucket, which holds some and fills again with time. Nobody is promised that either
stays, so nobody waits for the disk on their account: what a crash takes of them is a limit that
begins anew.
"""

from ..driver.batch import Batcher
from ..driver.batch_kinds import CountsCallback, Rate
from ..driver.keys import Keys
from ..driver.scripts import Scripts
from ..errors import TooFast

# As many tokens as an address may owe: more than it can.
ANY_DEBT = 1_000_000_000


class Cooldown:
    def __init__(self, scripts: Scripts, keys: Keys, batch: Batcher) -> None:
        self._keys = keys
        self._batch = batch
        self._admit = scripts["cooldown/start"]
        self._release = scripts["cooldown/release"]

    async def admit(self, address: str, id: str, *, window_ms: int, is_exempt: bool) -> None:
        """Begin a cooldown with this comment; raises TooFast while another one's goes on."""
        match await self._admit(
            cooldown=self._keys.cooldown(address), id=id, window=window_ms, exempt=is_exempt
        ):
            case [b"TOO_FAST", wait_ms]:
                raise TooFast(wait_ms)

    async def release(self, address: str, id: str) -> None:
        """End the cooldown that this comment began: it was refused after all."""
        await self._release(cooldown=self._keys.cooldown(address), id=id)

    def take_tokens(self, address: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        """Take tokens from the address's bucket: hears 0, or how many ms to wait for them."""
        self._batch.take_tokens(self._keys.tokens(address), tokens, rate, done)

    def owe(self, address: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        """Take tokens for new counters, also such as are not there yet.

        Hears how many ms it takes until none is missing.
        """
        key = self._keys.new_tokens(address)
        self._batch.take_tokens(key, tokens, Rate(rate.a_second, ANY_DEBT), _nobody)
        # In the same call of the script, and behind it.
        self._batch.take_tokens(key, 0, rate, done)


def _nobody(waits: list[int] | Exception) -> None:
    """Who hears that a debt was written down, or was not."""
