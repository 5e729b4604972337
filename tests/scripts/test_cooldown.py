import pytest

from footfall.errors import TooFast
from footfall.store.store import Store

MINUTE = 60_000


async def test_the_second_comment_of_an_address_waits(store: Store) -> None:
    await store.cooldown.admit("192.0.2.1", "a", window_ms=MINUTE, is_exempt=False)
    with pytest.raises(TooFast) as refused:
        await store.cooldown.admit("192.0.2.1", "b", window_ms=MINUTE, is_exempt=False)
    assert MINUTE - 5000 < refused.value.wait_ms <= MINUTE
    await store.cooldown.admit("192.0.2.2", "c", window_ms=MINUTE, is_exempt=False)


async def test_exempt_callers_pass_and_start_a_cooldown(store: Store) -> None:
    for id in "ab":
        await store.cooldown.admit("192.0.2.1", id, window_ms=MINUTE, is_exempt=True)
    with pytest.raises(TooFast):
        await store.cooldown.admit("192.0.2.1", "c", window_ms=MINUTE, is_exempt=False)


async def test_only_the_caller_that_started_a_cooldown_ends_it(store: Store) -> None:
    await store.cooldown.admit("192.0.2.1", "a", window_ms=MINUTE, is_exempt=False)
    await store.cooldown.release("192.0.2.1", "b")
    with pytest.raises(TooFast):
        await store.cooldown.admit("192.0.2.1", "b", window_ms=MINUTE, is_exempt=False)
    await store.cooldown.release("192.0.2.1", "a")
    await store.cooldown.admit("192.0.2.1", "b", window_ms=MINUTE, is_exempt=False)


async def test_a_cooldown_expires_with_its_window(store: Store) -> None:
    await store.cooldown.admit("192.0.2.1", "a", window_ms=MINUTE, is_exempt=False)
    key = store.keys.cooldown("192.0.2.1")
    assert 0 < await store.redis.client.pttl(key) <= MINUTE
