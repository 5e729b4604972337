"""`footfall worker`, `outbox` and `notify`: notifications, in the background."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import click
import uvloop

from .. import __version__
from ..app import create_delivery
from ..config import BadSettings, Settings
from ..notifications.rules import trial
from ..notifications.rules.delivery import Delivery, delivering
from ..notifications.store.outbox import MAX_UNDELIVERED, Outbox, Undelivered
from ..plurals import number_of
from ..telemetry.logs import announce
from .commands import Group, Logged
from .console import NothingToDo, printable, settings_of_environment
from .dataset import existing, existing_site
from .errors import errors_as_messages

NOTHING_CONFIGURED = (
    "no notification channel or spam filter is configured: set SMTP_HOST or SMTP_SERVICE, WEBHOOK, "
    "NOTIFY_URLS or AKISMET_KEY"
)

T = TypeVar("T")


@click.command(cls=Logged)
def worker() -> None:
    """Send notifications until Ctrl-C or SIGTERM. Any number of workers can run.

    `footfall serve` sends them itself unless OUTBOX_WORKER=false.
    """
    settings = settings_of_environment()

    async def work() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with existing_site(settings) as (_, site):
            delivery = _delivery(settings, site)
            async with delivering(delivery):
                doing = ", ".join((*settings.means, *settings.spam_checkers))
                announce(f"Footfall {__version__} sends notifications: {doing}")
                await stop.wait()

    with errors_as_messages():
        uvloop.run(work())


@click.group(cls=Group)
def outbox() -> None:
    """Manage permanently failed notifications."""


@outbox.command("list")
@click.option("--most", default=20, type=click.IntRange(1, 10_000), help="Maximum number to show.")
@click.option("--json", "is_json", is_flag=True, help="Print one JSON object per line.")
def list_(most: int, is_json: bool) -> None:
    """List failed notifications, newest first, and the number of pending ones."""

    async def read(outbox: Outbox) -> Any:
        return await outbox.depth(), await outbox.undelivered(most)

    depth, given_up = _with_outbox(read)
    for event in given_up:
        click.echo(json.dumps(_facts(event)) if is_json else _line(event))
    click.echo(
        f"{depth.waiting:,} queued, {depth.later:,} to be retried, {depth.undelivered:,} failed",
        err=True,
    )


@outbox.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "is_all", is_flag=True, help="All failed notifications.")
def retry(ids: Sequence[str], is_all: bool) -> None:
    """Resend failed notifications. Exit 1 if one does not exist."""

    async def again(outbox: Outbox, event: Undelivered) -> bool:
        return await outbox.again(event, replace(event.task, attempts=0))

    _each(ids, is_all, again, "sent again")


@outbox.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "is_all", is_flag=True, help="All failed notifications.")
def drop(ids: Sequence[str], is_all: bool) -> None:
    """Discard failed notifications. Exit 1 if one does not exist."""

    async def forget(outbox: Outbox, event: Undelivered) -> bool:
        return bool(await outbox.drop([event.id]))

    _each(ids, is_all, forget, "forgotten")


@click.group(cls=Group)
def notify() -> None:
    """Manage notification channels."""


@notify.command()
@click.option("--to", default="", metavar="MAIL", help="Address that receives a reader's emails.")
def test(to: str) -> None:
    """Send a sample comment to every channel and spam filter, and show their responses.

    Exit 1 if one of them failed.
    """
    settings = settings_of_environment()

    async def tell() -> dict[str, str]:
        async with existing_site(settings) as (_, site):
            delivery = _delivery(settings, site)
            return await trial.tell(delivery, to)

    with errors_as_messages():
        answers = uvloop.run(tell())
    for name, answer in answers.items():
        click.echo(printable(f"{name}: {answer or 'sent'}"))
    if any(answers.values()):
        raise SystemExit(1)


def _delivery(settings: Settings, site: Any) -> Delivery:
    if not settings.tells:
        raise BadSettings(NOTHING_CONFIGURED)
    return create_delivery(settings, site)


def _each(
    ids: Sequence[str],
    is_all: bool,
    one: Callable[[Outbox, Undelivered], Awaitable[bool]],
    what: str,
) -> None:
    """Do this to some or all failed notifications, and name missing ids."""
    _require_choice(ids, is_all)

    async def work(outbox: Outbox) -> set[str]:
        chosen = await outbox.undelivered(MAX_UNDELIVERED, ids)
        return {event.id for event in chosen if await one(outbox, event)}

    done = _with_outbox(work)
    if is_all and not done:
        raise NothingToDo("no notification has failed")
    click.echo(f"{number_of(len(done), 'notification')} {what}")
    missing = [id for id in dict.fromkeys(ids) if id not in done]
    for id in missing:
        click.echo(f"{id} does not exist, or no longer", err=True)
    if missing:
        raise SystemExit(1)


def _with_outbox(work: Callable[[Outbox], Awaitable[T]]) -> T:
    settings = settings_of_environment()

    async def run() -> T:
        async with existing(settings) as store:
            return await work(store.outbox)

    with errors_as_messages():
        return uvloop.run(run())


def _require_choice(ids: Sequence[str], is_all: bool) -> None:
    if bool(ids) == is_all:
        raise click.UsageError("name IDs from `footfall outbox list`, or use --all")
    for id in ids:
        if not id.replace("-", "", 1).isdecimal():
            raise click.UsageError(f"{printable(id)} is not an ID from `footfall outbox list`")


def _facts(event: Undelivered) -> dict[str, Any]:
    return {
        "id": event.id,
        "at": _time(event.at),
        "error": event.error,
        **{f"task_{name}": value for name, value in asdict(event.task).items()},
    }


def _line(event: Undelivered) -> str:
    task = event.task
    return printable(
        f"{event.id}  {_time(event.at)}  {task.kind}  comment {task.id}  "
        f"{number_of(task.attempts, 'attempt')}  {event.error}"
    )


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
