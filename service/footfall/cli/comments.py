"""`footfall comments …`: commands about stored comments."""

from collections.abc import Callable, Sequence

import click
import uvloop

from ..config import Settings
from ..maintenance.rerender import Tally, What, rerender
from ..model import OnProgress
from ..plurals import number_of
from ..stores import data_set
from .commands import Group
from .console import NothingToDo, progress, settings_of_environment
from .dataset import existing_site
from .errors import errors_as_messages

# How many damaged comments are listed; all are counted.
MAX_LISTED = 20


@click.group(cls=Group)
def comments() -> None:
    """Manage comments."""


@comments.command("rerender")
@click.option("--page", "paths", multiple=True, metavar="PATH", help="Render only this article.")
@click.option("--agents", is_flag=True, help="Also recompute the names of browsers and systems.")
@click.option("--avatars", is_flag=True, help="Also recompute the addresses of avatars.")
@click.option("--dry-run", is_flag=True, help="Only show how many would change.")
def rerender_(paths: Sequence[str], agents: bool, avatars: bool, dry_run: bool) -> None:
    """Render stored comments again, with this version and these settings.

    Services may keep running. After an interruption, run it again for the rest. Exit 1 if damaged
    comments were left out, or if a given page has none.
    """
    settings, results, left_out = settings_of_environment(), list[str](), list[str]()
    what = What(agents, avatars, dry_run)
    try:
        with errors_as_messages(), progress() as on_progress:
            tally = uvloop.run(_rerender(settings, paths, what, on_progress, left_out.append))
            results.append(_words(tally, what))
    except KeyboardInterrupt:
        results.append("Interrupted: changes so far stay; run it again for the rest")
        raise SystemExit(130) from None
    finally:
        # Printed after the bar was removed.
        for text in (*left_out[:MAX_LISTED], *results):
            click.echo(text, err=True)
        if len(left_out) > MAX_LISTED:
            click.echo(f"and {len(left_out) - MAX_LISTED:,} more were left out", err=True)
    if left_out:
        raise SystemExit(1)
    if not (tally.changed or tally.overtaken):
        raise SystemExit(NothingToDo.exit_code)


async def _rerender(
    settings: Settings,
    paths: Sequence[str],
    what: What,
    on_progress: OnProgress,
    complain: Callable[[str], None],
) -> Tally:
    async with existing_site(settings) as (store, site):
        return await rerender(
            site.comments,
            data_set(store),
            store.bodies,
            [*map(site.counting.page_of, paths)],
            what,
            on_progress=on_progress,
            complain=complain,
        )


def _words(tally: Tally, what: What) -> str:
    all_of_them = f"{number_of(tally.comments, 'comment')} on {number_of(tally.pages, 'page')}"
    if not tally.comments:
        return "nothing to do: there are no comments"
    if not tally.changed and not tally.overtaken:
        return f"nothing to do: {all_of_them} would stay the same"
    if what.is_dry:
        return f"{tally.changed:,} of {all_of_them} would change; nothing was written"
    sentence = f"{tally.changed:,} of {all_of_them} changed"
    if tally.overtaken:
        sentence += f"; {tally.overtaken:,} skipped, since they changed meanwhile"
    return sentence
