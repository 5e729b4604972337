"""What commands share: they read the settings, show a progress bar, and say that there was nothing
to do."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import IO, Any

import click
from dotenv import dotenv_values

from ..config import BadSettings, Settings
from ..environment import given
from ..model import OnProgress
from ..values import level


class NothingToDo(click.ClickException):
    """Nothing was changed, as it is already so, or as nothing is like that."""

    exit_code = 3

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"nothing to do: {self.message}", file=file, err=True)


@contextlib.contextmanager
def progress() -> Iterator[OnProgress]:
    """A function that shows progress, from 0 to 1, as a bar on a terminal; elsewhere it does
    nothing."""
    if not sys.stderr.isatty():
        yield lambda label, share: None
        return
    with contextlib.ExitStack() as stack:

        @lru_cache(1)
        def shown() -> Any:
            # Made at the first call, so that lines that are printed before stand above the bar.
            return stack.enter_context(click.progressbar(length=1000, file=sys.stderr))

        def on_progress(label: str, share: float) -> None:
            bar = shown()
            bar.label = f"{label:26}"
            done = int(share * 1000)
            # A next step begins at 0 again.
            bar.pos = min(bar.pos, done)
            bar.update(done - bar.pos)

        yield on_progress


def aside(text: str) -> None:
    """Print to the standard error, since the standard output may be a pipe."""
    click.echo(text, err=True)


def environ() -> Mapping[str, str]:
    """The variables of .env and of the environment, which overrides them."""
    try:
        lines = dotenv_values(".env", interpolate=False)
    except UnicodeDecodeError as error:
        raise click.ClickException(f"the file .env is not UTF-8: {error}") from error
    in_file = {name: value for name, value in lines.items() if value is not None}
    return {**in_file, **os.environ}


def log_settings() -> tuple[str, str]:
    """LOG_FORMAT and LOG_LEVEL, read before all other settings, whose errors are logged so; their
    defaults in place of what they cannot be."""
    reader = logging.getLogger("dotenv.main")
    reader.disabled = True
    try:
        texts = given(environ(), ("LOG_FORMAT", "LOG_LEVEL")).texts
    except click.ClickException:
        texts = os.environ
    finally:
        # dotenv's warnings are logged when .env is read again.
        reader.disabled = False
    try:
        chosen = level(texts.get("LOG_LEVEL", "warning"))
    except ValueError:
        chosen = "warning"
    return "json" if texts.get("LOG_FORMAT") == "json" else "text", chosen


def settings_of_environment() -> Settings:
    try:
        return Settings.from_env(environ())
    except BadSettings as error:
        raise click.ClickException(f"these settings cannot be used:\n{error}") from error


def printable(text: str) -> str:
    """A stranger's words, so that they do nothing to a terminal but be read."""
    return "".join(each if each.isprintable() else "?" for each in text)
