"""`footfall statistics`: how often a page, or the whole site, was viewed on each day."""

import csv
import sys
from collections.abc import Mapping
from datetime import date

import click

from ..domain.calendar import date_of
from ..domain.site import Site
from .console import NothingToDo, printable, settings_of_environment
from .dataset import with_site

# Characters of the longest bar.
WIDTH = 40
_EIGHTHS = " ▏▎▍▌▋▊▉"


@click.command()
@click.argument("path", required=False)
@click.option(
    "--days",
    "number",
    default=14,
    type=click.IntRange(1, 3_660),
    help="So many days up to today.",
    show_default=True,
)
@click.option("--csv", "is_csv", is_flag=True, help="Print day and views, between commas.")
def statistics(path: str | None, number: int, is_csv: bool) -> None:
    """Show the views of each day.

    Those of the page with this PATH, or else of the whole site. Days begin in TIMEZONE. Nothing is
    known of views while STATISTICS was off.
    """

    async def read(site: Site) -> dict[int, int]:
        found = site.statistics
        last = found.today()
        return await found.days(path, found.days_before(last, number - 1), last)

    settings = settings_of_environment()
    days = with_site(read, settings)
    if is_csv:
        rows = csv.writer(sys.stdout, lineterminator="\n")
        rows.writerow(("day", "views"))
        rows.writerows((date_of(day).isoformat(), views) for day, views in days.items())
        return
    if not any(days.values()):
        of = "the site" if path is None else printable(path)
        off = "; STATISTICS=off keeps none" if settings.statistics == "off" else ""
        raise NothingToDo(f"no view of {of} is known from these {number} days{off}")
    for line in _lines(days):
        click.echo(line)


def _lines(days: Mapping[int, int]) -> list[str]:
    most, total = max(days.values()), sum(days.values())
    width = len(f"{total:,}")
    lines = [
        f"{_named(date_of(day))}  {views:>{width},}  {_bar(views / most)}".rstrip()
        for day, views in days.items()
    ]
    return [*lines, f"{'in all':14}  {total:>{width},}"]


def _named(day: date) -> str:
    """Such as "Mon 2026-11-23", in English whatever the locale is."""
    names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    return f"{names[day.weekday()]} {day.isoformat()}"


def _bar(share: float) -> str:
    whole, eighths = divmod(round(8 * WIDTH * share), 8)
    # A day with views is never empty.
    return "█" * whole + _EIGHTHS[eighths or (share > 0 and not whole)].strip()
