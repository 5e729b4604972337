"""Pages that are stored by a path which today's rules spell otherwise (pages.py)."""

from collections.abc import AsyncIterator, Callable, Sequence
from itertools import islice

from ..driver.walks import walked
from ..model import NO_VIEWS
from .backup import Pages
from .dataset import DataSet

# Whose paths are read in one round trip.
STEP_PAGES = 256


async def misspelled(data: DataSet, page_of: Callable[[str], str]) -> dict[str, str]:
    """Path -> the one by which the page is counted today, of pages with counters or comments.

    Counters that are not pages have fixed names. Raises StoreUnavailable.
    """
    renamed = dict[str, str]()
    async for _, counts in walked(data.redis, data.keys.every_counts()):
        for name in counts:
            type, _, path = name.decode(errors="replace").partition(" ")
            if type != NO_VIEWS and (today := page_of(path)) != path:
                renamed[path] = today
    async for paths in _with_comments(data):
        renamed |= {path: today for path in paths if (today := page_of(path)) != path}
    return renamed


async def _with_comments(data: DataSet) -> AsyncIterator[Sequence[str]]:
    pages = iter(await Pages.of(data))
    while part := list(islice(pages, STEP_PAGES)):
        keys = [(data.keys.page(page, "path"), data.keys.page(page, "bodies")) for page in part]
        replies = await data.redis.ask_each(
            *(question for path, bodies in keys for question in (("GET", path), ("HLEN", bodies)))
        )
        pairs = zip(replies[::2], replies[1::2], strict=True)
        yield [path.decode(errors="replace") for path, number in pairs if path and number]
