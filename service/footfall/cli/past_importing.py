"""The work of `footfall import access-log` and `footfall import goatcounter`, imported by these
commands only."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import click
import orjson
import uvloop

from ..app import own_hosts
from ..config import Settings
from ..data.store import Store
from ..hosts import host_name
from ..model import OnProgress, OnShare
from ..plurals import number_of
from ..statistics.calendar import date_of, month_of
from ..statistics.past_store import OtherImport, PastViews
from ..transfer.archives import members
from ..transfer.goatcounter import goatcounter_log
from ..transfer.goatcounter_totals import is_of_totals, totals_log
from ..transfer.page_views import ViewReport
from ..transfer.past_log import PastLog, access_logs
from ..transfer.source import Damaged, Source
from ..transfer.view_import import PastImport, PastReport, Period, run
from .console import NothingToDo, aside, printable, progress
from .dataset import existing_site
from .errors import saying_so_far
from .files import local


class _Format(NamedTuple):
    """`logs` makes readers of the files, the hosts of the site and a report."""

    title: str
    logs: Callable[[Sequence[Source], frozenset[str], ViewReport], Iterator[PastLog]]


def _goatcounter(
    sources: Sequence[Source], own: frozenset[str], lines: ViewReport
) -> Iterator[PastLog]:
    if is_of_totals(sources):
        return totals_log(sources, own, lines)
    return goatcounter_log(sources[0], own, lines)


_FORMATS = {
    "access-log": _Format("Access log", access_logs),
    "goatcounter": _Format("GoatCounter's export", _goatcounter),
}


def take_over(
    settings: Settings,
    tool: str,
    files: Sequence[str],
    *,
    counts: bool,
    hosts: Sequence[str],
    is_dry: bool,
    is_json: bool,
) -> None:
    own = own_hosts(settings) | {*filter(None, map(host_name, hosts))}
    tells_visitors = settings.statistics == "visitors"
    wanted = PastImport(tool, counts, is_dry, tells_visitors)
    lines, report = ViewReport(), PastReport()
    with contextlib.ExitStack() as stack:
        paths = [stack.enter_context(local(name)) for name in files]
        on_progress = stack.enter_context(progress())
        given = [Source(path, on_progress=_reading(path, on_progress)) for path in paths]
        try:
            sources = [source for file in given for source in stack.enter_context(members(file))]
            logs = _FORMATS[tool].logs(sources, own, lines)
            with saying_so_far(stack, lambda: number_of(report.new, "view")):
                uvloop.run(_import(settings, logs, wanted, report, on_progress))
        except Damaged as error:
            raise click.ClickException(f"nothing was imported: {error}") from error
        except OtherImport:
            raise click.ClickException(
                "another import of the same days is under way: run this one again when that has "
                "ended"
            ) from None
    _show(tool, lines, report, is_dry=is_dry, is_json=is_json)
    if not own:
        aside("links of the site itself are among the sources: set SITE_URL, or name its --host")
    _require_news(lines, report, is_dry=is_dry)


def _reading(path: Path, on_progress: OnProgress) -> OnShare:
    return lambda share: on_progress(f"reading {path.name}"[:26], share)


async def _import(
    settings: Settings,
    logs: Iterable[PastLog],
    wanted: PastImport,
    report: PastReport,
    on_progress: OnProgress,
) -> None:
    async with existing_site(settings) as (store, site):
        if settings.statistics == "off":
            raise click.ClickException("STATISTICS=off keeps no days: set it, then import some")
        statistics, months = site.statistics.reports, settings.statistics_months
        period = _period(statistics.today(), months)
        past = _past_views(store, period, months)
        wanted = replace(wanted, page_of=site.counting.page_of)
        await run(past, statistics.calendar, period, logs, wanted, report, on_progress)


def _period(today: int, months: int) -> Period:
    """From the first day of the oldest stored month."""
    return Period(100 * _month_after(month_of(today), -months) + 1, today)


def _past_views(store: Store, period: Period, months: int) -> PastViews:
    current = month_of(period.today)
    now_ms = int(datetime.now(UTC).timestamp() * 1000)

    def left_ms(month: int) -> int:
        end = date_of(100 * _month_after(month, months + 1) + 1)
        return int(datetime(end.year, end.month, 1, tzinfo=UTC).timestamp()) * 1000 - now_ms

    return PastViews(
        store.redis,
        store.scripts,
        store.keys,
        store.views,
        store.site_views,
        left_ms,
        (_month_after(current, -1), current),
    )


def _month_after(month: int, number: int) -> int:
    """So many months after one such as 202611."""
    years, index = divmod(month % 100 - 1 + number, 12)
    return 100 * (month // 100 + years) + index + 1


# What it has done.


def _require_news(lines: ViewReport, report: PastReport, *, is_dry: bool) -> None:
    if not lines.views:
        raise click.ClickException("nothing was imported: no line is a view of a page")
    if not (report.new or is_dry):
        raise NothingToDo("every view was left out")


def _show(tool: str, lines: ViewReport, report: PastReport, *, is_dry: bool, is_json: bool) -> None:
    if is_json:
        click.echo(orjson.dumps(_as_json(tool, lines, report, is_dry=is_dry)))
        return
    click.echo(f"{_FORMATS[tool].title}{', and nothing was stored' if is_dry else ''}")
    for name, text in _numbers(lines, report, is_dry=is_dry):
        click.echo(f"{name:>9}: {text}")
    for line in (*_rules(lines), *_left_out(report)):
        click.echo(line)


def _numbers(lines: ViewReport, report: PastReport, *, is_dry: bool) -> Iterator[tuple[str, str]]:
    views, others = number_of(lines.views, "view"), number_of(lines.excluded.total(), "other")
    yield "lines", f"{views}, {others}, {lines.unreadable.total():,} unreadable"
    new = "new" if is_dry else "stored"
    left_out = report.left_out.total()
    yield "views", f"{report.new:,} {new}, {left_out:,} left out"
    if report.days:
        days = number_of(len(report.days), "day")
        yield "days", f"{days}{_from_to(min(report.days), max(report.days))}"
        yield "pages", f"{report.pages:,}"
    if report.bots:
        yield "bots", ", ".join(f"{n:,} {agent}" for agent, n in report.bots.most_common())


def _rules(lines: ViewReport) -> Iterator[str]:
    """How views were recognised, with samples."""
    if samples := lines.samples.get(""):
        yield f"views are such as {_listed(samples)}"
    for why, number in lines.excluded.most_common():
        samples = lines.samples.get(why)
        such = f", such as {_listed(samples)}" if samples else ""
        yield f"{number_of(number, 'other')}{such}: {why}"
    for why, number in lines.unreadable.most_common():
        such = f", such as {_listed(lines.places[why])}"
        yield f"{number_of(number, 'line')} unreadable{such}: {why}"


def _left_out(report: PastReport) -> Iterator[str]:
    for why, number in report.left_out.most_common():
        yield f"{number_of(number, 'view')} left out{_from_to(*report.left_days[why])}: {why}"


def _from_to(first: int, last: int) -> str:
    if first == last:
        return f", {date_of(first)}"
    return f", {date_of(first)} to {date_of(last)}"


def _listed(texts: Iterable[str]) -> str:
    return "; ".join(map(printable, texts))


def _as_json(
    tool: str, lines: ViewReport, report: PastReport, *, is_dry: bool
) -> Mapping[str, object]:
    return {
        "format": tool,
        "dry": is_dry,
        "lines": {
            "views": lines.views,
            "others": dict(lines.excluded),
            "unreadable": dict(lines.unreadable),
        },
        "views": {"new": report.new, "left_out": dict(report.left_out)},
        "days": [str(date_of(day)) for day in sorted(report.days)],
        "pages": report.pages,
        "bots": dict(report.bots),
        "samples": {why or "is a view": paths for why, paths in lines.samples.items()},
        "places": lines.places,
    }
