"""A file of another system, sent by an administrator's page.

It is stored in a temporary file while it is imported. Progress comes as lines of JSON, and the
report, or the error, as the last one: an import may take longer than proxies wait for the first
byte of an answer.
"""

import tempfile
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import orjson

from ..comments.rules.importer import WAYS
from ..errors import BadRequest
from ..http.params import RawRequest
from ..http.response import Response, failed
from ..model import Caller
from ..site import Site
from ..table.context import ParseContext
from ..table.fields import Choice, Fields, FieldValues
from ..table.prefixes import UI
from ..table.rows import Declared
from ..table.schemas import AnswerSchema
from ..table.variants import Variant
from ..table.who import ADMINISTRATOR

operation = Declared[Site]("", UI)

# A body has to come within 20 seconds; a larger file is for `footfall import`. moving.js knows it.
MAX_FILE_BYTES = 32 << 20
TOO_LARGE = {"file": "file should be at most 32 MiB: `footfall import` reads larger ones"}


@dataclass(frozen=True, slots=True)
class Upload:
    body: AsyncGenerator[bytes]
    way: str
    is_dry: bool
    variant: Variant

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Upload":
        return cls(request.body, values["counters"], values["dry"] == "true", request.variant)


def _check_size(request: RawRequest) -> None:
    announced = request.headers.get(b"content-length", b"0")[:20]
    if announced.isdigit() and int(announced) > MAX_FILE_BYTES:
        raise BadRequest(TOO_LARGE)


UPLOAD = Fields(
    Upload.of,
    (
        Choice("counters", "What becomes of a counter that exists", "max", WAYS),
        Choice("dry", "Whether nothing is stored", "true", ("true", "false")),
    ),
    source="query",
    before=_check_size,
)


LINES_ANSWER = AnswerSchema({}, has_lines=True)


@operation("import", "POST", "/import", UPLOAD, ADMINISTRATOR, LINES_ANSWER, is_upload=True)
async def import_(site: Site, parsed: Upload, caller: Caller) -> Response:
    """Raises BadRequest and Unreadable."""
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.NamedTemporaryFile(prefix="footfall-import-"))
        await _keep(parsed.body, file)
        path, kept = Path(file.name), stack.pop_all()
    return Response(200, b"", stream=_lines(site, parsed, path, kept, caller.language))


async def _keep(body: AsyncGenerator[bytes], file: IO[bytes]) -> None:
    size = 0
    async with aclosing(body) as pieces:
        async for piece in pieces:
            size += len(piece)
            if size > MAX_FILE_BYTES:
                raise BadRequest(TOO_LARGE)
            file.write(piece)
    file.flush()


async def _lines(
    site: Site, parsed: Upload, path: Path, kept: ExitStack, language: str
) -> AsyncGenerator[bytes]:
    envelope, refuse = parsed.variant.envelope, parsed.variant.refusals.answer
    with kept:
        steps = site.data.importer().file(site.comments, path, parsed.way, is_dry=parsed.is_dry)
        try:
            async with aclosing(steps):
                async for step in steps:
                    is_report = "format" in step
                    yield (envelope.body(step) if is_report else orjson.dumps(step)) + b"\n"
        except Exception as error:
            # The status is already sent.
            yield failed(error, language, "an import", refuse).body + b"\n"
