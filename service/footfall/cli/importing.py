"""The work of `footfall import`, imported by that command only, since it needs parsers of every
format.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import click
import orjson
import uvloop

from .. import interruption
from ..config import Settings
from ..data.imports import Imports, Way
from ..model import OnProgress
from ..plurals import number_of
from ..transfer.archives import members
from ..transfer.download import is_address
from ..transfer.formats import FORMATS, Format, Unknown, chosen, named
from ..transfer.importing import Import, PagesBy, Undated, run
from ..transfer.report import KINDS, ImportReport
from ..transfer.source import Damaged, Source
from ..transfer.storing import Comparison
from ..transfer.values import zone_of
from .console import NothingToDo, aside, printable, progress
from .dataset import existing_site
from .errors import saying_so_far
from .files import local

T = TypeVar("T")

# Outcomes of rows; why some were changed or refused is listed, too.
SHOWN = ("stored", "there", "changed", "refused")
# Counters that are lower here; this many are shown.
MAX_SHOWN = 20
# Why an import has failed that was carried out: whether there was anything in the file.
_NOTHING = {
    True: "nothing was imported: every row was refused",
    False: "nothing was imported: the file has no object or row to import",
}


def take_over(
    settings: Settings,
    name: str,
    format_name: str,
    way: Way,
    *,
    encoding: str = "",
    utc_offset: str = "+00:00",
    undated: Undated = "skip",
    columns: str = "",
    page_by: str = "address",
    pages_by: PagesBy | None = None,
    report_name: str | None = None,
    is_dry: bool,
    is_json: bool,
    is_check: bool = False,
) -> None:
    if undated == "now" and (name == "-" or is_address(name)):
        raise click.UsageError("--undated now needs a file, whose date makes the import repeatable")
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(local(name))
        report = ImportReport(stack.enter_context(_lines(report_name)))
        on_progress = stack.enter_context(progress())
        source = _source(path, encoding, utc_offset, columns, page_by, on_progress)
        try:
            files = stack.enter_context(members(source))
            format, files = _chosen(files, report, format_name)
            _require_use(format, columns, page_by)
            wanted = Import(format, way, is_dry, undated, is_check=is_check, pages_by=pages_by)
            with saying_so_far(stack, lambda: _stored_so_far(report)):
                done = uvloop.run(_import(settings, files, wanted, report, on_progress))
        except Damaged as error:
            raise click.ClickException(f"nothing was imported from {name}: {error}") from error
    if done is None:
        misread = [file.encoding for file in files if file.is_misread]
        _show(report, wanted, misread, is_json=is_json)
        _conclude(report)
    else:
        _show_comparison(done, report, is_json=is_json)


def _require_use(format: Format, columns: str, page_by: str) -> None:
    """Raises UsageError for an option that has no effect."""
    if columns and not format.is_table:
        raise click.UsageError(f"--map is for tables and JSON; this is {format.title}")
    if page_by == "identifier" and format.name != "disqus":
        raise click.UsageError("--page-by identifier is for Disqus' XML")


def _conclude(report: ImportReport) -> None:
    if not report.taken():
        raise click.ClickException(_NOTHING[report.has_rows()])
    if not report.stored():
        raise NothingToDo("all of it exists already")


async def require_data_set(settings: Settings) -> None:
    """Raises what existing_site raises: before something is fetched that takes long."""
    async with existing_site(settings):
        pass


async def _import(
    settings: Settings,
    files: Sequence[Source],
    wanted: Import,
    report: ImportReport,
    on_progress: OnProgress,
) -> Comparison | None:
    async with existing_site(settings) as (store, site):
        imports = Imports(store.redis, store.scripts, store.keys, store.moment)
        apart = _interruptible
        return await run(site.comments, imports, files, wanted, report, on_progress, apart)


async def _interruptible(work: Callable[[], T]) -> T:
    with interruption.at_once():
        return work()


@contextlib.contextmanager
def _lines(name: str | None) -> Iterator[Callable[[bytes], object]]:
    if name is None:
        yield lambda line: None
        return
    with click.open_file(name, "wb") as file:
        yield file.write


def _source(
    path: Path, encoding: str, utc_offset: str, columns: str, page_by: str, on_progress: OnProgress
) -> Source:
    pairs = [pair.partition("=") for pair in columns.split(",") if pair]
    try:
        "".encode(encoding or "utf-8")
        zone = zone_of(utc_offset)
    except (LookupError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    if any(not (ours and theirs) for ours, _, theirs in pairs):
        raise click.UsageError("--map takes pairs such as comment=text,url=page")
    if len({ours for ours, _, _ in pairs}) < len(pairs):
        raise click.UsageError("--map takes each name once")
    return Source(
        path,
        encoding=encoding,
        zone=zone,
        columns={ours: theirs for ours, _, theirs in pairs},
        page_by=page_by,
        on_progress=lambda share: on_progress("reading the file", share),
    )


def _chosen(
    files: Sequence[Source], report: ImportReport, name: str
) -> tuple[Format, list[Source]]:
    formats = ", ".join(dict.fromkeys(format.name for format in FORMATS))
    sentence = f"the format is unknown: use --format with one of {formats}"
    if name and named(name) is None:
        raise click.UsageError(sentence)
    try:
        return chosen(files, report, name)
    except Unknown:
        raise click.UsageError(sentence) from None


def _stored_so_far(report: ImportReport) -> str:
    numbers = {kind: outcomes["stored"] for kind, outcomes in report.summary().items()}
    stored = (number_of(n, kind.removesuffix("s")) for kind, n in numbers.items() if n)
    return ", ".join(stored) or "nothing"


def _show_comparison(comparison: Comparison, report: ImportReport, *, is_json: bool) -> None:
    """Raises ClickException if something is lower here."""
    compared, theirs, ours, lower = comparison
    if is_json:
        numbers = {"compared": compared, "there": theirs, "here": ours, "lower": len(lower)}
        click.echo(orjson.dumps({**numbers, "reasons": report.every_reason()}))
    else:
        counters = number_of(compared, "counter")
        click.echo(f"{counters} compared: {theirs:,} views there, {ours:,} here")
        _show_reasons(report)
        for each in lower[:MAX_SHOWN]:
            click.echo(printable(f"lower here: {each}"))
    if lower:
        raise click.ClickException(f"{number_of(len(lower), 'counter')} lower here than there")


def _show(report: ImportReport, wanted: Import, misread: Sequence[str], *, is_json: bool) -> None:
    """`misread` are the encodings of files that some bytes are not of."""
    if is_json:
        about = {"format": wanted.format.name, "dry": wanted.is_dry, "misread": bool(misread)}
        click.echo(orjson.dumps({**about, **report.summary(), "reasons": report.every_reason()}))
        return
    click.echo(f"{wanted.format.title}{', tried: nothing was stored' if wanted.is_dry else ''}")
    for kind in KINDS:
        numbers = report.summary()[kind]
        if numbers["read"]:
            click.echo(
                f"{kind:>9}: {', '.join(f'{numbers[outcome]:,} {outcome}' for outcome in SHOWN)}"
            )
    _show_reasons(report)
    for encoding in set(misread):
        aside(f"some bytes are not {encoding}: they became \ufffd")


def _show_reasons(report: ImportReport) -> None:
    for reason in report.every_reason():
        example = printable(str(reason["example"]))
        outcome, kind = reason["outcome"], reason["kind"]
        is_page = outcome == "renamed" or (outcome, kind) == ("joined", "comments")
        rows = number_of(reason["number"], "page" if is_page else kind.removesuffix("s"))
        click.echo(f"{rows} {reason['outcome']}, such as {example}: {reason['why']}")
