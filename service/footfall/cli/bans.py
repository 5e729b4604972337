"""`footfall bans …`: people, hosts and words that are banned."""

import json
import re
import time
from datetime import UTC, datetime
from typing import Any

import click

from ..accounts.noun import Accounts
from ..accounts.rules import banning
from ..accounts.rules.ban_list import kind_of
from ..accounts.rules.banning import MAX_REASON
from ..accounts.rules.bans import until_of
from ..model import Ban, Catch
from .commands import Group
from .console import NothingToDo, printable
from .dataset import CONSOLE, with_site

_UNITS_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
# Ten years: longer bans have no end.
MAX_FOR_MS = 3650 * _UNITS_MS["d"]

_json = click.option("--json", "is_json", is_flag=True, help="Print one JSON object per line.")


@click.group(cls=Group)
def bans() -> None:
    """Manage bans: of people, and of hosts and words in comments.

    Services may keep running: a ban applies to the next comment, and within a minute to everything
    else.
    """


@bans.command("list")
@_json
def list_(is_json: bool) -> None:
    """List bans, newest first."""

    async def read(accounts: Accounts) -> list[tuple[Ban, Catch]]:
        await accounts.bans.refresh()
        listed = accounts.bans.newest()
        caught = await accounts.bans.store.caught([ban.value for ban in listed])
        return list(zip(listed, caught, strict=True))

    listed = with_site(lambda site: read(site.accounts))
    for ban, catch in listed:
        click.echo(json.dumps(_facts(ban, catch)) if is_json else _line(ban, catch))
    if not listed:
        click.echo("nobody is banned", err=True)


def _for(context: click.Context, option: click.Parameter, text: str | None) -> int:
    """When a time of this length ends, in ms; 0 if none is given."""
    if text is None:
        return 0
    match = re.fullmatch(r"([0-9]{1,6})([mhdw])", text)
    lasts_ms = int(match[1]) * _UNITS_MS[match[2]] if match else 0
    if not 0 < lasts_ms <= MAX_FOR_MS:
        raise click.BadParameter("use 30m, 12h, 7d or 4w, up to 3650d")
    return time.time_ns() // 1_000_000 + lasts_ms


def _until(context: click.Context, option: click.Parameter, at: datetime | None) -> int:
    if at is None:
        return 0
    ms = int(at.replace(tzinfo=UTC).timestamp() * 1000)
    if ms <= time.time_ns() // 1_000_000:
        raise click.BadParameter("this is in the past")
    return ms


@bans.command()
@click.argument("what", metavar="WHAT")
@click.option("--reason", default="", help="Reason, for moderators only.")
@click.option("--until", type=click.DateTime(), callback=_until, help="End time, in UTC.")
@click.option(
    "--for", "lasts", callback=_for, metavar="TIME", help="Duration, such as 30m, 12h, 7d or 4w."
)
def add(what: str, reason: str, until: int, lasts: int) -> None:
    """Ban an address, a network, an email, *@domain, an account, a host or words.

    The ban is permanent, or until a time. An IPv6 address means its /64.

    A host such as casino.example catches comments that link there, "cheap pills" those with these
    words, and /casino\\d+/ those that match a regular expression: they become spam.

    Banning the same again changes its reason and end. A ban of an account ends its sessions.
    """
    if until and lasts:
        raise click.UsageError("use --until or --for, not both")
    if len(reason) > MAX_REASON:
        raise click.UsageError(f"a reason has at most {MAX_REASON} characters")

    async def ban(accounts: Accounts) -> str:
        made, is_new = await banning.ban(
            accounts,
            what,
            CONSOLE,
            until_ms=until or lasts,
            reason=reason.strip(),
            # An email that is typed in full is meant.
            is_meant=True,
        )
        if not is_new:
            raise NothingToDo(f"banned already: {_line(made)}")
        return f"banned: {_line(made)}"

    click.echo(with_site(lambda site: ban(site.accounts)))


@bans.command()
@click.argument("what", metavar="WHAT")
def remove(what: str) -> None:
    """Remove a ban."""
    if not with_site(lambda site: banning.lift(site.accounts, what, CONSOLE)):
        raise NothingToDo(f"{printable(what)} is not banned; `footfall bans list` shows all")
    click.echo(f"{printable(what)} is no longer banned")


def _facts(ban: Ban, catch: Catch) -> dict[str, Any]:
    return {
        "value": ban.value,
        "kind": kind_of(ban.value),
        "until": until_of(ban) or None,
        "reason": ban.reason,
        "at": until_of(Ban("", ban.at_ms)),
        "by": ban.by,
        "caught": catch.number,
        "caught_at": until_of(Ban("", catch.at_ms)) or None,
    }


def _line(ban: Ban, catch: Catch | None = None) -> str:
    columns = [ban.value, kind_of(ban.value), until_of(ban) or "for ever"]
    if catch and catch.number:
        columns.append(f"caught {catch.number:,}, last {until_of(Ban('', catch.at_ms))}")
    return printable("  ".join([*columns, *([ban.reason] if ban.reason else [])]))
