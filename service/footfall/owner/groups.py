"""Groups of comments of the owner's queue that are alike."""

from dataclasses import dataclass

from ..comments.noun import Comments
from ..comments.rules import groups as domain
from ..comments.rules.groups import AlikeComments
from ..comments.rules.queue import Wanted
from ..http.params import RawRequest
from ..model import Caller, Comment
from ..table.answers import JsonObject
from ..table.context import ParseContext
from ..table.fields import Fields, FieldValues
from ..table.prefixes import UI
from ..table.rows import Declared
from ..table.schemas import FLAG, NUMBER, TEXT, AnswerSchema, list_of, object_of
from ..table.who import MODERATOR
from .queue import KEYWORD, STATUS, statuses_of

operation = Declared[Comments]("comments", UI)

# Of a sample's text.
MAX_SAMPLE_CHARACTERS = 280


@dataclass(frozen=True, slots=True)
class Groups:
    wanted: Wanted

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Groups":
        return cls(Wanted(statuses_of(values["status"]), values["keyword"]))


GROUPS = Fields(Groups.of, (STATUS, KEYWORD), source="query")


QUEUE_GROUPS_ANSWER = AnswerSchema(
    object_of(
        data=list_of(
            object_of(
                kind=TEXT,
                value=TEXT,
                ids=list_of(TEXT),
                versions=list_of(TEXT),
                authors=NUMBER,
                addresses=NUMBER,
                samples=list_of(
                    object_of(objectId=TEXT, nick=TEXT, orig=TEXT, url=TEXT, time=NUMBER)
                ),
            )
        ),
        others=list_of(TEXT),
        isPart=FLAG,
        waiting=NUMBER,
        spam=NUMBER,
    )
)


@operation("queue_groups", "GET", "/queue/groups", GROUPS, MODERATOR, QUEUE_GROUPS_ANSWER)
async def groups(comments: Comments, parsed: Groups, caller: Caller) -> JsonObject:
    """Raises TooManyAtOnce, Busy."""
    groups = await domain.groups(comments, parsed.wanted, caller)
    return {
        "data": [_group(group) for group in groups.groups],
        "others": groups.others,
        "isPart": groups.is_part,
        "waiting": groups.waiting,
        "spam": groups.spam,
    }


def _group(group: AlikeComments) -> dict[str, object]:
    return {
        "kind": group.kind,
        "value": group.value,
        "ids": group.ids,
        "versions": group.versions,
        "authors": group.authors,
        "addresses": group.addresses,
        "samples": list(map(_sample, group.samples)),
    }


def _sample(comment: Comment) -> dict[str, object]:
    return {
        "objectId": comment.id,
        "nick": comment.nick or "",
        "orig": comment.source[:MAX_SAMPLE_CHARACTERS],
        "url": comment.path,
        "time": comment.at,
    }
