"""comments/replace through its store method, on fakeredis and on real servers."""

from footfall.comments.store.bodies import Replacement
from footfall.data.store import Store
from footfall.ids import SHORT, digest

from .test_comments import Article

PAGE = digest("/p")


async def stored(store: Store, id: str) -> bytes | None:
    (body,) = await store.redis.ask(("HGET", store.keys.page(PAGE, "bodies"), id[:SHORT]))
    return body  # type: ignore[no-any-return]


async def longest(store: Store) -> bytes | None:
    (reply,) = await store.redis.ask(("GET", store.keys.page(PAGE, "longest")))
    return reply  # type: ignore[no-any-return]


async def test_a_body_is_replaced_only_if_it_is_as_it_was_read(store: Store) -> None:
    article = Article(store)
    ids = [(await article.publish(text)).id for text in "abc"]
    first, second, third = [await stored(store, id) or b"" for id in ids]
    before = await store.comments.version("/p")
    done = await store.bodies.replace(
        PAGE,
        [
            Replacement(ids[0][:SHORT], first, b"new first"),
            Replacement(ids[1][:SHORT], b"another", b"new second"),
            Replacement("0" * SHORT, b"", b"nobody"),
            Replacement(ids[2][:SHORT], third, b"new third"),
        ],
        5,
    )
    assert done == 2
    assert [await stored(store, id) for id in ids] == [b"new first", second, b"new third"]
    assert await stored(store, "0" * SHORT) is None
    after = await store.comments.version("/p")
    assert after == before + 1


async def test_a_version_is_at_least_the_time(store: Store) -> None:
    id = (await Article(store).publish("a")).id
    change = Replacement(id[:SHORT], await stored(store, id) or b"", b"new")
    await store.bodies.replace(PAGE, [change], 1_900_000_000_000)
    assert await store.comments.version("/p") == 1_900_000_000_000


async def test_a_page_without_replacements_keeps_its_version(store: Store) -> None:
    id = (await Article(store).publish("a")).id
    before = await store.comments.version("/p")
    assert await store.bodies.replace(PAGE, [Replacement(id[:SHORT], b"x", b"y")], 5) == 0
    assert await store.comments.version("/p") == before


async def test_a_longer_body_raises_the_longest_length_where_it_is_known(store: Store) -> None:
    id = (await Article(store).publish("a")).id
    body = await stored(store, id) or b""
    for number, is_known in ((1000, True), (10, True), (3000, False)):
        if not is_known:
            await store.redis.change(("DEL", store.keys.page(PAGE, "longest")))
        new = b"x" * number
        await store.bodies.replace(PAGE, [Replacement(id[:SHORT], body, new)], 5)
        body = new
        assert await longest(store) == (b"1000" if is_known else None)
