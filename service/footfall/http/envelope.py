"""The bodies of responses: the envelope of the data, and of errors."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from ..errors import ServiceError
from .translations import translate

# Where the data stands in an envelope.
_DATA = "the data"


class Envelope(NamedTuple):
    """The bytes before and after the JSON of an answer's data."""

    before: bytes = b""
    after: bytes = b""

    def around(self, json: bytes) -> bytes:
        return self.before + json + self.after

    def body(self, data: object) -> bytes:
        return self.around(orjson.dumps(data))

    def schema(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The JSON Schema of the whole body, of that of the data."""
        whole = orjson.loads(self.body(_DATA))
        if whole == _DATA:
            return data
        members = {name: data if it == _DATA else {"const": it} for name, it in whole.items()}
        return {
            "type": "object",
            "properties": members,
            "required": [*members],
            "additionalProperties": False,
        }


# Waline's.
ENVELOPE = Envelope(b'{"errno":0,"errmsg":"","data":', b"}")
NO_ENVELOPE = Envelope()


def failed(error: ServiceError, language: str) -> bytes:
    """`language` is a client's `lang` in lower case; an unknown one gets English."""
    if not error.has_words:
        return orjson.dumps({"errno": error.errno})
    errmsg = error.errmsg
    if isinstance(errmsg, str):
        errmsg = translate(errmsg, error.values, language)
    return orjson.dumps({"errno": error.errno, "errmsg": errmsg})
