"""`footfall comments list`, `show`, `approve`, … and `footfall log`: moderation by command.

They do what administrators do over HTTP, by the same rules, with any Redis and while services run.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import click
import uvloop

from ..accounts.store.log import ModerationLog
from ..comments.noun import Comments
from ..comments.rules import actions, moderation
from ..comments.rules.authors import facts, iso
from ..comments.rules.orders import Order, Result
from ..comments.rules.progress import Action
from ..comments.store import codec
from ..errors import Refused
from ..maintenance.selection import CommentFilter, find
from ..model import STATUSES, Status, StoredComment
from ..plurals import number_of
from .commands import Command
from .comments import comments
from .console import NothingToDo, printable, settings_of_environment
from .dataset import CONSOLE, existing, with_site
from .errors import errors_as_messages

# Comments that are changed in one step, with one name for its undo.
MAX_TOGETHER = 200
# Comments that are shown before they are deleted, and characters of each in a list.
MAX_LISTED = 10
# What a change of comments has failed by.
FAILURES = frozenset(("missing", "changed", "failed"))
MAX_SHOWN_CHARACTERS = 60

_json = click.option("--json", "is_json", is_flag=True, help="Print one JSON object per line.")


def _selecting(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that select comments."""
    for option in (
        click.option(
            "--words", default="", help="Comments whose text contains this, ignoring case."
        ),
        click.option("--author", default="", help="Comments of this email or account."),
        click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES)),
        click.option(
            "--page", "paths", multiple=True, metavar="PATH", help="Comments of this article."
        ),
        click.argument("ids", nargs=-1, metavar="[ID]..."),
    ):
        command = option(command)
    return command


@comments.command("list")
@_selecting
@click.option(
    "--most", default=20, type=click.IntRange(1, 1_000_000), help="Maximum number to show."
)
@_json
def list_(most: int, is_json: bool, **words: Any) -> None:
    """List comments, newest first: all, or those that match."""
    found = with_site(lambda site: _found(site.comments, CommentFilter(**words), most))
    _list(found, is_json)
    if not found:
        click.echo(_none(CommentFilter(**words)), err=True)


@comments.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@_json
def show(ids: Sequence[str], is_json: bool) -> None:
    """Show all stored data of comments. Exit 1 if one does not exist."""
    found = with_site(lambda site: _found(site.comments, CommentFilter(ids), len(ids)))
    for comment in found:
        said = facts(comment)
        lines = (f"{name}: {printable(str(value))}" for name, value in said.items())
        click.echo(json.dumps(said) if is_json else "\n".join(lines) + "\n")
    _require_all(ids, found)


def _moderating(
    name: str, text: str, status: Status | None = None, *, is_pinned: bool | None = None
) -> None:
    @_selecting
    @_json
    def command(is_json: bool, **words: Any) -> None:
        _change(CommentFilter(**words), Order(status, is_pinned), is_json=is_json)

    command.__doc__ = f"{text} Exit 1 if one could not be."
    comments.command(name)(command)


_moderating("approve", "Approve comments.", "approved")
_moderating("hold", "Mark comments as pending.", "waiting")
_moderating("spam", "Mark comments as spam.", "spam")
_moderating("pin", "Pin root comments.", is_pinned=True)
_moderating("unpin", "Unpin root comments.", is_pinned=False)


@comments.command()
@_selecting
@click.option("--yes", "is_meant", is_flag=True, help="Delete instead of only listing.")
@_json
def delete(is_meant: bool, is_json: bool, **words: Any) -> None:
    """Delete comments and their replies; without --yes only list them."""
    wanted = CommentFilter(**words)
    if is_meant:
        return _change(wanted, Order("deleted"), is_json=is_json)
    _require_choice(wanted)
    found = with_site(lambda site: _found(site.comments, wanted, None))
    _list(found[:MAX_LISTED], is_json)
    if not (found or wanted.ids):
        raise NothingToDo(_none(wanted))
    if len(found) > MAX_LISTED:
        click.echo(f"and {len(found) - MAX_LISTED:,} more", err=True)
    click.echo(
        f"{number_of(len(found), 'comment')} would be deleted, with all replies. "
        "Nothing was deleted; --yes does it.",
        err=True,
    )
    _require_all(wanted.ids, found)


@comments.command("undo")
@click.argument("name")
def undo_(name: str) -> None:
    """Undo one of these commands, within a minute."""
    try:
        undone = with_site(lambda site: actions.undo(site.comments, name, CONSOLE))
    except Refused:
        raise click.ClickException("this can no longer be undone") from None
    _finish([Outcome(dict(undone.results), name if undone.can_undo else "")])


@comments.command()
@click.argument("id")
@click.option("--text", default="", help="New Markdown text; - reads standard input.")
@click.option("--nick", default="", help="New name of an author without account.")
@click.option("--mail", default="", help="New email of such an author.")
@click.option("--link", default="", help="New link of such an author.")
def edit(id: str, text: str, nick: str, mail: str, link: str) -> None:
    """Edit a comment's text or author."""
    if text == "-":
        text = sys.stdin.read()
    wanted = moderation.Edit(text.strip(), nick, mail, link)
    if wanted == moderation.Edit():
        raise click.UsageError("use --text, --nick, --mail or --link")
    order = Order(edit=wanted)
    action = with_site(lambda site: actions.carry_out(site.comments, order, {id: ""}, CONSOLE))
    _finish([_outcome(action)])


