"""The commands bench and verify, which send requests to a server as its clients do."""

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .commands import Command
from .console import progress


def _options(connections: int, rate: str) -> Callable[[Callable[..., None]], click.Command]:
    """What both commands take, with a default of connections and what `--rate` means."""
    options = (
        click.command(cls=Command),
        click.argument("url"),
        click.option(
            "--seconds", default=20.0, type=click.FloatRange(0.1, 1800), help="Total duration."
        ),
        click.option(
            "--connections",
            default=connections,
            type=click.IntRange(1, 1000),
            help="Number of connections.",
        ),
        click.option("--rate", type=click.IntRange(1, 1_000_000), help=rate),
        click.option(
            "--leave-behind",
            is_flag=True,
            help="Keep the test counters: needs no Redis, works with any server.",
        ),
        click.option(
            "--json",
            "file",
            type=click.Path(dir_okay=False, writable=True, path_type=Path),
            help="Also write results to this file.",
        ),
    )

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@_options(64, "Requests per second in the last row; default: half of the mix's rate.")
@click.option(
    "--page", metavar="PATH", help="Read this article's comments instead of an empty one's."
)
def bench(
    url: str,
    seconds: float,
    connections: int,
    rate: int | None,
    page: str | None,
    leave_behind: bool,
    file: Path | None,
) -> None:
    """Benchmark a Waline API server and check that its counts are exact.

    It counts its own test paths, which it removes afterwards through the Redis in the settings;
    comments are only read. Exit 0: every count is exact and every request was answered. Ctrl-C ends
    it early with the results so far.
    """
    # Imported here, so that `footfall serve` does not load it.
    from ..loadtest.measurement import BenchPlan
    from ..server.run import spare_the_collector

    spare_the_collector()
    plan = BenchPlan(seconds, connections, rate=rate, article=page)
    _measure(url, plan, leave_behind=leave_behind, file=file)


@_options(32, "Requests per second; default: as fast as responses arrive.")
@click.option(
    "--paths", default=100, type=click.IntRange(1, 10_000), help="Number of paths to count."
)
@click.option(
    "--retry-for",
    metavar="SECONDS",
    default=30.0,
    type=click.FloatRange(0, 1800),
    help="Stop after this long without a response.",
)
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
    """Check that a deployment counts exactly while you restart or kill parts of it.

    It counts its own test paths, which it removes afterwards through the Redis in the settings.
    Exit 0: accepted <= counted <= accepted + unknown on every path, and no response contradicts
    another. Ctrl-C ends it early with the results so far.
    """
    from ..loadtest.measurement import Plan

    plan = Plan(seconds, connections, paths, rate, retry_for)
    _measure(url, plan, leave_behind=leave_behind, file=file)


def _measure(url: str, plan: Any, *, leave_behind: bool, file: Path | None) -> None:
    """Measure, print the report and exit with its code."""
    from ..loadtest.measurement import Measurement
    from ..loadtest.target import ID_BYTES, NAMESPACE, CannotMeasure
    from .cleanup import counters_removed

    try:
        measurement = Measurement(url, plan, NAMESPACE % secrets.token_hex(ID_BYTES))
        if file is not None:
            # If the file cannot be written, that is an error now and not at the end.
            file.touch()
        report = measurement.report
        with counters_removed(report, leave_behind=leave_behind):
            click.echo("\n".join(report.head()))
            with progress() as on_progress:
                measurement.run_interruptibly(on_progress)
        click.echo("\n".join(report.lines()))
        if file is not None:
            file.write_text(json.dumps(report.as_json(), indent=1) + "\n")
    except (CannotMeasure, OSError) as error:
        raise click.ClickException(str(error)) from error
    raise SystemExit(report.code)
