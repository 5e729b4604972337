"""`footfall statistics`: how often a page, or the whole site, was viewed on each day."""

import csv
import sys
from collections import Counter
from datetime import date

import click
import orjson

from ..config import Settings
from ..counters import counter_of
from ..site import Site
from ..statistics.calendar import date_of
from ..statistics.reports import Report
from .commands import json_option
from .console import NothingToDo, printable, settings_of_environment
from .dataset import with_site

# Characters of the longest bar.
WIDTH = 40
COLUMNS = ("day", "views", "people", "visitors")
_EIGHTHS = " ▏▎▍▌▋▊▉"


@click.command()
@click.argument("path", required=False)
@click.option(
    "--days",
    "number",
    default=14,
    type=click.IntRange(1, 3_660),
    help="Number of days, ending today.",
    show_default=True,
)
@click.option("--csv", "is_csv", is_flag=True, help="Print CSV.")
@json_option
@click.option("--erase", is_flag=True, help="Delete the page's statistics.")
def statistics(path: str | None, number: int, is_csv: bool, is_json: bool, erase: bool) -> None:
    """Show the views per day.

    Of the page with this PATH, or of the whole site. Days start in TIMEZONE. Views during
    STATISTICS=off are unknown.
    """

    async def read(site: Site) -> Report:
        reports = site.statistics.reports
        last = reports.today()
        page = path and site.counting.page_of(path)
        return await reports.report(page, reports.days_before(last, number - 1), last)

    settings = settings_of_environment()
    if erase:
        _erase(path, settings)
        return
    report = with_site(read, settings)
    rows = [
        (date_of(at).isoformat(), day.views, report.people_of(day), day.visitors)
        for at, day in report.days.items()
    ]
    if is_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([COLUMNS, *rows])
        return
    if is_json:
        days = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        about = {"path": path, "views": report.views, "bots": dict(report.bots)}
        click.echo(orjson.dumps({**about, "days": days}))
        return
    if not report.views:
        of = "the site" if path is None else printable(path)
        off = "; STATISTICS=off keeps none" if settings.statistics == "off" else ""
        raise NothingToDo(f"no view of {of} is known from these {number} days{off}")
    for line in _lines(report):
        click.echo(line)


def _erase(path: str | None, settings: Settings) -> None:
    if path is None:
        raise click.UsageError("--erase needs the PATH of a page")

    async def forget(site: Site) -> int:
        page = site.counting.page_of(path)
        if not await site.statistics.reports.erase(page):
            raise NothingToDo(f"there are no statistics of {printable(page)}")
        (count,) = await site.counting.counters.read([counter_of(page)])
        return count

    count = with_site(forget, settings)
    click.echo(
        f"Forgotten is when and by whom {printable(path)} was viewed. Its counter is {count:,} as "
        "before, and the site's numbers keep its views."
    )


def _lines(report: Report) -> list[str]:
    """A bar for each day's views; and, where they are known, how many visitors there were."""
    most = max(day.views for day in report.days.values())
    wide, narrow = len(f"{report.views:,}"), len(_about(report.visitors, report))
    lines = []
    for at, day in report.days.items():
        visitors = _about(day.visitors, report) if day.visitors else ""
        shown = f"  {visitors:>{narrow}}" if report.visitors else ""
        lines.append(
            f"{_named(date_of(at))}  {day.views:>{wide},}{shown}  {_bar(day.views / most)}".rstrip()
        )
    lines.append(f"{'in all':14}  {report.views:>{wide},}")
    if report.visitors:
        lines[-1] += f"  {_about(report.visitors, report)} visitors of a day"
    if bots := report.bots - Counter(dict.fromkeys(report.as_people, report.views)):
        named = ", ".join(f"{views:,} {name}" for name, views in bots.most_common())
        lines.append(f"{'by bots':14}  {bots.total():>{wide},}  {named}")
    return lines


def _about(visitors: int, report: Report) -> str:
    """Such as "1,204", or with a ~ if it is an estimate."""
    return f"{visitors:,}" if visitors <= report.most_exact or report.is_exact else f"~{visitors:,}"


def _named(day: date) -> str:
    """Such as "Mon 2026-11-23", in English whatever the locale is."""
    names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    return f"{names[day.weekday()]} {day.isoformat()}"


def _bar(share: float) -> str:
    whole, eighths = divmod(round(8 * WIDTH * share), 8)
    # A day with views is never empty.
    return "█" * whole + _EIGHTHS[eighths or (share > 0 and not whole)].strip()
