"""The commands serve, check, backup, restore and config; remote.py, accounts.py, comments.py and
counters.py have the others.

They read the settings from the environment and a .env file, which the environment overrides.
"""

import contextlib
import logging
import mmap
import os
import sys
from collections.abc import Callable, Iterator

import click
import uvloop

from .. import __version__, tracing
from ..advice import advice
from ..app import create_metrics, data_set
from ..config import Settings
from ..maintenance.backup import OnProgress
from ..maintenance.check import check as check_data
from ..server.run import Mode, serve_alone, serve_as_worker, serve_many
from . import accounts, authors, bans, comments, counters, moderation, outbox, remote, transfer
from . import backup as snapshots
from .commands import Group, Logged
from .console import environ, errors_as_messages, progress, settings_of_environment
from .dataset import existing

log = logging.getLogger(__package__)

# How long the rendering thread may keep the GIL while views wait; Python's default is 5 ms.
SWITCH_SECONDS = 0.0005


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="footfall")
def main() -> None:
    """View counts and comments for busy sites, stored in Redis; speaks the Waline API."""


@main.command(cls=Logged)
@click.option("--workers", type=click.IntRange(1, 64), help="Processes; WORKERS by default.")
@click.option("--no-hot-lane", is_flag=True, help="Answer every request through ASGI.")
@click.option("--as-worker", is_flag=True, hidden=True)
@click.option("--traced", is_flag=True, hidden=True)
@click.option("--inherited", type=int, hidden=True)
@click.option("--metrics", type=int, hidden=True)
@click.option("--row", type=int, default=0, hidden=True)
def serve(
    workers: int | None,
    no_hot_lane: bool,
    as_worker: bool,
    traced: bool,
    inherited: int | None,
    metrics: int,
    row: int,
) -> None:
    """Run the service. Ctrl-C or SIGTERM stops it."""
    settings = settings_of_environment()
    if not as_worker:
        for line in advice(settings, environ()):
            log.warning("%s", line)
    sys.setswitchinterval(SWITCH_SECONDS)
    workers = workers or settings.workers
    # A worker gets its parent's decision by --traced.
    is_traced = traced or (not as_worker and tracing.are_wanted(environ()))
    mode = Mode(is_hot=not no_hot_lane, is_traced=is_traced)
    with errors_as_messages():
        if as_worker:
            own = create_metrics(mmap.mmap(metrics, 0), row)
            uvloop.run(serve_as_worker(settings, own, inherited, mode))
        elif workers > 1:
            uvloop.run(serve_many(settings, workers, mode))
        else:
            uvloop.run(serve_alone(settings, mode))


@main.command()
@click.option("--repair", is_flag=True, help="Rebuild the site's indexes from the pages.")
def check(repair: bool) -> None:
    """Verify that what is stored agrees with itself; exit 1 if it does not."""
    settings = settings_of_environment()
    with errors_as_messages():
        problems = uvloop.run(_check(settings, repair))
    if problems:
        raise SystemExit(1)


@main.command()
@click.argument("file", default="-", type=click.Path(allow_dash=True))
@click.option("--keep", type=click.IntRange(1), help="In a directory: so many, the newest.")
@click.option(
    "--with-secrets", "has_secrets", is_flag=True,
    help="Also hashes of passwords and secrets of second factors: guard the file.",
)  # fmt: skip
def backup(file: str, keep: int | None, has_secrets: bool) -> None:
    """Write all that is stored to FILE or the standard output, also while the service runs.

    Without secrets, whoever has an account needs a new password after a restore.
    In a directory the file is named by the time, and --keep removes older ones. Exit 1 if damaged
    things had to be left out; `footfall check` tells more of them.
    """
    is_directory = os.path.isdir(file)
    if keep and not is_directory:
        raise click.UsageError("--keep needs a directory")
    with _snapshot("there is no backup") as (settings, on_progress, say):
        name = snapshots.name_in(file, settings.key_prefix) if is_directory else file
        left_out = uvloop.run(
            snapshots.back_up(
                settings, name, has_secrets=has_secrets, on_progress=on_progress, say=say
            )
        )
        if keep:
            snapshots.forget(file, settings.key_prefix, keep, say)
    if left_out:
        raise SystemExit(1)


@main.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--replace", "mode", flag_value="replace", help="Remove what is there before.")
@click.option("--verify", "mode", flag_value="verify", help="Only read FILE to its end.")
@click.option("--compare", "mode", flag_value="compare", help="Only tell what differs from FILE.")
def restore(file: str, mode: str | None) -> None:
    """Put a backup into an empty data set; - is the standard input.

    Stop the services on it before. Nothing is touched before FILE is read to its end and proved to
    be whole. What was interrupted starts over when it is run again.
    """
    again = "the restore is not complete; run again, it starts over"
    with _snapshot(again) as (settings, on_progress, say):
        differences = uvloop.run(
            snapshots.put_back(
                settings, file, mode=mode or "restore", on_progress=on_progress, say=say
            )
        )
    if differences:
        raise SystemExit(1)


@main.command()
def config() -> None:
    """List every setting: name, value, default, meaning."""
    found = environ()
    settings = settings_of_environment()
    for name, value, default, doc in Settings().table(found):
        mark = "" if value == default else f"  (default {default!r})"
        click.echo(f"{name}={value}{mark}")
        click.echo(f"    {doc}")
    for line in advice(settings, found):
        click.echo(f"warning: {line}")


@contextlib.contextmanager
def _snapshot(
    when_interrupted: str,
) -> Iterator[tuple[Settings, OnProgress, Callable[[str], None]]]:
    """The settings, a function for progress, and one for lines on the standard error."""
    settings, results = settings_of_environment(), list[str]()
    try:
        with errors_as_messages(), progress() as on_progress:
            yield settings, on_progress, results.append
    except KeyboardInterrupt:
        results.append(f"Interrupted: {when_interrupted}")
        raise SystemExit(130) from None
    except snapshots.Failed as error:
        raise click.ClickException(str(error)) from error
    finally:
        # Printed after the bar was removed.
        for text in results:
            click.echo(text, err=True)


async def _check(settings: Settings, repair: bool) -> int:
    """Print each problem; returns how many there were."""
    problems = 0
    async with existing(settings) as store:
        async for line in check_data(data_set(store), store.site, repair=repair):
            click.echo(line)
            problems += line.is_problem
    return problems


for command in (remote.bench, remote.verify, remote.health):
    main.add_command(command)
main.add_command(accounts.accounts)
main.add_command(authors.authors_)
main.add_command(bans.bans)
main.add_command(comments.comments)
main.add_command(counters.counters)
main.add_command(moderation.log)
main.add_command(outbox.worker)
main.add_command(outbox.outbox)
main.add_command(outbox.notify)
main.add_command(transfer.import_)
main.add_command(transfer.export)
