"""Limits per address: the cooldown after a comment or edit, and token buckets.

A comment, or an author's edit, starts a cooldown, in which its address can send no other. A change
of a counter, and a login attempt, takes a token out of a bucket, which refills with time. Neither
waits for the disk: after a crash the limit only starts again.

An IPv6 address stands for its /64, of which one line may have 65,536: their /48 has a limit, too.
"""

from collections.abc import Sequence
from functools import lru_cache, partial

from ..callbacks import awaited
from ..driver.batch import Batcher
from ..driver.keys import Keys
from ..driver.script_calls import CountsCallback, Rate
from ..driver.scripts import Scripts
from ..errors import TooFast
from ..netaddr import HOMES_IN_A_NETWORK, network_key

# A bucket so large that it never rejects: it lets an address owe any number of tokens.
UNLIMITED_TOKENS = 1_000_000_000

# (key, rate)
Bucket = tuple[str, Rate]


@lru_cache(64)
def of_a_network(rate: Rate) -> Rate:
    """The rate of a /48, where this is an address's."""
    return Rate(rate.a_second * HOMES_IN_A_NETWORK, rate.at_once * HOMES_IN_A_NETWORK)


class Cooldown:
    def __init__(self, scripts: Scripts, keys: Keys, batch: Batcher) -> None:
        self._keys = keys
        self._batch = batch
        self._admit = scripts["cooldown/start"]
        self._release = scripts["cooldown/release"]

    async def admit(self, address: str, id: str, *, window_ms: int, is_exempt: bool) -> None:
        """Start a cooldown for this comment or edit. Raises TooFast during another's."""
        network = "" if is_exempt else network_key(address)
        bucket = self._comments_of(network, window_ms) if network else None
        if bucket and (wait_ms := await self._take([bucket])):
            raise TooFast(wait_ms)
        match await self._admit(
            cooldown=self._keys.cooldown(address), id=id, window=window_ms, exempt=is_exempt
        ):
            case [b"TOO_FAST", wait_ms]:
                if bucket:
                    self.give_back(bucket)
                raise TooFast(wait_ms)

    def _comments_of(self, network: str, window_ms: int) -> Bucket:
        rate = Rate(1000 * HOMES_IN_A_NETWORK / window_ms, HOMES_IN_A_NETWORK)
        return self._keys.comments(network), rate

    async def release(self, address: str, id: str) -> None:
        """End the cooldown that this comment or edit started, since it was not stored."""
        await self._release(cooldown=self._keys.cooldown(address), id=id)

    def take_tokens(self, address: str, tokens: int, rate: Rate, done: CountsCallback) -> None:
        """Take tokens from the address's bucket. Passes [0] to `done`, or [ms to wait for them]."""
        bucket, network = (self._keys.tokens(address), rate), network_key(address)
        if not network:
            self._batch.take_tokens(bucket[0], tokens, rate, done)
            return
        self._take_all([bucket, (self._keys.tokens(network), of_a_network(rate))], tokens, done)

    async def attempt(self, who: Sequence[tuple[str, Rate]]) -> int:
        """Take a token of each of these for an attempt, or of none; 0, or the ms to wait."""
        return await self._take([(self._keys.attempts(name), rate) for name, rate in who])

    def succeed(self, who: Sequence[tuple[str, Rate]], success: tuple[str, Rate]) -> None:
        """Return the tokens of an attempt, for a token of `success`; it does not wait."""

        def counted(waits: list[int] | Exception) -> None:
            if isinstance(waits, list) and not waits[0]:
                for each in who:
                    self.give_back_attempt(*each)

        name, rate = success
        self._batch.take_tokens(self._keys.attempts(name), 1, rate, counted)

    def give_back_attempt(self, name: str, rate: Rate) -> None:
        """Return the token that an attempt has taken; it does not wait."""
        self.give_back((self._keys.attempts(name), rate))

    async def may_mail(self, to: str, rate: Rate) -> bool:
        """Count an email to this address; False if it has had as many as it may."""
        return not await self._take([(self._keys.mails(to), rate)])

    async def _take(self, buckets: Sequence[Bucket]) -> int:
        waits: list[int] = await awaited(partial(self._take_all, buckets, 1))
        return waits[0]

    def _take_all(self, buckets: Sequence[Bucket], tokens: int, done: CountsCallback) -> None:
        """Take tokens from each of these, or from none; in one round trip."""
        waits = dict[Bucket, int]()
        lost = list[Exception]()

        def arrived(bucket: Bucket, levels: list[int] | Exception) -> None:
            if isinstance(levels, list):
                waits[bucket] = levels[0]
            else:
                lost.append(levels)
            if len(waits) + len(lost) < len(buckets):
                return
            if lost:
                # After a lost reply, it is unknown whether Redis has taken them: none are returned.
                return done(lost[0])
            longest = max(waits.values())
            if longest:
                for each in buckets:
                    if not waits[each]:
                        self.give_back(each, tokens)
            done([longest])

        for key, rate in buckets:
            self._batch.take_tokens(key, tokens, rate, partial(arrived, (key, rate)))

    def give_back(self, bucket: Bucket, tokens: int = 1) -> None:
        """Return tokens to their bucket; a full one gets no fuller. It does not wait: if this is
        lost, so are the tokens."""
        key, rate = bucket
        self._batch.take_tokens(key, -tokens, rate, _ignore)

    def owe(self, address: str, tokens: int, rates: Sequence[Rate], done: CountsCallback) -> None:
        """Take tokens for new counters, even more than there are: the address then owes them.

        Passes [ms until it owes none] to `done`. An address, or a network by its name. Of its two
        buckets the first of the rates is that of the slower one, and the other one may be left out.
        """
        waits = list[int]()

        def arrived(levels: list[int] | Exception) -> None:
            if isinstance(levels, list):
                waits.extend(levels)
            else:
                done(levels)
            if len(waits) == len(rates):
                done([max(waits)])

        keys = (self._keys.later_tokens(address), self._keys.new_tokens(address))
        for key, rate in zip(keys, rates, strict=False):
            unlimited = Rate(rate.a_second, UNLIMITED_TOKENS)
            self._batch.take_tokens(key, tokens, unlimited, _ignore)
            # This is in the same script call, after the other.
            self._batch.take_tokens(key, 0, rate, arrived)


def _ignore(waits: list[int] | Exception) -> None:
    """The result of taking tokens that may be owed, or of giving some back, does not matter."""
