"""`footfall import vercount`: a site's numbers out of Vercount."""

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
import uvloop

from .commands import Command
from .console import aside, progress, settings_of_environment
from .errors import errors_as_messages
from .leancloud import way_option

if TYPE_CHECKING:
    from ..data.imports import Way
    from ..transfer.vercount import Site


@click.command("vercount", cls=Command)
@click.argument("sitemap", metavar="SITEMAP")
@click.option("--server", help="Address of Vercount, or of your own.")
@way_option
@click.option(
    "--keep",
    "kept",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep fetched numbers in this table, and skip the pages in it.",
)
@click.option(
    "--dry-run", "is_dry", is_flag=True, help="Fetch and check everything, store nothing."
)
@click.option("--json", "is_json", is_flag=True, help="Print the numbers as a JSON object.")
def vercount(
    sitemap: str, server: str | None, way: str, kept: Path | None, is_dry: bool, is_json: bool
) -> None:
    """Import the views of the pages in a SITEMAP, a file or an address, from Vercount.

    It may be asked eighty times a minute. Services may run meanwhile, and an import may be
    repeated.
    """
    settings = settings_of_environment()
    from ..transfer.download import is_address
    from .importing import require_data_set, take_over

    if server and not is_address(server):
        raise click.UsageError("--server must start with https://")

    try:
        with errors_as_messages(), contextlib.ExitStack() as stack:
            uvloop.run(require_data_set(settings))
            directory = tempfile.TemporaryDirectory(prefix="footfall-vercount-")
            table = kept or Path(stack.enter_context(directory), "views.csv")
            site = _fetched(sitemap, table, server, is_kept=bool(kept))
            aside(
                f"set SITE_PV_START={site.views} and SITE_UV_START={site.visitors} for the "
                "site's other numbers"
            )
            take_over(settings, str(table), "csv", cast("Way", way), is_dry=is_dry, is_json=is_json)
    except KeyboardInterrupt:
        aside("Interrupted: what was fetched stays in the file of --keep")
        raise SystemExit(130) from None


def _fetched(sitemap: str, table: Path, server: str | None, *, is_kept: bool) -> "Site":
    """Raises ClickException."""
    from ..transfer.download import CannotFetch
    from ..transfer.vercount import SERVER, fetch_views, pages_of

    with progress() as on_progress:
        try:
            pages = pages_of(sitemap)
            if not pages:
                raise click.ClickException(f"nothing was imported: {sitemap} names no page")
            return fetch_views(
                pages, table, lambda share: on_progress("fetching", share), server=server or SERVER
            )
        except CannotFetch as error:
            goes_on = "run this again to continue" if is_kept else "see --keep"
            raise click.ClickException(f"{error}; nothing was imported: {goes_on}") from error
