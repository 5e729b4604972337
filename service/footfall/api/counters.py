"""Read counts and reactions of articles: read many, change one or many.

Their dialect says what a count looks like: a number, or an object for each path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import orjson

from ..domain.counters import VIEWS, lowers_views
from ..domain.counters import change as apply
from ..domain.rules import require_administrator
from ..domain.site import Site
from ..errors import BadRequest
from ..http.params import MAX_PATH, MAX_PATHS, Form, RawRequest, not_among
from ..http.response import Reply, tagged_by_body
from ..model import Caller
from .dialects import Dialect
from .fast import Done, FastRequest, answered

ACTIONS = {"inc": 1, "desc": -1}


@dataclass(frozen=True, slots=True)
class Read:
    """Counters to read; `paths` is None when the request named none, and the answer is then 0."""

    paths: Sequence[str] | None
    types: Sequence[str]
    dialect: Dialect
    # A template of the answer when it has one count, with %d for it.
    one: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "one", _one(self.types[0], self.dialect))

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "Read":
        name, values = (
            ("paths", request.fields) if "paths" in request.fields else ("path", request.query)
        )
        form = Form(values)
        paths = form.paths(name) if values.get(name) is not None else None
        types = _types(form, values.get("type", VIEWS), site.counter_types)
        form.done()
        return cls(paths, types, request.dialect)

    def reply(self, counts: Sequence[int]) -> Reply:
        """`counts` has each path's types in order."""
        if len(counts) == 1:
            # Most requests read one counter, and its count is a sufficient ETag.
            return self.one % counts[0], b'"%d"' % counts[0]
        dialect, types = self.dialect, self.types
        if len(counts) == len(types):
            json = dialect.single(orjson.dumps(dict(zip(types, counts, strict=True))))
        elif len(types) > 1 or not counts:
            json = orjson.dumps(_rows(types, counts))
        else:
            # A site's front page reads fifty counters at once: to build fifty dicts would take
            # longer than the rest of the request.
            before, after = dialect.count(types[0]).split(b"%d")
            numbers = orjson.dumps(counts)[1:-1].replace(b",", after + b"," + before)
            json = b"[" + before + numbers + after + b"]"
        return tagged_by_body(dialect.content_envelope.around(json))


@cache
def _one(type: str, dialect: Dialect, *, is_list: bool = False) -> bytes:
    """A template of the answer for one counter of this type, with %d for its count."""
    count = dialect.count(type)
    json = b"[" + count + b"]" if is_list else dialect.single(count)
    return dialect.content_envelope.around(json)


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


def read(site: Site, parsed: Read) -> FastRequest:
    if parsed.paths is None:
        return FastRequest(lambda numbers: 0)
    names = site.counters.names(parsed.paths, parsed.types)

    def send(client_key: str, done: Done) -> None:
        site.counters.fetch_counts(names, done)

    return FastRequest(parsed.reply, send, names=names)


@dataclass(frozen=True, slots=True)
class Change:
    """Counters to change: (path, type, delta) in the order in which they were sent."""

    changes: Sequence[tuple[str, str, int]]
    is_list: bool
    dialect: Dialect
    # A template of the answer when it has one count, with %d for it.
    one: bytes = field(init=False)

    def __post_init__(self) -> None:
        one = _one(self.changes[0][1], self.dialect, is_list=self.is_list)
        object.__setattr__(self, "one", one)

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "Change | Read":
        """A JSON list is many changes; an object with `paths` is a read, as in the reference.

        Raises BadRequest, which names a field in a list as `<index>.<field>`.
        """
        if "paths" in request.fields:
            return Read.parse(request, site)
        if not isinstance(request.body, list):
            return cls([_change(request.fields, site)], False, request.dialect)
        if not 0 < len(request.body) <= MAX_PATHS:
            raise BadRequest({"changes": f"changes need a list of 1 to {MAX_PATHS}"})
        changes = []
        for i, fields in enumerate(request.body):
            if not isinstance(fields, Mapping):
                raise BadRequest({str(i): "each change need an object"})
            try:
                changes.append(_change(fields, site))
            except BadRequest as error:
                named = {f"{i}.{name}": text for name, text in error.fields.items()}
                raise BadRequest(named) from None
        return cls(changes, True, request.dialect)

    def reply(self, counts: Sequence[int]) -> Reply:
        """`counts` has the new count of each change."""
        if len(counts) == 1:
            return self.one % counts[0], b""
        dialect, named = self.dialect, zip(self.changes, counts, strict=True)
        listed = b",".join([dialect.count(type) % count for (_, type, _), count in named])
        return dialect.content_envelope.around(b"[" + listed + b"]"), b""


def _change(fields: Mapping[str, object], site: Site) -> tuple[str, str, int]:
    """(path, type, delta) of one change. Raises BadRequest."""
    form = Form(fields)
    path = form.text("path", MAX_PATH, required="path can not be blank")
    type = form.word("type", VIEWS, site.counter_types)
    action = form.choice("action", "inc", ACTIONS)
    form.done()
    return path or "", type, ACTIONS[action]


def add(site: Site, parsed: Change | Read) -> FastRequest | None:
    """None if only an administrator may ask for it."""
    is_lower = isinstance(parsed, Change) and lowers_views(parsed.changes)
    return None if is_lower else _asked(site, parsed)


async def change(site: Site, parsed: Change | Read, caller: Caller) -> object:
    """Raises Unauthorized or Forbidden if anybody but an administrator counts views down."""
    if isinstance(parsed, Change) and lowers_views(parsed.changes):
        require_administrator(caller.viewer)
    return await answered(_asked(site, parsed), site.rate_limits.client_key(caller.address))


def _asked(site: Site, parsed: Change | Read) -> FastRequest:
    if isinstance(parsed, Read):
        return read(site, parsed)
    changes = site.counters.changes(parsed.changes)
    return FastRequest(parsed.reply, partial(apply, site, changes), changes=changes)
