"""Read counts and reactions of articles: read many, change one or many.

The layout without prefix sends bare numbers where /api sends an object for each path.
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
from ..http import envelope
from ..http.params import MAX_PATH, MAX_PATHS, Form, RawRequest, not_among
from ..http.response import Reply, tagged_by_body
from ..model import Caller
from .fast import Done, FastRequest, answered

ACTIONS = {"inc": 1, "desc": -1}


@dataclass(frozen=True, slots=True)
class Read:
    """Counters to read; `paths` is None when the request named none, and the answer is then 0."""

    paths: Sequence[str] | None
    types: Sequence[str]
    is_bare: bool
    # A template of the answer when it has one count, with %d for it.
    one: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "one", _one(self.types[0], self.is_bare))

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "Read":
        name, values = (
            ("paths", request.fields) if "paths" in request.fields else ("path", request.query)
        )
        form = Form(values)
        paths = form.paths(name) if values.get(name) is not None else None
        types = _types(form, values.get("type", VIEWS), site.counter_types)
        form.done()
        return cls(paths, types, request.is_bare)

    def reply(self, counts: Sequence[int]) -> Reply:
        """`counts` has each path's types in order. The answer is an object for each path; bare,
        a number instead where there is one type, and no list around a single path."""
        if len(counts) == 1:
            # Most requests read one counter, and its count is a sufficient ETag.
            return self.one % counts[0], b'"%d"' % counts[0]
        types = self.types
        if self.is_bare:
            data = counts if len(types) == 1 else _rows(types, counts)
            return tagged_by_body(orjson.dumps(data[0] if len(data) == 1 else data))
        if len(types) > 1 or not counts:
            return tagged_by_body(envelope.enveloped(_rows(types, counts)))
        name, numbers = types[0].encode(), orjson.dumps(counts)[1:-1]
        # A site's front page reads fifty counters at once: to build fifty dicts would take longer
        # than the rest of the request.
        return tagged_by_body(_ROWS % (name, numbers.replace(b",", b'},{"%b":' % name)))


_ROWS = envelope.envelope(b'[{"%b":%b}]')


@cache
def _one(type: str, is_bare: bool) -> bytes:
    """A template of the answer for one counter of this type, with %d for its count."""
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
    is_bare: bool
    # A template of the answer when it has one count, with %d for it.
    one: bytes = field(init=False)

    def __post_init__(self) -> None:
        one = b"[%d]" if self.is_list and self.is_bare else _one(self.changes[0][1], self.is_bare)
        object.__setattr__(self, "one", one)

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "Change | Read":
        """A JSON list is many changes; an object with `paths` is a read, as in the reference.

        Raises BadRequest, which names a field in a list as `<index>.<field>`.
        """
        if "paths" in request.fields:
            return Read.parse(request, site)
        if not isinstance(request.body, list):
            return cls([_change(request.fields, site)], False, request.is_bare)
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
        return cls(changes, True, request.is_bare)

    def reply(self, counts: Sequence[int]) -> Reply:
        """`counts` has the new count of each change. The answer is an object for each; bare, a
        list of counts, or one count if the request was no list."""
        if len(counts) == 1:
            return self.one % counts[0], b""
        if self.is_bare:
            return orjson.dumps(counts), b""
        named = zip(self.changes, counts, strict=True)
        return envelope.enveloped([{type: count} for (_, type, _), count in named]), b""


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
