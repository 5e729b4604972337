"""comments/copy on real servers, since fakeredis lets no script ask for the server's name."""

from footfall.comments.store.moderation import Actor
from footfall.data.store import Store
from footfall.ids import SHORT, IdGenerator, split
from footfall.model import Comment
from tests.conftest import REAL

ON = REAL

MODERATOR = Actor("moderator", "a" * SHORT)
PAGE = split(IdGenerator().new(0, "/p"))[1]


async def publish(store: Store, number: int) -> list[str]:
    """Publish so many comments, too long for a packed hash; returns their short ids."""
    generator = IdGenerator()
    ids = [generator.new(1_700_000_000_000 + n, "/p") for n in range(number)]
    for id in ids:
        await store.comments.publish(Comment(id, "/p", 0, "<p>", "x" * 600), "approved", f"f{id}")
    return [id[:SHORT] for id in ids]


async def test_a_short_page_comes_whole_in_one_step(store: Store) -> None:
    first, second, third = await publish(store, 3)
    held, pinned = await store.comments.by_ids([first + PAGE, third + PAGE])
    await store.moderation.moderate(held, "spam", 0, Actor("judge"))
    await store.comments.like(second + PAGE, 1)
    await store.moderation.moderate(pinned, None, 0, Actor("judge"), is_pinned=True)
    step = await store.comments.copy(PAGE, "0", "0", 100, [])
    assert (step.version, step.path, step.cursor, step.echo) == (6, "/p", "", "")
    assert step.fingerprints == {f"f{id}{PAGE}": id for id in (first, second, third)}
    assert len(step.server) == 40
    assert sorted((row[0], *row[3:]) for row in step.comments) == [
        (first.encode(), b"0", b"spam 1", 0),
        (second.encode(), b"1", b"approved", 0),
        (third.encode(), b"0", b"approved", 1),
    ]
    assert all(row[1].endswith(b"\n") and row[2] == b"{}" for row in step.comments)


async def test_a_long_page_comes_in_steps_and_fingerprints_come_last(store: Store) -> None:
    ids = await publish(store, 200)
    found, said, walk = list[bytes](), dict[str, str](), ("0", "0")
    steps = 0
    while any(walk):
        step = await store.comments.copy(PAGE, *walk, 10, [])
        assert not (step.cursor and step.fingerprints)
        found += (row[0] for row in step.comments)
        said |= step.fingerprints
        walk, steps = (step.cursor, step.echo), steps + 1
    assert sorted(found) == [id.encode() for id in ids]
    assert sorted(said.values()) == ids
    assert steps > 10


async def test_named_comments_come_along_except_those_that_are_gone(store: Store) -> None:
    first, second, _ = await publish(store, 3)
    step = await store.comments.copy(PAGE, "", "", 1, [second, "0" * SHORT, first])
    assert [row[0].decode() for row in step.comments] == [second, first]
    assert (step.cursor, step.echo, step.fingerprints) == ("", "", {})


async def test_what_was_deleted_by_itself_is_named(store: Store) -> None:
    first, second, _ = await publish(store, 3)
    assert (await store.comments.copy(PAGE, "0", "0", 100, [])).heads == set()
    (shown,) = await store.comments.by_ids([second + PAGE])
    await store.deletions.delete(shown, 1, MODERATOR)
    step = await store.comments.copy(PAGE, "", "", 1, [first, second])
    assert step.heads == {second}
    assert [row[4] for row in step.comments] == [b"approved", b"deleted approved"]


async def test_a_page_that_does_not_exist_has_no_path(store: Store) -> None:
    step = await store.comments.copy("0" * SHORT, "0", "0", 10, [])
    assert (step.version, step.path, step.comments, step.fingerprints) == (0, "", [], {})
