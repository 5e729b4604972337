"""/openapi.json: the table of routes as OpenAPI 3.1.

Operations are described under each of their prefixes, in its API variant; under /ui/api only those
that exist there alone. Bounds are those of this site.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from http import HTTPStatus
from typing import Any

import orjson
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ..errors import WrongMethod
from ..http.csrf import CSRF_HEADER
from ..http.envelope import NO_ENVELOPE
from ..http.response import JSON_TYPE
from ..site import Site
from ..table.context import ParseContext
from ..table.fields import Field, Fields, ListOf, Paths, Words
from ..table.operations import Operations
from ..table.prefixes import UI, Prefix
from ..table.rows import Row, asking
from ..table.schemas import SCHEMAS, media_of
from ..table.variants import Refusals, Variant
from ..table.who import ANYBODY, COMMENTER
from .files import TYPES, Page, send_file

Schema = dict[str, Any]

# The media types of a body with fields.
FORMS = ("application/json", "application/x-www-form-urlencoded")
# The one is described with the answers that it comes in place of, the other is an unknown method's.
UNDESCRIBED = (200, WrongMethod.status)
NOUNS = {
    "article": "Counters of pages",
    "comment": "Comments",
    "report": "Reports of comments by readers",
    "live": "Live numbers of pages",
    "token": "Logins and two-factor authentication",
    "user": "Accounts",
    "verification": "Confirming a mail",
    "oauth": "Logins through other services",
    "author": "Everything stored about an author",
    "ban": "Bans",
    "db": "The archive",
    "statistics": "Views by day and hour",
    "queue": "The moderation queue",
    "counters": "Counters, for administrators",
    "pages": "Titles of pages, and moving and closing them",
    "invitation": "Invitations",
    "log": "What moderators did",
    "outbox": "Notifications",
    "import": "Imports",
    "settings": "Settings",
    "state": "The service",
}
_ID = "/{id}"

Shape = Fields[Any] | ListOf[Any]


def described(context: ParseContext, operations: Operations, version: str) -> Schema:
    """The whole description."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": context.settings.title,
            "version": version,
            "description": "Read counts and comments, by the API of the Waline comment server.",
        },
        "servers": [{"url": "."}],
        "tags": [*_tags(operations)],
        "paths": dict(_paths(context, operations)),
        "components": {
            "schemas": {name: {**schema} for name, schema in SCHEMAS.items()},
            "responses": dict(_refusals(operations)),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "page": {"type": "apiKey", "in": "cookie", "name": "footfall"},
            },
        },
    }


def _tags(operations: Operations) -> Iterator[Schema]:
    for name, text in NOUNS.items():
        yield {"name": name, "description": text}
    for name in dict.fromkeys(prefix.name for prefix in operations if prefix.name):
        yield {"name": name}


def _paths(context: ParseContext, operations: Operations) -> Iterator[tuple[str, Schema]]:
    for prefix, paths in operations.items():
        for path, methods in paths.items():
            rows = [row for same in methods.values() for row in same if _is_described(row, prefix)]
            if rows:
                url = f"{prefix.path}{rows[0].template}"
                yield url, _methods(context, prefix, rows, with_id=False)
            named = [row for row in rows if any(_id(shape) for shape in row.fields.shapes)]
            if named and prefix.longer:
                yield f"{prefix.path}{path}{_ID}", _methods(context, prefix, named, with_id=True)


def _is_described(row: Row, prefix: Prefix) -> bool:
    """Is it, or are the same operation's other prefixes enough?"""
    return prefix is not UI or row.prefixes == (UI,)


def _id(shape: Shape) -> str:
    return shape.id if isinstance(shape, Fields) else ""


def _methods(
    context: ParseContext, prefix: Prefix, rows: Sequence[Row], *, with_id: bool
) -> Schema:
    by_method: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_method[row.method.lower()].append(row)
    return {
        method: _operation(context, prefix, same, with_id=with_id)
        for method, same in by_method.items()
    }


