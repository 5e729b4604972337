"""What commands do at a terminal: read the settings, show a bar, say in words what went wrong."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import click
from dotenv import dotenv_values

from ..config import BadSettings, Settings
from ..driver.private_server import CannotStart
from ..driver.replies import ErrorReply, sentence
from ..driver.url import advised
from ..errors import StoreUnavailable
from ..maintenance.backup import Tell
from ..store import Mismatch, Unsafe


@contextlib.contextmanager
def progress() -> Iterator[Tell]:
    """A bar for whoever watches; files and pipes get none."""
    if not sys.stderr.isatty():
        yield lambda label, share: None
        return
    with contextlib.ExitStack() as stack:

        @lru_cache(1)
        def shown() -> Any:
            # When there is something to show: what is said before does not mix with it.
            return stack.enter_context(click.progressbar(length=1000, file=sys.stderr))

        def tell(label: str, share: float) -> None:
            bar = shown()
            bar.label = f"{label:26}"
            done = int(share * 1000)
            # What comes next may begin at nothing again.
            bar.pos = min(bar.pos, done)
            bar.update(done - bar.pos)

        yield tell


def aside(text: str) -> None:
    """To whoever watches, and not into what may be a pipe."""
    click.echo(text, err=True)


def environ() -> Mapping[str, str]:
    try:
        lines = dotenv_values(".env", interpolate=False)
    except UnicodeDecodeError as error:
        raise click.ClickException(f"the file .env is not UTF-8: {error}") from error
    in_file = {name: value for name, value in lines.items() if value is not None}
    return {**in_file, **os.environ}


def log_format() -> str:
    """LOG_FORMAT before all else is read, so that what is wrong with the rest is told in it."""
    reader = logging.getLogger("dotenv.main")
    reader.disabled = True
    try:
        return "json" if environ().get("LOG_FORMAT") == "json" else "text"
    except click.ClickException:
        return "json" if os.environ.get("LOG_FORMAT") == "json" else "text"
    finally:
        # What it has to say it says when it is read again.
        reader.disabled = False


def settings_of_environment() -> Settings:
    try:
        return Settings.from_env(environ())
    except BadSettings as error:
        raise click.ClickException(f"these settings cannot be used:\n{error}") from error


@contextlib.contextmanager
def told() -> Iterator[None]:
    """What can go wrong at start, said in a sentence instead of a traceback."""
    try:
        yield
    except (BadSettings, CannotStart, Mismatch, Unsafe, OSError) as error:
        raise click.ClickException(str(error)) from error
    except (StoreUnavailable, ErrorReply) as error:
        raise click.ClickException(advised(sentence(error))) from error
