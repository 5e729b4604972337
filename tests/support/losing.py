"""Replies of Redis that are lost, and services that end before the site has followed a change."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from footfall.comments.store import journal
from footfall.comments.store.journal import Journal
from footfall.driver.scripts import Script
from footfall.errors import StoreUnavailable


@contextmanager
def lost_replies(patch: pytest.MonkeyPatch, *names: str, is_done: bool = True) -> Iterator[None]:
    """The replies to these scripts are lost during the block; they are carried out if `is_done`."""
    call = Script.through

    async def through(self: Script, *words: Any, **values: Any) -> Any:
        if self.name not in names:
            return await call(self, *words, **values)
        if is_done:
            await call(self, *words, **values)
        raise StoreUnavailable()

    with patch.context() as patched:
        patched.setattr(Script, "through", through)
        yield


async def catch_up(journal_: Journal, patch: pytest.MonkeyPatch) -> None:
    """Somebody looks what became of changes under way, as every service does after seconds."""
    with patch.context() as patched:
        patched.setattr(journal, "LEFT_MS", -1)
        await journal_.catch_up()