def _operation(
    context: ParseContext, prefix: Prefix, rows: Sequence[Row], *, with_id: bool
) -> Schema:
    """An operation, of the rows of one method; with several, the query's `type` selects one."""
    whos = [who for row in rows for who in asking(row)]
    parts = [*prefix.path.split("/"), rows[0].route, "id" if with_id else ""]
    variant = (with_id and prefix.longer) or prefix.variant
    tokens: list[Schema] = [{"page": []} if prefix is UI else {"token": []}]
    operation: Schema = {
        "operationId": "_".join(filter(None, parts)),
        "summary": ", ".join(row.route.replace("_", " ") for row in rows),
        "tags": [prefix.name or rows[0].path.split("/")[1].partition(".")[0]],
        "x-who": "; or ".join(dict.fromkeys(who.name for who in whos)),
        "security": [{}, *tokens] if {ANYBODY, COMMENTER}.intersection(whos) else tokens,
        "parameters": [*_parameters(context, prefix, rows, with_id=with_id)],
        "responses": _responses(rows, variant),
    }
    if rows[0].is_upload:
        schema = {"type": "string", "format": "binary"}
        operation["requestBody"] = {"content": {"application/octet-stream": {"schema": schema}}}
    elif bodies := [*_bodies(context, rows, with_id=with_id)]:
        operation["requestBody"] = _body(bodies)
    return operation


def _shapes(rows: Iterable[Row], *, with_id: bool) -> Iterator[tuple[Row, Shape]]:
    for row in rows:
        for shape in row.fields.shapes:
            # With an id after it a path means one thing, without it another.
            is_there = bool(_id(shape)) if with_id else not getattr(shape, "needs_id", False)
            if is_there:
                yield row, shape


def _is_in_query(row: Row, shape: Fields[Any]) -> bool:
    return shape.source == "query" or (shape.source == "either" and row.method == "GET")


def _parameters(
    context: ParseContext, prefix: Prefix, rows: Sequence[Row], *, with_id: bool
) -> Iterator[Schema]:
    if with_id:
        (doc, *_) = [_id(shape) for _, shape in _shapes(rows, with_id=True)]
        schema = {"type": "string", "minLength": 1, "pattern": "^[^/?#%]+$"}
        described = {"description": doc, "required": True, "schema": schema}
        yield {"name": "id", "in": "path", **described}
    if prefix is UI:
        needed = {"required": True, "schema": {"const": "1"}}
        doc = "Marks requests from pages of this service"
        yield {"name": CSRF_HEADER.decode(), "in": "header", "description": doc, **needed}
    if len(rows) > 1:
        types = ["", *(row.type for row in rows if row.type)]
        schema = {"type": "string", "enum": types}
        yield {"name": "type", "in": "query", "description": "Which operation", "schema": schema}
    seen = dict[str, tuple[Field, int]]()
    shapes, variables = [*_shapes(rows, with_id=with_id)], rows[0].variables
    for row, shape in shapes:
        if isinstance(shape, ListOf):
            continue
        for each in shape.fields:
            if each.name in variables or _is_in_query(row, shape):
                first, number = seen.get(each.name, (each, 0))
                seen[each.name] = (first, number + each.is_required)
    for field, number in seen.values():
        place = "path" if field.name in variables else "query"
        yield _parameter(context, field, place, is_required=number == len(shapes))


def _parameter(context: ParseContext, field: Field, place: str, *, is_required: bool) -> Schema:
    parameter: Schema = {"name": field.name, "in": place, "description": field.doc}
    if is_required or place == "path":
        parameter["required"] = True
    if isinstance(field, Paths | Words):
        parameter |= {"style": "form", "explode": isinstance(field, Paths)}
    return {**parameter, "schema": field.schema(context)}


def _bodies(context: ParseContext, rows: Sequence[Row], *, with_id: bool) -> Iterator[Schema]:
    for row, shape in _shapes(rows, with_id=with_id):
        if row.method == "GET":
            continue
        if isinstance(shape, ListOf):
            items = _object(context, shape.object.fields)
            yield {"type": "array", "items": items, "minItems": 1, "maxItems": shape.most}
        elif not _is_in_query(row, shape):
            fields = [field for field in shape.fields if field.name not in row.variables]
            if fields:
                yield _object(context, fields)


