"""Backup and restore as commands: a file or a pipe on one side, a store on the other.

A backup may look over the shoulder of a service that has the private server; a restore may not, and
is refused then. That somebody serves from a Redis of your own, no restore can see beforehand.
"""

import contextlib
import os
import stat
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import BinaryIO

from . import __version__
from .app import open_store
from .config import Settings
from .serve import redis_of
from .store import Store
from .store.archive import Damaged, Totals
from .store.backup import OtherData, Tell, backup, resume
from .store.compare import compare
from .store.embedded import InUse, socket_of
from .store.restore import NotEmpty, restore, verify


class Failed(Exception):
    """In words for whoever ran the command."""


@asynccontextmanager
async def store_of(settings: Settings, *, shares: bool) -> AsyncIterator[Store]:
    """The store that the settings name, not opened yet. Raises InUse unless it may be shared."""
    async with contextlib.AsyncExitStack() as stack:
        try:
            url, _ = await stack.enter_async_context(redis_of(settings))
        except InUse:
            if not shares:
                raise
            # A running service has the private server: look over its shoulder.
            url = f"unix://{socket_of(settings.data_dir)}"
        store = open_store(settings, url)
        stack.push_async_callback(store.close)
        yield store


async def back_up(
    settings: Settings, name: str, *, goes_on: bool, tell: Tell, say: Callable[[str], None]
) -> int:
    """Write a backup and say what it holds; how many damaged things were left out."""
    left_out = 0

    def complain(text: str) -> None:
        nonlocal left_out
        left_out += 1
        say(f"left out, since it is damaged: {text}")

    about = {"by": __version__, "made": datetime.now(UTC).isoformat(timespec="seconds")}
    async with store_of(settings, shares=True) as store:
        await store.open()
        with _told(name, goes_on=goes_on), _target(name, goes_on=goes_on) as file:
            kept = resume(store, file, tell) if goes_on else None
            if goes_on and kept is None:
                say(f"{name} is complete already")
                return 0
            totals = await backup(store, file, kept, about=about, tell=tell, complain=complain)
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                os.fsync(file.fileno())
    say(f"{totals} in {name}")
    return left_out


@contextlib.contextmanager
def _told(name: str, *, goes_on: bool) -> Iterator[None]:
    try:
        yield
    except (Damaged, OtherData) as error:
        raise Failed(f"{name} cannot be gone on with: {error}") from error
    except FileExistsError as error:
        raise Failed(f"{name} is there already; name another file, or use --resume") from error
    except OSError as error:
        hint = "" if name == "-" else f"; what is there of it is good for --resume"
        raise Failed(f"{name} cannot be written: {error.strerror}{hint}") from error


@contextlib.contextmanager
def _target(name: str, *, goes_on: bool) -> Iterator[BinaryIO]:
    if name != "-":
        is_device = os.path.exists(name) and not os.path.isfile(name)
        with open(name, "r+b" if goes_on else "wb" if is_device else "xb") as file:
            yield file
    elif goes_on or sys.stdout.isatty():
        raise Failed("name a FILE: this is for no terminal" if not goes_on else "name the FILE")
    else:
        # Not sys.stdout's own, which would complain once more at the end if nobody reads it.
        yield open(sys.stdout.fileno(), "wb", closefd=False)


async def put_back(
    settings: Settings, name: str, *, mode: str, tell: Tell, say: Callable[[str], None]
) -> int:
    """Restore, verify or compare a backup, and say what came of it; the number of differences."""
