"""`footfall comments …`: commands about stored comments."""

from collections.abc import Callable, Iterator, Sequence

import click
import uvloop

from ..config import BadSettings, Settings
from ..maintenance.rerender import Tally, What, rerender
from ..model import OnProgress
from ..notifications.rules.channels import model_of
from ..notifications.rules.model_trial import Tally as Judged
from ..notifications.rules.model_trial import judge
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


@comments.command("judge")
@click.option("--last", type=click.IntRange(1, 5000), default=100, show_default=True, metavar="N")
def judge_(last: int) -> None:
    """Ask the language model about the newest comments that are approved or spam.

    Shows how often it agrees, and both kinds of error; nothing changes. MODEL_DAILY does not count
    these questions. Exit 1 if one got no answer.
    """
    settings = settings_of_environment()
    with errors_as_messages(), progress() as on_progress:
        tally = uvloop.run(_judge(settings, last, on_progress))
    for text in _judged(tally):
        click.echo(text)
    if tally.failed:
        raise SystemExit(1)


async def _judge(settings: Settings, last: int, on_progress: OnProgress) -> Judged:
    place = settings.title, settings.site_url
    async with existing_site(settings) as (_, site):
        try:
            model = model_of(settings)
        except ValueError as error:
            raise BadSettings(str(error)) from None
        return await judge(site.comments, model, last, place, on_progress)


def _judged(tally: Judged) -> Iterator[str]:
    yield f"{number_of(tally.total, 'comment')}, of which the model finds"
    yield f"{tally.alike:>7,} to be what they are"
    yield f"{tally.wrongly_spam:>7,} to be spam that are approved"
    yield f"{tally.wrongly_ham:>7,} to be no spam that are spam"
    yield f"{tally.unsure:>7,} to be unsure"
    if tally.failed:
        yield f"{tally.failed:>7,} without an answer: {tally.why}"


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
