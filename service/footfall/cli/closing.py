"""`footfall paths close`, `open` and `closed`: pages that take no new comments."""

from collections.abc import Callable

import click

from ..comments.noun import Comments
from ..comments.rules import closing
from ..comments.rules.closing import MAX_DAYS, OPEN, described
from ..http.params import MAX_PATH
from .commands import Command
from .console import NothingToDo, printable
from .dataset import CONSOLE, with_site

# All pages without a rule of their own.
EVERY_PAGE = ""

_path = click.argument("path", metavar="[PATH]", default=EVERY_PAGE)
_all = click.option("--all", "is_for_all", is_flag=True, help="All pages, instead of one.")


@click.command(cls=Command)
@_path
@_all
@click.option(
    "--after",
    "days",
    metavar="DAYS",
    default=0,
    type=click.IntRange(0, MAX_DAYS),
    help="Days after the page's first comment, instead of now.",
)
def close(path: str, is_for_all: bool, days: int) -> None:
    """Accept no new comments on a page, or on all.

    Existing comments stay and can be liked; moderators can still write. Pages that `footfall paths
    open` opened stay open.
    """
    _check(path, is_for_all)
    _change(path, lambda rules: days)


@click.command("open", cls=Command)
@_path
@_all
def open_(path: str, is_for_all: bool) -> None:
    """Accept comments again. The page stays open even if all pages close."""
    _check(path, is_for_all)
    _change(path, lambda rules: OPEN if path and EVERY_PAGE in rules else None)


def _check(path: str, is_for_all: bool) -> None:
    if bool(path) == is_for_all:
        raise click.UsageError("name a page, or use --all")
    if len(path) > MAX_PATH:
        raise click.BadParameter(f"a path has at most {MAX_PATH:,} characters")


def _change(path: str, rule: Callable[[dict[str, int]], int | None]) -> None:
    async def change(comments: Comments) -> str:
        page = comments.counting.page_of(path) if path else EVERY_PAGE
        days = rule(await comments.store.closings.every())
        is_new = await closing.close(comments, page, days, CONSOLE)
        text = f"{printable(page) or 'all pages'}: {described(days) or 'open'}"
        if not is_new:
            raise NothingToDo(f"{text}, as before")
        return text

    click.echo(with_site(lambda site: change(site.comments)))


@click.command(cls=Command)
def closed() -> None:
    """List pages that are closed to comments, or will be."""
    rules = with_site(lambda site: site.comments.store.closings.every())
    for path, days in sorted(rules.items()):
        click.echo(f"{described(days)}  {printable(path) or 'all other pages'}")
    if not rules:
        click.echo("no page is closed", err=True)