def _object(context: ParseContext, fields: Sequence[Field]) -> Schema:
    read = [field for field in fields if field.is_read is None or field.is_read(context)]
    schema: Schema = {
        "type": "object",
        "properties": {
            field.name: {**field.schema(context), "description": field.doc} for field in read
        },
    }
    needed = [field.name for field in read if field.is_required]
    return {**schema, "required": needed} if needed else schema


def _body(bodies: Sequence[Schema]) -> Schema:
    objects = [body for body in bodies if body["type"] == "object"]
    schemas = {FORMS[0]: bodies, FORMS[1]: objects}
    content = {media: {"schema": _any(each)} for media, each in schemas.items() if each}
    return {"content": content}


def _any(schemas: Sequence[Mapping[str, Any]]) -> Schema:
    different = [each for i, each in enumerate(schemas) if each not in schemas[:i]]
    return {**different[0]} if len(different) == 1 else {"anyOf": different}


def _responses(rows: Sequence[Row], variant: Variant) -> Schema:
    responses: Schema = {f"{rows[0].answer.status}": _good(rows, variant)}
    if any(row.answer.is_redirect for row in rows):
        header = {"location": {"schema": {"type": "string"}}}
        responses["302"] = {"description": "The next address of the browser", "headers": header}
    if any(row.method == "GET" and not row.is_unsafe for row in rows):
        responses["304"] = {"description": "The client has this answer already (If-None-Match)"}
    for status, name in _names(variant.refusals):
        responses[str(status)] = {"$ref": f"#/components/responses/{name}"}
    return responses


def _good(rows: Sequence[Row], variant: Variant) -> Schema:
    """The response, or an error that also has status 200."""
    if rows[0].answer.has_lines:
        meaning = "Lines of JSON: steps, and at last the report or a refusal"
        return {"description": meaning, "content": {"application/json": {"schema": {}}}}
    by_media: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if not row.answer.is_redirect:
            by_media[row.answer.media].append(_answer(row, variant))
        for other in row.answer.others:
            by_media[media_of(other)].append({"type": "string"})
    if refusal := variant.refusals.described.get(200):
        by_media[refusal.media].append(refusal.data)
    content = {media: {"schema": _any(schemas)} for media, schemas in by_media.items()}
    return {"description": "The answer, or a refusal", "content": content}


def _answer(row: Row, variant: Variant) -> Mapping[str, Any]:
    answer, envelope = row.answer, row.envelope(variant)
    if envelope is NO_ENVELOPE and answer.bare is not None:
        return answer.bare
    # Anything but JSON has no envelope.
    return envelope.schema(answer.data) if answer.type == JSON_TYPE else answer.data


def _refusals(operations: Operations) -> Iterator[tuple[str, Schema]]:
    """By name, all error formats of the variants."""
    for prefix in operations:
        refusals = prefix.variant.refusals
        for status, name in _names(refusals):
            body = refusals.described[status]
            content = {body.media: {"schema": body.data}}
            yield name, {"description": HTTPStatus(status).phrase, "content": content}


def _names(refusals: Refusals) -> Iterator[tuple[int, str]]:
    for status in refusals.described:
        if status not in UNDESCRIBED:
            yield status, f"{refusals.name}{status}"


class Description:
    """The description as an ASGI application, made on first request."""

    def __init__(self, context: ParseContext, operations: Operations, version: str) -> None:
        self._context, self._operations = context, operations
        self._version = version

    @cached_property
    def _body(self) -> bytes:
        return orjson.dumps(described(self._context, self._operations, self._version))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_file(scope, send, self._body, TYPES[".json"], b"no-cache")


def description_route(site: Site, operations: Operations, version: str) -> BaseRoute:
    made = Description(site.served.context, operations, version)
    return Route("/openapi.json", Page(made, "static"))
