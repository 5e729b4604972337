"""Shared by commands: reading the settings, a progress bar, and "nothing to do"."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import click
from dotenv import dotenv_values

from ..config import BadSettings, Settings
from ..environment import ENCODING, SUFFIX, given
from ..model import OnProgress
from ..setting_texts import is_off
from ..values import level

# The key of --data in a command's context.
_DATA = "footfall.data"


class NothingToDo(click.ClickException):
    """Nothing was changed, as it is already so, or as nothing is like that."""

    exit_code = 3

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"nothing to do: {self.message}", file=file, err=True)


@contextlib.contextmanager
def progress() -> Iterator[OnProgress]:
    """A function that shows progress, from 0 to 1, as a bar on a terminal; otherwise it does
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
            # A next step starts at 0 again.
            bar.pos = min(bar.pos, done)
            bar.update(done - bar.pos)

        yield on_progress


def aside(text: str) -> None:
    """Print to the standard error, since the standard output may be a pipe."""
    click.echo(text, err=True)


def remember_data(context: click.Context, _: click.Parameter, directory: str | None) -> None:
    """Store the value of --data; an option's callback."""
    if directory is not None:
        context.meta[_DATA] = Path(os.path.abspath(directory))


def environ() -> Mapping[str, str]:
    """The variables of .env and of the environment, which overrides them; --data overrides both."""
    data = _data()
    file = env_file()
    merged = {**_variables_in(file), **os.environ}
    if data is None:
        return merged
    if merged.get("REDIS_URL") or merged.get("REDIS_URL_FILE"):
        raise click.ClickException(
            "--data does nothing: REDIS_URL is set, in the environment or in "
            f"{file.absolute()}, so the data is in that Redis; leave --data out"
        )
    return {**merged, "DATA_DIR": str(data)}


def env_file() -> Path:
    """The .env to read: with --data the one in that directory, or beside it; else, or if neither is
    there, the one in the working directory."""
    here = Path(".env")
    data = _data()
    if data is None:
        return here
    return next((file for file in (data / here, data.parent / here) if file.is_file()), here)


def _env_files() -> Mapping[str, str]:
    """The .env of each variable that stands in it and not in the environment."""
    file = env_file()
    return dict.fromkeys(_variables_in(file).keys() - os.environ.keys(), str(file.absolute()))


def _data() -> Path | None:
    context = click.get_current_context(silent=True)
    return context.meta.get(_DATA) if context else None


def _variables_in(file: Path) -> dict[str, str]:
    try:
        lines = dotenv_values(file, interpolate=False, encoding=ENCODING)
    except UnicodeDecodeError as error:
        raise click.ClickException(f"the file {file} is not UTF-8: {error}") from error
    fields = {name: value for name, value in lines.items() if value is not None}
    if not file.is_absolute():
        return fields
    _check_owner(file)
    # A service that is started there takes paths to be relative to that directory.
    return {
        name: str(file.parent / value) if _is_path(name) and not is_off(value) else value
        for name, value in fields.items()
    }


def _is_path(name: str) -> bool:
    return name in ("DATA_DIR", "IP2REGION_DB", "UDS") or name.endswith(SUFFIX)


def _check_owner(file: Path) -> None:
    """A .env can run code (JUDGE_PLUGIN), and anyone may put one beside some data."""
    data = _data()
    trusted = {0, os.geteuid(), *([data.stat().st_uid] if data and data.exists() else [])}
    if file.stat().st_uid not in trusted:
        raise click.ClickException(
            f"{file} belongs neither to you nor to the owner of the data, so it is not read: move "
            "it away, or give it to one of them"
        )


def log_settings() -> tuple[str, str]:
    """LOG_FORMAT and LOG_LEVEL, read before all other settings, whose errors are logged
    accordingly; defaults in place of invalid values."""
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
        return Settings.from_env(environ(), _env_files())
    except BadSettings as error:
        raise click.ClickException(f"these settings cannot be used:\n{error}") from error


def printable(text: str) -> str:
    """A stranger's words, so that they do nothing to a terminal but be read."""
    return "".join(character if character.isprintable() else "?" for character in text)
