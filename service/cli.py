"""The commands: serve, check, backup, restore, config, bench, verify.

All but the last two read the settings from the environment and a .env file; the environment wins.
"""

import contextlib
import json
import logging
import mmap
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, Protocol

import click
import uvloop
from dotenv import dotenv_values

from . import __version__, logs, snapshots, tracing
from .config import BadSettings, Settings
from .errors import StoreUnavailable
from .meters import Meters
from .serve import Way, serve_alone, serve_as_worker, serve_many, spare_the_collector
from .store import Mismatch, Unsafe
from .store.address import advised
from .store.check import check as check_store
from .store.embedded import CannotStart

log = logging.getLogger(__name__)

# How long the rendering thread may hold the interpreter while views wait; Python's default is 5 ms.
SWITCH_SECONDS = 0.0005


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="footfall")
def main() -> None:
    """Read counts and comments for busy sites, kept in Redis; speaks the Waline API."""


@main.command()
@click.option("--workers", type=click.IntRange(1, 64), help="Processes; WORKERS by default.")
@click.option("--no-hot-lane", is_flag=True, help="Answer every request through ASGI.")
@click.option("--as-worker", is_flag=True, hidden=True)
@click.option("--traced", is_flag=True, hidden=True)
@click.option("--inherited", type=int, hidden=True)
@click.option("--meters", type=int, hidden=True)
@click.option("--row", type=int, default=0, hidden=True)
def serve(
    workers: int | None,
    no_hot_lane: bool,
    as_worker: bool,
    traced: bool,
    inherited: int | None,
    meters: int,
    row: int,
) -> None:
    """Run the service. Ctrl-C or SIGTERM stops it."""
    settings = _settings()
    logs.begin(settings.log_format)
    sys.setswitchinterval(SWITCH_SECONDS)
    workers = workers or settings.workers
    way = Way.ASGI if no_hot_lane else Way.SHORT
    # A worker does what its parent has decided, and said.
    if traced or (not as_worker and tracing.are_wanted(_environ())):
        way = Way.TRACED
    with _logged(settings.log_format), _told():
        if as_worker:
            own = Meters(mmap.mmap(meters, 0), row)
            uvloop.run(serve_as_worker(settings, own, inherited, way))
        elif workers > 1:
            uvloop.run(serve_many(settings, workers, way))
        else:
            uvloop.run(serve_alone(settings, way))


@main.command()
@click.option("--repair", is_flag=True, help="Rebuild the site's indexes from the pages.")
def check(repair: bool) -> None:
    """Verify that what is stored agrees with itself; exit 1 if it does not."""
    settings = _settings()
    with _told():
        problems = uvloop.run(_check(settings, repair))
    if problems:
        raise SystemExit(1)


