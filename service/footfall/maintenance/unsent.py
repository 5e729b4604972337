"""Queued notifications, which a backup does not include."""

from ..comments.store.projections import JournalEntry, task_of
from .dataset import DataSet

# Entries of a page's journal in one step.
STEP_ENTRIES = 100


async def unsent(data: DataSet, *, is_told: bool) -> int:
    """The number of queued notifications. Changes that the site has not followed yet count only if
    notifications are on (`is_told`). Raises StoreUnavailable."""
    waiting, later = await data.redis.ask(
        ("XLEN", data.keys.site("outbox")), ("ZCARD", data.keys.site("retries"))
    )
    number = int(waiting) + int(later)
    if is_told:
        async for page in data.journal.pages():
            number += await _not_followed(data, page)
    return number


async def _not_followed(data: DataSet, page: str) -> int:
    """How many entries of a page's journal are to become tasks."""
    (known,) = await data.redis.ask(("HGET", data.keys.site("totals"), page))
    last, number = (known or b"0").split()[0].decode(), 0
    while True:
        question = ("XRANGE", data.keys.page(page, "journal"), f"({last}", "+")
        (reply,) = await data.redis.ask((*question, "COUNT", STEP_ENTRIES))
        if not reply:
            return number
        number += sum(task_of(page, JournalEntry.parse(*entry)) is not None for entry in reply)
        last = reply[-1][0].decode()
