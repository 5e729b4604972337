"""Several buckets of one change: all of them give tokens, or none does."""

from functools import partial
from typing import Any

import pytest

from footfall.data.store import Rate
from footfall.driver.keys import Keys
from footfall.errors import StoreUnavailable
from footfall.limits.buckets import Bucket, TokenBuckets

NEAR, FAR = Bucket("near", Rate(1, 5)), Bucket("far", Rate(1, 9))
Answer = list[int] | Exception


class Batch:
    """Answers what it is told to, in the order in which a Cluster's nodes might."""

    def __init__(self, answers: dict[str, Answer], keys: Keys) -> None:
        self.left: dict[str, int] = {}
        self._answers = {keys.tokens(name): answer for name, answer in answers.items()}
        self._names = {keys.tokens(name): name for name in answers}
        self._waiting: list[Any] = []

    def take_tokens(self, bucket: str, tokens: int, rate: Rate, done: Any) -> None:
        name = self._names[bucket]
        self.left[name] = self.left.get(name, 0) - tokens
        self._waiting.append(partial(done, self._answers[bucket] if tokens > 0 else [0]))

    def answer(self) -> None:
        waiting, self._waiting = self._waiting, []
        for done in reversed(waiting):
            done()


async def attempted(**answers: Answer) -> tuple[Answer, dict[str, int]]:
    """What the caller is told, and what each bucket has lost."""
    keys = Keys("t", 256)
    batch: Any = Batch(answers, keys)
    told: list[Answer] = []
    TokenBuckets(keys, batch).take([NEAR, FAR], 1, told.append)
    batch.answer()
    (answer,) = told
    return answer, batch.left


async def test_each_gives_a_token() -> None:
    assert await attempted(near=[0], far=[0]) == ([0], {"near": -1, "far": -1})


@pytest.mark.parametrize(
    ("near", "far", "wait_ms", "left"),
    [
        (0, 700, 700, {"near": 0, "far": -1}),
        (300, 0, 300, {"near": -1, "far": 0}),
        (300, 700, 700, {"near": -1, "far": -1}),
    ],
)
async def test_if_one_refuses_the_other_gets_its_token_back(
    near: int, far: int, wait_ms: int, left: dict[str, int]
) -> None:
    """A bucket that refuses was asked, and has lost nothing in Redis."""
    assert await attempted(near=[near], far=[far]) == ([wait_ms], left)


async def test_a_reply_that_was_lost_gives_nobody_a_token() -> None:
    lost = StoreUnavailable()
    assert await attempted(near=[0], far=lost) == (lost, {"near": -1, "far": -1})
    assert await attempted(near=lost, far=[500]) == (lost, {"near": -1, "far": -1})
