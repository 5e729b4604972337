"""Read counts and reactions of articles: read many, change one or many.

The layout without prefix sends bare numbers where /api sends an object for each path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import orjson

from ..domain.counters import VIEWS, mixes_trials, refused_trial
from ..domain.counters import change as change_counters
from ..domain.service import Service
from ..errors import BadRequest
from ..http import envelope
from ..http.params import MAX_PATH, MAX_PATHS, Form, RawRequest, not_among
from ..http.response import Reply, tagged_by_body
from ..model import Caller

ACTIONS = {"inc": 1, "desc": -1}


@dataclass(frozen=True, slots=True)
class Read:
    """`paths` is None when none was named, which is answered with a plain 0."""

    paths: Sequence[str] | None
    types: Sequence[str]
    is_bare: bool
    # The answer about one counter, but for its number.
    one: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "one", _one(self.types[0], self.is_bare))

    @classmethod
    def parse(cls, asked: RawRequest, service: Service) -> "Read":
        name, values = ("paths", asked.fields) if "paths" in asked.fields else ("path", asked.query)
        form = Form(values)
        paths = form.paths(name) if values.get(name) is not None else None
        for path in paths or ():
            if words := refused_trial(service, path, is_change=False):
                form.wrong(name, words)
        types = _types(form, values.get("type", VIEWS), service.counter_types)
        form.done()
        return cls(paths, types, asked.is_bare)

    def said(self, counts: Sequence[int]) -> Reply:
        """An object a path; bare, a number or an object, and no list for one path."""
        if len(counts) == 1:
            # Most requests, and its number says whether it has changed.
            return self.one % counts[0], b'"%d"' % counts[0]
        types = self.types
        if self.is_bare:
            data = counts if len(types) == 1 else _rows(types, counts)
            return tagged_by_body(orjson.dumps(data[0] if len(data) == 1 else data))
        if len(types) > 1 or not counts:
            return tagged_by_body(envelope.enveloped(_rows(types, counts)))
        name, numbers = types[0].encode(), orjson.dumps(counts)[1:-1]
        # A site's front page asks for fifty paths: an object for each would take longer than all
        # the rest.
        return tagged_by_body(_ROWS % (name, numbers.replace(b",", b'},{"%b":' % name)))


_ROWS = envelope.envelope(b'[{"%b":%b}]')


@cache
def _one(type: str, is_bare: bool) -> bytes:
    """The answer about one counter of this type, but for its number."""
    return b"%d" if is_bare else _ROWS % (type.encode(), b"%d")


def _rows(types: Sequence[str], counts: Sequence[int]) -> list[dict[str, int]]:
    width = len(types)
    starts = range(0, len(counts), width)
    return [dict(zip(types, counts[i : i + width], strict=True)) for i in starts]


def _types(form: Form, value: object, allowed: Sequence[str]) -> list[str]:
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
    counters = service.counters
    return asked.said(await counters.read(counters.names(asked.paths, asked.types)))


@dataclass(frozen=True, slots=True)
class Change:
    """(path, type, delta) each, in the order they were sent."""

    changes: Sequence[tuple[str, str, int]]
    is_list: bool
    is_bare: bool
    # The answer about one counter, but for its number.
    one: bytes = field(init=False)

    def __post_init__(self) -> None:
        one = b"[%d]" if self.is_list and self.is_bare else _one(self.changes[0][1], self.is_bare)
        object.__setattr__(self, "one", one)

    @classmethod
    def parse(cls, asked: RawRequest, service: Service) -> "Change | Read":
        """A JSON list is many changes; `paths` in an object asks to read them instead."""
        if "paths" in asked.fields:
            return Read.parse(asked, service)
        if not isinstance(asked.body, list):
            return cls([_change(asked.fields, service)], False, asked.is_bare)
        if not 0 < len(asked.body) <= MAX_PATHS:
            raise BadRequest({"changes": f"changes need a list of 1 to {MAX_PATHS}"})
        changes = []
        for i, fields in enumerate(asked.body):
            if not isinstance(fields, Mapping):
                raise BadRequest({str(i): "each change need an object"})
            try:
                changes.append(_change(fields, service))
            except BadRequest as error:
                named = {f"{i}.{name}": text for name, text in error.fields.items()}
                raise BadRequest(named) from None
        if mixes_trials(path for path, _, _ in changes):
            raise BadRequest({"changes": "changes below one trial need a list of their own"})
        return cls(changes, True, asked.is_bare)

    def said(self, counts: Sequence[int]) -> Reply:
        """An object a change; bare, the new counts, and no list for one that came without."""
        if len(counts) == 1:
            return self.one % counts[0], b""
        if self.is_bare:
            return orjson.dumps(counts), b""
        named = zip(self.changes, counts, strict=True)
        return envelope.enveloped([{type: count} for (_, type, _), count in named]), b""


def _change(fields: Mapping[str, object], service: Service) -> tuple[str, str, int]:
    """(path, type, delta) of one change. Raises BadRequest."""
    form = Form(fields)
    path = form.text("path", MAX_PATH, required="path can not be blank")
    if words := refused_trial(service, path or "", is_change=True):
        form.wrong("path", words)
    type = form.word("type", VIEWS, service.counter_types)
    action = form.choice("action", "inc", ACTIONS)
    form.done()
    return path or "", type, ACTIONS[action]


async def change(service: Service, asked: Change | Read, caller: Caller) -> object:
    if isinstance(asked, Read):
        return await read(service, asked, caller)
    return asked.said(await change_counters(service, asked.changes, caller))
