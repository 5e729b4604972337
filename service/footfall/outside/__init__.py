"""Requests to services by which people log in; nothing is requested unless that is configured."""

import asyncio
from importlib import import_module


async def load(*names: str) -> None:
    """Import a library, the first time in a thread, since that may take half a second."""
    await asyncio.to_thread(lambda: [import_module(name, __package__) for name in names])
