"""Commento's export: comments in Markdown, and who wrote them."""

from typing import Literal

from ..model import Status
from .json_rows import objects
from .rows import CommentRow, Refusal, Rows
from .source import Source
from .values import moment, number, path_of, text, truth

_STATUSES: dict[str, Status | Literal["deleted"]] = {
    "approved": "approved", "unapproved": "waiting", "flagged": "spam",
}  # fmt: skip


def read(source: Source) -> Rows:
    # Of commenters only what readers see, so that a hundred thousand fit into memory.
    people = dict[str, tuple[str, str, str]]()
    for found in objects(source, "commenters.item"):
        if not isinstance(found, Refusal):
            _, person = found
            people[text(person.get("commenterHex"))] = (
                _known(person.get("name")), _known(person.get("email")),
                _known(person.get("link")),
            )  # fmt: skip
    for found in objects(source, "comments.item"):
        if isinstance(found, Refusal):
            yield found
            continue
        _, record = found
        nick, mail, link = people.get(text(record.get("commenterHex")), ("", "", ""))
        parent, state = text(record.get("parentHex")), text(record.get("state"))
        yield CommentRow(
            source=text(record.get("commentHex")),
            path=path_of(record.get("url")),
            text=text(record.get("markdown")),
            at=moment(record.get("creationDate"), source.zone),
            nick=nick,
            mail=mail,
            link=link,
            parents=() if parent in ("", "root") else (parent,),
            status="deleted" if truth(record.get("deleted")) else _STATUSES.get(state, "waiting"),
            likes=number(record.get("score")),
        )


def _known(value: object) -> str:
    found = text(value)
    return "" if found == "undefined" else found
