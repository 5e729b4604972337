"""`footfall import` and `footfall export`."""

from typing import TYPE_CHECKING, cast

import click
import uvloop

from .backup import CommandFailed
from .commands import Choosing, Command
from .console import aside, progress, settings_of_environment
from .errors import errors_as_messages, import_errors_as_messages
from .leancloud import leancloud, way_option
from .past_views import access_log, goatcounter
from .vercount import vercount

if TYPE_CHECKING:
    from ..data.imports import Way
    from ..transfer.importing import PagesBy, Undated


@click.command(
    "import",
    cls=Choosing,
    others={
        "access-log": access_log,
        "goatcounter": goatcounter,
        "leancloud": leancloud,
        "vercount": vercount,
    },
)
@click.argument("file", metavar="FILE_OR_URL")
@click.option("--format", "format_name", default="", help="File format; default: detected.")
@way_option
@click.option(
    "--map", "columns", metavar="NAME=COLUMN,…", multiple=True, help="Column names in CSV and JSON."
)
@click.option("--encoding", default="", help="File encoding, if not UTF-8 or UTF-16.")
@click.option(
    "--utc-offset", metavar="+HH:MM", default="+00:00", help="Time zone of dates without one."
)
@click.option(
    "--undated",
    type=click.Choice(["skip", "now"]),
    default="skip",
    show_default=True,
    help="Rows without a readable date: skip them, or use the file's modification time.",
)
@click.option(
    "--page-by",
    type=click.Choice(["address", "identifier"]),
    default="address",
    show_default=True,
    help="What identifies a Disqus thread's page.",
)
@click.option(
    "--pages",
    "pages_by",
    type=click.Choice(["key", "path"]),
    help="Name pages as the file does, or by the paths of their addresses; default: as clients of "
    "that system do.",
)
@click.option("--dry-run", is_flag=True, help="Check everything, store nothing.")
@click.option(
    "--report",
    "report_name",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write changed and rejected rows with reasons, one per line.",
)
@click.option("--json", "is_json", is_flag=True, help="Print the numbers as a JSON object.")
def import_(
    file: str,
    format_name: str,
    way: str,
    columns: tuple[str, ...],
    encoding: str,
    utc_offset: str,
    undated: str,
    page_by: str,
    pages_by: str | None,
    dry_run: bool,
    report_name: str | None,
    is_json: bool,
) -> None:
    """Import comments, counters and accounts from another system, from a FILE or URL.

    Services may keep running. Rows that were imported before stay unchanged, so you can repeat an
    import; but comments that were deleted here come back. For past views, see access-log and
    goatcounter.
    """
    settings = settings_of_environment()
    from .importing import take_over

    with import_errors_as_messages():
        take_over(
            settings,
            file,
            format_name,
            cast("Way", way),
            encoding=encoding,
            utc_offset=utc_offset,
            undated=cast("Undated", undated),
            columns=",".join(columns),
            page_by=page_by,
            pages_by=cast("PagesBy | None", pages_by),
            report_name=report_name,
            is_dry=dry_run,
            is_json=is_json,
        )


@click.command(cls=Command)
@click.argument("file", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--format",
    "form",
    type=click.Choice(["waline", "ndjson", "csv"]),
    default="waline",
    show_default=True,
    help="Waline's archive, JSON lines, or a table.",
)
@click.option(
    "--only",
    "kinds",
    multiple=True,
    type=click.Choice(["comments", "counters", "accounts"]),
    help="What to export; a table has only one kind.",
)
@click.option(
    "--with-secrets",
    "has_secrets",
    is_flag=True,
    help="Include password hashes and two-factor secrets: protect the file.",
)
def export(file: str, form: str, kinds: tuple[str, ...], has_secrets: bool) -> None:
    """Export comments, counters and accounts to FILE or standard output, for other systems.

    Services may keep running. `footfall import` reads the file. To restore, use a backup, which has
    more, such as regions and the log.
    """
    if form == "csv" and len(kinds) != 1:
        raise click.UsageError("a table has one kind: use --only")
    settings, results = settings_of_environment(), list[str]()
    from .exporting import hand_out

    try:
        with errors_as_messages(), progress() as on_progress:
            uvloop.run(
                hand_out(
                    settings,
                    file,
                    form,
                    kinds,
                    has_secrets=has_secrets,
                    on_progress=on_progress,
                    say=results.append,
                )
            )
    except KeyboardInterrupt:
        results.append("Interrupted: nothing was written")
        raise SystemExit(130) from None
    except CommandFailed as error:
        raise click.ClickException(str(error)) from error
    finally:
        # Printed after the bar was removed.
        for text in results:
            aside(text)
