"""`footfall counters …`: commands about stored counters."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import click
import orjson
import uvloop

from ..config import Settings
from ..maintenance.prune import CounterFilter, find, remove
from ..plurals import number_of
from .commands import Group, json_option
from .console import NothingToDo, printable, settings_of_environment
from .dataset import existing
from .errors import errors_as_messages

# How many of the counters that would be removed are listed.
MAX_LISTED = 10

_patterns = click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
_types = click.option(
    "--type", "types", multiple=True, help="Only this type: time, reaction0, …; repeatable."
)
_yes = click.option("--yes", "is_meant", is_flag=True, help="Remove instead of only listing.")


@dataclass(slots=True)
class Tally:
    """Counters that match, of `of` in total, their bytes, and how many were removed.

    `top` has the `most` highest counts, as (count, name).
    """

    most: int
    counters: int = 0
    bytes: int = 0
    removed: int = 0
    of: int = 0
    top: list[tuple[int, str]] = field(default_factory=list)

    def add(self, name: str, count: int) -> None:
        if len(self.top) < self.most:
            heapq.heappush(self.top, (count, name))
        elif self.most:
            heapq.heappushpop(self.top, (count, name))

    def highest(self) -> Iterator[tuple[str, str, int]]:
        """Type, path and count of each, the highest first."""
        for count, name in sorted(self.top, reverse=True):
            type, _, path = name.partition(" ")
            yield type, path, count

    def as_json(self) -> dict[str, object]:
        listed = [{"type": type, "path": path, "count": n} for type, path, n in self.highest()]
        found = {"found": self.counters, "bytes": self.bytes, "of": self.of}
        return {**found, "counters": listed}

    def lines(self) -> Iterator[str]:
        for type, path, count in self.highest():
            # A stranger has chosen the path: it must not control the terminal.
            shown = printable(path)
            yield f"{count:>12,}  {type:<10}  {shown}"

    def found(self) -> str:
        return f"{self.counters:,} of {number_of(self.of, 'counter')}, about {_size(self.bytes)}"

    def none(self) -> str:
        if not self.of:
            return "there are no counters"
        return f"none of {number_of(self.of, 'counter')} is like that"


@click.group(cls=Group)
def counters() -> None:
    """Manage counters.

    A PATTERN matches paths as in a shell: * for anything, ? for one character, [ab] for one of
    these. Quote it, or your shell expands it.
    """


@counters.command("list")
@_patterns
@_types
@click.option("--top", default=20, type=click.IntRange(1, 100_000), help="Maximum number to show.")
@json_option
def list_(patterns: Sequence[str], types: Sequence[str], top: int, is_json: bool) -> None:
    """List the highest counts of all paths, or of those that match PATTERN."""
    tally = _run(CounterFilter(patterns, types), is_meant=False, most=top)
    if is_json:
        click.echo(orjson.dumps(tally.as_json()))
        return
    if tally.counters:
        click.echo("\n".join(tally.lines()))
    click.echo(tally.found() if tally.counters else tally.none())


@counters.command()
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN...")
@_types
@_yes
def delete(patterns: Sequence[str], types: Sequence[str], is_meant: bool) -> None:
    """Remove counters of paths that match PATTERN; without --yes only list them.

    Services may keep running: a counter that changes meanwhile stays.
    """
    _remove(CounterFilter(patterns, types), is_meant)


@counters.command()
@click.option("--below", required=True, type=click.IntRange(1), help="Remove counts below this.")
@_patterns
@_types
@_yes
def prune(patterns: Sequence[str], types: Sequence[str], below: int, is_meant: bool) -> None:
    """Remove counters below a number; without --yes only list them.

    The age of a counter is not stored: new counters are as low as abandoned ones. Services may keep
    running: a counter that changes meanwhile stays.
    """
    _remove(CounterFilter(patterns, types, below), is_meant)


def _remove(wanted: CounterFilter, is_meant: bool) -> None:
    tally = _run(wanted, is_meant=is_meant, most=0 if is_meant else MAX_LISTED)
    if not tally.counters:
        raise NothingToDo(tally.none())
    if not is_meant:
        click.echo("\n".join(tally.lines()))
        if tally.counters > MAX_LISTED:
            click.echo("         and others with lower counts")
        click.echo(f"would be removed: {tally.found()}")
        click.echo("Nothing was removed; --yes does it.")
        return
    left = tally.counters - tally.removed
    if not tally.removed:
        raise NothingToDo(f"{number_of(left, 'counter')} counted meanwhile, and left")
    click.echo(f"removed {number_of(tally.removed, 'counter')}, about {_size(tally.bytes)}")
    if left:
        click.echo(f"{left:,} counted meanwhile, and left")


def _size(bytes: int) -> str:
    return number_of(bytes, "byte") if bytes < 100_000 else f"{bytes / 1e6:,.1f} MB"


def _run(wanted: CounterFilter, *, is_meant: bool, most: int) -> Tally:
    settings, tally = settings_of_environment(), Tally(most)
    try:
        with errors_as_messages():
            uvloop.run(_walk(settings, wanted, is_meant, tally))
    except KeyboardInterrupt:
        removed = f"; removed {number_of(tally.removed, 'counter')}" if is_meant else ""
        click.echo(f"Interrupted{removed}", err=True)
        raise SystemExit(130) from None
    return tally


async def _walk(settings: Settings, wanted: CounterFilter, is_meant: bool, tally: Tally) -> None:
    async with existing(settings) as store:
        async for part in find(store.redis, store.keys, wanted):
            tally.of += part.walked
            tally.counters += len(part.counters)
            tally.bytes += part.bytes
            for name, count in part.counters.items():
                tally.add(name.decode(errors="replace"), int(count))
            if is_meant:
                tally.removed += await remove(store.scripts, store.views, part)
