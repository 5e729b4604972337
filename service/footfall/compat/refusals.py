"""Errors in protocols that use HTTP's status."""

from collections.abc import Callable
from dataclasses import replace

import orjson

from ..errors import BadRequest, ServiceError
from ..http.envelope import NO_ENVELOPE
from ..http.response import SHARED, Headers, Response
from ..table.schemas import TEXT, AnswerSchema, Schema, object_of
from ..table.variants import REFUSAL_STATUSES, WALINE, Refusals, Variant

# Waline's errors have 200, which here means success.
STATUSES = sorted({*REFUSAL_STATUSES} - {200})
BAD_REQUEST, FORBIDDEN, NOT_FOUND = 400, 403, 404


def status_of(error: ServiceError) -> int:
    if isinstance(error, BadRequest):
        return BAD_REQUEST
    return FORBIDDEN if error.status == 200 else error.status


def variant_of(
    name: str,
    refuse: Callable[[ServiceError, str], Response],
    body: AnswerSchema,
    headers: Headers = SHARED,
    **others: AnswerSchema,
) -> Variant:
    """An API variant without an envelope, whose errors have this body; `name` is theirs for
    /openapi.json, and `others` are the bodies of single statuses, such as `_404`."""
    bodies = {status: others.get(f"_{status}", body) for status in STATUSES}
    return replace(
        WALINE, headers=headers, envelope=NO_ENVELOPE, refusals=Refusals(refuse, name, bodies)
    )


def in_json(error: ServiceError, language: str) -> Response:
    """`{"error": "…"}`, with the name of each wrong field in its words."""
    return Response(status_of(error), orjson.dumps({"error": str(error)}))


def error_schema(**optional: Schema) -> AnswerSchema:
    """The result of in_json, or beside it another answer."""
    return AnswerSchema(object_of(error=TEXT, _optional=optional))
