"""Reports of comments by readers."""

from ...http.params import MAX_ID
from ...model import Caller
from ...table.answers import JsonObject
from ...table.fields import Fields, Text
from ...table.rows import Declared
from ...table.schemas import FLAG, AnswerSchema, object_of
from ...table.who import ANYBODY
from ..noun import Comments
from ..rules import reports as domain

operation = Declared[Comments]("comments")

REPORT = Fields(
    lambda values, request, context: str(values["id"]),
    (Text("id", "The `objectId` of a comment", MAX_ID, required="id can not be blank"),),
)


@operation(
    "comment_report", "POST", "/report", REPORT, ANYBODY, AnswerSchema(object_of(isReported=FLAG))
)
async def report(comments: Comments, id: str, caller: Caller) -> JsonObject:
    """Say that a comment breaks the site's rules; each address counts once."""
    return {"isReported": await domain.report(comments, id, caller)}
