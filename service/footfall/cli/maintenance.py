"""The commands check, backup and restore, for a whole data set."""

import contextlib
from collections.abc import Callable, Iterator

import click
import orjson
import uvloop

from ..config import Settings
from ..maintenance.check import Line
from ..maintenance.check import check as check_data
from ..model import OnProgress
from ..stores import data_set
from .backup import CommandFailed, back_up, put_back, read_back
from .commands import Command, json_option
from .console import progress, settings_of_environment
from .dataset import existing
from .errors import errors_as_messages


@click.command(cls=Command)
@click.option("--repair", is_flag=True, help="Rebuild indexes from pages and accounts.")
@json_option
def check(repair: bool, is_json: bool) -> None:
    """Verify that stored keys are consistent; exit 1 if they are not."""
    settings, problems, others = settings_of_environment(), list[str](), list[str]()

    def take(line: Line) -> None:
        (problems if line.is_problem else others).append(line)
        if not is_json:
            click.echo(line)

    with errors_as_messages():
        uvloop.run(_check(settings, take, repair=repair))
    if is_json:
        click.echo(orjson.dumps({"problems": problems, "summary": others}))
    if problems:
        raise SystemExit(1)


@click.command(cls=Command)
@click.argument("file", default="-", type=click.Path(allow_dash=True))
@click.option(
    "--keep", type=click.IntRange(1), help="Number of newest backups to keep in the directory."
)
@click.option(
    "--with-secrets",
    "has_secrets",
    is_flag=True,
    help="Include password hashes and two-factor secrets: protect the file.",
)
def backup(file: str, keep: int | None, has_secrets: bool) -> None:
    """Back up all data to FILE or standard output, also while the service runs.

    Without secrets, each account needs a new password after a restore. In a directory, files are
    named by time, and --keep removes older ones. Exit 1 if damaged entries were left out; `footfall
    check` lists them.
    """
    with _telling("there is no backup") as (on_progress, say):
        work = back_up(
            settings_of_environment(),
            file,
            keep=keep,
            has_secrets=has_secrets,
            on_progress=on_progress,
            say=say,
        )
        left_out = uvloop.run(work)
    if left_out:
        raise SystemExit(1)


@click.command(cls=Command)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--replace", "mode", flag_value="replace", help="Remove existing data first.")
@click.option("--verify", "mode", flag_value="verify", help="Only verify FILE; needs no Redis.")
@click.option("--compare", "mode", flag_value="compare", help="Only compare with FILE.")
def restore(file: str, mode: str | None) -> None:
    """Restore a backup into an empty data set; - is standard input.

    Stop its services first. Nothing changes until FILE has been read to its end and verified. After
    an interruption, run it again: it starts over.
    """
    if mode == "verify":
        # Without settings, which may be those of no data set, or of none on this machine.
        with _telling("it was not read to its end") as (on_progress, say):
            read_back(file, on_progress=on_progress, say=say)
        return
    with _telling("the restore is incomplete; run it again, it starts over") as (on_progress, say):
        settings = settings_of_environment()
        differences = uvloop.run(
            put_back(settings, file, mode=mode or "restore", on_progress=on_progress, say=say)
        )
    if differences:
        raise SystemExit(1)


@contextlib.contextmanager
def _telling(when_interrupted: str) -> Iterator[tuple[OnProgress, Callable[[str], None]]]:
    """A function for progress, and one for lines on the standard error."""
    results = list[str]()
    try:
        with errors_as_messages(), progress() as on_progress:
            yield on_progress, results.append
    except KeyboardInterrupt:
        results.append(f"Interrupted: {when_interrupted}")
        raise SystemExit(130) from None
    except CommandFailed as error:
        raise click.ClickException(str(error)) from error
    finally:
        # Printed after the bar was removed.
        for text in results:
            click.echo(text, err=True)


async def _check(settings: Settings, take: Callable[[Line], None], *, repair: bool) -> None:
    async with existing(settings) as store:
        async for line in check_data(data_set(store), repair=repair):
            take(line)
