"""Everything of one author, for administrators: shown, made anonymous, deleted.

Each request searches a part of the site's comments, and returns where the next one continues.
"""

from dataclasses import dataclass
from typing import Any

from ...accounts.api.session import described
from ...http.params import MAX_ID, MAX_MAIL
from ...model import Caller
from ...render.view import DisplayOptions
from ...table.answers import JsonObject
from ...table.fields import Text, copied
from ...table.rows import Declared
from ...table.schemas import (
    FLAG,
    MAYBE,
    NUMBER,
    REST,
    TEXT,
    AnswerSchema,
    list_of,
    object_of,
    or_null,
    ref,
)
from ...table.who import ADMINISTRATOR
from ..noun import Comments
from ..rules import authors
from ..rules.authors import Author, Deed

operation = Declared[Comments]("comments")


@dataclass(frozen=True, slots=True)
class AuthorRequest:
    """`who`: an email or an account's id."""

    who: str
    after: str


WANTED = copied(
    AuthorRequest,
    (
        Text("who", "An email or an account ID", MAX_MAIL, required="who can not be blank"),
        Text("after", "The `after` in `more` of the last answer", MAX_ID),
    ),
    source="either",
)


_STORED = object_of(
    id=TEXT,
    page=TEXT,
    status=TEXT,
    pinned=FLAG,
    likes=NUMBER,
    at=TEXT,
    nick=MAYBE,
    mail=MAYBE,
    link=MAYBE,
    account=MAYBE,
    ip=MAYBE,
    region=MAYBE,
    ua=MAYBE,
    replies_to=MAYBE,
    text=TEXT,
)
AUTHOR_ANSWER = AnswerSchema(
    object_of(account=or_null(ref("Account")), mail=TEXT, data=list_of(_STORED), _optional=REST)
)


@operation("author", "GET", "/author", WANTED, ADMINISTRATOR, AUTHOR_ANSWER)
async def show(comments: Comments, parsed: AuthorRequest, caller: Caller) -> JsonObject:
    author = await authors.find(comments.accounts.store, parsed.who)
    part = await authors.part(comments, author, parsed.after)
    shown = {"account": _account(comments.display, author), "mail": author.mail}
    facts = [fact for comment in part.comments if (fact := _facts(comment))]
    return shown | {"data": facts} | _more(part.after, part.searched)


def _facts(facts: Any) -> dict[str, Any] | None:
    """None for a comment that is damaged."""
    try:
        return authors.facts(facts)
    except (TypeError, ValueError):
        return None


ERASED_ANSWER = AnswerSchema(
    object_of(comments=NUMBER, damaged=NUMBER, account=FLAG, _optional=REST)
)


@operation("author_anonymize", "PUT", "/author", WANTED, ADMINISTRATOR, ERASED_ANSWER)
async def anonymize(comments: Comments, parsed: AuthorRequest, caller: Caller) -> JsonObject:
    return await _erase(comments, parsed, "anonymize", caller)


@operation("author_delete", "DELETE", "/author", WANTED, ADMINISTRATOR, ERASED_ANSWER)
async def delete(comments: Comments, parsed: AuthorRequest, caller: Caller) -> JsonObject:
    return await _erase(comments, parsed, "delete", caller)


async def _erase(
    comments: Comments, parsed: AuthorRequest, deed: Deed, caller: Caller
) -> JsonObject:
    author = await authors.find(comments.accounts.store, parsed.who)
    done = await authors.erase(comments, author, deed, caller, parsed.after)
    return {
        "comments": done.comments,
        "damaged": done.damaged,
        "account": done.has_account,
    } | _more(done.after, done.searched)


def _account(display: DisplayOptions, author: Author) -> dict[str, object] | None:
    return described(display, author.account) if author.account else None


def _more(after: str, searched: int) -> dict[str, object]:
    return {"more": {"after": after, "searched": searched}} if after else {}
