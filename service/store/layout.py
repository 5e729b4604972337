"""Which buckets counters lie in: learnt from the data set, and changed while services go on.

Nobody on the way to a counter asks whether it still lies where it did: that would cost every view.
Instead a bucket that was moved leaves a string under its name, on which each command for counters
fails without having done anything. Whoever meets it learns where the counters are now, and asks
again (batch.py). The strings stay for longer than services take to look by themselves.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from hiredis import ReplyError
from redis.exceptions import ResponseError

from .connect import Connected, answering, is_moved
from .keys import Keys, Layout
from .lots import Words
from .wire import pack_word

# What the data set's format says of it.
FIELDS = ("buckets", "generation", "next")


class Mismatch(Exception):
    """The data set is not, or not now, one that this can be done with."""


class Moving(Mismatch):
    def __init__(self, buckets: object) -> None:
        super().__init__(
            f"counters are being moved to {buckets} buckets, or that was interrupted: wait for "
            f"`footfall rebucket {buckets}`, or run it again, which goes on"
        )


class Layouts:
    def __init__(self, redis: Connected, keys: Keys, words: Words) -> None:
        self._redis = redis
        self._keys = keys
        self._words = words

    async def learn(self) -> None:
        """Raises StoreUnavailable."""
        # By the client, which asks masters: a replica would tell of buckets that are gone. Changes'
        # door does, too, but waits for replicas, and who reads must not.
        async with answering(self._redis.deadline()):
            found = await self._redis.client.hmget(self._keys.site("format"), FIELDS)
        self.take(*found)

    def take(self, buckets: bytes, generation: bytes | None, next: bytes | None) -> None:
        """Go by what the format says."""
        layout = Layout(int(buckets), int(generation or 0))
        coming = Layout(int(next), layout.generation + 1) if next else None
        self._keys.arrange(layout, coming)
        self._words.clear()

    def moved(self, asked: Mapping[str, bytes]) -> None:
        """Counters were not in these keys: if that is where they still belong, they are moved.

        It is not when more than one move was missed.
        """
        for name, key in asked.items():
            path = name.partition(" ")[2]
            if pack_word(self._keys.counts(path)) == key:
                self._keys.moved(path)
        self._words.clear()

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """For what reads all buckets. Raises Moving if they are being moved, or are meanwhile."""
        if self._keys.next:
            raise Moving(self._keys.next.buckets)
        try:
            yield
        except (ReplyError, ResponseError) as error:
            if is_moved(error):
                raise Moving("other") from error
            raise
