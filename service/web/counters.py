"""Read counts and reactions of articles: read many, change one or many.

The default shapes are those of /api; `flat_*` are what the layout without prefix sends instead.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..domain.counters import VIEWS
from ..domain.counters import change as change_counters
from ..domain.service import Service
from ..errors import BadRequest
from ..model import Caller
from .parse import MAX_PATH, MAX_PATHS, Asked, Form, not_among

VIEWS_ONLY = (VIEWS,)
ACTIONS = {"inc": 1, "desc": -1}


class Read(NamedTuple):
    """`paths` is None when none was named, which is answered with a plain 0."""

    paths: Sequence[str] | None
    types: Sequence[str]

    @classmethod
    def parse(cls, asked: Asked, service: Service) -> "Read":
        path = asked.query.get("path")
        if asked.query.get("type", "time") == "time" and isinstance(path, str) and not asked.body:
            # What nearly every reader asks, in the fewest steps; the rules are those below.
            listed = path.split(",")
            if len(listed) <= MAX_PATHS and max(map(len, listed)) <= MAX_PATH:
                return cls(listed, VIEWS_ONLY)
        name, values = ("paths", asked.fields) if "paths" in asked.fields else ("path", asked.query)
        form = Form(values)
        paths = form.paths(name) if values.get(name) is not None else None
        types = _types(form, values.get("type", "time"), service.counters)
        form.done()
        return cls(paths, types)


def _types(form: Form, value: Any, allowed: Sequence[str]) -> list[str]:
    types = value.split(",") if isinstance(value, str) else value
    if not isinstance(types, list) or not types:
        form.wrong("type", "type need a string")
        return []
    if len(types) > len(allowed) or any(each not in allowed for each in types):
        form.wrong("type", not_among("type", allowed))
    return types


async def read(service: Service, asked: Read, caller: Caller) -> object:
    if asked.paths is None:
        return 0
    return rows(asked, await service.store.counters.read(asked.paths, asked.types))


def rows(asked: Read, counts: Sequence[int]) -> list[dict[str, int]]:
    """An object a path, of the counts of its types."""
    width = len(asked.types)
    if width == 1:
        return [{asked.types[0]: count} for count in counts]
    starts = range(0, len(counts), width)
    return [dict(zip(asked.types, counts[i : i + width], strict=True)) for i in starts]


def flat_read(data: Any, asked: Read) -> object:
    """A number for one type, an object for several; for one path, that alone instead of a list."""
    if asked.paths is None:
        return data
    if len(asked.types) == 1:
        data = [row[asked.types[0]] for row in data]
    return data[0] if len(data) == 1 else data


class Change(NamedTuple):
    """(path, type, delta) each, in the order they were sent."""

    changes: Sequence[tuple[str, str, int]]
    is_list: bool

    @classmethod
    def parse(cls, asked: Asked, service: Service) -> "Change | Read":
        """A JSON list is many changes; `paths` in an object asks to read them instead."""
        if "paths" in asked.fields:
            return Read.parse(asked, service)
        if not isinstance(asked.body, list):
            return cls([parse_change(asked.fields, service.counters)], False)
        if not 0 < len(asked.body) <= MAX_PATHS:
            raise BadRequest({"changes": f"changes need a list of 1 to {MAX_PATHS}"})
        changes = []
        for i, fields in enumerate(asked.body):
            if not isinstance(fields, Mapping):
                raise BadRequest({str(i): "each change need an object"})
            try:
                changes.append(parse_change(fields, service.counters))
            except BadRequest as error:
                named = {f"{i}.{name}": text for name, text in error.fields.items()}
                raise BadRequest(named) from None
        return cls(changes, True)


def parse_change(fields: Mapping[str, Any], counters: Sequence[str]) -> tuple[str, str, int]:
    """(path, type, delta) of one change. Raises BadRequest."""
    path, type = fields.get("path"), fields.get("type", VIEWS)
    action = fields.get("action", "inc")
    if (
        isinstance(path, str)
        and 0 < len(path) <= MAX_PATH
        and type in counters
        and isinstance(action, str)
        and action in ACTIONS
    ):
        return path, type, ACTIONS[action]
    # Something is out of the ordinary: the same rules again, with words for whoever broke them.
    form = Form(fields)
    path = form.text("path", MAX_PATH, required="path can not be blank")
    type = form.word("type", VIEWS, counters)
    action = form.choice("action", "inc", ACTIONS)
    form.done()
    return path or "", type, ACTIONS[action]


async def change(service: Service, asked: Change | Read, caller: Caller) -> object:
    if isinstance(asked, Read):
        return await read(service, asked, caller)
    counts = await change_counters(service, asked.changes, caller.viewer)
    return [{type: count} for (_, type, _), count in zip(asked.changes, counts, strict=True)]


def flat_change(data: Any, asked: Change | Read) -> object:
    """The new count; for a list of changes, a list of counts."""
    if isinstance(asked, Read):
        return flat_read(data, asked)
    counts = [count for row in data for count in row.values()]
    return counts if asked.is_list else counts[0]
