"""Search for readers."""

from dataclasses import dataclass

from orjson import Fragment

from ...http.params import MAX_ID, MAX_RECENT, RawRequest
from ...limits.clients import pool_client_of
from ...model import PUBLIC, Caller
from ...render.view import View
from ...table.answers import JsonObject
from ...table.context import ParseContext
from ...table.fields import Fields, FieldValues, Integer, PagePath, Text
from ...table.rows import Declared
from ...table.schemas import A_COMMENT, NUMBER, TEXT, AnswerSchema, list_of, object_of
from ...table.variants import Variant, content
from ...table.who import ANYBODY
from ..noun import Comments
from ..rules import reader_search as domain
from .queue import MAX_WORDS

operation = Declared[Comments]("comments")


@dataclass(frozen=True, slots=True)
class Search:
    """The next `count` comments with these words, of a page or with `path` None of the site."""

    words: str
    path: str | None
    count: int
    after: str
    variant: Variant

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Search":
        names = values["q"], values["path"], values["count"], values["after"]
        return cls(*names, request.variant)


SEARCH = Fields(
    Search.of,
    (
        Text("q", "Words that they have", MAX_WORDS, required="q can not be blank"),
        PagePath("path", "Only those of this page", default=None),
        Integer("count", "How many comments", 10, MAX_RECENT),
        Text("after", "The comment after which a search continues", MAX_ID),
    ),
    source="query",
)
_FOUND = object_of(data=list_of(A_COMMENT), searched=NUMBER, after=TEXT)
SEARCH_ANSWER = AnswerSchema(_FOUND, _FOUND)


@operation(
    "comment_search",
    "GET",
    "/comment",
    SEARCH,
    ANYBODY,
    SEARCH_ANSWER,
    envelope=content,
    type="search",
)
async def search(comments: Comments, parsed: Search, caller: Caller) -> JsonObject:
    """Approved comments with these words, newest first, as the public sees them."""
    async with comments.process.pools.pages.turn(pool_client_of(caller)):
        found = await domain.search(
            comments, parsed.words, parsed.path, caller, size=parsed.count, after=parsed.after
        )
    view = View(PUBLIC, comments.display, parsed.variant.date)
    return {
        "data": [Fragment(json) for json in view.elsewhere(found.comments, found.live)],
        "searched": found.searched,
        "after": found.after,
    }
