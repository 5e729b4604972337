"""Token buckets: as many tokens at once as they hold, then as fast as they fill."""

from footfall.data.store import Store

KEY = "{i:a}:tokens"
SECOND = 1_000_000


async def spend(
    store: Store, now: int, tokens: int = 1, *, a_second: int = 10, size: int = 5
) -> int:
    each = SECOND // a_second
    key = f"{store.keys.prefix}:{KEY}"
    (wait,) = await store.scripts["rate_limit/take_tokens"](
        buckets=[key], spends=[now, tokens, each, each * 5]
    )
    return int(wait)


async def test_a_full_bucket_gives_what_it_holds_and_then_says_how_long_to_wait(
    store: Store,
) -> None:
    now = 1_700_000_000 * SECOND
    assert [await spend(store, now) for _ in range(7)] == [0, 0, 0, 0, 0, 100, 100]


async def test_a_bucket_fills_with_time_and_never_beyond_its_size(store: Store) -> None:
    now = 1_700_000_000 * SECOND
    assert await spend(store, now, 5) == 0
    assert await spend(store, now + SECOND // 5, 3) == 100
    assert await spend(store, now + SECOND // 5, 2) == 0
    later = now + 3600 * SECOND
    assert [await spend(store, later, 5), await spend(store, later)] == [0, 100]


async def test_a_refused_call_takes_no_tokens(store: Store) -> None:
    now = 1_700_000_000 * SECOND
    assert await spend(store, now, 4) == 0
    assert await spend(store, now, 3) == 200
    assert await spend(store, now, 1) == 0


async def test_a_clock_that_steps_back_gives_no_tokens(store: Store) -> None:
    now = 1_700_000_000 * SECOND
    assert await spend(store, now, 5) == 0
    assert await spend(store, now - SECOND, 1) > 0


async def test_a_full_bucket_takes_no_memory(store: Store) -> None:
    await spend(store, 1_700_000_000 * SECOND)
    left = await store.redis.client.pttl(f"{store.keys.prefix}:{KEY}")
    assert 0 < left <= 100


async def test_several_buckets_in_one_call_are_independent(store: Store) -> None:
    keys = [f"{store.keys.prefix}:{{i:a}}:{name}" for name in ("x", "y", "x")]
    waits = await store.scripts["rate_limit/take_tokens"](
        buckets=keys, spends=[1_700_000_000 * SECOND, 1, SECOND, SECOND] * 3
    )
    assert waits == [0, 0, 1000]


async def test_tokens_that_are_given_back_can_be_taken_again_and_fill_no_bucket_too_much(
    store: Store,
) -> None:
    now = 1_700_000_000 * SECOND
    assert [await spend(store, now, 5), await spend(store, now)] == [0, 100]
    assert await spend(store, now, -2) == 0
    assert [await spend(store, now) for _ in range(3)] == [0, 0, 100]
    assert await spend(store, now, -50) == 0
    assert [await spend(store, now, 5), await spend(store, now)] == [0, 100]
