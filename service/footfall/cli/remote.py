"""The commands bench, verify and health, which send requests to a service as its clients do."""

import contextlib
import json
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn, Protocol

import click

from .commands import Command
from .console import progress, settings_of_environment
from .probe import SECONDS, NoAnswer, ask

# Options of both bench and verify.
_seconds = click.option(
    "--seconds",
    default=20.0,
    type=click.FloatRange(0.1, 1800),
    help="How long to measure in total.",
)
_leave_behind = click.option(
    "--leave-behind",
    is_flag=True,
    help="Leave the counters there: this needs no Redis, and measures any server.",
)
_json = click.option(
    "--json",
    "file",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Also write the figures to this file.",
)


@click.command(cls=Command)
@click.argument("url")
@_seconds
@click.option(
    "--connections", default=64, type=click.IntRange(1, 1000), help="How many connections to use."
)
@click.option(
    "--rate",
    type=click.IntRange(1, 1_000_000),
    help="Requests a second in the last row; otherwise half of what the mix reached before.",
)
@click.option("--page", metavar="PATH", help="Read this article's comments, not an empty one's.")
@_leave_behind
@_json
def bench(
    url: str,
    seconds: float,
    connections: int,
    rate: int | None,
    page: str | None,
    leave_behind: bool,
    file: Path | None,
) -> None:
    """Measure any server that speaks the Waline API, and whether its counts are exact.

    Counters are of paths that no site has, and are taken away afterwards through the service's
    Redis, which the settings name; comments are only read. Exit 0: every count is exact and every
    request was answered. Ctrl-C ends it early, with what was measured so far.
    """
    # Imported here, so that `footfall serve` does not load it.
    from ..loadtest.bench import Plan, prepare
    from ..server.run import spare_the_collector
    from .cleanup import counters_taken_away

    plan, namespace = Plan(seconds, connections, rate, article=page), _new_namespace()
    with _preparing(file):
        measurement = prepare(url, plan, namespace=namespace)
    report = measurement.report
    with counters_taken_away(report, leave_behind=leave_behind):
        click.echo("\n".join(report.head()))
        spare_the_collector()
        with progress() as on_progress:
            measurement.run(on_progress)
    _finish(report, file)


@click.command(cls=Command)
@click.argument("url")
@_seconds
@click.option(
    "--connections", default=32, type=click.IntRange(1, 1000), help="How many connections to use."
)
@click.option(
    "--paths", default=100, type=click.IntRange(1, 10_000), help="How many paths to count."
)
@click.option("--rate", type=click.IntRange(1, 1_000_000), help="Requests a second.")
@click.option(
    "--retry-for",
    metavar="SECONDS",
    default=30.0,
    type=click.FloatRange(0, 1800),
    help="Give up when nobody has been answered for so long.",
)
@_leave_behind
@_json
def verify(
    url: str,
    seconds: float,
    connections: int,
    paths: int,
    rate: int | None,
    retry_for: float,
    leave_behind: bool,
    file: Path | None,
) -> None:
    """Check that a deployment counts exactly, while you restart, kill or unplug parts of it.

    Clients count paths that no site has, whose counters are taken away afterwards through the
    service's Redis, which the settings name. Exit 0: accepted <= counted <= accepted + unknown on
    every path, and no answer contradicts another. Ctrl-C ends it early, with what was seen so far.
    """
    from ..loadtest.interrupt import until_interrupted
    from ..loadtest.verify import Plan, prepare
    from .cleanup import counters_taken_away

    plan, namespace = Plan(seconds, connections, paths, rate, retry_for), _new_namespace()
    with _preparing(file):
        checker = prepare(url, plan, namespace=namespace)
    report = checker.report
    with counters_taken_away(report, leave_behind=leave_behind):
        click.echo("\n".join(report.head()))
        with progress() as on_progress, until_interrupted(checker.stop):
            checker.run(lambda share: on_progress("verifying", share))
    _finish(report, file)


def _new_namespace() -> str:
    from ..loadtest.target import ID_BYTES, NAMESPACE

    return NAMESPACE % secrets.token_hex(ID_BYTES)


@contextlib.contextmanager
def _preparing(file: Path | None) -> Iterator[None]:
    from ..loadtest.target import CannotMeasure

    try:
        yield
    except CannotMeasure as error:
        raise click.ClickException(str(error)) from error
    if file is not None:
        # If the file cannot be written, that is an error now and not at the end.
        with _writing():
            file.touch()


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise click.ClickException(str(error)) from error


class LoadTestReport(Protocol):
    """The result of bench or verify; `code` is the exit code."""

    @property
    def code(self) -> int: ...

    def lines(self) -> Iterable[str]: ...

    def as_json(self) -> dict[str, Any]: ...


def _finish(report: LoadTestReport, file: Path | None) -> NoReturn:
    click.echo("\n".join(report.lines()))
    if file is not None:
        with _writing():
            file.write_text(json.dumps(report.as_json(), indent=1) + "\n")
    raise SystemExit(report.code)


@click.command(cls=Command)
@click.option("--ready", is_flag=True, help="Also whether Redis answers and changes are safe.")
@click.option("--seconds", default=SECONDS, type=click.FloatRange(0.1, 60), help="To wait at most.")
def health(ready: bool, seconds: float) -> None:
    """Ask the service that these settings start how it is: for probes of containers, also at UDS.

    Exit 0 if it is alive, or with --ready, if it takes requests.
    """
    settings = settings_of_environment()
    path = "/readyz" if ready else "/livez"
    try:
        status, text = ask(settings.host, settings.port, settings.uds, path, seconds)
    except NoAnswer as error:
        raise click.ClickException(str(error)) from error
    click.echo(text.strip())
    raise SystemExit(status != 200)