@click.command("log", cls=Command)
@click.option("--most", default=20, type=click.IntRange(1, 10_000), help="Maximum number to show.")
@_json
def log(most: int, is_json: bool) -> None:
    """List moderator actions, newest first."""
    settings = settings_of_environment()

    async def newest() -> Any:
        async with existing(settings) as store:
            return await ModerationLog(store.redis, store.keys).newest(most)

    with errors_as_messages():
        entries = uvloop.run(newest())
    for entry in entries:
        fields = {name: printable(text) for name, text in entry.fields.items()}
        if is_json:
            click.echo(json.dumps({"at": iso(entry.at), **fields}))
        else:
            click.echo("{at}  {by}  {did}  {id}  {was} → {now}".format(at=iso(entry.at), **fields))
    if not entries:
        click.echo("no moderation yet", err=True)


class Outcome(NamedTuple):
    """What became of each comment, and the name by which to undo it; "" for none."""

    results: Mapping[str, Result]
    undo: str = ""


def _outcome(action: Action) -> Outcome:
    return Outcome(dict(action.results), action.name if action.can_undo else "")


def _change(wanted: CommentFilter, order: Order, *, is_json: bool) -> None:
    """Do it to all selected comments, MAX_TOGETHER at a time."""
    _require_choice(wanted)

    async def work(comments: Comments) -> list[Outcome]:
        ids = [comment.id for comment in await _found(comments, wanted, None)]
        others = [id for id in wanted.ids if id not in ids]
        outcomes = [Outcome(await _others(comments, others))] if others else []
        for first in range(0, len(ids), MAX_TOGETHER):
            seen = dict.fromkeys(ids[first : first + MAX_TOGETHER], "")
            outcomes.append(_outcome(await actions.carry_out(comments, order, seen, CONSOLE)))
        return outcomes

    outcomes = with_site(lambda site: work(site.comments))
    if not outcomes:
        raise NothingToDo(_none(wanted))
    _finish(outcomes, is_json=is_json)


async def _others(comments: Comments, ids: Sequence[str]) -> dict[str, Result]:
    """Named comments that do not exist, or do not match the other options."""
    there = {comment.id for comment in await _found(comments, CommentFilter(ids), None)}
    return {id: "unchanged" if id in there else "missing" for id in ids}


def _finish(outcomes: Sequence[Outcome], *, is_json: bool = False) -> None:
    """Print the results for comments, and exit accordingly."""
    results = dict[str, Result]()
    for outcome in outcomes:
        results |= outcome.results
        if is_json:
            click.echo(json.dumps(outcome._asdict()))
    totals = Counter(results.values())
    if not is_json:
        click.echo(", ".join(f"{number:,} {result}" for result, number in totals.items()))
        _name_others(results)
    for outcome in outcomes:
        if outcome.undo and not is_json:
            click.echo(f"For a minute: footfall comments undo {outcome.undo}")
    if totals.keys() & FAILURES:
        raise SystemExit(1)
    if totals.keys() == {"unchanged"}:
        raise NothingToDo("nothing changed")


def _name_others(results: Mapping[str, Result]) -> None:
    others = [f"{result}: {printable(id)}" for id, result in results.items() if result != "done"]
    for line in others[:MAX_LISTED]:
        click.echo(line, err=True)
    if len(others) > MAX_LISTED:
        click.echo(f"and {len(others) - MAX_LISTED:,} more", err=True)


def _require_all(ids: Sequence[str], stored: Sequence[StoredComment]) -> None:
    """Exit 1 if one of these comments was not found."""
    missing = [id for id in ids if id not in {comment.id for comment in stored}]
    for id in missing:
        click.echo(f"there is no comment {printable(id)}", err=True)
    if missing:
        raise SystemExit(1)


def _require_choice(wanted: CommentFilter) -> None:
    if wanted.is_everything:
        raise click.UsageError("name IDs, or use --page, --status, --author or --words")


def _none(wanted: CommentFilter) -> str:
    return "there are no comments" if wanted.is_everything else "no comment matches"


async def _found(
    comments: Comments, wanted: CommentFilter, most: int | None
) -> list[StoredComment]:
    wanted = replace(wanted, paths=tuple(map(comments.counting.page_of, wanted.paths)))
    every, chosen = (find(comments.moderation, comments.index, wanted), list[StoredComment]())
    while len(chosen) != most and (each := await anext(every, None)):
        chosen.append(each)
    return chosen


def _list(stored: Sequence[StoredComment], is_json: bool) -> None:
    for each in stored:
        click.echo(json.dumps(facts(each)) if is_json else _line(each))


def _line(stored: StoredComment) -> str:
    comment = codec.comment(stored)
    text = " ".join(comment.source.split())
    if len(text) > MAX_SHOWN_CHARACTERS:
        text = text[: MAX_SHOWN_CHARACTERS - 1] + "…"
    status = stored.status + (", pinned" if stored.is_pinned else "")
    who = comment.nick or comment.account or "-"
    return printable(f"{stored.id}  {iso(comment.at)}  {status}  {stored.path}  {who}: {text}")
