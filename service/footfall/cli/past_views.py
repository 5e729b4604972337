"""`footfall import access-log` and `footfall import goatcounter`: views of days that are over."""

from collections.abc import Callable
from typing import Any

import click

from .commands import Command
from .console import settings_of_environment
from .errors import import_errors_as_messages

_OPTIONS = (
    click.option(
        "--counters",
        "counts",
        is_flag=True,
        help="Also add these views to the counters; without it, they are assumed to be in them.",
    ),
    click.option(
        "--host",
        "hosts",
        multiple=True,
        metavar="NAME",
        help="Another host of the site than SITE_URL's; repeatable. If the log has hosts, requests "
        "for others are not views, and links from these are not sources.",
    ),
    click.option("--dry-run", "is_dry", is_flag=True, help="Read everything, store nothing."),
    click.option("--json", "is_json", is_flag=True, help="Print the numbers as a JSON object."),
)


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("access-log", cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_with_options
def access_log(files: tuple[str, ...], **options: Any) -> None:
    """Import when pages were viewed from logs of nginx, Apache or Caddy.

    Name all FILEs at once, compressed or not, of all servers: a day is imported once. Days that
    have views already are left out, and so is today. If an import was interrupted, run it again
    with the same files.
    """
    _take_over("access-log", files, options)


@click.command("goatcounter", cls=Command)
@click.argument("file", metavar="FILE")
@_with_options
def goatcounter(file: str, **options: Any) -> None:
    """Import when pages were viewed from GoatCounter's export as CSV.

    Days that have views already are left out, and so is today. If an import was interrupted, run it
    again with the same file.
    """
    _take_over("goatcounter", (file,), options)


def _take_over(tool: str, files: tuple[str, ...], options: dict[str, Any]) -> None:
    settings = settings_of_environment()
    from .past_importing import take_over

    with import_errors_as_messages():
        take_over(settings, tool, files, **options)
