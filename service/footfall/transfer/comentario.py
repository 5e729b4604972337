"""Comentario's export, version 3: pages, comments in Markdown, and their authors."""

from typing import Any

from .commento import NO_PERSON, People, Person
from .fields import Fields, Record
from .json_rows import objects, rows
from .rows import CommentRow, ImportRows, Refusal
from .source import Source
from .values import html_block


def read(source: Source) -> ImportRows:
    # Comments may come before both.
    pages = {each.text("id"): each.text("path") for each in _fields(source, "pages")}
    people = {each.text("id"): _person(each) for each in _fields(source, "commenters")}

    def make(where: str, record: dict[str, Any]) -> list[CommentRow]:
        return [_comment(source, pages, people, record)]

    return rows(source, make, "comments.item")


def _fields(source: Source, name: str) -> list[Fields]:
    found = objects(source, f"{name}.item")
    return [Fields(each[1]) for each in found if not isinstance(each, Refusal)]


def _person(fields: Fields) -> Person:
    return Person(
        fields.text("name"), fields.text("email"), fields.text("websiteUrl"), fields.notes
    )


def _comment(source: Source, pages: dict[str, str], people: People, record: Record) -> CommentRow:
    fields = Fields(record, source.zone)
    person = people.get(fields.text("userCreated"), NO_PERSON)
    markdown, parent = fields.text("markdown"), fields.text("parentId")
    status = fields.standing("isPending", "waiting")
    if status == "approved" and "isApproved" in record:
        # One that was looked at and not approved was rejected.
        status = fields.standing("isApproved", "approved", "spam")
    return CommentRow(
        source=fields.text("id"),
        path=pages.get(fields.text("pageId"), ""),
        text=markdown or html_block(fields.text("html")),
        is_html=not markdown,
        at=fields.moment("createdTime"),
        nick=person.name or fields.text("authorName"),
        mail=person.email,
        link=person.link,
        address=fields.text("authorIp"),
        parents=(parent,) if parent else (),
        status=fields.standing("isDeleted", "deleted", status),
        likes=fields.number("score"),
        is_pinned=fields.truth("isSticky"),
        notes=person.notes + fields.notes,
    )
