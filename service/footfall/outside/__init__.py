"""What this service asks of others, by whom people log in; nothing unless that is configured."""

import asyncio
from importlib import import_module


async def load(*names: str) -> None:
    """Import what is needed for the first time, which may take half a second, in a thread."""
    await asyncio.to_thread(lambda: [import_module(name, __package__) for name in names])
