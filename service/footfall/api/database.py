"""Everything that is stored, as Waline's archive for administrators, and its rows: the requests of
Waline's migration page.

The length of the archive is not known before, and it may be larger than memory, so it is sent while
it is read. The page first empties each table and then sends a request for each row. Nothing is
emptied here: a row that exists already is recognised, so an interruption of the page loses nothing.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from ..domain.importer import TABLES
from ..domain.rules import require_administrator
from ..domain.site import Site
from ..http.params import MAX_ID, Form, RawRequest
from ..http.response import Response
from ..model import Caller

# A piece is sent when so much has come together.
PIECE_BYTES = 1 << 16


async def export(site: Site, parsed: None, caller: Caller) -> Response:
    """Raises Unauthorized, Forbidden and StoreUnavailable. After the first piece errors cannot be
    answered any more: the connection is closed if Redis goes away."""
    require_administrator(caller.viewer)
    pieces = _joined(site.export())
    return Response(200, await anext(pieces), stream=pieces)


async def _joined(pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    together, size = [b'{"errno":0,"errmsg":"","data":'], 0
    async for piece in pieces:
        together.append(piece)
        size += len(piece)
        if size > PIECE_BYTES:
            yield b"".join(together)
            together, size = [], 0
    yield b"".join([*together, b"}"])


@dataclass(frozen=True, slots=True)
class NewRow:
    table: str
    record: Mapping[str, Any]

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "NewRow":
        form = Form(request.query)
        table = _table(form, TABLES)
        if not isinstance(request.body, Mapping):
            form.wrong("body", "body need one row, an object")
        form.done()
        return cls(table, request.fields)


def _table(form: Form, allowed: tuple[str, ...]) -> str:
    # A blank value is none of them.
    return form.word("table", "", allowed)


async def add(site: Site, parsed: NewRow, caller: Caller) -> object:
    """The row's id here. Raises Unauthorized, Forbidden, BadRequest, StoreUnavailable."""
    require_administrator(caller.viewer)
    return await site.importer().add(site, parsed.table, parsed.record)


# Fields of a row that may be changed: by them the page replaces old ids with new ones.
PLACES = ("pid", "rid", "user_id")


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a comment."""

    id: str
    fields: Mapping[str, str]

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "Place":
        query, form = Form(request.query), Form(request.fields)
        _table(query, ("Comment",))
        id = query.text("objectId", MAX_ID, required="objectId can not be blank")
        found = {name: form.text(name, MAX_ID) for name in PLACES}
        for name in request.fields:
            if name not in PLACES:
                form.wrong(str(name)[:MAX_ID], "only pid, rid and user_id can be changed")
        query.done()
        form.done()
        return cls(id or "", {name: value for name, value in found.items() if value})


async def place(site: Site, parsed: Place, caller: Caller) -> object:
    """Raises Unauthorized, Forbidden, BadRequest, StoreUnavailable, Unavailable."""
    require_administrator(caller.viewer)
    await site.importer().place(site, parsed.id, parsed.fields)
    return {"objectId": parsed.id}


def parse_table(request: RawRequest, site: Site) -> str:
    form = Form(request.query)
    table = _table(form, TABLES)
    form.done()
    return table


async def empty(site: Site, table: str, caller: Caller) -> object:
    """How many rows were deleted: always none. Raises Unauthorized, Forbidden."""
    require_administrator(caller.viewer)
    return {"deleted": 0}
