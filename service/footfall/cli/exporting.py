"""The work of `footfall export`, imported by that command only."""

from collections.abc import Callable
from itertools import islice

from ..config import Settings
from ..model import OnProgress
from ..process.process import now_ms
from ..stores import data_set
from ..transfer.export import Export
from ..transfer.writing import TABLES, write
from .backup import MAX_LISTED, failing, target_file
from .dataset import existing

KINDS = {"comments": "Comment", "counters": "Counter", "accounts": "Users"}


async def hand_out(
    settings: Settings,
    name: str,
    form: str,
    kinds: tuple[str, ...],
    *,
    has_secrets: bool,
    on_progress: OnProgress,
    say: Callable[[str], None],
) -> None:
    """Raises Failed."""
    tables = tuple(table for table in TABLES if not kinds or table in map(KINDS.get, kinds))
    left_out = list[str]()
    async with existing(settings) as store:
        export = Export(data_set(store), store.accounts, left_out.append, has_secrets=has_secrets)
        with failing(name), target_file(name) as file:
            numbers = await write(
                export,
                file,
                form,
                tables,
                types=settings.every_counter_type,
                now_ms=now_ms(),
                on_progress=on_progress,
            )
    for text in islice(left_out, MAX_LISTED):
        say(f"left out, since it is damaged: {text}")
    counted = ", ".join(f"{n:,} of {table}" for table, n in numbers.items())
    say(f"{counted} in {'the standard output' if name == '-' else name}")
