"""All that is stored as Waline's archive, for administrators: what its migration page exports.

Nobody knows how long it is, and no memory would hold it, so it is sent while it is read.
"""

from collections.abc import AsyncGenerator

from ..domain.rules import require_administrator
from ..domain.service import Service
from ..http.response import Response
from ..model import Caller

# Sent on its way once so much has come together.
PIECE_BYTES = 1 << 16


async def export(service: Service, parsed: None, caller: Caller) -> Response:
    """Raises Unauthorized, Forbidden and StoreUnavailable. After the first piece nothing can be
    said any more: the connection is cut off if Redis goes away."""
    require_administrator(caller.viewer)
    pieces = _joined(service.export())
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
