"""Buckets of tokens: as many at once as they hold, then as fast as they fill, however many ask."""

from footfall.store import Store

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


async def test_a_bucket_fills_as_time_goes_by_and_never_above_its_brim(store: Store) -> None:
    now = 1_700_000_000 * SECOND
    assert await spend(store, now, 5) == 0
    assert await spend(store, now + SECOND // 5, 3) == 100
    assert await spend(store, now + SECOND // 5, 2) == 0
    later = now + 3600 * SECOND
    assert [await spend(store, later, 5), await spend(store, later)] == [0, 100]


async def test_a_refused_spend_takes_nothing(store: Store) -> None:
    now = 1_700_000_000 * SECOND
    assert await spend(store, now, 4) == 0
    assert await spend(store, now, 3) == 200
    assert await spend(store, now, 1) == 0


async def test_a_clock_that_is_behind_gives_no_more(store: Store) -> None:
    now = 1_700_000_000 * SECOND
    assert await spend(store, now, 5) == 0
    assert await spend(store, now - SECOND, 1) > 0


async def test_a_bucket_that_is_full_again_takes_no_memory(store: Store) -> None:
    await spend(store, 1_700_000_000 * SECOND)
    left = await store.redis.client.pttl(f"{store.keys.prefix}:{KEY}")
    assert 0 < left <= 100


async def test_several_buckets_are_asked_in_one_call_each_for_itself(store: Store) -> None:
    keys = [f"{store.keys.prefix}:{{i:a}}:{name}" for name in ("x", "y", "x")]
    waits = await store.scripts["rate_limit/take_tokens"](
        buckets=keys, spends=[1_700_000_000 * SECOND, 1, SECOND, SECOND] * 3
    )
    assert waits == [0, 0, 1000]