@main.command()
@click.argument("file", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--resume", is_flag=True, help="Go on with a FILE that was cut off.")
def backup(file: str, resume: bool) -> None:
    """Write all that is stored to FILE or the standard output, also while the service runs.

    Exit 1 if damaged things had to be left out; `footfall check` tells more of them.
    """
    go_on = "" if file == "-" else f"; `footfall backup --resume {file}` goes on"
    with _snapshot(f"the backup is not complete{go_on}") as (settings, tell, say):
        left_out = uvloop.run(snapshots.back_up(settings, file, goes_on=resume, tell=tell, say=say))
    if left_out:
        raise SystemExit(1)


@main.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--replace", "mode", flag_value="replace", help="Remove what is there before.")
@click.option("--verify", "mode", flag_value="verify", help="Only read FILE to its end.")
@click.option("--compare", "mode", flag_value="compare", help="Only tell what differs from FILE.")
def restore(file: str, mode: str | None) -> None:
    """Put a backup into an empty data set; - is the standard input.

    Stop the services on it before. What was interrupted goes on when it is run again.
    """
    go_on = "the restore is not complete; with the same file it goes on when it is run again"
    with _snapshot(go_on) as (settings, tell, say):
        differences = uvloop.run(
            snapshots.put_back(settings, file, mode=mode or "restore", tell=tell, say=say)
        )
    if differences:
        raise SystemExit(1)


@main.command()
def config() -> None:
    """List every setting: name, value, default, meaning."""
    environ = _environ()
    _settings()
    for name, value, default, doc in Settings().table(environ):
        mark = "" if value == default else f"  (default {default!r})"
        click.echo(f"{name}={value}{mark}")
        click.echo(f"    {doc}")


# What every command takes that asks a server from outside.
_seconds = click.option(
    "--seconds", default=20.0, type=click.FloatRange(0.1, 1800), help="How long, all in all."
)
_leave_behind = click.option(
    "--leave-behind", is_flag=True, help="Ask servers that keep the counters, too."
)
_json = click.option(
    "--json",
    "file",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the figures here as well.",
)


@main.command()
@click.argument("url")
@_seconds
@click.option("--connections", default=64, type=click.IntRange(1, 1000), help="At a time.")
@click.option(
    "--rate",
    type=click.IntRange(1, 1_000_000),
    help="Requests a second in the last row; otherwise half of what the mix reached before.",
)
@click.option("--page", metavar="PATH", help="Read this article's comments, not an empty one's.")
@_leave_behind
@_json
def bench(
    url: str,
    seconds: float,
    connections: int,
    rate: int | None,
    page: str | None,
    leave_behind: bool,
    file: Path | None,
) -> None:
    """Measure any server that speaks the Waline API, and whether its counts are exact.

    Counters are of paths that no site has, comments are only read. Exit 0: every count is exact and
    every request was answered. Ctrl-C ends it early, with what was measured so far.
    """
    # Here, so that nobody who serves pays for it.
    from .ops.bench import Plan, prepare

    plan = Plan(seconds, connections, rate, article=page, may_leave_behind=leave_behind)
    with _asking(file):
        trial = prepare(url, plan, id=secrets.token_hex(16))
    click.echo("\n".join(trial.report.head()))
    spare_the_collector()
    with _progress() as tell:
        report = trial.run(tell)
    _found(report, file)


@main.command()
@click.argument("url")
@_seconds
@click.option("--connections", default=32, type=click.IntRange(1, 1000), help="At a time.")
@click.option("--paths", default=100, type=click.IntRange(1, 10_000), help="That are counted.")
@click.option("--rate", type=click.IntRange(1, 1_000_000), help="Requests a second.")
@click.option(
    "--retry-for",
    metavar="SECONDS",
    default=30.0,
    type=click.FloatRange(0, 1800),
    help="Give up when nobody has been answered for so long.",
)
@_leave_behind
@_json
def verify(
    url: str,
    seconds: float,
    connections: int,
    paths: int,
    rate: int | None,
    retry_for: float,
    leave_behind: bool,
    file: Path | None,
) -> None:
    """Check that a deployment counts exactly, while you restart, kill or unplug parts of it.

    Clients count paths that no site has. Exit 0: accepted <= counted <= accepted + unknown on every
    path, and no answer contradicts another. Ctrl-C ends it early, with what was seen so far.
    """
    from .ops.interrupt import until_ctrl_c
    from .ops.verify import Plan, prepare

    plan = Plan(seconds, connections, paths, rate, retry_for, leave_behind)
    with _asking(file):
        checker = prepare(url, plan, id=secrets.token_hex(16))
    click.echo("\n".join(checker.report.head()))
    with _progress() as tell, until_ctrl_c(checker.stop):
        report = checker.run(lambda share: tell("verifying", share))
    _found(report, file)


@contextlib.contextmanager
def _asking(file: Path | None) -> Iterator[None]:
    from .ops.target import CannotMeasure

    try:
        yield
    except CannotMeasure as error:
        raise click.ClickException(str(error)) from error
    with _told():
        if file is not None:
            # Whoever cannot write it hears so now and not at the end.
            file.touch()


class Report(Protocol):
    """What a command found out that asked a server from outside."""

    @property
    def code(self) -> int: ...

    def lines(self) -> Iterable[str]: ...

    def as_json(self) -> dict[str, Any]: ...


def _found(report: Report, file: Path | None) -> NoReturn:
    click.echo("\n".join(report.lines()))
    if file is not None:
        with _told():
            file.write_text(json.dumps(report.as_json(), indent=1) + "\n")
    raise SystemExit(report.code)


@contextlib.contextmanager
def _snapshot(
    when_interrupted: str,
) -> Iterator[tuple[Settings, Callable[[str, float], None], Callable[[str], None]]]:
    """The settings, and who hears how it goes, on the standard error: there may be a pipe."""
    settings, said = _settings(), list[str]()
    try:
        with _told(), _progress() as tell:
            yield settings, tell, said.append
    except KeyboardInterrupt:
        said.append(f"Interrupted: {when_interrupted}")
        raise SystemExit(130) from None
    except snapshots.Failed as error:
        raise click.ClickException(str(error)) from error
    finally:
        # Not before the bar is gone.
        for text in said:
            click.echo(text, err=True)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    """A bar for whoever watches; files and pipes get none."""
    if not sys.stderr.isatty():
        yield lambda label, share: None
        return
    with click.progressbar(length=1000, file=sys.stderr) as bar:

        def tell(label: str, share: float) -> None:
            bar.label = f"{label:26}"
            done = int(share * 1000)
            # What comes next may begin at nothing again.
            bar.pos = min(bar.pos, done)
            bar.update(done - bar.pos)

        yield tell


def _environ() -> Mapping[str, str]:
    try:
        lines = dotenv_values(".env", interpolate=False)
    except UnicodeDecodeError as error:
        raise click.ClickException(f"the file .env is not UTF-8: {error}") from error
    in_file = {name: value for name, value in lines.items() if value is not None}
    return {**in_file, **os.environ}


def _settings() -> Settings:
    try:
        return Settings.from_env(_environ())
    except BadSettings as error:
        raise click.ClickException(f"these settings cannot be used:\n{error}") from error


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What can go wrong at start, said in a sentence instead of a traceback."""
    try:
        yield
    except (BadSettings, CannotStart, Mismatch, Unsafe, OSError) as error:
        raise click.ClickException(str(error)) from error
    except StoreUnavailable as error:
        raise click.ClickException(f"Redis does not answer: {advised(error.__cause__)}") from error


@contextlib.contextmanager
def _logged(form: str) -> Iterator[None]:
    """With LOG_FORMAT=json what ends a service is an object, too."""
    try:
        yield
    except click.ClickException as error:
        if form != "json":
            raise
        log.critical("%s", error.message)
        raise SystemExit(1) from error


async def _check(settings: Settings, repair: bool) -> int:
    """How many problems there were; each is printed."""
    problems = 0
    async with snapshots.store_of(settings, shares=True) as store:
        await store.open()
        async for line in check_store(store, repair=repair):
            click.echo(line)
            problems += line.is_problem
    return problems
