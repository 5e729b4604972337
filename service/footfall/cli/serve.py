"""`footfall serve`."""

import logging
import mmap
import sys
from dataclasses import replace
from itertools import chain

import click
import uvloop

from .. import tracing
from ..advice import advice
from ..asgi import create_metrics
from ..config import Settings
from ..environment import GivenTexts
from ..server import descriptors
from ..server.answering import Mode
from ..server.run import serve_alone, serve_as_worker, serve_many, stoppable
from ..telemetry import logs
from .commands import Logged
from .console import environ, settings_of_environment
from .errors import errors_as_messages

log = logging.getLogger(__package__)

# How long the rendering thread may keep the GIL while views wait; Python's default is 5 ms.
SWITCH_SECONDS = 0.0005


@click.command(cls=Logged)
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Number of processes; WORKERS by default."
)
@click.option(
    "--fast-path/--no-fast-path", "is_fast", default=True, help="Answer every request through ASGI."
)
@click.option("--as-worker", is_flag=True, hidden=True)
@click.option("--traced", is_flag=True, hidden=True)
@click.option("--inherited", type=int, hidden=True)
@click.option("--metrics", type=int, hidden=True)
@click.option("--row", type=int, default=0, hidden=True)
def serve(
    workers: int | None,
    is_fast: bool,
    as_worker: bool,
    traced: bool,
    inherited: int | None,
    metrics: int,
    row: int,
) -> None:
    """Run the service. Ctrl-C or SIGTERM stops it."""
    if as_worker:
        # A worker has its parent's settings.
        settings = Settings.of(GivenTexts.unpacked(sys.stdin.buffer.read()))
        logs.start(settings.log_format, settings.log_level)
    else:
        settings = settings_of_environment()
        if (limit := descriptors.limit()) < descriptors.LEAST:
            raise click.ClickException(
                f"`ulimit -n` is {limit}, and a service needs {descriptors.LEAST} at least: "
                f"{descriptors.HOW_TO_RAISE_IT}"
            )
        too_few = descriptors.advice(settings.max_connections)
        for line in chain(advice(settings, environ()), too_few):
            log.warning("%s", line)
    most = min(settings.max_connections, descriptors.room())
    settings = replace(settings, max_connections=most)
    sys.setswitchinterval(SWITCH_SECONDS)
    workers = workers or settings.workers
    # A worker gets its parent's decision by --traced.
    is_traced = traced or (not as_worker and tracing.are_wanted(environ()))
    mode = Mode(is_fast=is_fast and not is_traced, is_traced=is_traced)
    with errors_as_messages():
        if as_worker:
            own = create_metrics(settings.compat, mmap.mmap(metrics, 0), row)
            uvloop.run(stoppable(serve_as_worker(settings, own, inherited, mode)))
        elif workers > 1:
            uvloop.run(stoppable(serve_many(settings, workers, mode)))
        else:
            uvloop.run(stoppable(serve_alone(settings, mode)))
