"""Commento's export: comments in Markdown, and their authors."""

from typing import NamedTuple

from ..model import Standing
from .fields import Fields, Record
from .json_rows import objects, rows
from .rows import CommentRow, ImportRows, Refusal
from .source import Source
from .values import html_block

_STATUSES: dict[str, Standing] = {
    "approved": "approved",
    "unapproved": "waiting",
    "flagged": "spam",
}


class Person(NamedTuple):
    name: str
    email: str
    link: str
    notes: tuple[str, ...] = ()


NO_PERSON = Person("", "", "")
People = dict[str, Person]


def read(source: Source) -> ImportRows:
    people = _people(source)
    return rows(source, lambda where, record: [_comment(source, people, record)], "comments.item")


def _people(source: Source) -> People:
    """The commenters, with only what readers see, so that a hundred thousand fit into memory."""
    commenters = objects(source, "commenters.item")
    records = (Fields(entry[1]) for entry in commenters if not isinstance(entry, Refusal))
    return {record.text("commenterHex"): _person(record) for record in records}


def _person(fields: Fields) -> Person:
    name, email, link = (_known(fields, key) for key in ("name", "email", "link"))
    return Person(name, email, link, fields.notes)


def _comment(source: Source, people: People, record: Record) -> CommentRow:
    fields = Fields(record, source.zone)
    person = people.get(fields.text("commenterHex"), NO_PERSON)
    parent, markdown = fields.text("parentHex"), fields.text("markdown")
    state: Standing = fields.choice("state", _STATUSES, "waiting")
    return CommentRow(
        source=fields.text("commentHex"),
        path=fields.text("url"),
        # A comment that was imported into Commento may have no Markdown.
        text=markdown or html_block(fields.text("html")),
        is_html=not markdown,
        at=fields.moment("creationDate"),
        nick=person.name,
        mail=person.email,
        link=person.link,
        parents=() if parent in ("", "root") else (parent,),
        status=fields.standing("deleted", "deleted", state),
        likes=fields.number("score"),
        notes=person.notes + fields.notes,
    )


def _known(fields: Fields, name: str) -> str:
    value = fields.text(name)
    return "" if value == "undefined" else value
