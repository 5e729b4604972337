"""`footfall paths …`: moving, merging and closing pages."""

import click
import uvloop

from ..comments.noun import Comments
from ..comments.rules import page_moves
from ..comments.rules.page_moves import Holding
from ..comments.store.moves import MoveUnderWay
from ..config import Settings
from ..counters import is_page
from ..http.params import MAX_PATH
from ..maintenance.spellings import misspelled
from ..model import OnProgress
from ..pages import PageNames
from ..plurals import number_of
from ..stores import data_set
from . import closing
from .commands import Group
from .console import NothingToDo, printable, progress, settings_of_environment
from .dataset import CONSOLE, existing_site, with_site
from .errors import errors_as_messages

# How many of the pages that would be moved are listed.
MAX_LISTED = 20

_yes = click.option("--yes", "is_meant", is_flag=True, help="Do it instead of only showing.")


@click.group(cls=Group)
def paths() -> None:
    """Manage page paths.

    Services may keep running. Nothing is lost or counted twice: after an interruption a running
    service continues, or the same command.
    """


def _path(context: click.Context, parameter: click.Parameter, path: str) -> str:
    if not path or len(path) > MAX_PATH:
        raise click.BadParameter(f"a path has 1 to {MAX_PATH:,} characters")
    return path


for command in (closing.close, closing.open_, closing.closed):
    paths.add_command(command)


@paths.command("move")
@click.argument("source", metavar="FROM", callback=_path)
@click.argument("target", metavar="TO", callback=_path)
@_yes
def move_(source: str, target: str, is_meant: bool) -> None:
    """Move a page's counters and comments to another path; without --yes only show them.

    Days, visitors, likes, pins, threads and unpublished comments move too, and data at TO stays.
    Later views of FROM stay there: change your links first. Moving back takes everything at TO.
    """
    settings = settings_of_environment()

    async def run(comments: Comments) -> tuple[Holding, Holding, bool]:
        if comments.counting.page_of(target) != target:
            raise click.UsageError(
                f"TO is counted as {comments.counting.page_of(target)}: name that"
            )
        of_both = [await page_moves.holding(comments, path) for path in (source, target)]
        notes = await comments.moves.under_way()
        is_started = any(note[:2] == (source, target) for note in notes)
        if not (any(of_both[0]) or is_started):
            raise NothingToDo(f"{printable(source)} has neither counts nor comments")
        is_whole = not is_meant or await _move(comments, source, target)
        return of_both[0], of_both[1], is_whole

    if source == target:
        raise click.UsageError("FROM and TO are the same")
    if is_page(source) != is_page(target):
        raise click.UsageError("TO should be a page if FROM is one, and none if it is none")
    had, met, is_whole = with_site(lambda site: run(site.comments), settings)
    to = f"{printable(source)} to {printable(target)}, which had {_words(met)}"
    if not is_meant:
        click.echo(f"{_words(had)} would move from {to}; nothing was written, --yes does it")
        return
    click.echo(f"{_words(had)} moved from {to}")
    if not is_whole:
        click.echo(
            "Some replies follow once it is certain whether their thread is restored", err=True
        )


@paths.command()
@_yes
def merge(is_meant: bool) -> None:
    """Move pages to the paths that PATHS defines; without --yes only list them.

    This joins spellings of a page, such as /a/ and /a: their counts are added and their comments
    merged.
    """
    settings, done = settings_of_environment(), list[tuple[str, str]]()
    try:
        with errors_as_messages(), progress() as on_progress:
            merged = uvloop.run(_merge(settings, on_progress, done, is_meant))
    finally:
        # Printed after the bar was removed.
        for source, target in done[:MAX_LISTED]:
            click.echo(f"{printable(source)}  →  {printable(target)}")
        if len(done) > MAX_LISTED:
            click.echo(f"and {len(done) - MAX_LISTED:,} more")
    pages = number_of(len(merged), "page")
    if not merged:
        raise NothingToDo("every page has the path that these settings give it")
    if not is_meant:
        click.echo(f"{pages} would move; nothing was written, --yes does it")
        return
    click.echo(f"{pages} moved")


async def _merge(
    settings: Settings, on_progress: OnProgress, done: list[tuple[str, str]], is_meant: bool
) -> dict[str, str]:
    async with existing_site(settings) as (store, site):
        spellings = await misspelled(data_set(store), PageNames(settings.paths).of)
        if not is_meant:
            done += spellings.items()
            return spellings
        for number, (source, target) in enumerate(sorted(spellings.items())):
            on_progress("moving", number / len(spellings))
            await _move(site.comments, source, target)
            done.append((source, target))
        return spellings


async def _move(comments: Comments, source: str, target: str) -> bool:
    assert CONSOLE.viewer.account
    try:
        return await page_moves.move(comments, source, target, CONSOLE.viewer.account.id)
    except MoveUnderWay as error:
        other = f"{printable(error.move.source)} is being moved to {printable(error.move.target)}"
        raise click.ClickException(f"{other}: wait until that is done") from error


def _words(held: Holding) -> str:
    views, others = number_of(held.views, "view"), number_of(held.others, "other count")
    return f"{views}, {others} and {number_of(held.comments, 'comment')}"
