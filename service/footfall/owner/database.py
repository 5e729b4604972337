"""Everything that is stored, as Waline's archive, for administrators.

The length of the archive is not known before, and it may be larger than memory, so it is sent while
it is read. Importing such an archive is owner/importing.py's.
"""

from collections.abc import AsyncGenerator

from ..model import Caller
from ..site import Data
from ..table.answers import Streamed
from ..table.fields import NO_FIELDS
from ..table.rows import Declared
from ..table.schemas import NUMBER, TEXT, AnswerSchema, list_of, map_of, object_of
from ..table.who import ADMINISTRATOR

operation = Declared[Data]("data")

# A piece is sent when so much has come together.
PIECE_BYTES = 1 << 16


ARCHIVE_ANSWER = AnswerSchema(
    object_of(
        type=TEXT,
        version=NUMBER,
        time=NUMBER,
        tables=list_of(TEXT),
        data=map_of(list_of(map_of({}))),
    )
)


@operation("database_export", "GET", "/db", NO_FIELDS, ADMINISTRATOR, ARCHIVE_ANSWER)
async def export(data: Data, parsed: None, caller: Caller) -> Streamed:
    """Raises StoreUnavailable. After the first piece errors can no longer be answered: the
    connection is closed if Redis goes away."""
    return Streamed(_joined(data.export()))


async def _joined(pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    together, size = list[bytes](), 0
    async for piece in pieces:
        together.append(piece)
        size += len(piece)
        if size > PIECE_BYTES:
            yield b"".join(together)
            together, size = [], 0
    yield b"".join(together)
