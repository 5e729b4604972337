"""site/list through its store method, on fakeredis and on real servers."""

from footfall.data.store import Store
from footfall.ids import IdGenerator, created_ms
from footfall.model import STATUSES, Comment, Status

from .test_comments import MODERATOR

NOW = 1_700_000_000_000
_ids = IdGenerator()


async def filled(store: Store, number: int, *, a_ms: int) -> dict[str, Status]:
    """Comments of the three statuses in turn, `a_ms` in each millisecond; id -> status, newest
    first."""
    made: dict[str, Status] = {}
    for n in range(number):
        status: Status = STATUSES[n % 3]
        id = _ids.new(NOW + n // a_ms, f"/{n % 2}")
        comment = Comment(id, f"/{n % 2}", created_ms(id), "", "", author="ann")
        await store.comments.publish(comment, status, "")
        made[id] = status
    return dict(sorted(made.items(), reverse=True))


async def test_a_page_of_several_indexes_is_cut_as_if_they_were_one(store: Store) -> None:
    for a_ms in (1, 4):
        made = await filled(store, 30, a_ms=a_ms)
        known = sorted({*made, *(await store.site.listed(STATUSES, size=100))[1]}, reverse=True)
        for first in range(0, len(known) + 5, 7):
            total, ids = await store.site.listed(STATUSES, first=first, size=7)
            assert (total, ids) == (len(known), known[first : first + 7])


async def test_one_index_is_read_alone(store: Store) -> None:
    made = await filled(store, 20, a_ms=3)
    for status in STATUSES:
        wanted = [id for id, each in made.items() if each == status]
        assert await store.site.listed([status], size=100) == (len(wanted), wanted)
        assert (await store.site.listed([status], first=3, size=2))[1] == wanted[3:5]
    assert await store.site.held() == (7, 6)


async def test_a_walk_goes_on_after_a_comment_that_may_be_gone(store: Store) -> None:
    made = await filled(store, 20, a_ms=5)
    ids, walked = list(made), list[str]()
    while True:
        behind = walked[-1] if walked else ""
        _, part = await store.site.listed(STATUSES, size=3, behind=behind)
        if not part:
            break
        walked += part
        (last,) = await store.comments.by_ids(part[-1:])
        await store.deletions.delete(last, NOW, MODERATOR)
    assert walked == ids


async def test_empty_indexes_have_an_empty_list(store: Store) -> None:
    assert await store.site.listed(STATUSES, size=10) == (0, [])
    assert await store.site.listed(STATUSES, first=50, size=10) == (0, [])
