"""Commento's export: comments in Markdown, and who wrote them."""

from typing import Literal, NamedTuple

from ..model import Status
from .json_rows import Record, objects, rows
from .rows import CommentRow, Refusal, Rows
from .source import Source
from .values import moment, number, path_of, text, truth

_STATUSES: dict[str, Status | Literal["deleted"]] = {
    "approved": "approved", "unapproved": "waiting", "flagged": "spam",
}  # fmt: skip


class Person(NamedTuple):
    name: str
    email: str
    link: str


People = dict[str, Person]


def read(source: Source) -> Rows:
    people = _people(source)
    return rows(source, lambda where, record: [_comment(source, people, record)], "comments.item")


def _people(source: Source) -> People:
    """The commenters, with only what readers see, so that a hundred thousand fit into memory."""
    found = objects(source, "commenters.item")
    records = (each[1] for each in found if not isinstance(each, Refusal))
    return {text(each.get("commenterHex")): Person(*map(_known, map(each.get, Person._fields)))
            for each in records}  # fmt: skip


def _comment(source: Source, people: People, record: Record) -> CommentRow:
    person = people.get(text(record.get("commenterHex")), Person("", "", ""))
    parent, state = text(record.get("parentHex")), text(record.get("state"))
    return CommentRow(
        source=text(record.get("commentHex")),
        path=path_of(record.get("url")),
        text=text(record.get("markdown")),
        at=moment(record.get("creationDate"), source.zone),
        nick=person.name,
        mail=person.email,
        link=person.link,
        parents=() if parent in ("", "root") else (parent,),
        status="deleted" if truth(record.get("deleted")) else _STATUSES.get(state, "waiting"),
        likes=number(record.get("score")),
    )


def _known(value: object) -> str:
    found = text(value)
    return "" if found == "undefined" else found
