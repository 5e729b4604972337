"""`footfall import leancloud`: counters and comments out of LeanCloud, while it lasts."""

import contextlib
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
import uvloop

from .commands import Command
from .console import aside, progress, settings_of_environment
from .errors import import_errors_as_messages

if TYPE_CHECKING:
    from ..data.imports import Way
    from ..transfer.leancloud import LeanCloud


way_option = click.option(
    "--counters",
    "way",
    type=click.Choice(["max", "sum", "replace"]),
    default="max",
    show_default=True,
    help="How to treat existing counters.",
)


@click.command("leancloud", cls=Command)
@click.argument("address", metavar="SERVER_URL")
@click.option(
    "--app-id",
    required=True,
    # Not LEANCLOUD_APP_ID: that is what this service's own readers have to name.
    envvar="IMPORT_APP_ID",
    help="The application's id at LeanCloud (IMPORT_APP_ID).",
)
@click.option(
    "--app-key",
    required=True,
    envvar="IMPORT_APP_KEY",
    help="Its key (IMPORT_APP_KEY), or its master key followed by `,master`.",
)
@click.option(
    "--class",
    "class_name",
    type=click.Choice(["Counter", "Comment"]),
    default="Counter",
    show_default=True,
    help="Counts of views, or Valine's comments.",
)
@way_option
@click.option(
    "--keep",
    "kept",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep fetched objects in this file, to continue after an interruption; once the file is "
    "complete, everything is fetched again.",
)
@click.option(
    "--dry-run", "is_dry", is_flag=True, help="Fetch and check everything, store nothing."
)
@click.option(
    "--check",
    "is_check",
    is_flag=True,
    help="Fetch all counters and store nothing: compare their sums there and here, and list those "
    "that are lower here.",
)
@click.option("--json", "is_json", is_flag=True, help="Print the numbers as a JSON object.")
def leancloud(
    address: str,
    app_id: str,
    app_key: str,
    class_name: str,
    way: str,
    kept: Path | None,
    is_dry: bool,
    is_check: bool,
    is_json: bool,
) -> None:
    """Import counters, or comments, from LeanCloud at SERVER_URL.

    LeanCloud stops on 12 January 2027. Services may run meanwhile, and an import may be repeated.
    """
    settings = settings_of_environment()
    from ..transfer import leancloud as transfer
    from ..transfer.download import is_address
    from .importing import require_data_set, take_over

    if not is_address(address):
        raise click.UsageError("SERVER_URL must start with https://")
    if is_check and class_name != "Counter":
        raise click.UsageError("--check compares counters")
    with import_errors_as_messages(), contextlib.ExitStack() as stack:
        uvloop.run(require_data_set(settings))
        file = kept or Path(stack.enter_context(_directory()), f"{class_name}.json")
        _fetch(transfer.LeanCloud(address, app_id, app_key), class_name, file, is_kept=bool(kept))
        take_over(
            settings,
            str(file),
            "valine",
            cast("Way", way),
            is_dry=is_dry,
            is_json=is_json,
            is_check=is_check,
        )


def _directory() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="footfall-leancloud-")


def _fetch(server: "LeanCloud", class_name: str, file: Path, *, is_kept: bool) -> None:
    """Raises ClickException if nothing was fetched, or not all."""
    from ..transfer.download import CannotFetch

    if is_kept and file.exists():
        when = datetime.fromtimestamp(file.stat().st_mtime, tz=UTC)
        aside(f"{file} is of {when:%Y-%m-%d %H:%M} UTC: everything is fetched again")
    with progress() as on_progress:
        try:
            number = server.fetch(class_name, file, lambda share: on_progress("fetching", share))
        except CannotFetch as error:
            goes_on = "run this again to continue" if is_kept else "see --keep"
            raise click.ClickException(f"{error}; nothing was imported: {goes_on}") from error
    if not number:
        raise click.ClickException(f"nothing was imported: there is no {class_name} there")
